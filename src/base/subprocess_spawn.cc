#include "base/subprocess_spawn.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

namespace strake::process {
namespace {

constexpr int kFirstFreeDescriptor = 3;

// --- What the child needs, made before the fork

enum class SpawnStep { kStreams, kDirectory, kExecute };

struct SpawnFailure {
  SpawnStep step;
  int errno_value;
};

Result<Fd> above_streams(Fd fd) {
  if (fd.get() >= kFirstFreeDescriptor) return fd;
  Fd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstFreeDescriptor));
  if (!moved) return errno_error(errno, "duplicating a descriptor");
  return moved;
}

Status check_strings(const std::vector<std::string>& items, std::string_view what) {
  for (const std::string& item : items) {
    if (item.find('\0') != std::string::npos) {
      return error(Code::kInvalidArgument, "an {} of the program contains a zero byte", what);
    }
  }
  return {};
}

std::string search_path(const Command& command) {
  constexpr std::string_view name = "PATH=";
  if (command.env) {
    for (const std::string& item : *command.env) {
      if (item.starts_with(name)) return item.substr(name.size());
    }
  }
  const char* inherited = std::getenv("PATH");
  return inherited != nullptr ? inherited : "/usr/local/bin:/usr/bin:/bin";
}

bool is_executable_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

Result<std::string> find_program(const Command& command) {
  const std::string& name = command.argv.front();
  if (name.find('/') != std::string::npos) return name;
  const std::string path = search_path(command);
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find(':', start), path.size());
    // An empty item means the working directory to a shell; here it means nothing, so that no stray file is ever run.
    if (end > start) {
      std::string candidate = path.substr(start, end - start) + "/" + name;
      if (is_executable_file(candidate)) return candidate;
    }
    start = end + 1;
  }
  return error(Code::kNotFound, "program {} is not installed (no such program in PATH {})", name, path);
}

std::vector<char*> null_terminated(const std::vector<std::string>& items) {
  std::vector<char*> pointers;
  pointers.reserve(items.size() + 1);
  // execve() takes its strings as mutable for reasons of history and does not change them.
  for (const std::string& item : items) pointers.push_back(const_cast<char*>(item.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// --- In the child: async-signal-safe calls only

[[noreturn]] void give_up(const SpawnPlan& plan, SpawnStep step) {
  const SpawnFailure failure{step, errno};
  // If even this write fails the parent sees exit status 127, as from a shell.
  [[maybe_unused]] const ssize_t ignored = ::write(plan.report.get(), &failure, sizeof failure);
  ::_exit(127);
}

void forget_descriptors_at_exec(const SpawnPlan& plan) {
  constexpr unsigned close_on_exec = 1U << 2;  // CLOSE_RANGE_CLOEXEC of Linux 5.11
  if (::syscall(SYS_close_range, kFirstFreeDescriptor, ~0U, close_on_exec) == 0) return;
  for (int fd = kFirstFreeDescriptor; fd < plan.descriptor_limit; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/// No handler of ours may run in the child, and programs expect SIGPIPE to end them.
void reset_signal_handlers() {
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction current{};
    if (::sigaction(number, nullptr, &current) != 0) continue;
    const bool ignored = (current.sa_flags & SA_SIGINFO) == 0 && current.sa_handler == SIG_IGN;
    if (!ignored || number == SIGPIPE) ::sigaction(number, &plain, nullptr);
  }
}

[[noreturn]] void become_program(const SpawnPlan& plan) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(127);  // the parent died before the line above could notice
  reset_signal_handlers();
  if (::dup2(plan.input.get(), STDIN_FILENO) < 0 || ::dup2(plan.output.get(), STDOUT_FILENO) < 0 ||
      ::dup2(plan.errors.get(), STDERR_FILENO) < 0) {
    give_up(plan, SpawnStep::kStreams);
  }
  forget_descriptors_at_exec(plan);
  if (!plan.cwd.empty() && ::chdir(plan.cwd.c_str()) != 0) give_up(plan, SpawnStep::kDirectory);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(plan.program.c_str(), plan.argv.data(), plan.envp.data());
  give_up(plan, SpawnStep::kExecute);
}

// --- In the parent

Error spawn_error(const SpawnFailure& failure, const SpawnPlan& plan) {
  switch (failure.step) {
    case SpawnStep::kStreams:
      return errno_error(failure.errno_value, "connecting the streams of program " + plan.program);
    case SpawnStep::kDirectory: return errno_error(failure.errno_value, "entering working directory " + plan.cwd);
    case SpawnStep::kExecute: break;
  }
  if (failure.errno_value == ENOENT) {
    return error(Code::kNotFound, "program {} is not installed (no such file, or the interpreter it names is missing)",
                 plan.program);
  }
  return errno_error(failure.errno_value, "executing program " + plan.program);
}

/// An "ignore" inherited from whoever started us would make the kernel throw exit statuses away.
void keep_exit_statuses() {
  struct sigaction current{};
  if (::sigaction(SIGCHLD, nullptr, &current) != 0 || current.sa_handler != SIG_IGN) return;
  current.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &current, nullptr);
}

}  // namespace

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_error(errno, "creating a pipe");
  Fd first(ends[0]), second(ends[1]);
  STRAKE_TRY(Fd read_end, above_streams(std::move(first)));
  STRAKE_TRY(Fd write_end, above_streams(std::move(second)));
  return Pipe{std::move(read_end), std::move(write_end)};
}

