#include "ignition/butane/typed_scalar.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "base/text.h"

namespace strake::ignition {

namespace {

/// Go's strconv.ParseInt with base 0, of text without underscores.
std::optional<std::int64_t> go_integer(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char kind = lower_case(text[1]);
    base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
    text.remove_prefix(kind == 'x' || kind == 'b' || kind == 'o' ? 2 : 1);
  }
  if (text.empty() || text[0] == '-') return std::nullopt;
  std::int64_t value = 0;
  const std::string signed_text = (is_negative ? "-" : "") + std::string(text);
  const char* end = signed_text.data() + signed_text.size();
  const auto [stop, failure] = std::from_chars(signed_text.data(), end, value, base);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string_view skip_digits(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of("0123456789"), text.size()));
}

/// `1`, `1.5`, `.5`, `1e3`: the floats of yaml.v3.
bool is_float(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  std::string_view rest = skip_digits(text);
  bool has_digit = rest.size() != text.size();
  if (rest.starts_with('.')) {
    const std::string_view fraction = rest.substr(1);
    rest = skip_digits(fraction);
    has_digit = has_digit || rest.size() != fraction.size();
  }
  if (!has_digit) return false;
  if (rest.starts_with('e') || rest.starts_with('E')) {
    rest.remove_prefix(1);
    if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
    if (rest.empty() || !is_digit(rest[0])) return false;
    rest = skip_digits(rest);
  }
  return rest.empty();
}

}  // namespace

std::optional<bool> as_bool(const yaml::Node& scalar) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, std::string_view(scalar.text)) != words.end();
  };
  if (scalar.is_plain && is_one_of({"true", "True", "TRUE"})) return true;
  if (scalar.is_plain && is_one_of({"false", "False", "FALSE"})) return false;
  if (is_one_of({"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"})) return true;
  if (is_one_of({"n", "N", "no", "No", "NO", "off", "Off", "OFF"})) return false;
  return std::nullopt;
}

std::optional<std::int64_t> as_integer(const yaml::Node& scalar) {
  if (!scalar.is_plain || scalar.text.empty()) return std::nullopt;
  const char first = scalar.text[0];
  if (!is_digit(first) && first != '-' && first != '+' && first != '.') return std::nullopt;
  std::string text = scalar.text;
  if (first != '.') std::erase(text, '_');
  if (const auto integer = go_integer(text); integer) return integer;
  if (!is_float(text)) return std::nullopt;
  double number = 0;
  const char* begin = text.data() + (text[0] == '+' ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(begin, end, number);
  if (failure != std::errc() || stop != end) return std::nullopt;
  // What does not fit becomes some number or other in Go; nobody means that.
  if (!std::isfinite(number) || std::abs(number) >= 9.0e18) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

}  // namespace strake::ignition
