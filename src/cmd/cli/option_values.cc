#include "cmd/cli/option_values.h"

#include <algorithm>
#include <charconv>

#include <fmt/ranges.h>

#include "base/suggest.h"

namespace strake::cmd {

namespace {

constexpr std::chrono::milliseconds kLongestDuration = std::chrono::hours(24 * 365);

struct DurationUnit {
  std::string_view name;
  std::chrono::milliseconds length;
};
constexpr DurationUnit kDurationUnits[] = {{"h", std::chrono::hours(1)},
                                           {"m", std::chrono::minutes(1)},
                                           {"s", std::chrono::seconds(1)},
                                           {"ms", std::chrono::milliseconds(1)}};

Error bad_duration(std::string_view text) {
  return error(Code::kInvalidArgument, "'{}' is no duration such as 90s, 5m or 1h30m, at most a year", text);
}

Result<OptionValue> parse_word(std::span<const std::string_view> words, std::string_view shown,
                               const std::string& text) {
  const auto found = std::ranges::find(words, text);
  if (found != words.end()) return OptionValue(static_cast<std::size_t>(found - words.begin()));
  return error(Code::kInvalidArgument, "{} {}: expected {}{}", shown, text, fmt::join(words, ", "),
               did_you_mean(text, words));
}

Result<OptionValue> parse_integer(const ValueType& type, std::string_view shown, const std::string& text) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size() || number < type.minimum || number > type.maximum) {
    return error(Code::kInvalidArgument, "{} {}: expected a whole number from {} to {}", shown, text, type.minimum,
                 type.maximum);
  }
  return OptionValue(number);
}

Result<OptionValue> parse_list(std::string_view shown, const std::string& text) {
  std::vector<std::string> items;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    if (end == start) {
      return error(Code::kInvalidArgument, "{} {}: an item between the commas is missing", shown, text);
    }
    items.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return OptionValue(std::move(items));
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  std::string_view rest = text;
  std::chrono::milliseconds total{0};
  for (const DurationUnit* unit = std::begin(kDurationUnits); !rest.empty();) {
    std::uint32_t count = 0;
    const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
    if (failure != std::errc()) return bad_duration(text);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    const std::string_view name = rest.substr(0, rest.find_first_of("0123456789"));
    unit = std::find_if(unit, std::end(kDurationUnits), [&](const DurationUnit& each) { return each.name == name; });
    if (unit == std::end(kDurationUnits) || count > kLongestDuration / unit->length) return bad_duration(text);
    total += unit->length * count;
    ++unit;
    rest.remove_prefix(name.size());
  }
  if (total <= std::chrono::milliseconds(0) || total > kLongestDuration) return bad_duration(text);
  return total;
}

Result<OptionValue> parse_option_value(const ValueType& type, std::string_view shown, const std::string& text) {
  switch (type.kind) {
    case ValueKind::kText: return OptionValue(text);
    case ValueKind::kFile:
    case ValueKind::kFolder:
      if (text.empty()) return error(Code::kInvalidArgument, "{}: the path is empty", shown);
      return OptionValue(text);
    case ValueKind::kWord: return parse_word(type.words, shown, text);
    case ValueKind::kList: return parse_list(shown, text);
    case ValueKind::kInteger: return parse_integer(type, shown, text);
    case ValueKind::kDuration: {
      STRAKE_TRY_CONTEXT(const std::chrono::milliseconds duration, parse_duration(text), "{}", shown);
      return OptionValue(duration);
    }
    case ValueKind::kEndpoint: {
      STRAKE_TRY_CONTEXT(net::Endpoint endpoint, net::parse_endpoint(text), "{}", shown);
      return OptionValue(std::move(endpoint));
    }
  }
  return error(Code::kInternal, "{}: unknown kind of value", shown);
}

}  // namespace strake::cmd
