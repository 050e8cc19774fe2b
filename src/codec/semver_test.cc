#include "codec/semver.h"

#include <gtest/gtest.h>

namespace strake::codec::semver_test {

SemVer version(std::string_view text) {
  auto parsed = SemVer::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : SemVer{};
}

TEST(SemVer, PrecedenceOfTheSpecification) {
  const std::string_view ascending[] = {"0.0.1",         "0.1.0",
                                        "1.0.0-0",       "1.0.0-9",
                                        "1.0.0-10",      "1.0.0-99999999999999999999999",
                                        "1.0.0--",       "1.0.0-alpha",
                                        "1.0.0-alpha.1", "1.0.0-alpha.beta",
                                        "1.0.0-beta",    "1.0.0-beta.2",
                                        "1.0.0-beta.11", "1.0.0-rc.1",
                                        "1.0.0",         "1.0.1",
                                        "1.2.0",         "1.10.0",
                                        "2.0.0"};
  for (std::size_t i = 0; i < std::size(ascending); ++i) {
    for (std::size_t j = 0; j < std::size(ascending); ++j) {
      EXPECT_EQ(version(ascending[i]) <=> version(ascending[j]), std::weak_ordering(i <=> j))
          << ascending[i] << " and " << ascending[j];
    }
  }
}

TEST(SemVer, BuildSaysNothingAboutOrder) {
  EXPECT_EQ(version("1.0.0+a"), version("1.0.0+b"));
  EXPECT_EQ(version("4.19.0-0.okd-scos+x.7").build, "x.7");
}

TEST(SemVer, WritesWhatItRead) {
  for (std::string_view text :
       {"4.18.2", "4.19.0-rc.1", "1.0.0-x-y-z.--", "1.0.0+001.-", "1.0.0-a+b", "18446744073709551615.0.0"}) {
    EXPECT_EQ(version(text).to_string(), text);
  }
  EXPECT_TRUE(version("4.19.0-rc.1").is_prerelease());
  EXPECT_FALSE(version("4.19.0").is_prerelease());
}

TEST(SemVer, Refuses) {
  for (std::string_view text :
       {"", "1", "1.2", "1.2.3.4", "v1.2.3", "01.2.3", "1.02.3", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3+",
        "1.2.3+a+b", "1.2.3 ", "-1.2.3", "1.2.x", "1.2.3-\xc3\xa9", "18446744073709551616.0.0"}) {
    const auto parsed = SemVer::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code(), Code::kInvalidArgument);
  }
  EXPECT_FALSE(SemVer::parse("1.2.3-" + std::string(300, 'a')).ok());
}

}  // namespace strake::codec::semver_test
