#include <gtest/gtest.h>

#include "packages/packages.h"

namespace strake::packages::dpkg_status_test {

constexpr std::string_view kStatus = R"(Package: zlib1g
Status: install ok installed
Priority: required
Installed-Size: 168
Architecture: amd64
Multi-Arch: same
Source: zlib (1:1.2.13)
Version: 1:1.2.13.dfsg-1
Description: compression library - runtime
 Package: not a field
 .
 the rest of a text

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1.0
Conffiles:
 /etc/gone 0123456789abcdef0123456789abcdef

Package: never
Status: unknown ok not-installed
Architecture: all

Package: half
Status: install reinstreq half-installed
Architecture: all
Version: 3.0-1-2

package: native
STATUS: install ok triggers-pending
architecture: all
version: 2024a
)";

TEST(DpkgStatus, GivesThePackagesThatAreThere) {
  const auto packages = read_dpkg_status(kStatus);
  ASSERT_TRUE(packages.ok()) << packages.error().to_string();
  const std::vector<Package> expected{
      {.name = "half", .version = "3.0-1", .release = "2", .architecture = "all"},
      {.name = "native", .version = "2024a", .architecture = "all"},
      {.name = "zlib1g",
       .epoch = "1",
       .version = "1.2.13.dfsg",
       .release = "1",
       .architecture = "amd64",
       .source = "zlib",
       .installed_bytes = 168 * 1024},
  };
  EXPECT_EQ(*packages, expected);
  EXPECT_EQ(version_text(packages->back()), "1:1.2.13.dfsg-1");
  EXPECT_EQ(identity_text(PackageSystem::kDpkg, packages->back()), "zlib1g 1:1.2.13.dfsg-1 amd64");
}

TEST(DpkgStatus, WithoutAStatusAPackageIsThereOnlyInAFolderOfThem) {
  constexpr std::string_view kMember = "Package: base-files\nVersion: 12.4\nArchitecture: amd64\n";
  const auto in_file = read_dpkg_status(kMember);
  ASSERT_TRUE(in_file.ok());
  EXPECT_TRUE(in_file->empty());
  const auto in_folder = read_dpkg_member(kMember);
  ASSERT_TRUE(in_folder.ok());
  ASSERT_EQ(in_folder->size(), 1u);
  EXPECT_EQ(in_folder->front().name, "base-files");
  EXPECT_TRUE(is_dpkg_member("base"));
  EXPECT_FALSE(is_dpkg_member("base.md5sums"));
}

TEST(DpkgStatus, ToleratesWhatDoesNoHarm) {
  for (const std::string_view text :
       {"", "\n\n\n", "Package: a\r\nStatus: install ok installed\r\nVersion: 1\r\n\r\n"}) {
    const auto packages = read_dpkg_status(text);
    ASSERT_TRUE(packages.ok());
    EXPECT_EQ(packages->size(), text.starts_with('P') ? 1u : 0u);
    for (const Package& package : *packages) EXPECT_EQ(package.version, "1");
  }
}

TEST(DpkgStatus, Refuses) {
  const struct {
    const char* text;
    const char* says;
  } cases[] = {
      {"Package: a\nno field\n", "line 2 of a dpkg status is no field"},
      {"\n\n: a\n", "line 3 of a dpkg status is no field"},
      {"\nStatus: install ok installed\n\n", "line 2: a paragraph of a dpkg status without 'Package'"},
      {"Package: a\nStatus: install ok installed\nVersion: x:1\n", "package a: its epoch 'x' is no number"},
      {"Package: a\nStatus: install ok installed\nVersion: :1\n", "its epoch '' is no number"},
      {"Package: a\nStatus: install ok installed\nInstalled-Size: -1\n", "'Installed-Size' is '-1'"},
      {"Package: a\nStatus: install ok installed\nInstalled-Size: 18014398509481985\n", "'Installed-Size' is"},
  };
  for (const auto& test : cases) {
    const auto packages = read_dpkg_status(test.text);
    ASSERT_FALSE(packages.ok()) << test.text;
    EXPECT_EQ(packages.error().code(), Code::kCorrupt);
    EXPECT_NE(packages.error().to_string().find(test.says), std::string::npos) << packages.error().to_string();
  }
}

}  // namespace strake::packages::dpkg_status_test
