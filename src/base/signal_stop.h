// SIGINT and SIGTERM as a stop token, and a limit on how long a program may take to obey.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>

namespace strake {

/// Make one in main, before any other thread: it blocks both signals for all of them. A second signal ends the process
/// at once, with status 130.
class SignalStop {
 public:
  SignalStop();
  ~SignalStop();
  SignalStop(const SignalStop&) = delete;
  SignalStop& operator=(const SignalStop&) = delete;

  std::stop_token token() const;

  /// From now on the process ends so long after the first signal, with status 130, whatever it still waits for: the
  /// name of a server, a pipe nobody writes to, a child, the end of a long computation.
  void end_within(std::chrono::milliseconds limit);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strake
