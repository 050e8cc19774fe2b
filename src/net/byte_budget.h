// ByteBudget: how many bytes may be kept for a purpose, by all connections together or by those of one client. Thread
// safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace strake::net {

class ByteBudget {
 public:
  /// What is taken from it is taken from `parent` too, where there is one.
  explicit ByteBudget(std::size_t limit, std::shared_ptr<ByteBudget> parent = nullptr)
      : limit_(limit), parent_(std::move(parent)) {}

  std::size_t used() const { return used_; }

  /// A part of the budget, given back when it goes. It may outlive whoever made the budget.
  class Hold {
   public:
    Hold() = default;
    explicit Hold(std::shared_ptr<ByteBudget> budget) : budget_(std::move(budget)) {}
    Hold(Hold&& other) noexcept { *this = std::move(other); }
    Hold& operator=(Hold&& other) noexcept {
      if (this != &other) {
        release();
        budget_ = other.budget_;
        share_ = other.share_;
        bytes_ = std::exchange(other.bytes_, 0);
      }
      return *this;
    }
    ~Hold() { release(); }

    /// From now on it counts there too. To be called while it holds nothing.
    void count_also_in(std::shared_ptr<ByteBudget> share) { share_ = std::move(share); }

    /// False, and nothing changed, when all together would be too much. Without a budget everything fits.
    bool grow(std::size_t bytes) {
      if (share_ && !share_->take(bytes)) return false;
      if (budget_ && !budget_->take(bytes)) {
        if (share_) share_->give_back(bytes);
        return false;
      }
      bytes_ += bytes;
      return true;
    }
    void release() {
      const std::size_t bytes = std::exchange(bytes_, 0);
      if (share_) share_->give_back(bytes);
      if (budget_) budget_->give_back(bytes);
    }
    std::size_t bytes() const { return bytes_; }

   private:
    std::shared_ptr<ByteBudget> budget_;
    std::shared_ptr<ByteBudget> share_;
    std::size_t bytes_ = 0;
  };

 private:
  bool take(std::size_t bytes) {
    if (!take_own(bytes)) return false;
    if (!parent_ || parent_->take(bytes)) return true;
    used_ -= bytes;
    return false;
  }
  void give_back(std::size_t bytes) {
    used_ -= bytes;
    if (parent_) parent_->give_back(bytes);
  }
  bool take_own(std::size_t bytes) {
    std::size_t before = used_;
    do {
      if (bytes > limit_ || before > limit_ - bytes) return false;
    } while (!used_.compare_exchange_weak(before, before + bytes));
    return true;
  }

  const std::size_t limit_;
  const std::shared_ptr<ByteBudget> parent_;
  std::atomic<std::size_t> used_ = 0;
};

}  // namespace strake::net
