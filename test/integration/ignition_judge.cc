#include "integration/ignition_judge.h"

#include <cstdio>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/subprocess.h"
#include "ignition/schema.h"

namespace strake::test {

namespace {

using namespace std::chrono_literals;

void collect_members(const ignition::StructSchema& schema, int minor, const std::string& around,
                     std::set<std::string>& members) {
  for (const ignition::Member& member : schema.members) {
    if (member.since_minor > minor) continue;
    const std::string path = around + std::string(member.name);
    members.insert(path);
    if (member.element != nullptr) collect_members(*member.element, minor, path + ".", members);
  }
}

}  // namespace

std::vector<json::Value> judge(const std::vector<std::string>& argv, const std::vector<std::string>& texts) {
  Command command;
  command.argv = argv;
  for (const std::string& text : texts) command.stdin_bytes += fmt::format("{}\n{}", text.size(), text);
  command.timeout = 120s;
  command.stdout_limit_bytes = std::size_t{256} << 20;
  const auto output = run_checked(command);
  EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
  std::vector<json::Value> verdicts;
  if (!output.ok()) return verdicts;
  const std::string_view lines = output->stdout_bytes;
  for (std::size_t start = 0; start < lines.size();) {
    const std::size_t end = lines.find('\n', start);
    verdicts.push_back(*json::parse(lines.substr(start, end - start)));
    start = end + 1;
  }
  return verdicts;
}

bool program_accepts(const std::filesystem::path& program, const std::string& config) {
  Command command;
  command.argv = {program.string(), "-"};
  command.stdin_bytes = config;
  command.timeout = 30s;
  const auto output = run(command);
  EXPECT_TRUE(output.ok());
  return output.ok() && output->exit.success();
}

std::set<std::string> members_of(ignition::SpecVersion version) {
  std::set<std::string> members;
  collect_members(ignition::config_schema(version), version.minor, "", members);
  return members;
}

void expect_agreement(ignition::SpecVersion version, int valid, int disagreements,
                      const std::map<std::string, int>& seen_members) {
  const std::set<std::string> members = members_of(version);
  for (const std::string& member : members) {
    EXPECT_TRUE(seen_members.contains(member)) << to_string(version) << " never had " << member;
  }
  std::printf("ignition %s: %d configs, %d valid, %d broken, all %zu members, %d disagreements\n",
              to_string(version).c_str(), kConfigsPerVersion, valid, kConfigsPerVersion - valid, members.size(),
              disagreements);
  EXPECT_EQ(disagreements, 0);
  EXPECT_GT(valid, kConfigsPerVersion / 10);
}

void expect_every_message(const std::set<std::string>& all, std::map<std::string, int> provoked) {
  for (const std::string& message : all) EXPECT_GT(provoked[message], 0) << "never provoked: " << message;
  for (const auto& [message, count] : provoked) std::printf("%6d  %s\n", count, message.c_str());
}

}  // namespace strake::test
