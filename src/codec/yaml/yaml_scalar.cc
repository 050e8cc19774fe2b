#include "codec/yaml/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <system_error>

namespace strake::yaml {
namespace {

constexpr bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t count_digits(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_decimal_digit) - text.begin());
}

/// Takes parts off the front of a text; every step says whether it fitted.
class ScalarCursor {
 public:
  explicit ScalarCursor(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }

  bool skip(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool skip_any(std::string_view wanted) {
    if (rest_.empty() || wanted.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// One or more of `wanted`.
  bool skip_run(char wanted) {
    if (!skip(wanted)) return false;
    while (skip(wanted)) {
    }
    return true;
  }

  std::size_t skip_digits() {
    const std::size_t digits = count_digits(rest_);
    rest_.remove_prefix(digits);
    return digits;
  }

  void skip_digits_and_underscores() {
    while (!rest_.empty() && (is_decimal_digit(rest_.front()) || rest_.front() == '_')) rest_.remove_prefix(1);
  }

  /// A number of `min` to `max` digits: takes as many as there are, up to `max`.
  std::optional<int> number(std::size_t min, std::size_t max) {
    const std::size_t digits = std::min(count_digits(rest_), max);
    if (digits < min) return std::nullopt;
    int value = 0;
    for (char c : rest_.substr(0, digits)) value = value * 10 + (c - '0');
    rest_.remove_prefix(digits);
    return value;
  }

 private:
  std::string_view rest_;
};

bool date_exists(int year, int month, int day) {
  constexpr std::array kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > 12 || day < 1) return false;
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  const int days = kDays[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
  return day <= days;
}

/// `h:m:s` with an optional fraction, whose separator may also be a comma (ISO 8601).
bool skip_time_of_day(ScalarCursor& cursor) {
  const auto hour = cursor.number(1, 2);
  if (!hour || *hour > 23 || !cursor.skip(':')) return false;
  const auto minute = cursor.number(1, 2);
  if (!minute || *minute > 59 || !cursor.skip(':')) return false;
  const auto second = cursor.number(1, 2);
  if (!second || *second > 59) return false;
  if (cursor.skip_any(".,")) return cursor.skip_digits() > 0;
  return true;
}

bool skip_zone(ScalarCursor& cursor) {
  if (cursor.skip('Z')) return true;
  if (!cursor.skip_any("+-")) return false;
  const auto hour = cursor.number(2, 2);
  if (!hour || *hour > 24 || !cursor.skip(':')) return false;
  const auto minute = cursor.number(2, 2);
  return minute && *minute <= 60;
}

bool is_timestamp(std::string_view text) {
  if (count_digits(text) != 4) return false;
  ScalarCursor cursor(text);
  const auto year = cursor.number(4, 4);
  if (!cursor.skip('-')) return false;
  const auto month = cursor.number(1, 2);
  if (!month || !cursor.skip('-')) return false;
  const auto day = cursor.number(1, 2);
  if (!day || !date_exists(*year, *month, *day)) return false;
  if (cursor.at_end()) return true;
  if (cursor.skip_any("Tt")) return skip_time_of_day(cursor) && skip_zone(cursor) && cursor.at_end();
  if (cursor.skip_run(' ')) return skip_time_of_day(cursor) && cursor.at_end();
  return false;
}

std::optional<std::uint64_t> parse_digits(std::string_view digits, int base) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (failure != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<Scalar> signed_integer(std::uint64_t magnitude, bool negative) {
  constexpr auto kMaxPositive = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (magnitude > kMaxPositive + (negative ? 1 : 0)) return std::nullopt;
  return Scalar(static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude));
}

std::optional<Scalar> parse_integer(std::string_view text) {
  const bool has_sign = text.starts_with('-') || text.starts_with('+');
  const bool negative = text.starts_with('-');
  std::string_view digits = text.substr(has_sign ? 1 : 0);
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    switch (digits[1]) {
      case 'x':
      case 'X': base = 16; break;
      case 'b':
      case 'B': base = 2; break;
      case 'o':
      case 'O': base = 8; break;
      default: base = 0; break;
    }
    // A bare leading zero means octal; its first digit is that zero itself, so nothing more is cut off.
    digits.remove_prefix(base == 0 ? 1 : 2);
    if (base == 0) base = 8;
  }
  const auto magnitude = parse_digits(digits, base);
  if (!magnitude) return std::nullopt;
  if (auto value = signed_integer(*magnitude, negative)) return value;
  if (!has_sign) return Scalar(*magnitude);
  return std::nullopt;
}

/// The reference reader accepts a sign behind the binary prefix as well: `0b-101` is -5 to it.
std::optional<Scalar> parse_binary_with_inner_sign(std::string_view text) {
  if (!text.starts_with("0b-") && !text.starts_with("0b+")) return std::nullopt;
  const auto magnitude = parse_digits(text.substr(3), 2);
  return magnitude ? signed_integer(*magnitude, text[2] == '-') : std::nullopt;
}

/// `[-+]?(\.d+|d+(\.d*)?)([eE][-+]?d+)?`
bool has_float_syntax(std::string_view text) {
  ScalarCursor cursor(text);
  cursor.skip_any("+-");
  if (cursor.skip('.')) {
    if (cursor.skip_digits() == 0) return false;
  } else {
    if (cursor.skip_digits() == 0) return false;
    if (cursor.skip('.')) cursor.skip_digits();
  }
  if (cursor.skip_any("eE")) {
    cursor.skip_any("+-");
    if (cursor.skip_digits() == 0) return false;
  }
  return cursor.at_end();
}

std::optional<Scalar> parse_float(std::string_view text) {
  if (!has_float_syntax(text)) return std::nullopt;
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failure == std::errc::result_out_of_range) {
    // from_chars reports underflow and overflow alike; only overflow turns the text into a string.
    const double nearest = std::strtod(std::string(digits).c_str(), nullptr);
    if (!std::isfinite(nearest)) return std::nullopt;
    return Scalar(nearest);
  }
  if (failure != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return Scalar(value);
}

bool underscores_separate_digits(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') continue;
    if (i == 0 || i + 1 == text.size() || !is_decimal_digit(text[i - 1]) || !is_decimal_digit(text[i + 1]))
      return false;
  }
  return true;
}

std::optional<Scalar> resolve_word(std::string_view text) {
  static constexpr std::array<std::string_view, 11> kTrue = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                                             "True", "TRUE", "on",  "On",  "ON"};
  static constexpr std::array<std::string_view, 11> kFalse = {"n",     "N",     "no",  "No",  "NO", "false",
                                                              "False", "FALSE", "off", "Off", "OFF"};
  static constexpr std::array<std::string_view, 4> kNull = {"~", "null", "Null", "NULL"};
  static constexpr std::array<std::string_view, 3> kNan = {".nan", ".NaN", ".NAN"};
  static constexpr std::array<std::string_view, 3> kInfinity = {".inf", ".Inf", ".INF"};
  const auto is_one_of = [](std::string_view word, const auto& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  if (is_one_of(text, kTrue)) return Scalar(true);
  if (is_one_of(text, kFalse)) return Scalar(false);
  if (is_one_of(text, kNull)) return Scalar(Null{});
  if (is_one_of(text, kNan)) return Scalar(std::numeric_limits<double>::quiet_NaN());
  const bool has_sign = text.starts_with('-') || text.starts_with('+');
  if (is_one_of(text.substr(has_sign ? 1 : 0), kInfinity)) {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    return Scalar(text.starts_with('-') ? -kInf : kInf);
  }
  return std::nullopt;
}

}  // namespace

