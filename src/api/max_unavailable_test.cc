#include "api/max_unavailable.h"

#include <gtest/gtest.h>

#include "api/machine_config_pool.h"

namespace strake::api::max_unavailable_test {

struct Case {
  const char* json;  ///< of spec.maxUnavailable; nullptr when absent
  int nodes;
  int expected;
};

constexpr int kRefused = -999;

TEST(MaxUnavailable, Table) {
  const Case cases[] = {
      {nullptr, 10, 1},
      {"null", 10, 1},
      {"1", 10, 1},
      {"5", 3, 5},
      {"0", 10, 1},
      {"-2", 10, -2},
      {"2.0", 10, 2},
      {"\"50%\"", 5, 2},
      {"\"100%\"", 7, 7},
      {"\"10%\"", 9, 1},
      {"\"10%\"", 25, 2},
      {"\"0%\"", 10, 1},
      {"\"1%\"", 10, 1},
      {"\"33%\"", 100, 33},
      {"\"200%\"", 3, 6},
      {"\"+20%\"", 10, 2},
      {"\"-1%\"", 10, -1},
      {"\"50%\"", 0, 1},
      {"\"60\"", 10, kRefused},
      {"\"50 percent\"", 10, kRefused},
      {"\"40 %\"", 10, kRefused},
      {"\" 40%\"", 10, kRefused},
      {"\"%\"", 10, kRefused},
      {"\"\"", 10, kRefused},
      {"\"1.5%\"", 10, kRefused},
      {"\"+-5%\"", 10, kRefused},
      {"\"50%%\"", 10, kRefused},
      {"\"99999999999%\"", 10, kRefused},
      {"1.5", 10, kRefused},
      {"4294967296", 10, kRefused},
      {"true", 10, kRefused},
      {"[1]", 10, kRefused},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(fmt::format("{} of {}", test.json == nullptr ? "absent" : test.json, test.nodes));
    json::Value value;
    if (test.json != nullptr) value = *json::parse(test.json);
    const Result<int> limit = parse_max_unavailable(test.json == nullptr ? nullptr : &value, test.nodes);
    if (test.expected == kRefused) {
      ASSERT_FALSE(limit.ok());
      EXPECT_EQ(limit.error().code(), Code::kInvalidArgument);
      EXPECT_NE(limit.error().message().find("spec.maxUnavailable"), std::string::npos);
    } else {
      ASSERT_TRUE(limit.ok()) << limit.error().to_string();
      EXPECT_EQ(*limit, test.expected);
    }
  }
}

TEST(MaxUnavailable, ArbiterPoolIsAlwaysOne) {
  const json::Value pool = *json::parse(R"({"metadata":{"name":"arbiter"},"spec":{"maxUnavailable":"bad"}})");
  EXPECT_EQ(*MachineConfigPoolView(pool).max_unavailable(5), 1);
}

TEST(MaxUnavailable, ErrorNamesThePool) {
  const json::Value pool = *json::parse(R"({"metadata":{"name":"infra"},"spec":{"maxUnavailable":"60"}})");
  const Result<int> limit = MachineConfigPoolView(pool).max_unavailable(5);
  ASSERT_FALSE(limit.ok());
  EXPECT_NE(limit.error().to_string().find("MachineConfigPool infra"), std::string::npos);
}

}  // namespace strake::api::max_unavailable_test
