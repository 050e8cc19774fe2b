#include "packages/packages.h"

#include <gtest/gtest.h>

namespace strake::packages::packages_test {

Package package(std::string name, std::string version, std::string architecture = "x86_64") {
  return {
      .name = std::move(name), .version = std::move(version), .release = "1", .architecture = std::move(architecture)};
}

TEST(Packages, DiffOfTwoSystems) {
  const std::vector<Package> before{package("bash", "5.1"),   package("gone", "1"),
                                    package("glibc", "2.38"), package("kernel", "6.8"),
                                    package("kernel", "6.9"), package("tzdata", "2024a", "noarch"),
                                    package("same", "1"),     package("glibc", "2.38", "i686")};
  const std::vector<Package> after{
      package("bash", "5.2"),    package("new", "1"),        package("glibc", "2.37"), package("kernel", "6.9"),
      package("kernel", "6.10"), package("tzdata", "2024a"), package("same", "1"),     package("glibc", "2.38", "i686"),
      package("kernel", "6.7")};
  const PackageDiff expected{
      .added = {package("kernel", "6.7"), package("new", "1")},
      .removed = {package("gone", "1")},
      .upgraded = {{package("bash", "5.1"), package("bash", "5.2")},
                   {package("kernel", "6.8"), package("kernel", "6.10")},
                   {package("tzdata", "2024a", "noarch"), package("tzdata", "2024a")}},
      .downgraded = {{package("glibc", "2.38"), package("glibc", "2.37")}},
  };
  const PackageDiff diff = diff_packages(PackageSystem::kRpm, before, after);
  EXPECT_EQ(diff, expected);
  EXPECT_FALSE(diff.empty());

  const PackageDiff back = diff_packages(PackageSystem::kRpm, after, before);
  EXPECT_EQ(back.added, expected.removed);
  EXPECT_EQ(back.removed, expected.added);
  EXPECT_EQ(back.upgraded.front(), (PackageChange{package("glibc", "2.37"), package("glibc", "2.38")}));
}

TEST(Packages, TheSamePackagesDoNotDiffer) {
  std::vector<Package> before{package("a", "1"), package("a", "1"), package("b", "2")};
  std::vector<Package> after = before;
  for (Package& package : after) package.installed_at = 1700000000;
  EXPECT_TRUE(diff_packages(PackageSystem::kRpm, before, after).empty());
  after.pop_back();
  after.pop_back();
  const PackageDiff diff = diff_packages(PackageSystem::kRpm, before, after);
  EXPECT_EQ(diff.removed, (std::vector<Package>{package("a", "1"), package("b", "2")}));
}

TEST(Packages, AnotherSpellingOfAVersionIsAChange) {
  const PackageDiff diff = diff_packages(PackageSystem::kRpm, {package("a", "1.0")}, {package("a", "1.00")});
  ASSERT_EQ(diff.upgraded.size(), 1u);
  EXPECT_TRUE(diff.downgraded.empty());
}

TEST(Packages, LocationsAreRelativeAndKnowTheirForm) {
  for (const DatabaseLocation& location : database_locations()) {
    EXPECT_FALSE(location.path.starts_with('/')) << location.path;
    EXPECT_EQ(location.form == DatabaseForm::kRpmFile, location.path.find("/rpm/") != std::string_view::npos);
    EXPECT_EQ(location.form == DatabaseForm::kDpkgDirectory, location.path.ends_with(".d"));
  }
}

}  // namespace strake::packages::packages_test
