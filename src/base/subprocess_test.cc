#include "base/subprocess.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <charconv>

#include "base/runtime.h"
#include "support/temp_dir.h"

// How a test here knows that a process it cannot wait for is gone: the process holds the writing end of a named pipe,
// and the test reads that pipe to its end. A survivor keeps the pipe open, and the test runs into its timeout.
namespace strake::subprocess_test {

using namespace std::chrono_literals;

constexpr std::size_t kPlentyBytes = 1 << 20;

Command shell(std::string script, std::vector<std::string> arguments = {}) {
  std::vector<std::string> argv{"sh", "-c", std::move(script), "sh"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  Command command;
  command.argv = std::move(argv);
  return command;
}

Command program(std::vector<std::string> argv) {
  Command command;
  command.argv = std::move(argv);
  return command;
}

std::string make_fifo(const std::filesystem::path& path) {
  EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
  return path.string();
}

/// Waits for a writer, then for its first line.
std::string read_line(const Fd& fifo) {
  std::string line;
  for (char next = 0; ::read(fifo.get(), &next, 1) == 1 && next != '\n';) line += next;
  return line;
}

bool reads_to_end(const Fd& fifo) {
  char byte = 0;
  return ::read(fifo.get(), &byte, 1) == 0;
}

TEST(Run, FeedsAndCapturesMoreThanAPipeHolds) {
  Command command = program({"cat"});
  command.stdin_bytes.assign(3'000'000, 'x');
  command.stdin_bytes += "the end";
  const auto output = run(command);
  ASSERT_TRUE(output.ok()) << output.error().to_string();
  EXPECT_TRUE(output->exit.success());
  EXPECT_EQ(output->stdout_bytes, command.stdin_bytes);
  EXPECT_EQ(output->stderr_bytes, "");
}

TEST(Run, AProgramMayLeaveItsInputUnread) {
  Command command = program({"true"});
  command.stdin_bytes.assign(3'000'000, 'x');
  const auto output = run(command);
  ASSERT_TRUE(output.ok()) << output.error().to_string();
  EXPECT_TRUE(output->exit.success());
}

TEST(Run, WithoutInputTheProgramReadsNothing) { EXPECT_EQ(run(program({"cat"})).value().stdout_bytes, ""); }

TEST(Run, ReportsEveryEndOfTheProgramAsItIs) {
  struct Case {
    const char* name;
    const char* script;
    ExitStatus exit;
    const char* text;
  };
  for (const Case& item : {
           Case{"success", "exit 0", {0, 0}, "exited with status 0"},
           Case{"status", "exit 3", {3, 0}, "exited with status 3"},
           Case{"signal", "kill -9 $$", {0, SIGKILL}, "was killed by signal 9 (Killed)"},
       }) {
    const auto output = run(shell(item.script));
    ASSERT_TRUE(output.ok()) << item.name;
    EXPECT_EQ(output->exit, item.exit) << item.name;
    EXPECT_EQ(to_string(output->exit), item.text) << item.name;
  }
}

TEST(RunChecked, AFailureQuotesStderr) {
  const auto failed = run_checked(shell("echo an answer; echo the reason >&2; exit 7"));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), Code::kIo);
  EXPECT_EQ(failed.error().to_string(), "program sh exited with status 7: the reason");
  EXPECT_EQ(run_checked(program({"false"})).error().to_string(), "program false exited with status 1");
  EXPECT_EQ(run_checked(shell("echo an answer")).value().stdout_bytes, "an answer\n");
}

TEST(Run, NamesTheProgramThatIsNotInstalled) {
  for (const char* name : {"strake-no-such-program", "/nonexistent/program"}) {
    const auto output = run(program({name}));
    ASSERT_FALSE(output.ok()) << name;
    EXPECT_EQ(output.error().code(), Code::kNotFound) << name;
    EXPECT_NE(output.error().to_string().find(std::string("program ") + name + " is not installed"), std::string::npos)
        << output.error().to_string();
  }
}

