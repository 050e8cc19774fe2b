#include <gtest/gtest.h>

#include "ignition/config.h"
#include "ignition/translate.h"

namespace strake::ignition::convert_test {

json::Value value_of(std::string_view text) { return *json::parse(text); }

TEST(IgnitionConvert, UpAndDownKeepsWhatBothSpecsKnow) {
  const json::Value config = value_of(
      R"({"ignition":{"version":"3.1.0"},"storage":{"files":[{"path":"/a","mode":420}],"filesystems":[{"device":"/dev/x","format":"xfs","mountOptions":["ro"]}]}})");
  for (int minor = 1; minor <= kLatestVersion.minor; ++minor) {
    const auto up = convert(config, {3, minor});
    ASSERT_TRUE(up.ok()) << up.error().to_string();
    EXPECT_EQ(json::find_string(*up, {"ignition", "version"}), to_string(SpecVersion{3, minor}));
    const auto down = convert(*up, {3, 1});
    ASSERT_TRUE(down.ok()) << down.error().to_string();
    EXPECT_EQ(*down, config);
  }
}

TEST(IgnitionConvert, RefusesByNameWhatTheTargetCannotExpress) {
  struct Case {
    std::string_view config;
    SpecVersion to;
    std::string_view refusal;
  };
  const Case cases[] = {
      {R"({"ignition":{"version":"3.5.0"},"storage":{"luks":[{"name":"l","device":"/dev/x","cex":{"enabled":true}}]}})",
       {3, 4},
       "spec 3.4.0 cannot express: storage.luks[0].cex: no such member"},
      {R"({"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a","mode":2541}],"directories":[{"path":"/b","mode":1023}]}})",
       {3, 3},
       "spec 3.3.0 cannot express: storage.directories[0].mode: setuid, setgid and sticky bits in 1777; "
       "storage.files[0].mode: setuid, setgid and sticky bits in 4755"},
      {R"({"ignition":{"version":"3.3.0"},"kernelArguments":{"shouldExist":["a"]}})",
       {3, 2},
       "spec 3.2.0 cannot express: kernelArguments: no such member"},
      {R"({"ignition":{"version":"3.3.0"},"storage":{"filesystems":[{"device":"/dev/x","format":"none"}]}})",
       {3, 2},
       "spec 3.2.0 cannot express: storage.filesystems[0].format: invalid filesystem format: 'none'"},
      {R"({"ignition":{"version":"3.2.0"},"storage":{"luks":[{"name":"l","device":"/dev/x"}]}})",
       {3, 1},
       "spec 3.1.0 cannot express: storage.luks: no such member"},
      {R"({"ignition":{"version":"3.5.0"}})", {3, 0}, "spec 3.0.0 is read but not written"},
      {R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"a"}]}})",
       {3, 4},
       "storage.files[0].path: path not absolute: 'a'"},
  };
  for (const Case& test : cases) {
    const auto converted = convert(value_of(test.config), test.to);
    ASSERT_FALSE(converted.ok()) << test.config;
    EXPECT_EQ(converted.error().to_string().find(test.refusal), 0u) << converted.error().to_string();
  }
}

TEST(IgnitionConvert, AnEmptySectionIsNotLost) {
  const auto converted =
      convert(value_of(R"({"ignition":{"version":"3.5.0"},"kernelArguments":{},"storage":{"luks":[]}})"), {3, 1});
  ASSERT_TRUE(converted.ok()) << converted.error().to_string();
  EXPECT_EQ(json::write(*converted), R"({"ignition":{"version":"3.1.0"}})");
}

TEST(IgnitionConvert, DefaultModesAreWrittenOutOnRequestOnly) {
  json::Value config = *json::parse(
      R"({"ignition":{"version":"3.2.0"},"storage":{"directories":[{"path":"/d"},{"path":"/e","mode":448}],"files":[)"
      R"({"path":"/a","contents":{"source":"data:,x"}},{"path":"/b","mode":0,"contents":{"source":"data:,x"}},)"
      R"({"path":"/c","append":[{"source":"data:,x"}]}]}})");
  const json::Value as_before = *convert(config, {2, 2});
  EXPECT_EQ(json::find(as_before.at("storage").at("files").at(0), {"mode"}), nullptr);
  write_default_modes(config);
  const json::Value lowered = *convert(config, {2, 2});
  EXPECT_FALSE(check(lowered).report.is_fatal());
  const json::Value& storage = lowered.at("storage");
  EXPECT_EQ(json::find_int(storage.at("files").at(0), {"mode"}), 0644);
  EXPECT_EQ(json::find_int(storage.at("files").at(1), {"mode"}), 0);
  EXPECT_EQ(json::find(storage.at("files").at(2), {"mode"}), nullptr);
  EXPECT_EQ(json::find_int(storage.at("directories").at(0), {"mode"}), 0755);
  EXPECT_EQ(json::find_int(storage.at("directories").at(1), {"mode"}), 0700);
}

}  // namespace strake::ignition::convert_test
