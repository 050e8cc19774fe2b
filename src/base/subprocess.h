// Other programs: `run` one to its end, or keep one as a `ChildProcess`.
//
// A program is given as an argument list, never as a shell line. Each runs in a process group of its own: whatever it
// started is ended with it, and a Ctrl-C at the terminal reaches only us. It is killed when this process dies, however
// that happens. It inherits no descriptor of ours but its three streams, and starts with an empty signal mask and
// SIGPIPE at its default.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace strake {

struct Command {
  /// argv[0] with a slash is a path (seen from `cwd`); without one it is looked up in the PATH of `env`, else of this
  /// process.
  std::vector<std::string> argv;

  /// "NAME=value" items, the whole environment of the program; inherited when absent.
  std::optional<std::vector<std::string>> env;

  std::filesystem::path cwd;       ///< empty: ours
  std::string stdin_bytes;         ///< `run` only; empty: /dev/null
  std::filesystem::path log_file;  ///< not empty: stdout and stderr are appended here and not captured

  // The rest is for `run`.
  std::optional<std::chrono::milliseconds> timeout;
  std::chrono::milliseconds stop_grace{2000};  ///< between SIGTERM and SIGKILL, after a timeout or cancellation

  /// More on stdout than this ends the program and is kExhausted: half an answer must not pass for one.
  std::size_t stdout_limit_bytes = std::size_t{16} << 20;
  /// Of stderr the last bytes are kept.
  std::size_t stderr_limit_bytes = std::size_t{64} << 10;
};

/// How a program ended: by `exit_code`, or, when `signal` is not 0, by that signal.
struct ExitStatus {
  int exit_code = 0;
  int signal = 0;

  bool success() const { return exit_code == 0 && signal == 0; }
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

/// "exited with status 3", "was killed by signal 9 (Killed)".
std::string to_string(const ExitStatus& status);

struct ProcessOutput {
  ExitStatus exit;
  std::string stdout_bytes;
  std::string stderr_bytes;
  bool stderr_truncated = false;  ///< earlier bytes of stderr were dropped
};

/// Runs a program to its end; what is left of its process group is killed then. Any end of the program itself is a
/// success of this call, look at `exit`. Errors: kNotFound (not installed, no such working directory), kTimeout,
/// kCancelled, kExhausted (stdout limit), or what the system said; timeouts and the like carry the last of stderr.
Result<ProcessOutput> run(const Command& command, std::stop_token stop = {});

/// kIo for anything but exit status 0, with the last of stderr.
Status check_exit(const Command& command, const ProcessOutput& output);

/// The same as run, where anything but exit status 0 is an error.
Result<ProcessOutput> run_checked(const Command& command, std::stop_token stop = {});

/// A program that runs beside us, such as a server. Its stdout and stderr go to `log_file`, else to /dev/null. Not for
/// several threads at once; it need not be the starting thread. Destruction kills it.
class ChildProcess {
 public:
  static Result<ChildProcess> start(const Command& command);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  /// Valid as a process id only until the end of the program has been seen by one of the calls below.
  pid_t pid() const { return pid_; }

  bool alive();

  /// Waits until the program ends or `timeout` has passed or `stop` is requested: nothing in the last two cases.
  std::optional<ExitStatus> wait_exit(std::chrono::milliseconds timeout, std::stop_token stop = {});

  /// SIGTERM to the group, SIGKILL to what is left of it once the program ended or `grace` has passed.
  ExitStatus stop(std::chrono::milliseconds grace);

  /// SIGKILL to the group.
  ExitStatus kill_now();

 private:
  ChildProcess(pid_t pid, Fd exit_event) : pid_(pid), exit_event_(std::move(exit_event)) {}
  ExitStatus reap();

  pid_t pid_ = -1;
  Fd exit_event_;  ///< readable once the program ended; invalid on kernels without pidfd
  std::optional<ExitStatus> exit_;
};

}  // namespace strake
