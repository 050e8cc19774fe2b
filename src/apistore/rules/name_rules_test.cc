#include "apistore/rules/name_rules.h"

#include <gtest/gtest.h>

namespace strake::apistore::name_rules_test {

TEST(NameRules, QualifiedNames) {
  for (const std::string good : {"a", "A.b_c-1", "example.com/name", "node-role.kubernetes.io/worker"}) {
    EXPECT_TRUE(qualified_name_problems(good).empty()) << good;
  }
  const auto said = [](std::string_view text) {
    std::string all;
    for (const std::string& problem : qualified_name_problems(text)) all += problem.substr(0, 40) + "; ";
    return all;
  };
  EXPECT_EQ(said("a b"), "name part must consist of alphanumeric c; ");
  EXPECT_EQ(said(""), "name part must be non-empty; name part must consist of alphanumeric c; ");
  EXPECT_EQ(said("/a"), "prefix part must be non-empty; ");
  EXPECT_EQ(said("A/a"), "prefix part a lowercase RFC 1123 subdoma; ");
  EXPECT_EQ(said("a/b/c"), "a qualified name must consist of alphanu; ");
  EXPECT_EQ(said(std::string(64, 'a')), "name part must be no more than 63 bytes; ");
  EXPECT_TRUE(qualified_name_problems(std::string(63, 'a')).empty());
}

TEST(NameRules, LabelValues) {
  EXPECT_TRUE(label_value_problems("").empty());
  EXPECT_TRUE(label_value_problems("My_value.1").empty());
  EXPECT_EQ(label_value_problems(std::string(64, 'a')), std::vector<std::string>{"must be no more than 63 bytes"});
  EXPECT_EQ(label_value_problems("b c"),
            std::vector<std::string>{
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and "
                "must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex "
                "used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"});
}

TEST(NameRules, KeysOfData) {
  for (const std::string& good : {std::string("a"), std::string("tls.crt"), std::string(".hidden"),
                                  std::string("A_b-1"), std::string("a.."), std::string(253, 'a')}) {
    EXPECT_TRUE(data_key_problems(good).empty()) << good;
  }
  const auto said = [](std::string_view text) {
    std::string all;
    for (const std::string& problem : data_key_problems(text)) all += problem.substr(0, 40) + "; ";
    return all;
  };
  EXPECT_EQ(said(""), "a valid config key must consist of alpha; ");
  EXPECT_EQ(said("a/b"), "a valid config key must consist of alpha; ");
  EXPECT_EQ(said("."), "must not be '.'; ");
  EXPECT_EQ(said(".."), "must not be '..'; ");
  EXPECT_EQ(said("..a"), "must not start with '..'; ");
  EXPECT_EQ(said("../a"), "a valid config key must consist of alpha; must not start with '..'; ");
  EXPECT_EQ(said(std::string(254, 'a')), "must be no more than 253 characters; ");
}

}  // namespace strake::apistore::name_rules_test
