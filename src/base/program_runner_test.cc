#include "base/program_runner.h"

#include <gtest/gtest.h>

#include "base/testing/scripted_programs.h"

namespace strake::program_runner_test {

using namespace std::chrono_literals;

Command command(std::vector<std::string> argv) {
  Command made;
  made.argv = std::move(argv);
  return made;
}

TEST(ProgramRunner, RunsTheMachinesPrograms) {
  runtime::ThreadRuntime runtime;
  SystemPrograms programs(runtime);
  Command cat = command({"cat"});
  cat.stdin_bytes = "through";
  EXPECT_EQ(*programs.output_of(cat, {}), "through");
  const auto failed = programs.run(command({"sh", "-c", "echo no >&2; exit 3"}), {});
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ(failed->exit.exit_code, 3);
  const auto checked = programs.output_of(command({"sh", "-c", "echo no >&2; exit 3"}), {});
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message().find("no"), std::string::npos);
}

TEST(ProgramRunner, ADeadlineEndsTheProgramAndOneThatPassedStartsNone) {
  runtime::ThreadRuntime runtime;
  SystemPrograms programs(runtime);
  const auto late = programs.run(command({"sleep", "600"}), runtime.call_within(50ms));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code(), Code::kTimeout);
  const auto too_late = programs.run(command({"no-such-program"}), runtime.call_within(-1s));
  ASSERT_FALSE(too_late.ok());
  EXPECT_EQ(too_late.error().code(), Code::kTimeout);
}

TEST(ProgramRunner, AScriptedProgramHasAState) {
  testing::ScriptedPrograms programs;
  int calls = 0;
  programs.install("count", [&](const Command&) { return testing::exits(0, std::to_string(++calls)); });
  EXPECT_EQ(*programs.output_of(command({"count"}), {}), "1");
  EXPECT_EQ(*programs.output_of(command({"count", "again"}), {}), "2");
  EXPECT_EQ(programs.lines(), (std::vector<std::string>{"count", "count again"}));
  EXPECT_EQ(programs.run(command({"absent"}), {}).error().code(), Code::kNotFound);
}

}  // namespace strake::program_runner_test
