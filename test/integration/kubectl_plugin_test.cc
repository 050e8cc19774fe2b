// `kubectl strake`: the real kubectl finds the program as its plugin.
#include <gtest/gtest.h>

#include <filesystem>

#include "codec/json.h"
#include "support/places.h"
#include "support/servers.h"

namespace strake::test {
namespace {

TEST(KubectlPlugin, KubectlRunsTheProgram) {
  const auto programs = kube_programs();
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  const std::filesystem::path plugin = strake_program().parent_path() / "kubectl-strake";
  ASSERT_TRUE(std::filesystem::exists(plugin)) << plugin;
  Command command;
  command.argv = {(*programs / "kubectl").string(), "strake", "version", "-o", "json"};
  command.env = {"PATH=" + plugin.parent_path().string() + ":/usr/bin:/bin", "HOME=/nonexistent"};
  const auto output = run_checked(command);
  ASSERT_TRUE(output.ok()) << output.error().to_string();
  const auto version = json::parse(output->stdout_bytes);
  ASSERT_TRUE(version.ok()) << output->stdout_bytes;
  EXPECT_TRUE(json::find_string(*version, {"client", "version"}).has_value());
  command.argv = {(*programs / "kubectl").string(), "plugin", "list", "--name-only"};
  EXPECT_EQ(run(command)->stdout_bytes.find("kubectl-strake") == std::string::npos, false);
}

}  // namespace
}  // namespace strake::test