TEST(Run, RefusesWhatCannotBeAProgram) {
  EXPECT_EQ(run(Command{}).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(run(program({""})).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(run(program({"echo", std::string("a\0b", 3)})).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(run(program({"/dev/null"})).error().code(), Code::kDenied);
}

TEST(Run, ArgumentsReachTheProgramUntouched) {
  const auto output = run(program({"printf", "%s|", "a b", "$HOME", "", "'\"", "*"}));
  EXPECT_EQ(output.value().stdout_bytes, "a b|$HOME||'\"|*|");
}

TEST(Run, TheEnvironmentIsTheGivenListOrOurs) {
  ::setenv("STRAKE_SUBPROCESS_TEST", "inherited", 1);
  Command command = program({"env"});
  EXPECT_NE(run(command).value().stdout_bytes.find("STRAKE_SUBPROCESS_TEST=inherited\n"), std::string::npos);
  command.env = {"PATH=/usr/bin:/bin", "ONLY=this"};
  EXPECT_EQ(run(command).value().stdout_bytes, "PATH=/usr/bin:/bin\nONLY=this\n");
}

TEST(Run, AProgramIsLookedUpInThePathItWillSee) {
  test::TempDir dir;
  ASSERT_TRUE(write_file_atomic(dir / "greet", "#!/bin/sh\necho hello\n", 0755).ok());
  ASSERT_TRUE(write_file_atomic(dir / "plain", "not executable", 0644).ok());
  Command command = program({"greet"});
  command.env = {"PATH=/nonexistent::" + dir.path().string()};
  EXPECT_EQ(run(command).value().stdout_bytes, "hello\n");
  command.argv = {"plain"};
  EXPECT_EQ(run(command).error().code(), Code::kNotFound);
}

TEST(Run, WorksInTheGivenDirectory) {
  test::TempDir dir;
  Command command = program({"pwd"});
  command.cwd = dir.path();
  EXPECT_EQ(run(command).value().stdout_bytes, std::filesystem::canonical(dir.path()).string() + "\n");
  command.cwd = dir / "absent";
  const auto refused = run(command);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kNotFound);
  EXPECT_NE(refused.error().to_string().find((dir / "absent").string()), std::string::npos);
}

TEST(Run, InheritsNoDescriptorAndNoSignalSetting) {
  const Fd leaked(::fcntl(open_file("/dev/null", O_RDONLY).value().get(), F_DUPFD, 50));  // without close-on-exec
  ASSERT_TRUE(leaked.valid());
  ::signal(SIGPIPE, SIG_IGN);
  const auto descriptors = run(program({"ls", "/proc/self/fd"}));
  const auto signals = run(program({"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}));
  ::signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(descriptors.value().stdout_bytes, "0\n1\n2\n3\n");  // 3 is the folder that ls reads
  EXPECT_EQ(signals.value().stdout_bytes, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(Run, TooMuchOutputEndsTheProgram) {
  Command command = program({"yes"});
  command.stdout_limit_bytes = 100'000;
  const auto output = run(command);
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().code(), Code::kExhausted);
  EXPECT_EQ(output.error().to_string(), "program yes wrote more than the limit of 100000 bytes");

  command.argv = {"head", "-c", "100000", "/dev/zero"};
  EXPECT_EQ(run(command).value().stdout_bytes.size(), 100'000u);
}

TEST(Run, KeepsTheEndOfStderr) {
  Command command = shell("head -c 300000 /dev/zero >&2; echo the end >&2");
  command.stderr_limit_bytes = 1000;
  const auto output = run(command);
  ASSERT_TRUE(output.ok());
  EXPECT_TRUE(output->stderr_truncated);
  EXPECT_EQ(output->stderr_bytes.size(), 1000u);
  EXPECT_TRUE(output->stderr_bytes.ends_with("the end\n"));
}

TEST(Run, ATimeoutEndsTheProgramAndQuotesIt) {
  Command command = shell("echo stuck >&2; exec sleep 1000");
  command.timeout = 300ms;
  const auto output = run(command);
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().code(), Code::kTimeout);
  EXPECT_EQ(output.error().to_string().find("program sh did not end within 300 ms"), 0u);
}

TEST(Run, AProgramThatIgnoresTerminationIsKilled) {
  test::TempDir dir;
  Command command = shell("trap '' TERM; while :; do sleep 1; done");
  command.timeout = 200ms;
  command.stop_grace = 50ms;
  EXPECT_EQ(run(command).error().code(), Code::kTimeout);
}

TEST(Run, CancellationEndsARunningProgram) {
  test::TempDir dir;
  const std::string fifo = make_fifo(dir / "running");
  runtime::ThreadRuntime runtime;
  Code ended = Code::kInternal;
  auto task = runtime.spawn("runner", [&](std::stop_token stop) {
    ended = run(shell("exec 3>\"$1\"; echo up >&3; exec sleep 1000", {fifo}), stop).error().code();
  });
  const Fd running = open_file(fifo, O_RDONLY).value();
  EXPECT_EQ(read_line(running), "up");
  task.stop_and_join();
  EXPECT_EQ(ended, Code::kCancelled);
  EXPECT_TRUE(reads_to_end(running));
}

TEST(Run, StartsNothingWhenAlreadyCancelled) {
  test::TempDir dir;
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(run(program({"touch", (dir / "started").string()}), source.get_token()).error().code(), Code::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(dir / "started"));
}

TEST(Run, EndsWithTheProgramAndKillsWhatItLeftBehind) {
  test::TempDir dir;
  const std::string fifo = make_fifo(dir / "left-behind");
  const Fd left_behind = open_file(fifo, O_RDONLY | O_NONBLOCK).value();
  const auto output = run(shell("exec 3>\"$1\"; sleep 1000 & echo answer", {fifo}));
  EXPECT_EQ(output.value().stdout_bytes, "answer\n");
  ASSERT_EQ(::fcntl(left_behind.get(), F_SETFL, 0), 0);
  EXPECT_TRUE(reads_to_end(left_behind));
}

TEST(Run, ADaemonThatKeepsThePipesOpenDoesNotHoldUsUp) {
  const auto output = run(shell("setsid sleep 1000 & echo $!"));
  ASSERT_TRUE(output.ok()) << output.error().to_string();
  pid_t daemon = 0;
  std::from_chars(output->stdout_bytes.data(), output->stdout_bytes.data() + output->stdout_bytes.size(), daemon);
  ASSERT_GT(daemon, 1);
  ::kill(daemon, SIGKILL);
}

TEST(Run, ALogFileTakesBothStreamsAndIsQuoted) {
  test::TempDir dir;
  Command command = shell("echo out; echo err >&2; exit 1");
  command.log_file = dir / "log";
  EXPECT_EQ(run(command).value().stdout_bytes, "");
  EXPECT_EQ(run_checked(command).error().to_string(), "program sh exited with status 1: out\nerr\nout\nerr");
  EXPECT_EQ(read_file(dir / "log", kPlentyBytes).value(), "out\nerr\nout\nerr\n");
}

TEST(ChildProcess, RunsBesideUsUntilStopped) {
  test::TempDir dir;
  Command command =
      shell("trap 'echo bye; exit 5' TERM; echo up > \"$1\"; while :; do sleep 0.02; done", {make_fifo(dir / "up")});
  command.log_file = dir / "log";
  auto child = ChildProcess::start(command);
  ASSERT_TRUE(child.ok()) << child.error().to_string();
  EXPECT_EQ(read_line(open_file(dir / "up", O_RDONLY).value()), "up");
  EXPECT_TRUE(child->alive());
  EXPECT_EQ(child->wait_exit(1ms), std::nullopt);
  EXPECT_EQ(child->stop(1min), (ExitStatus{5, 0}));
  EXPECT_FALSE(child->alive());
  EXPECT_EQ(child->kill_now(), (ExitStatus{5, 0})) << "the first end is remembered";
  EXPECT_TRUE(read_file(dir / "log", kPlentyBytes).value().ends_with("bye\n"));
}

TEST(ChildProcess, WaitingEndsWithTheProgramOrTheRequestToStop) {
  auto child = ChildProcess::start(shell("exit 4"));
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child->wait_exit(1h), (ExitStatus{4, 0}));

  auto lasting = ChildProcess::start(program({"sleep", "1000"}));
  ASSERT_TRUE(lasting.ok());
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(lasting->wait_exit(1h, source.get_token()), std::nullopt);
  EXPECT_TRUE(lasting->alive());
}

TEST(ChildProcess, KillingItKillsItsWholeGroup) {
  test::TempDir dir;
  const std::string fifo = make_fifo(dir / "alive");
  auto child = ChildProcess::start(shell("exec 3>\"$1\"; sleep 1000 & echo up >&3; wait", {fifo}));
  ASSERT_TRUE(child.ok());
  const Fd alive = open_file(fifo, O_RDONLY).value();
  EXPECT_EQ(read_line(alive), "up");
  EXPECT_EQ(child->kill_now(), (ExitStatus{0, SIGKILL}));
  EXPECT_TRUE(reads_to_end(alive));
}

TEST(ChildProcess, DestructionAndAssignmentKill) {
  test::TempDir dir;
  const std::string fifo = make_fifo(dir / "alive");
  const auto start = [&] { return ChildProcess::start(shell("exec 3>\"$1\"; echo up >&3; exec sleep 1000", {fifo})); };
  Fd alive;
  {
    auto child = start();
    ASSERT_TRUE(child.ok());
    alive = open_file(fifo, O_RDONLY).value();
    EXPECT_EQ(read_line(alive), "up");
    *child = ChildProcess::start(program({"true"})).value();
    EXPECT_TRUE(reads_to_end(alive));
    *child = start().value();
    alive = open_file(fifo, O_RDONLY).value();
    EXPECT_EQ(read_line(alive), "up");
  }
  EXPECT_TRUE(reads_to_end(alive));
}

TEST(ChildProcess, OutlivesTheThreadThatStartedIt) {
  runtime::ThreadRuntime runtime;
  std::optional<ChildProcess> child;
  runtime.spawn("starter", [&](std::stop_token) { child = ChildProcess::start(program({"sleep", "1000"})).value(); })
      .join();
  ASSERT_TRUE(child.has_value());
  EXPECT_EQ(child->wait_exit(200ms), std::nullopt);
}

TEST(ChildProcess, NamesTheProgramThatIsNotInstalled) {
  const auto child = ChildProcess::start(program({"strake-no-such-program"}));
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.error().code(), Code::kNotFound);
}

// The other half of the test below, run in a process of its own: it dies without ending its child.
TEST(ChildProcess, DISABLED_DiesBesideItsChild) {
  const char* alive = ::getenv("STRAKE_TEST_ALIVE");
  const char* ready = ::getenv("STRAKE_TEST_READY");
  ASSERT_TRUE(alive != nullptr && ready != nullptr);
  const auto child = ChildProcess::start(shell("exec 3>\"$1\"; echo up > \"$2\"; exec sleep 1000", {alive, ready}));
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(read_line(open_file(ready, O_RDONLY).value()), "up");
  ::kill(::getpid(), SIGKILL);
}

TEST(ChildProcess, DiesWithUs) {
  test::TempDir dir;
  const std::string fifo = make_fifo(dir / "alive");
  const Fd alive = open_file(fifo, O_RDONLY | O_NONBLOCK).value();
  Command command = program(
      {"/proc/self/exe", "--gtest_also_run_disabled_tests", "--gtest_filter=ChildProcess.DISABLED_DiesBesideItsChild"});
  command.env = {"PATH=/usr/bin:/bin", "STRAKE_TEST_ALIVE=" + fifo, "STRAKE_TEST_READY=" + make_fifo(dir / "ready")};
  const auto output = run(command);
  ASSERT_TRUE(output.ok()) << output.error().to_string();
  ASSERT_EQ(output->exit, (ExitStatus{0, SIGKILL})) << output->stdout_bytes;
  ASSERT_EQ(::fcntl(alive.get(), F_SETFL, 0), 0);
  EXPECT_TRUE(reads_to_end(alive));
}

}  // namespace strake::subprocess_test
