#include "cmd/cli/option_values.h"

#include <gtest/gtest.h>

namespace strake::cmd::option_values_test {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kFormats[] = {"text", "json"};

std::string refusal(const ValueType& type, const std::string& text) {
  const auto value = parse_option_value(type, "--option", text);
  return value.ok() ? "taken" : value.error().to_string();
}

TEST(OptionValues, AreParsedOnceIntoTheirTypes) {
  EXPECT_EQ(std::get<std::size_t>(*parse_option_value(one_of(kFormats), "-o", "json")), 1u);
  EXPECT_EQ(std::get<std::int64_t>(*parse_option_value(integer_from(-5, 200), "--nodes", "-5")), -5);
  EXPECT_EQ(std::get<std::chrono::milliseconds>(*parse_option_value(kDurationValue, "--timeout", "1h30m")), 90min);
  EXPECT_EQ(std::get<net::Endpoint>(*parse_option_value(kEndpointValue, "--listen", "[::1]:7443")),
            (net::Endpoint{"::1", 7443}));
  EXPECT_EQ(std::get<std::vector<std::string>>(*parse_option_value(kListValue, "--ignore", "a,b")),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(std::get<std::string>(*parse_option_value(kFileValue, "--file", "-")), "-");
}

TEST(OptionValues, ErrorsNameTheOptionAndWhatIsExpected) {
  struct Case {
    ValueType type;
    std::string text, says;
  };
  const Case cases[] = {
      {one_of(kFormats), "xml", "--option xml: expected text, json"},
      {one_of(kFormats), "jsno", "did you mean 'json'?"},
      {one_of(kFormats), "", "expected text, json"},
      {integer_from(0, 200), "many", "--option many: expected a whole number from 0 to 200"},
      {integer_from(0, 200), "201", "from 0 to 200"},
      {integer_from(0, 200), "-1", "from 0 to 200"},
      {integer_from(0, 200), "7 ", "from 0 to 200"},
      {integer_from(0, 200), "99999999999999999999", "from 0 to 200"},
      {kEndpointValue, "nowhere", "--option: 'nowhere'"},
      {kListValue, "a,,b", "between the commas"},
      {kListValue, "", "between the commas"},
      {kFileValue, "", "the path is empty"},
      {kDurationValue, "soon", "--option: 'soon' is no duration"},
  };
  for (const Case& c : cases) {
    EXPECT_NE(refusal(c.type, c.text).find(c.says), std::string::npos) << refusal(c.type, c.text);
  }
}

TEST(OptionValues, Durations) {
  struct Case {
    std::string_view text;
    std::chrono::milliseconds length;
  };
  for (const Case& c : {Case{"250ms", 250ms}, {"90s", 90s}, {"5m", 5min}, {"1h", 1h}, {"1h2m3s4ms", 3723004ms}}) {
    const auto duration = parse_duration(c.text);
    ASSERT_TRUE(duration.ok()) << c.text;
    EXPECT_EQ(*duration, c.length) << c.text;
  }
  for (const std::string_view bad :
       {"", "5", "0s", "-5s", "5x", "1.5h", "3s2m", "1m1m", "s", "99999999999h", "9000h"}) {
    EXPECT_FALSE(parse_duration(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace strake::cmd::option_values_test
