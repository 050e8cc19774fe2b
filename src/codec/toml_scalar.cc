#include "codec/toml_scalar.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

#include <fmt/format.h>

#include "base/text.h"

namespace strake::toml {

namespace {

/// Underscores taken out, or nullopt when one does not stand between two digits of `base`.
std::optional<std::string> without_underscores(std::string_view digits, int base) {
  const auto is_digit_of_base = [base](char c) {
    if (base == 16) return is_hex_digit(c);
    return c >= '0' && c < '0' + base;
  };
  std::string plain;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] == '_') {
      if (i == 0 || i + 1 == digits.size() || !is_digit_of_base(digits[i - 1]) || !is_digit_of_base(digits[i + 1])) {
        return std::nullopt;
      }
    } else if (is_digit_of_base(digits[i])) {
      plain += digits[i];
    } else {
      return std::nullopt;
    }
  }
  if (plain.empty()) return std::nullopt;
  return plain;
}

int number_of(std::string_view digits) {
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

int days_in_month(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && is_leap ? 29 : kDays[month - 1];
}

/// "07:32" or "07:32:60": the two or three numbers within their ranges.
bool is_clock(std::string_view text, bool with_seconds) {
  if (text.size() != (with_seconds ? 8u : 5u) || text[2] != ':') return false;
  if (!is_all_digits(text.substr(0, 2)) || !is_all_digits(text.substr(3, 2))) return false;
  if (number_of(text.substr(0, 2)) > 23 || number_of(text.substr(3, 2)) > 59) return false;
  // RFC 3339 allows the leap second.
  return !with_seconds || (text[5] == ':' && is_all_digits(text.substr(6, 2)) && number_of(text.substr(6, 2)) <= 60);
}

/// "07:32:00.999", and with `may_have_offset` also "07:32:00Z" and "07:32:00-07:00".
bool is_time(std::string_view text, bool may_have_offset) {
  if (!is_clock(text.substr(0, 8), true)) return false;
  text.remove_prefix(8);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const std::size_t digits =
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
    if (digits == 0) return false;
    text.remove_prefix(digits);
  }
  if (text.empty()) return true;
  if (!may_have_offset) return false;
  if (text == "Z" || text == "z") return true;
  return (text.front() == '+' || text.front() == '-') && is_clock(text.substr(1), false);
}

bool is_date_or_time(std::string_view token) {
  if (is_date(token) || is_time(token, false)) return true;
  return token.size() > 11 && is_date(token.substr(0, 10)) &&
         (token[10] == 'T' || token[10] == 't' || token[10] == ' ') && is_time(token.substr(11), true);
}

Scalar refused(std::string_view token, std::string_view why) { return {{}, fmt::format("'{}' {}", token, why)}; }

Scalar prefixed_integer(std::string_view token) {
  const int base = token[1] == 'x' ? 16 : token[1] == 'o' ? 8 : 2;
  const auto digits = without_underscores(token.substr(2), base);
  if (!digits) return refused(token, fmt::format("is not a number of base {}", base));
  std::int64_t number = 0;
  const auto parsed = std::from_chars(digits->data(), digits->data() + digits->size(), number, base);
  if (parsed.ec != std::errc{}) return refused(token, "is out of the range of 64-bit integers");
  return {number, {}};
}

Scalar decimal_integer(std::string_view token, bool negative, std::string_view whole) {
  std::int64_t number = 0;
  const std::string digits = fmt::format("{}{}", negative ? "-" : "", whole);
  if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc{}) {
    return refused(token, "is out of the range of 64-bit integers");
  }
  return {number, {}};
}

/// A decimal integer or a float: [sign] whole [.fraction] [e[sign]exponent].
Scalar decimal_number(std::string_view token) {
  constexpr std::string_view kNoNumber = "is not a value; text needs quotes";
  std::string_view rest = token;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  const std::size_t exponent_at = rest.find_first_of("eE");
  const std::size_t point_at = rest.substr(0, exponent_at).find('.');
  const auto whole = without_underscores(rest.substr(0, std::min(point_at, exponent_at)), 10);
  if (!whole) return refused(token, kNoNumber);
  if (whole->size() > 1 && whole->front() == '0') return refused(token, "has a leading zero");
  if (exponent_at == std::string_view::npos && point_at == std::string_view::npos) {
    return decimal_integer(token, negative, *whole);
  }

  std::string plain = fmt::format("{}{}", negative ? "-" : "", *whole);
  if (point_at != std::string_view::npos) {
    const std::size_t length = exponent_at == std::string_view::npos ? exponent_at : exponent_at - point_at - 1;
    const auto fraction = without_underscores(rest.substr(point_at + 1, length), 10);
    if (!fraction) return refused(token, kNoNumber);
    plain += "." + *fraction;
  }
  if (exponent_at != std::string_view::npos) {
    std::string_view power = rest.substr(exponent_at + 1);
    const bool negative_power = power.starts_with('-');
    if (negative_power || power.starts_with('+')) power.remove_prefix(1);
    const auto digits = without_underscores(power, 10);
    if (!digits) return refused(token, kNoNumber);
    plain += fmt::format("e{}{}", negative_power ? "-" : "", *digits);
  }
  double number = 0;
  const auto parsed = std::from_chars(plain.data(), plain.data() + plain.size(), number);
  if (parsed.ec != std::errc{}) return refused(token, "is out of the range of 64-bit floating point");
  return {number, {}};
}

}  // namespace

bool is_date(std::string_view token) {
  if (token.size() != 10 || token[4] != '-' || token[7] != '-') return false;
  if (!is_all_digits(token.substr(0, 4)) || !is_all_digits(token.substr(5, 2)) || !is_all_digits(token.substr(8)))
    return false;
  const int month = number_of(token.substr(5, 2)), day = number_of(token.substr(8));
  return month >= 1 && month <= 12 && day >= 1 && day <= days_in_month(number_of(token.substr(0, 4)), month);
}

Scalar resolve_scalar(std::string_view token) {
  if (token == "true") return {true, {}};
  if (token == "false") return {false, {}};
  const std::string_view unsigned_token = token.substr(token.starts_with('+') || token.starts_with('-') ? 1 : 0);
  if (unsigned_token == "inf" || unsigned_token == "nan") {
    return refused(token, "has no JSON form; put it in quotes if text is meant");
  }
  if (token.size() > 1 && token[0] == '0' && (token[1] == 'x' || token[1] == 'o' || token[1] == 'b')) {
    return prefixed_integer(token);
  }
  if (is_date_or_time(token)) return {json::Value(token), {}};
  return decimal_number(token);
}

}  // namespace strake::toml
