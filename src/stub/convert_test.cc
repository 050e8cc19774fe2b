#include "stub/convert.h"

#include <gtest/gtest.h>

#include "codec/json.h"
#include "ignition/config.h"

namespace strake::stub::convert_test {

constexpr ignition::SpecVersion k3_1{3, 1};

TEST(ConvertStub, TheInstallersStubWithTheLeastChange) {
  const std::string before =
      R"({"ignition":{"config":{"append":[{"source":"https://api-int.example:22623/config/worker","verification":{}}]},)"
      R"("security":{"tls":{"certificateAuthorities":[{"source":"data:text/plain;charset=utf-8;base64,Q0E=","verification":{}}]}},)"
      R"("timeouts":{},"version":"2.2.0"},"networkd":{},"passwd":{},"storage":{},"systemd":{}})";
  const auto after = convert_stub(before, k3_1);
  ASSERT_TRUE(after.ok()) << after.error().to_string();
  EXPECT_TRUE(after->changed);
  EXPECT_EQ(
      after->text,
      R"({"ignition":{"config":{"merge":[{"source":"https://api-int.example:22623/config/worker","verification":{}}]},)"
      R"("security":{"tls":{"certificateAuthorities":[{"source":"data:text/plain;charset=utf-8;base64,Q0E=","verification":{}}]}},)"
      R"("timeouts":{},"version":"3.1.0"},"passwd":{},"storage":{},"systemd":{}})");
  const auto again = convert_stub(after->text, k3_1);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->changed);
  EXPECT_EQ(again->text, after->text);
}

TEST(ConvertStub, WhatIsNewEnoughStaysToTheByte) {
  for (const char* text : {R"( {"ignition": {"version":"3.1.0"}} )", R"({"ignition":{"version":"3.5.0"},"x":1})"}) {
    const auto after = convert_stub(text, k3_1);
    ASSERT_TRUE(after.ok()) << after.error().to_string();
    EXPECT_FALSE(after->changed);
    EXPECT_EQ(after->text, text);
  }
}

TEST(ConvertStub, AWholeConfigIsConvertedAsAWhole) {
  const auto after = convert_stub(
      R"({"ignition":{"version":"2.2.0","config":{"append":[{"source":"https://h:22623/config/worker"}]}},)"
      R"("storage":{"files":[{"filesystem":"root","path":"/etc/a","mode":420,"contents":{"source":"data:,1"}}]},)"
      R"("systemd":{"units":[{"name":"a.service","enable":true,"contents":"[Service]\nExecStart=/bin/true\n"}]}})",
      k3_1);
  ASSERT_TRUE(after.ok()) << after.error().to_string();
  const json::Value config = *json::parse(after->text);
  EXPECT_EQ(json::find_string(config, {"ignition", "version"}), "3.1.0");
  EXPECT_EQ(json::find_string(json::find(config, {"storage", "files"})->as_array()[0], {"path"}), "/etc/a");
  EXPECT_EQ(json::find(json::find(config, {"storage", "files"})->as_array()[0], {"filesystem"}), nullptr);
  EXPECT_EQ(json::find_bool(json::find(config, {"systemd", "units"})->as_array()[0], {"enabled"}), true);
}

TEST(ConvertStub, WhatCannotBeKeptIsRefusedByName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"ignition":{"version":"2.2.0"},"networkd":{"units":[{"name":"a.network","contents":"[Match]\n"}]}})",
       "networkd"},
      {R"({"ignition":{"version":"2.2.0"},"storage":{"files":[{"filesystem":"data","path":"/a","contents":{}}]}})",
       "filesystem"},
      {R"({"ignition":{"version":"2.2.0","config":{"append":[{"source":"oem:///a"}]}}})", "url scheme"},
      {"no config", "Ignition"},
  };
  for (const auto& [text, named] : cases) {
    const auto after = convert_stub(text, k3_1);
    ASSERT_FALSE(after.ok()) << text << " became " << after->text;
    EXPECT_NE(after.error().to_string().find(named), std::string::npos) << after.error().to_string();
  }
}

}  // namespace strake::stub::convert_test
