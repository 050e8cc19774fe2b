#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/subprocess_spawn.h"

namespace strake {
namespace {

using ProcessClock = std::chrono::steady_clock;
using process::end_group;
using process::has_ended;
using process::make_pipe;
using process::open_stream;
using process::Pipe;
using process::SpawnPlan;
using process::StartedProcess;
using std::chrono::milliseconds;

constexpr milliseconds kLongestTimeout = std::chrono::hours(24 * 365);  // keeps clock arithmetic far from overflow
constexpr milliseconds kLongestPoll{1000};  // bounds how late a stop is seen when no eventfd could be had
constexpr milliseconds kExitTick{10};  // how often the end is looked for on kernels before 5.3, which have no pidfd
constexpr std::size_t kQuotedOutputBytes = 2048;

ProcessClock::time_point deadline_after(milliseconds timeout) {
  return ProcessClock::now() + std::clamp(timeout, milliseconds(0), kLongestTimeout);
}

/// PR_SET_PDEATHSIG fires when the *thread* that forked ends. A child that is to live as long as this process is
/// therefore forked by a thread that never ends.
class LastingThread {
 public:
  static LastingThread& instance() {
    static LastingThread* const thread = new LastingThread;  // never destroyed: its thread outlives static destruction
    return *thread;
  }

  Result<StartedProcess> spawn_from_it(SpawnPlan plan) {
    const std::lock_guard turn(turn_);
    std::unique_lock lock(mutex_);
    plan_ = std::move(plan);
    changed_.notify_all();
    changed_.wait(lock, [this] { return result_.has_value(); });
    Result<StartedProcess> result = *std::move(result_);
    result_.reset();
    return result;
  }

 private:
  LastingThread() {
    std::thread([this] { serve(); }).detach();
  }

  void serve() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return plan_.has_value(); });
      result_ = process::spawn(*std::exchange(plan_, std::nullopt));
      changed_.notify_all();
    }
  }

  std::mutex turn_;  // one caller at a time
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<SpawnPlan> plan_;
  std::optional<Result<StartedProcess>> result_;
};

Result<StartedProcess> spawn_lasting(SpawnPlan plan) {
  try {
    return LastingThread::instance().spawn_from_it(std::move(plan));
  } catch (const std::system_error& failure) {
    return errno_error(failure.code().value(), "starting the thread that starts programs");
  }
}

/// Makes a stop request visible to poll().
class StopEvent {
 public:
  explicit StopEvent(std::stop_token stop)
      : event_(stop.stop_possible() ? ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1),
        callback_(std::move(stop), [this] { signal(); }) {}

  int fd() const { return event_.get(); }

 private:
  void signal() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t ignored = ::write(event_.get(), &one, sizeof one);
  }

  Fd event_;
  std::stop_callback<std::function<void()>> callback_;
};

