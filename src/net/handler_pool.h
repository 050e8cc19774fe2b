// HandlerPool: a fixed number of threads that run jobs in the order they came. Private to this module.
#pragma once

#include <functional>
#include <memory>

namespace strake::net {

class HandlerPool {
 public:
  explicit HandlerPool(unsigned threads);
  ~HandlerPool();
  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;

  /// Never waits. The queue needs no limit of its own: a connection has at most one job in it.
  void submit(std::function<void()> job);

  /// A job submitted now would wait for another to end.
  bool is_busy() const;

  /// Drops the jobs that have not begun and waits for the others.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strake::net
