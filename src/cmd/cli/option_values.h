// What the value of an option or argument may be: said in the command table, checked once, before a verb runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "net/endpoint.h"

namespace strake::cmd {

enum class ValueKind {
  kText,
  kWord,      ///< one of `words`
  kList,      ///< items separated by commas
  kInteger,   ///< from `minimum` to `maximum`
  kDuration,  ///< 90s, 5m, 1h30m, 250ms; more than nothing
  kEndpoint,  ///< ADDRESS:PORT
  kFile,      ///< a file; "-" is standard input where the help says so
  kFolder,
};

struct ValueType {
  ValueKind kind = ValueKind::kText;
  std::span<const std::string_view> words{};
  std::int64_t minimum = 0;
  std::int64_t maximum = 0;
};

template <std::size_t Count>
constexpr ValueType one_of(const std::string_view (&words)[Count]) {
  return {ValueKind::kWord, words};
}
constexpr ValueType integer_from(std::int64_t minimum, std::int64_t maximum) {
  return {ValueKind::kInteger, {}, minimum, maximum};
}
inline constexpr ValueType kListValue{ValueKind::kList};
inline constexpr ValueType kDurationValue{ValueKind::kDuration};
inline constexpr ValueType kEndpointValue{ValueKind::kEndpoint};
inline constexpr ValueType kFileValue{ValueKind::kFile};
inline constexpr ValueType kFolderValue{ValueKind::kFolder};

/// A checked value: the text itself, the index of a word, a number, ...
using OptionValue = std::variant<std::string, std::size_t, std::int64_t, std::chrono::milliseconds, net::Endpoint,
                                 std::vector<std::string>>;

/// `shown` is how the option is written on the command line ("--nodes", "-o"); errors begin with it.
Result<OptionValue> parse_option_value(const ValueType& type, std::string_view shown, const std::string& text);

/// "90s", "1h30m", "250ms": whole numbers with units from large to small, each once.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

}  // namespace strake::cmd