/// Keeps the SIGPIPE of a program that does not read its input from ending us.
class SigpipeBlocked {
 public:
  SigpipeBlocked() {
    ::sigemptyset(&sigpipe_);
    ::sigaddset(&sigpipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }
  SigpipeBlocked(const SigpipeBlocked&) = delete;
  SigpipeBlocked& operator=(const SigpipeBlocked&) = delete;
  ~SigpipeBlocked() {
    const timespec at_once{};
    if (!was_pending_) ::sigtimedwait(&sigpipe_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t sigpipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

int poll_timeout(std::optional<ProcessClock::time_point> until, bool exit_is_polled) {
  milliseconds wait = exit_is_polled ? kLongestPoll : kExitTick;
  if (until) wait = std::min(wait, std::chrono::ceil<milliseconds>(*until - ProcessClock::now()));
  return static_cast<int>(std::max(wait, milliseconds(0)).count());
}

// --- Running to the end

struct OurEnds {
  Fd input, output, errors;
};

Status make_nonblocking(const Fd& fd) {
  if (fd && ::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) return errno_error(errno, "making a pipe non-blocking");
  return {};
}

Result<OurEnds> connect_streams(const Command& command, SpawnPlan& plan) {
  OurEnds ours;
  if (command.stdin_bytes.empty()) {
    STRAKE_TRY(plan.input, open_stream("/dev/null", O_RDONLY));
  } else {
    STRAKE_TRY(Pipe input, make_pipe());
    plan.input = std::move(input.read_end);
    ours.input = std::move(input.write_end);
  }
  if (!command.log_file.empty()) {
    STRAKE_TRY(plan.output, open_stream(command.log_file, O_WRONLY | O_CREAT | O_APPEND));
    STRAKE_TRY(plan.errors, open_stream(command.log_file, O_WRONLY | O_CREAT | O_APPEND));
  } else {
    STRAKE_TRY(Pipe output, make_pipe());
    STRAKE_TRY(Pipe errors, make_pipe());
    plan.output = std::move(output.write_end);
    plan.errors = std::move(errors.write_end);
    ours.output = std::move(output.read_end);
    ours.errors = std::move(errors.read_end);
  }
  for (const Fd* fd : {&ours.input, &ours.output, &ours.errors}) STRAKE_CHECK_OK(make_nonblocking(*fd));
  return ours;
}

/// ": <the end of what it wrote>", or nothing.
std::string quoted_end(const Command& command, const ProcessOutput& output) {
  std::string said = output.stderr_bytes;
  if (!command.log_file.empty()) said = read_file_tail(command.log_file, kQuotedOutputBytes).value_or({});
  if (said.size() > kQuotedOutputBytes) said.erase(0, said.size() - kQuotedOutputBytes);
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ')) said.pop_back();
  return said.empty() ? said : ": " + said;
}

/// Feeds and drains one program until it ends.
class Conversation {
 public:
  Conversation(const Command& command, StartedProcess process, OurEnds ends, std::stop_token stop)
      : command_(command),
        process_(std::move(process)),
        ends_(std::move(ends)),
        stop_(stop),
        stop_event_(std::move(stop)),
        unsent_(command.stdin_bytes) {
    if (command.timeout) timeout_at_ = deadline_after(*command.timeout);
  }

  Result<ProcessOutput> finish() {
    while (!has_ended(process_.pid)) {
      check_limits();
      exchange();
    }
    output_.exit = end_group(process_.pid);
    // A process that left the group may hold the pipes open for ever: take what was in them and no more.
    drain(ends_.output, &Conversation::take_output);
    drain(ends_.errors, &Conversation::take_errors);
    if (!failure_) return std::move(output_);
    return error(failure_->code(), "{}{}", failure_->message(), quoted_end(command_, output_));
  }

 private:
  using Take = void (Conversation::*)(std::string_view);

  const std::string& name() const { return command_.argv.front(); }

  void check_limits() {
    const auto now = ProcessClock::now();
    if (kill_at_) {
      if (now < *kill_at_) return;
      ::kill(-process_.pid, SIGKILL);
      kill_at_.reset();
    } else if (!failure_ && stop_.stop_requested()) {
      fail(error(Code::kCancelled, "program {} was stopped because the work was cancelled", name()));
    } else if (!failure_ && timeout_at_ && now >= *timeout_at_) {
      fail(error(Code::kTimeout, "program {} did not end within {} ms", name(), command_.timeout->count()));
    }
  }

  void fail(Error failure) {
    failure_ = std::move(failure);
    timeout_at_.reset();
    ::kill(-process_.pid, SIGTERM);
    kill_at_ = deadline_after(command_.stop_grace);
  }

  void exchange() {
    std::array<pollfd, 5> waits{
        pollfd{ends_.input.get(), POLLOUT, 0},
        pollfd{ends_.output.get(), POLLIN, 0},
        pollfd{ends_.errors.get(), POLLIN, 0},
        pollfd{process_.exit_event.get(), POLLIN, 0},
        pollfd{failure_ ? -1 : stop_event_.fd(), POLLIN, 0},
    };
    const int timeout = poll_timeout(kill_at_ ? kill_at_ : timeout_at_, process_.exit_event.valid());
    if (::poll(waits.data(), waits.size(), timeout) <= 0) return;
    if (waits[0].revents != 0) send_input();
    if (waits[1].revents != 0) receive(ends_.output, &Conversation::take_output);
    if (waits[2].revents != 0) receive(ends_.errors, &Conversation::take_errors);
  }

  void send_input() {
    const ssize_t count = ::write(ends_.input.get(), unsent_.data(), unsent_.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    // Any other failure means that the program wants no more, which is its right; its exit status says whether all is
    // well.
    if (count >= 0) unsent_.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 || unsent_.empty()) ends_.input.reset();
  }

  /// Returns how many bytes came; closes the pipe at its end.
  std::size_t receive(Fd& fd, Take take) {
    std::array<char, 32 * 1024> buffer;
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return 0;
    if (count <= 0) {
      fd.reset();
      return 0;
    }
    (this->*take)(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
    return static_cast<std::size_t>(count);
  }

  void drain(Fd& fd, Take take) {
    const int capacity = fd ? ::fcntl(fd.get(), F_GETPIPE_SZ) : 0;
    for (std::size_t left = static_cast<std::size_t>(std::max(capacity, 0)); fd && left > 0;) {
      const std::size_t count = receive(fd, take);
      if (count == 0) break;
      left -= std::min(left, count);
    }
  }

  void take_output(std::string_view bytes) {
    if (output_.stdout_bytes.size() + bytes.size() <= command_.stdout_limit_bytes) {
      output_.stdout_bytes += bytes;
    } else if (!failure_) {
      fail(error(Code::kExhausted, "program {} wrote more than the limit of {} bytes", name(),
                 command_.stdout_limit_bytes));
    }
  }

  void take_errors(std::string_view bytes) {
    std::string& kept = output_.stderr_bytes;
    kept += bytes;
    if (kept.size() <= command_.stderr_limit_bytes) return;
    kept.erase(0, kept.size() - command_.stderr_limit_bytes);
    output_.stderr_truncated = true;
  }

  const Command& command_;
  StartedProcess process_;
  OurEnds ends_;
  std::stop_token stop_;
  StopEvent stop_event_;
  std::string_view unsent_;
  ProcessOutput output_;
  std::optional<Error> failure_;
  std::optional<ProcessClock::time_point> timeout_at_;
  std::optional<ProcessClock::time_point> kill_at_;
};

}  // namespace

std::string to_string(const ExitStatus& status) {
  if (status.signal == 0) return fmt::format("exited with status {}", status.exit_code);
  const char* text = ::sigdescr_np(status.signal);
  return fmt::format("was killed by signal {} ({})", status.signal, text != nullptr ? text : "unknown");
}

Result<ProcessOutput> run(const Command& command, std::stop_token stop) {
  STRAKE_TRY(SpawnPlan plan, process::plan_spawn(command));
  if (stop.stop_requested()) {
    return error(Code::kCancelled, "program {} was not started because the work was cancelled", command.argv.front());
  }
  STRAKE_TRY(OurEnds ends, connect_streams(command, plan));
  STRAKE_TRY(StartedProcess process, process::spawn(std::move(plan)));
  const SigpipeBlocked no_sigpipe;
  return Conversation(command, std::move(process), std::move(ends), std::move(stop)).finish();
}

Status check_exit(const Command& command, const ProcessOutput& output) {
  if (output.exit.success()) return {};
  return error(Code::kIo, "program {} {}{}", command.argv.front(), to_string(output.exit), quoted_end(command, output));
}

Result<ProcessOutput> run_checked(const Command& command, std::stop_token stop) {
  STRAKE_TRY(ProcessOutput output, run(command, std::move(stop)));
  STRAKE_CHECK_OK(check_exit(command, output));
  return output;
}

Result<ChildProcess> ChildProcess::start(const Command& command) {
  STRAKE_TRY(SpawnPlan plan, process::plan_spawn(command));
  const std::filesystem::path log = command.log_file.empty() ? "/dev/null" : command.log_file;
  STRAKE_TRY(plan.input, open_stream("/dev/null", O_RDONLY));
  STRAKE_TRY(plan.output, open_stream(log, O_WRONLY | O_CREAT | O_APPEND));
  STRAKE_TRY(plan.errors, open_stream(log, O_WRONLY | O_CREAT | O_APPEND));
  STRAKE_TRY(StartedProcess process, spawn_lasting(std::move(plan)));
  return ChildProcess(process.pid, std::move(process.exit_event));
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), exit_event_(std::move(other.exit_event_)), exit_(other.exit_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this == &other) return *this;
  kill_now();
  pid_ = std::exchange(other.pid_, -1);
  exit_event_ = std::move(other.exit_event_);
  exit_ = other.exit_;
  return *this;
}

ChildProcess::~ChildProcess() { kill_now(); }

bool ChildProcess::alive() { return !wait_exit(milliseconds(0)).has_value(); }

std::optional<ExitStatus> ChildProcess::wait_exit(milliseconds timeout, std::stop_token stop) {
  if (exit_ || pid_ < 0) return exit_;
  const auto until = deadline_after(timeout);
  const StopEvent stop_event(stop);
  for (;;) {
    if (has_ended(pid_)) return reap();
    if (ProcessClock::now() >= until || stop.stop_requested()) return std::nullopt;
    std::array<pollfd, 2> waits{pollfd{exit_event_.get(), POLLIN, 0}, pollfd{stop_event.fd(), POLLIN, 0}};
    ::poll(waits.data(), waits.size(), poll_timeout(until, exit_event_.valid()));
  }
}

ExitStatus ChildProcess::stop(milliseconds grace) {
  if (!exit_ && pid_ >= 0) {
    ::kill(-pid_, SIGTERM);
    wait_exit(grace);
  }
  return kill_now();
}

ExitStatus ChildProcess::kill_now() {
  if (exit_ || pid_ < 0) return exit_.value_or(ExitStatus{});
  return reap();
}

ExitStatus ChildProcess::reap() {
  exit_ = end_group(pid_);
  return *exit_;
}

}  // namespace strake
