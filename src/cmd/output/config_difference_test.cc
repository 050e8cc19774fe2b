#include "cmd/output/config_difference.h"

#include <gtest/gtest.h>

namespace strake::cmd::config_difference_test {

ConfigDifference with_argument(const std::string& argument) {
  ConfigDifference found;
  const json::Value before = json::Object{{"kernelArguments", json::Array{}}};
  const json::Value after = json::Object{{"kernelArguments", json::Array{json::Value(argument)}}};
  found.pools.emplace_back("work|er`<b>", *machineconfig::diff_specs(before, after));
  return found;
}

TEST(ConfigDifference, NothingInItBreaksOutOfTheComment) {
  const std::string markdown = with_argument("a=``````x</details>@everyone").markdown();
  const std::string fence = "\n```````\n";
  const std::size_t opens = markdown.find(fence), closes = markdown.rfind(fence);
  ASSERT_NE(opens, std::string::npos) << markdown;
  EXPECT_LT(opens, closes) << "seven, as six stand in the text";
  EXPECT_EQ(markdown.substr(0, opens).find("everyone"), std::string::npos) << markdown;
  EXPECT_NE(markdown.find("| work?er??b? | reboot | yes | 1 |"), std::string::npos) << markdown;
  EXPECT_EQ(ConfigDifference().markdown(), "No difference in the configuration of nodes.\n");
}

TEST(ConfigDifference, WhatCountsDependsOnWhatIsAskedFor) {
  const ConfigDifference reboot = with_argument("a");
  EXPECT_TRUE(reboot.reaches(FailOn::kAny) && reboot.reaches(FailOn::kDrain) && reboot.reaches(FailOn::kReboot));
  EXPECT_FALSE(reboot.reaches(FailOn::kIrreconcilable));
  ConfigDifference setting;
  setting.set_changes.push_back({"pool a", "maxUnavailable: 1 -> 2", "x", false});
  EXPECT_TRUE(setting.reaches(FailOn::kAny));
  EXPECT_FALSE(setting.reaches(FailOn::kDrain));
  setting.set_changes.front().may_reboot = true;
  EXPECT_TRUE(setting.reaches(FailOn::kReboot));
  EXPECT_FALSE(setting.reaches(FailOn::kIrreconcilable));
}

}  // namespace strake::cmd::config_difference_test
