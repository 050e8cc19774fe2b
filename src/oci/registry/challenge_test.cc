#include "oci/registry/challenge.h"

#include <gtest/gtest.h>

namespace strake::oci::challenge_test {

TEST(Challenges, AsRegistriesSendThem) {
  struct Case {
    const char* name;
    const char* header;
    std::vector<Challenge> expected;
  };
  const Case cases[] = {
      {"nothing", "", {}},
      {"basic", R"(Basic realm="test")", {{"basic", {{"realm", "test"}}}}},
      {"scheme alone", "Negotiate", {{"negotiate", {}}}},
      {"bearer",
       R"(Bearer realm="https://auth.example/token",service="reg",scope="repository:a/b:pull,push")",
       {{"bearer",
         {{"realm", "https://auth.example/token"}, {"service", "reg"}, {"scope", "repository:a/b:pull,push"}}}}},
      {"names in any case, blanks around",
       R"(BEARER  Realm = "r" , SERVICE=s)",
       {{"bearer", {{"realm", "r"}, {"service", "s"}}}}},
      {"escapes", R"(Basic realm="a\"b\\c")", {{"basic", {{"realm", "a\"b\\c"}}}}},
      {"two challenges",
       R"(Basic realm="a", Bearer realm="b",service="c")",
       {{"basic", {{"realm", "a"}}}, {"bearer", {{"realm", "b"}, {"service", "c"}}}}},
      {"short form",
       "Negotiate dG9rZW4=, Basic realm=x",
       {{"negotiate", {{"", "dG9rZW4="}}}, {"basic", {{"realm", "x"}}}}},
      {"empty list members", ", ,Basic realm=x,,", {{"basic", {{"realm", "x"}}}}},
  };
  for (const Case& c : cases) {
    const auto challenges = parse_challenges(c.header);
    ASSERT_TRUE(challenges.ok()) << c.name << ": " << challenges.error().to_string();
    EXPECT_EQ(*challenges, c.expected) << c.name;
  }
}

TEST(Challenges, RefusesWithThePosition) {
  struct Case {
    const char* name;
    std::string header;
    const char* mentions;
  };
  std::string many = "Bearer a=1";
  for (int i = 0; i < 100; ++i) many += fmt::format(",p{}=1", i);
  const Case cases[] = {
      {"unended quote", R"(Basic realm="x)", "does not end"},
      {"ends in an escape", R"(Basic realm="x\)", "does not end"},
      {"twice", R"(Bearer realm="a",realm="b")", "'realm' is given twice"},
      {"twice in other case", R"(Bearer realm="a",REALM="b")", "twice"},
      {"no value", "Bearer realm=,service=x", "expected"},
      {"control character", "Basic realm=\"a\nb\"", "control character"},
      {"no comma", R"(Bearer realm="a" service="b")", "comma"},
      {"not a token", "@", "position 1"},
      {"many parameters", many, "too many"},
      {"long", std::string(20'000, 'a'), "more than 16384"},
  };
  for (const Case& c : cases) {
    const auto challenges = parse_challenges(c.header);
    ASSERT_FALSE(challenges.ok()) << c.name;
    EXPECT_NE(challenges.error().to_string().find(c.mentions), std::string::npos)
        << c.name << ": " << challenges.error().to_string();
  }
}

}  // namespace strake::oci::challenge_test
