#include "machineconfig/generate/quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace strake::machineconfig {

namespace {

struct QuantityUnit {
  std::string_view suffix;
  long double factor;
};

constexpr std::array<QuantityUnit, 16> kQuantityUnits{{{"", 1.0L},
                                                       {"n", 1e-9L},
                                                       {"u", 1e-6L},
                                                       {"m", 1e-3L},
                                                       {"k", 1e3L},
                                                       {"M", 1e6L},
                                                       {"G", 1e9L},
                                                       {"T", 1e12L},
                                                       {"P", 1e15L},
                                                       {"E", 1e18L},
                                                       {"Ki", 1024.0L},
                                                       {"Mi", 1048576.0L},
                                                       {"Gi", 1073741824.0L},
                                                       {"Ti", 1099511627776.0L},
                                                       {"Pi", 1125899906842624.0L},
                                                       {"Ei", 1152921504606846976.0L}}};

Error not_a_quantity(std::string_view text) {
  return error(Code::kInvalidArgument, "'{}' is not a quantity such as 10k, 8Gi or 500m", clip_utf8(text, 40));
}

}  // namespace

Result<std::int64_t> parse_quantity(std::string_view text) {
  constexpr std::size_t kLongestQuantity = 64;
  if (text.size() > kLongestQuantity) return not_a_quantity(text);
  std::string_view rest = text;
  bool negative = false;
  if (rest.starts_with('+') || rest.starts_with('-')) {
    negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  const std::size_t end = std::min(rest.find_first_not_of("0123456789."), rest.size());
  const std::string_view digits = rest.substr(0, end);
  const bool has_digit = digits.find_first_of("0123456789") != std::string_view::npos;
  if (!has_digit || digits.find('.') != digits.rfind('.')) return not_a_quantity(text);
  long double number = 0;
  long double place = 0;  // 0 before the point
  for (const char c : digits) {
    if (c == '.') {
      place = 1;
    } else if (place == 0) {
      number = number * 10 + (c - '0');
    } else {
      place /= 10;
      number += (c - '0') * place;
    }
  }
  rest.remove_prefix(end);
  bool known = false;
  for (const QuantityUnit& unit : kQuantityUnits) {
    if (rest != unit.suffix) continue;
    number *= unit.factor;
    known = true;
  }
  if (!known) {
    if (!rest.starts_with('e') && !rest.starts_with('E')) return not_a_quantity(text);
    rest.remove_prefix(rest.size() > 1 && rest[1] == '+' ? 2 : 1);
    int exponent = 0;
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
    if (parsed.ec != std::errc() || parsed.ptr != rest.data() + rest.size()) return not_a_quantity(text);
    number *= std::pow(10.0L, static_cast<long double>(std::clamp(exponent, -30, 30)));
  }
  number = std::ceil(number);
  if (number > static_cast<long double>(std::numeric_limits<std::int64_t>::max())) {
    return error(Code::kInvalidArgument, "'{}' is too large", text);
  }
  const auto whole = static_cast<std::int64_t>(number);
  return negative ? -whole : whole;
}

std::string quantity_text(const json::Value& value) {
  if (value.is_string()) return std::string(json::as_view(value.get_string()));
  if (value.is_int64()) return fmt::format("{}", value.get_int64());
  return "";
}

}  // namespace strake::machineconfig
