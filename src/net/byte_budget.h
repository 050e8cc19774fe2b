// ByteBudget: how many bytes all connections together may keep for a purpose. Private to this module. Thread safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace strake::net {

class ByteBudget {
 public:
  explicit ByteBudget(std::size_t limit) : limit_(limit) {}

  std::size_t used() const { return used_; }

  /// A part of the budget, given back when it goes. It may outlive whoever made the budget.
  class Hold {
   public:
    Hold() = default;
    explicit Hold(std::shared_ptr<ByteBudget> budget) : budget_(std::move(budget)) {}
    Hold(Hold&& other) noexcept : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
    Hold& operator=(Hold&& other) noexcept {
      if (this != &other) {
        release();
        budget_ = other.budget_;
        bytes_ = std::exchange(other.bytes_, 0);
      }
      return *this;
    }
    ~Hold() { release(); }

    /// False, and nothing changed, when all together would be too much. Without a budget everything fits.
    bool grow(std::size_t bytes) {
      if (!budget_) return true;
      if (!budget_->take(bytes)) return false;
      bytes_ += bytes;
      return true;
    }
    void release() {
      if (budget_) budget_->used_ -= std::exchange(bytes_, 0);
    }
    std::size_t bytes() const { return bytes_; }

   private:
    std::shared_ptr<ByteBudget> budget_;
    std::size_t bytes_ = 0;
  };

 private:
  bool take(std::size_t bytes) {
    std::size_t before = used_;
    do {
      if (bytes > limit_ || before > limit_ - bytes) return false;
    } while (!used_.compare_exchange_weak(before, before + bytes));
    return true;
  }

  const std::size_t limit_;
  std::atomic<std::size_t> used_ = 0;
};

}  // namespace strake::net