Scalar resolve_scalar(std::string_view text) {
  if (text.empty()) return Null{};
  constexpr std::string_view kFirstOfSpecial = "+-.0123456789yYnNtTfFoO~";
  if (kFirstOfSpecial.find(text.front()) == std::string_view::npos) return PlainString{};
  if (auto word = resolve_word(text)) return *word;
  std::string plain(text);
  std::erase(plain, '_');
  if (text.front() == '.') {
    if (!underscores_separate_digits(text)) return PlainString{};
    return parse_float(plain).value_or(Scalar(PlainString{}));
  }
  if (text.front() != '+' && text.front() != '-' && !is_decimal_digit(text.front())) return PlainString{};
  if (is_timestamp(text)) return Timestamp{};
  if (auto integer = parse_integer(plain)) return *integer;
  if (auto number = parse_float(plain)) return *number;
  if (auto integer = parse_binary_with_inner_sign(plain)) return *integer;
  return PlainString{};
}

bool looks_like_base60(std::string_view text) {
  ScalarCursor cursor(text);
  cursor.skip_any("+-");
  if (cursor.skip_digits() == 0) return false;
  cursor.skip_digits_and_underscores();
  bool has_part = false;
  while (cursor.skip(':')) {
    const auto part = cursor.number(1, 2);
    if (!part || *part > 59) return false;
    has_part = true;
  }
  if (!has_part) return false;
  if (cursor.skip('.')) cursor.skip_digits_and_underscores();
  return cursor.at_end();
}

}  // namespace strake::yaml