Result<Fd> open_stream(const std::filesystem::path& path, int flags) {
  STRAKE_TRY(Fd fd, open_file(path, flags, 0600));
  return above_streams(std::move(fd));
}

Result<SpawnPlan> plan_spawn(const Command& command) {
  if (command.argv.empty() || command.argv.front().empty()) {
    return error(Code::kInvalidArgument, "no program is named");
  }
  STRAKE_CHECK_OK(check_strings(command.argv, "argument"));
  if (command.env) STRAKE_CHECK_OK(check_strings(*command.env, "environment item"));

  SpawnPlan plan;
  STRAKE_TRY(plan.program, find_program(command));
  plan.argv = null_terminated(command.argv);
  if (command.env) {
    plan.envp = null_terminated(*command.env);
  } else {
    for (char** item = environ; item != nullptr && *item != nullptr; ++item) plan.envp.push_back(*item);
    plan.envp.push_back(nullptr);
  }
  plan.cwd = command.cwd.string();
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  plan.descriptor_limit = static_cast<int>(std::min<rlim_t>(descriptors.rlim_cur, 65536));
  return plan;
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  int outcome;
  do {
    outcome = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  } while (outcome != 0 && errno == EINTR);
  STRAKE_INVARIANT(outcome == 0);  // fails only when somebody else waited for our child
  return info.si_pid == pid;
}

ExitStatus end_group(pid_t pid) {
  // The order matters: once the leader is reaped, its number may belong to strangers.
  ::kill(-pid, SIGKILL);
  int status = 0;
  pid_t outcome;
  do {
    outcome = ::waitpid(pid, &status, 0);
  } while (outcome < 0 && errno == EINTR);
  STRAKE_INVARIANT(outcome == pid);
  if (WIFSIGNALED(status)) return {.exit_code = 0, .signal = WTERMSIG(status)};
  return {.exit_code = WEXITSTATUS(status), .signal = 0};
}

Result<StartedProcess> spawn(SpawnPlan plan) {
  STRAKE_TRY(Pipe report, make_pipe());
  plan.report = std::move(report.write_end);
  keep_exit_statuses();

  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  plan.parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become_program(plan);
  const int fork_errno = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return errno_error(fork_errno, "starting program " + plan.program);

  plan.report.reset();
  plan.input.reset();
  plan.output.reset();
  plan.errors.reset();
  SpawnFailure failure{};
  ssize_t count;
  do {
    count = ::read(report.read_end.get(), &failure, sizeof failure);
  } while (count < 0 && errno == EINTR);
  if (count == static_cast<ssize_t>(sizeof failure)) {
    end_group(pid);
    return spawn_error(failure, plan);
  }
  return StartedProcess{pid, Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))};
}

}  // namespace strake::process
