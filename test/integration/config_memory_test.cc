// How much memory verbs take for a large input: a multiple of it that is known, not whatever it comes to.
#include <sys/resource.h>

#include <fstream>

#include <gtest/gtest.h>

#include "support/strake_command.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

constexpr std::size_t kConfigs = 24;
constexpr std::size_t kContentBytes = 1'000'000;
constexpr std::size_t kMebibyte = 1024 * 1024;

/// The most any child of this process had in memory so far. Every child here is one of the verbs below.
std::size_t peak_of_children() {
  rusage usage{};
  EXPECT_EQ(getrusage(RUSAGE_CHILDREN, &usage), 0);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

TEST(ConfigMemory, ALargeInputIsNotHeldThreeTimes) {
  const TempDir folder;
  {
    std::ofstream file(folder / "large.yaml");
    for (std::size_t i = 0; i < kConfigs; ++i) {
      file << fmt::format(
          "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\n"
          "metadata: {{name: 50-large-{0}, labels: {{machineconfiguration.openshift.io/role: worker}}}}\n"
          "spec: {{config: {{ignition: {{version: 3.2.0}}, storage: {{files: [{{path: /etc/{0}, mode: 420, "
          "contents: {{source: \"data:,{1}\"}}}}]}}}}}}\n",
          i, std::string(kContentBytes, 'a'));
    }
  }
  const std::string input = (folder / "large.yaml").string();
  constexpr std::size_t kAllowed = 3 * kConfigs * kContentBytes + 16 * kMebibyte;
  const std::vector<std::vector<std::string>> verbs = {
      {"render", "-f", input, "--no-size-limit", "-o", "name"},
      {"render", "-f", input, "--no-size-limit", "-o", "json"},
      {"explain", "worker", "/etc/3", "-f", input},
      {"config", "lint", "-f", input},
  };
  for (const std::vector<std::string>& verb : verbs) {
    Command command = strake_command(verb);
    command.log_file = folder / "printed";
    const auto output = run(command);
    ASSERT_TRUE(output.ok()) << output.error().to_string();
    EXPECT_LE(output->exit.exit_code, 2) << fmt::format("{}", fmt::join(verb, " "));
    EXPECT_LT(peak_of_children(), kAllowed) << fmt::format("{}", fmt::join(verb, " "));
  }
}

}  // namespace
}  // namespace strake::test
