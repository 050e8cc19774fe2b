#include "packages/versions.h"

#include <vector>

#include <gtest/gtest.h>

#include "packages/packages.h"

namespace strake::packages::versions_test {

/// Versions that are older from line to line; those in one line are equal.
using Ascending = std::vector<std::vector<std::string_view>>;

void expect_ascending(int (*compare)(std::string_view, std::string_view), const Ascending& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t j = 0; j < lines.size(); ++j) {
      for (const auto left : lines[i]) {
        for (const auto right : lines[j]) {
          const int order = compare(left, right);
          EXPECT_EQ(order < 0, i < j) << left << " and " << right;
          EXPECT_EQ(order > 0, i > j) << left << " and " << right;
        }
      }
    }
  }
}

TEST(Versions, OrderOfRpm) {
  expect_ascending(compare_rpm_text, {{"1.0~~"},
                                      {"1.0~rc1^git1"},
                                      {"1.0~rc2"},
                                      {"1.0", "1.00", "1_0", "1..0", "1.0.", "01.0"},
                                      {"1.0^"},
                                      {"1.0^git1~pre"},
                                      {"1.0^git1"},
                                      {"1.0^git2"},
                                      {"1.0a"},
                                      {"1.0b"},
                                      {"1.0.1"},
                                      {"1.5"},
                                      {"1.10"},
                                      {"1.99999999999999999999"},
                                      {"1.100000000000000000000"}});
}

TEST(Versions, OrderOfDpkg) {
  expect_ascending(compare_dpkg_text, {{"~~"},
                                       {"~~a"},
                                       {"~"},
                                       {"", "0", "00"},
                                       {"1.0~rc1"},
                                       {"1.0", "1.00", "01.0"},
                                       {"1.0a"},
                                       {"1.0z"},
                                       {"1.0+dfsg"},
                                       {"1.0.1"},
                                       {"1.10"},
                                       {"1.99999999999999999999"},
                                       {"1.100000000000000000000"},
                                       {"a"}});
}

TEST(Versions, EpochThenVersionThenRelease) {
  const auto package = [](std::string epoch, std::string version, std::string release) {
    return Package{
        .name = "p", .epoch = std::move(epoch), .version = std::move(version), .release = std::move(release)};
  };
  for (const PackageSystem system : {PackageSystem::kRpm, PackageSystem::kDpkg}) {
    SCOPED_TRACE(to_string(system));
    const Package plain = package("", "2", "5");
    EXPECT_EQ(compare_versions(system, plain, package("0", "2", "5")), 0);
    EXPECT_LT(compare_versions(system, plain, package("1", "1", "1")), 0);
    EXPECT_GT(compare_versions(system, package("10", "1", "1"), package("9", "1", "1")), 0);
    EXPECT_LT(compare_versions(system, plain, package("", "3", "1")), 0);
    EXPECT_LT(compare_versions(system, plain, package("", "2", "10")), 0);
    EXPECT_GT(compare_versions(system, plain, package("", "2", "")), 0);
  }
}

}  // namespace strake::packages::versions_test
