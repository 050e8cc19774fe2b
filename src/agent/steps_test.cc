#include "agent/steps.h"

#include <gtest/gtest.h>

#include "agent/executor.h"
#include "osbackend/sandbox_backend.h"
#include "osbackend/sandbox_services.h"
#include "osbackend/systemctl_services.h"
#include "osbackend/testing/fake_systemctl.h"

namespace strake::agent::steps_test {

FileState file(std::string contents) { return {FileState::Kind::kFile, 0644, std::move(contents), {}}; }
FileState folder() { return {FileState::Kind::kDirectory, 0755, "", {}}; }

/// Only files and links: what a config speaks of.
std::map<std::string, std::string> files_in(const MemoryTree& tree) {
  std::map<std::string, std::string> files;
  for (const auto& [path, state] : tree.snapshot()) {
    if (state.kind != FileState::Kind::kDirectory) files[path] = state.contents;
  }
  return files;
}

struct TreeCase {
  const char* name;
  std::map<std::string, std::string> there;
  FileStates want;
  std::map<std::string, std::string> after;
};

/// Every case goes forward, is repeated (nothing is left to do) and is put back exactly.
TEST(AgentSteps, GoForwardAndBack) {
  const std::vector<TreeCase> cases = {
      {"new file in new folders",
       {{"/etc/x", "1"}},
       {{"/opt/a/b/c", file("2")}},
       {{"/etc/x", "1"}, {"/opt/a/b/c", "2"}}},
      {"changed and removed",
       {{"/etc/x", "1"}, {"/etc/y", "1"}},
       {{"/etc/x", file("2")}, {"/etc/y", {}}},
       {{"/etc/x", "2"}}},
      {"a file becomes a folder", {{"/etc/x", "1"}}, {{"/etc/x", {}}, {"/etc/x/y", file("2")}}, {{"/etc/x/y", "2"}}},
      {"a folder becomes a file",
       {{"/etc/x/y/z", "1"}},
       {{"/etc/x", file("2")}, {"/etc/x/y/z", {}}},
       {{"/etc/x", "2"}}},
      {"a link becomes a file",
       {},
       {{"/etc/l", FileState{FileState::Kind::kLink, 0777, "/dev/null", {}}}},
       {{"/etc/l", "/dev/null"}}},
      {"nothing to do", {{"/etc/x", "1"}}, {{"/etc/x", file("1")}, {"/etc/z", {}}}, {{"/etc/x", "1"}}},
  };
  for (const TreeCase& each : cases) {
    MemoryTree tree;
    osbackend::SandboxBackend os(tree);
    osbackend::SandboxServices services(tree);
    Executor executor(tree, os, services);
    for (const auto& [path, contents] : each.there) ASSERT_TRUE(tree.write(path, contents, 0644, {}).ok());
    const auto snapshot = tree.snapshot();
    const FileStates have = *executor.look_at(each.want);
    const auto steps = file_steps(have, each.want);
    ASSERT_TRUE(steps.ok()) << each.name << ": " << steps.error().to_string();
    FileStates before;
    for (const std::string& path : changed_paths(*steps)) before[path] = have.at(path);
    for (const Step& step : *steps) {
      const Status done = executor.run(step, {});
      ASSERT_TRUE(done.ok()) << each.name << ": " << done.error().to_string();
    }
    EXPECT_EQ(files_in(tree), each.after) << each.name;
    EXPECT_TRUE(file_steps(*executor.look_at(each.want), each.want)->empty()) << each.name;
    const std::vector<Step> back = *file_steps(*executor.look_at(before), before);
    for (const Step& step : back) ASSERT_TRUE(executor.run(step, {}).ok());
    EXPECT_EQ(tree.snapshot(), snapshot) << each.name;
  }
}

TEST(AgentSteps, AForeignFileWhereAFolderIsNeededIsNamed) {
  const FileStates have{{"/etc", folder()}, {"/etc/x", file("somebody's")}, {"/etc/x/y", std::nullopt}};
  const auto steps = file_steps(have, {{"/etc/x/y", file("1")}});
  ASSERT_FALSE(steps.ok());
  EXPECT_EQ(steps.error().message(),
            "/etc/x/y cannot be written: /etc/x is a file, and a folder is needed there; move it away");
}

TEST(AgentSteps, AConfigAtOddsWithItselfIsNamed) {
  const FileStates want{{"/etc/x", file("1")}, {"/etc/x/y", file("1")}};
  const auto steps = file_steps({{"/etc", folder()}}, want);
  ASSERT_FALSE(steps.ok());
  EXPECT_NE(steps.error().message().find("/etc/x and another one below it, /etc/x/y"), std::string::npos);
}

TEST(AgentSteps, AFolderThatOthersUseIsLeft) {
  MemoryTree tree;
  osbackend::SandboxBackend os(tree);
  osbackend::SandboxServices services(tree);
  ASSERT_TRUE(tree.write("/opt/a/somebody", "1", 0644, {}).ok());
  Executor executor(tree, os, services);
  ASSERT_TRUE(executor.run(RemoveFolder{"/opt/a", true}, {}).ok());
  EXPECT_FALSE(executor.run(RemoveFolder{"/opt/a", false}, {}).ok());
  EXPECT_TRUE(tree.read("/opt/a/somebody")->has_value());
}

TEST(AgentSteps, AServiceThatAcceptsAndThenFailsIsAFailure) {
  MemoryTree tree;
  osbackend::SandboxBackend os(tree);
  strake::testing::ScriptedPrograms programs;
  osbackend::testing::FakeSystemctl machine;
  machine.units = {{"a.service", "active"}, {"b.service", "active"}};
  machine.install_in(programs);
  osbackend::SystemctlServices services(programs);
  Executor executor(tree, os, services);
  EXPECT_TRUE(executor.run(TellService{TellService::What::kReadUnits}, {}).ok());
  EXPECT_TRUE(executor.run(TellService{TellService::What::kReload, "a.service"}, {}).ok());
  EXPECT_TRUE(executor.run(TellService{TellService::What::kRestart, "a.service"}, {}).ok());
  EXPECT_EQ(machine.units_read + machine.reloads["a.service"] + machine.starts["a.service"], 3);
  programs.install("systemctl", [](const Command& command) {
    const bool asks = std::find(command.argv.begin(), command.argv.end(), "is-active") != command.argv.end();
    return asks ? strake::testing::exits(3, "failed\n") : strake::testing::exits(0);
  });
  const Status failed = executor.run(TellService{TellService::What::kRestart, "b.service"}, {});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(
      failed.error().to_string(),
      "restart b.service: b.service failed after it was told so; on the machine 'journalctl -u b.service' says why");
}

TEST(AgentSteps, TextNeverShowsContents) {
  EXPECT_EQ(to_string(WriteFile{"/etc/key", "secret", 0600, {}}), "write /etc/key (0600, 6 bytes)");
}

}  // namespace strake::agent::steps_test
