#include <gtest/gtest.h>

#include "ignition/config.h"
#include "ignition/source_url.h"
#include "ignition/unit_text.h"

namespace strake::ignition::check_test {

/// "LINE:COLUMN severity path: message" of every finding.
std::vector<std::string> findings_of(std::string_view text) {
  std::vector<std::string> lines;
  for (const Finding& finding : check_text(text).report.findings) {
    const auto position = finding.position.value_or(codec::TextPosition{0, 0});
    lines.push_back(
        fmt::format("{}:{} {} {}", position.line, position.column, to_string(finding.severity), finding.to_string()));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(IgnitionCheck, FindingsCarryTheirPlaceInTheText) {
  EXPECT_EQ(findings_of(R"({
  "ignition": {"version": "3.4.0"},
  "extra": 1,
  "storage": {
    "files": [
      {"path": "/a", "mode": 1023},
      {"path": "b", "contents": {"source": "data:,%"}}
    ]
  }
})"),
            (Lines{"3:3 warning extra: unused key extra",
                   "6:30 warning storage.files[0].mode: setuid/setgid/sticky bits are not supported or functional in "
                   "spec versions older than 3.6.0",
                   "7:16 error storage.files[1].path: path not absolute: 'b'",
                   "7:44 error storage.files[1].contents.source: data URL: `%` at offset 6 is not followed by two "
                   "hexadecimal digits; write a percent sign as %25"}));
}

TEST(IgnitionCheck, WhatIsNoConfigIsSaidOnce) {
  struct Case {
    std::string_view text;
    std::string_view finding;
  };
  const Case cases[] = {
      {"", "0:0 error not a config (empty)"},
      {"null", "1:1 error ignition.version: invalid config version (couldn't parse)"},
      {"[]", "1:1 error expected an object, found array"},
      {R"({"ignition":[]})", "1:13 error ignition: expected an object, found array"},
      {R"({"ignition":{"version":"3.5.0-dev"}})",
       "1:24 error ignition.version: unsupported config version: '3.5.0-dev'"},
      {R"({"ignition":{"version":"3.5"}})",
       "1:24 error ignition.version: invalid config version (couldn't parse): '3.5'"},
      {R"({"ignition":{"version":"3.5.0"},"systemd":{"units":7}})",
       "1:52 error systemd.units: expected a list, found integer"},
      {R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a","mode":420.0}]}})",
       "1:73 error storage.files[0].mode: expected an integer, found number"},
  };
  for (const Case& test : cases) EXPECT_EQ(findings_of(test.text), Lines{std::string(test.finding)}) << test.text;
  const auto broken = findings_of("{\n\"a\": 1,}");
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_NE(broken[0].find("line 2, column 8"), std::string::npos) << broken[0];
}

TEST(IgnitionCheck, NamesMatchWithoutRegardToCaseAndSaySo) {
  const Checked checked = check_text(R"({"Ignition":{"version":"3.5.0"},"SYSTEMD":{"units":[{"Name":"a.service"}]}})");
  EXPECT_FALSE(checked.report.is_fatal());
  EXPECT_EQ(json::write(checked.config),
            R"({"ignition":{"version":"3.5.0"},"systemd":{"units":[{"name":"a.service"}]}})");
  EXPECT_EQ(checked.report.findings.size(), 2u);
  EXPECT_TRUE(check_text(R"({"ignition":{"version":"3.5.0"},"storage":{},"Storage":{}})").report.is_fatal());
}

TEST(IgnitionCheck, AVersionKnowsOnlyItsOwnMembersAndRules) {
  const std::string_view config =
      R"({{"ignition":{{"version":"3.{}.0"}},"kernelArguments":{{}},"storage":{{"files":[{{"path":"/a","contents":{{"source":"gs://b/o"}}}}]}}}})";
  EXPECT_EQ(findings_of(fmt::format(fmt::runtime(config), 1)).size(), 2u);
  EXPECT_EQ(findings_of(fmt::format(fmt::runtime(config), 2)).size(), 1u);
  EXPECT_EQ(findings_of(fmt::format(fmt::runtime(config), 3)).size(), 0u);
}

TEST(IgnitionCheck, UnitTextHasTheLimitsOfTheReferenceReader) {
  struct Case {
    std::string text;
    std::string_view error;
    bool has_install;
  };
  const Case cases[] = {
      {"", "", false},
      {"anything\n[Install]\nA=b", "", true},
      {"[Install]\n", "", false},
      {"[Unit]\nA=b\\\n[Install]\nC=d", "", false},
      {"[Unit]\nA\nB=c", "unexpected newline", false},
      {"[Unit", "unable to find end of section", false},
      {"[Unit] x\n", "found garbage after section name", false},
      {"[Unit]\nA", "EOF", false},
      {"[Unit]\n" + std::string(2100, 'x') + "=1", "line too long", false},
      {"[A]\nB=" + std::string(1500, 'z') + "\nC=" + std::string(3000, 'y'), "line too long", false},
      {std::string(5000, '\n') + "[A]\nB=c", "", false},
  };
  for (const Case& test : cases) {
    const auto unit = parse_unit_text(test.text);
    EXPECT_EQ(unit.ok(), test.error.empty()) << test.text.substr(0, 60);
    if (unit.ok()) {
      EXPECT_EQ(unit->has_install_option, test.has_install) << test.text.substr(0, 60);
    } else {
      EXPECT_NE(unit.error().message().find(test.error), std::string::npos) << unit.error().message();
    }
  }
}

TEST(IgnitionCheck, SourcesAreUrlsAsGoReadsThem) {
  struct Case {
    std::string_view source;
    std::string_view problem;
  };
  const Case cases[] = {
      {"https://h.example:8080/p?q#f", ""},
      {"http://[fe80::1%25en0]:80/", ""},
      {"http://[::1", "unable to parse url"},
      {"http://[1.2.3.4]/", "unable to parse url"},
      {"http://a b/", "unable to parse url"},
      {"http://h:port/", "unable to parse url"},
      {"http://h/%zz", "unable to parse url"},
      {":x", "unable to parse url"},
      {"a:b", "invalid url scheme"},
      {"etc/x", "invalid url scheme"},
      {"s3://b/k?versionId=", "invalid S3 object VersionId"},
      {"s3://b/k?versionId=7", ""},
      {"arn:aws:s3:::b/k", ""},
      {"arn:aws:s3:::b", "invalid S3 ARN format"},
      {"arn:aws:s3:r:a:accesspoint/x", "invalid S3 ARN format"},
      {"data:,a", ""},
  };
  for (const Case& test : cases)
    EXPECT_EQ(source_problem(test.source, {3, 5}).value_or(""), test.problem) << test.source;
  EXPECT_EQ(source_problem("arn:aws:s3:::b/k", {3, 3}), "invalid url scheme");
}

}  // namespace strake::ignition::check_test
