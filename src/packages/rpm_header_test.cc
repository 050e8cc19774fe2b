#include "packages/rpm_header.h"

#include <gtest/gtest.h>

#include "packages/testing/database_builder.h"

namespace strake::packages::rpm_header_test {

RpmHeaderBuilder bash() {
  RpmHeaderBuilder header;
  header.text(RpmTag::kName, "bash").text(RpmTag::kVersion, "5.2.26").text(RpmTag::kRelease, "3.fc40");
  return header;
}

TEST(RpmHeader, GivesAPackage) {
  const auto package = package_of_rpm_header(bash()
                                                 .number(RpmTag::kEpoch, 2)
                                                 .number(RpmTag::kSize, 8501234)
                                                 .text(RpmTag::kArchitecture, "x86_64")
                                                 .text(RpmTag::kSourcePackage, "bash-5.2.26-3.fc40.src.rpm")
                                                 .number(RpmTag::kInstallTime, 1700000000)
                                                 .bytes());
  ASSERT_TRUE(package.ok()) << package.error().to_string();
  EXPECT_EQ(*package, (Package{.name = "bash",
                               .epoch = "2",
                               .version = "5.2.26",
                               .release = "3.fc40",
                               .architecture = "x86_64",
                               .source = "bash-5.2.26-3.fc40.src.rpm",
                               .installed_bytes = 8501234,
                               .installed_at = 1700000000}));
}

TEST(RpmHeader, WhatIsMissingStaysEmpty) {
  const auto package = package_of_rpm_header(bash().bytes());
  ASSERT_TRUE(package.ok());
  EXPECT_EQ(*package, (Package{.name = "bash", .version = "5.2.26", .release = "3.fc40"}));
}

TEST(RpmHeader, LargePackagesHaveALongSize) {
  const auto package = package_of_rpm_header(bash().long_number(RpmTag::kLongSize, 5'000'000'000).bytes());
  ASSERT_TRUE(package.ok());
  EXPECT_EQ(package->installed_bytes, 5'000'000'000u);
}

TEST(RpmHeader, TheLaterOfTwoEntriesCounts) {
  const auto package =
      package_of_rpm_header(bash().number(RpmTag::kInstallTime, 1).number(RpmTag::kInstallTime, 2).bytes());
  ASSERT_TRUE(package.ok());
  EXPECT_EQ(package->installed_at, 2);
}

TEST(RpmHeader, Refuses) {
  const std::string whole = bash().bytes();
  const auto name = static_cast<std::uint32_t>(RpmTag::kName);
  const auto epoch = static_cast<std::uint32_t>(RpmTag::kEpoch);
  const struct {
    const char* what;
    std::string bytes;
    const char* says;
  } cases[] = {
      {"nothing", "", "an rpm header of 0 bytes"},
      {"no entries", std::string(8, '\0'), "0 entries"},
      {"too many entries", big_endian_bytes(65'536, 4) + big_endian_bytes(0, 4), "65536 entries"},
      {"too many bytes", big_endian_bytes(1, 4) + big_endian_bytes((256u << 20) + 1, 4), "268435457 bytes of values"},
      {"cut short", whole.substr(0, whole.size() - 1), "that says it has"},
      {"bytes behind the end", whole + '\0', "that says it has"},
      {"no type", bash().raw(1, 0, 1, "x").bytes(), "entry 3 (tag 1) of an rpm header is of no known type (0)"},
      {"unknown type", bash().raw(1, 10, 1, "x").bytes(), "of no known type (10)"},
      {"more values than bytes", bash().raw(1, 4, 1u << 30, "1234").bytes(), "lies outside"},
      {"count that overflows", bash().raw(1, 5, 0xffffffff, "12345678").bytes(), "lies outside"},
      {"endless text", bash().raw(name, 6, 1, "bash").bytes(), "has no end"},
      {"text without value", bash().raw(name, 6, 0, std::string(1, '\0')).bytes(), "has no end"},
      {"name is a number", bash().raw(name, 4, 1, "1234").bytes(), "tag 1000 of an rpm header is no text (type 4)"},
      {"epoch is a text", bash().text(RpmTag::kEpoch, "1").bytes(), "tag 1003 of an rpm header is no number (type 6)"},
      {"epoch without value", bash().raw(epoch, 4, 0, "").bytes(), "is no number"},
      {"no version", RpmHeaderBuilder().text(RpmTag::kName, "a").text(RpmTag::kRelease, "1").bytes(),
       "without name, version or release"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.what);
    const auto package = package_of_rpm_header(test.bytes);
    ASSERT_FALSE(package.ok());
    EXPECT_EQ(package.error().code(), Code::kCorrupt);
    EXPECT_NE(package.error().to_string().find(test.says), std::string::npos) << package.error().to_string();
  }
}

TEST(RpmHeader, SurvivesEveryFlippedBit) {
  const std::string whole = bash().number(RpmTag::kEpoch, 2).text(RpmTag::kArchitecture, "noarch").bytes();
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const auto package = package_of_rpm_header(damaged);
    EXPECT_TRUE(package.ok() || package.error().code() == Code::kCorrupt);
  }
}

}  // namespace strake::packages::rpm_header_test
