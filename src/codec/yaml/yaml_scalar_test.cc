#include "codec/yaml/yaml_scalar.h"

#include <cmath>
#include <limits>

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace strake::yaml::yaml_scalar_test {

struct ResolveCase {
  std::string_view text;
  Scalar expected;
};

constexpr std::int64_t operator""_i(unsigned long long value) { return static_cast<std::int64_t>(value); }

TEST(YamlScalar, ResolvesAsTheReferenceReaderDoes) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const ResolveCase cases[] = {
      {"", Null{}},
      {"~", Null{}},
      {"null", Null{}},
      {"NULL", Null{}},
      {"nULL", PlainString{}},
      {"y", true},
      {"Yes", true},
      {"yEs", PlainString{}},
      {"ON", true},
      {"n", false},
      {"off", false},
      {"FALSE", false},
      {"0", 0_i},
      {"-0", 0_i},
      {"+7", 7_i},
      {"017", 15_i},
      {"0o17", 15_i},
      {"0O17", 15_i},
      {"0o8", PlainString{}},
      {"08", 8.0},
      {"0x1F", 31_i},
      {"-0X10", -16_i},
      {"0b101", 5_i},
      {"0b-101", -5_i},
      {"-0b-101", PlainString{}},
      {"0b", PlainString{}},
      {"0x", PlainString{}},
      {"1_000", 1000_i},
      {"1_", 1_i},
      {"-_1", -1_i},
      {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
      {"-9223372036854775808", std::numeric_limits<std::int64_t>::min()},
      {"9223372036854775808", std::uint64_t{9223372036854775808u}},
      {"+9223372036854775808", 9223372036854775808.0},
      {"18446744073709551615", std::numeric_limits<std::uint64_t>::max()},
      {"18446744073709551616", 18446744073709551616.0},
      {"0xFFFFFFFFFFFFFFFFF", PlainString{}},
      {"1e3", 1000.0},
      {"1.", 1.0},
      {"-.5", -0.5},
      {".5", 0.5},
      {".5_0", 0.5},
      {".5__0", PlainString{}},
      {".5_", PlainString{}},
      {".5e1_0", 5e9},
      {".", PlainString{}},
      {"-", PlainString{}},
      {"--1", PlainString{}},
      {"1e400", PlainString{}},
      {"1e-400", 0.0},
      {"1e", PlainString{}},
      {"1.2.3", PlainString{}},
      {"0x1p4", PlainString{}},
      {".inf", kInf},
      {"-.INF", -kInf},
      {"inf", PlainString{}},
      {"NaN", PlainString{}},
      {"2001-01-01", Timestamp{}},
      {"2001-1-1", Timestamp{}},
      {"2001-13-01", PlainString{}},
      {"2001-02-29", PlainString{}},
      {"2000-02-29", Timestamp{}},
      {"2001-01-01T00:00:00Z", Timestamp{}},
      {"2001-01-01t0:0:0.5+01:30", Timestamp{}},
      {"2001-01-01t00:00:00z", PlainString{}},
      {"2001-01-01 1:2:3", Timestamp{}},
      {"2001-01-01 1:2:3Z", PlainString{}},
      {"2001-01-01T1:2:3", PlainString{}},
      {"2001-01-01 24:00:00", PlainString{}},
      {"20011-01-01", PlainString{}},
      {"=", PlainString{}},
      {"<<", PlainString{}},
      {"12:30:45", PlainString{}},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_TRUE(resolve_scalar(text) == expected)
        << fmt::format("`{}` resolved to alternative {}", text, resolve_scalar(text).index());
  }
}

TEST(YamlScalar, NotANumberIsANumber) {
  for (std::string_view text : {".nan", ".NaN", ".NAN"}) {
    const Scalar scalar = resolve_scalar(text);
    ASSERT_TRUE(std::holds_alternative<double>(scalar)) << text;
    EXPECT_TRUE(std::isnan(std::get<double>(scalar))) << text;
  }
}

TEST(YamlScalar, Base60) {
  for (std::string_view text : {"1:2", "12:30:45", "-1:59", "1_0:00", "1:2.", "1:2.5_", "190:20:30.15"}) {
    EXPECT_TRUE(looks_like_base60(text)) << text;
  }
  for (std::string_view text : {"", "1", "1:", "1:60", ":1", "_1:2", "1:2:", "1:2x", "1:123", "a:1"}) {
    EXPECT_FALSE(looks_like_base60(text)) << text;
  }
}

}  // namespace strake::yaml::yaml_scalar_test
