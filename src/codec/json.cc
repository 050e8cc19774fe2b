#include "codec/json.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <exception>
#include <initializer_list>
#include <limits>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codec/text_position.h"

namespace strake::json {
namespace {

using BoostErrorCode = boost::json::error_code;
using BoostView = boost::json::string_view;

/// What our handlers refuse although it is JSON.
enum class Refusal { kNone, kNumberRange, kDuplicateKey, kStopHere };

/// The members every Boost.JSON handler must have and ours does not care about.
struct HandlerDefaults {
  static constexpr std::size_t max_object_size = Object::max_size();
  static constexpr std::size_t max_array_size = Array::max_size();
  static constexpr std::size_t max_key_size = String::max_size();
  static constexpr std::size_t max_string_size = String::max_size();

  bool on_document_begin(BoostErrorCode&) { return true; }
  bool on_document_end(BoostErrorCode&) { return true; }
  bool on_object_begin(BoostErrorCode&) { return true; }
  bool on_object_end(std::size_t, BoostErrorCode&) { return true; }
  bool on_array_begin(BoostErrorCode&) { return true; }
  bool on_array_end(std::size_t, BoostErrorCode&) { return true; }
  bool on_string_part(BoostView, std::size_t, BoostErrorCode&) { return true; }
  bool on_string(BoostView, std::size_t, BoostErrorCode&) { return true; }
  bool on_number_part(BoostView, BoostErrorCode&) { return true; }
  bool on_int64(std::int64_t, BoostView, BoostErrorCode&) { return true; }
  bool on_uint64(std::uint64_t, BoostView, BoostErrorCode&) { return true; }
  bool on_double(double, BoostView, BoostErrorCode&) { return true; }
  bool on_bool(bool, BoostErrorCode&) { return true; }
  bool on_null(BoostErrorCode&) { return true; }
  bool on_comment_part(BoostView, BoostErrorCode&) { return true; }
  bool on_comment(BoostView, BoostErrorCode&) { return true; }

 protected:
  bool refuse(Refusal why, BoostErrorCode& code) {
    refusal = why;
    code = boost::json::error::syntax;  // any error stops the parser; `refusal` says which it was
    return false;
  }

 public:
  Refusal refusal = Refusal::kNone;
};

/// Builds the value. Boost keeps the last of two equal keys, so members are counted as they are read: a finished
/// value with fewer of them had duplicates. That keeps the common path free of any key set.
struct BuildHandler : HandlerDefaults {
  explicit BuildHandler(unsigned char* buffer, std::size_t size) : stack({}, buffer, size) { stack.reset(); }

  bool on_object_end(std::size_t count, BoostErrorCode&) {
    stack.push_object(count);
    members += count;
    return true;
  }
  bool on_array_end(std::size_t count, BoostErrorCode&) {
    stack.push_array(count);
    return true;
  }
  bool on_key_part(BoostView text, std::size_t, BoostErrorCode&) {
    stack.push_chars(text);
    return true;
  }
  bool on_key(BoostView text, std::size_t, BoostErrorCode&) {
    stack.push_key(text);
    return true;
  }
  bool on_string_part(BoostView text, std::size_t, BoostErrorCode&) {
    stack.push_chars(text);
    return true;
  }
  bool on_string(BoostView text, std::size_t, BoostErrorCode&) {
    stack.push_string(text);
    return true;
  }
  bool on_int64(std::int64_t number, BoostView text, BoostErrorCode&) {
    if (number == 0 && text.front() == '-') {
      stack.push_double(-0.0);  // integers have no negative zero, and what is read must be written again
    } else {
      stack.push_int64(number);
    }
    return true;
  }
  bool on_uint64(std::uint64_t number, BoostView, BoostErrorCode&) {
    stack.push_uint64(number);
    return true;
  }
  bool on_double(double approximate, BoostView text, BoostErrorCode& code) {
    // Boost 1.81 may be off by some units in the last place; from_chars rounds correctly.
    double exact = approximate;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exact);
    if (error == std::errc::result_out_of_range) {
      if (std::abs(approximate) > 1) return refuse(Refusal::kNumberRange, code);
      exact = std::signbit(approximate) ? -0.0 : 0.0;
    }
    stack.push_double(exact);
    return true;
  }
  bool on_bool(bool truth, BoostErrorCode&) {
    stack.push_bool(truth);
    return true;
  }
  bool on_null(BoostErrorCode&) {
    stack.push_null();
    return true;
  }

  boost::json::value_stack stack;
  std::size_t members = 0;
};

/// Finds the first duplicate key of a text already known to have one. Only on the way to an error, so it may be slow.
struct DuplicateHandler : HandlerDefaults {
  bool on_object_begin(BoostErrorCode&) {
    objects.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, BoostErrorCode&) {
    objects.pop_back();
    return true;
  }
  bool on_key_part(BoostView text, std::size_t, BoostErrorCode&) {
    key.append(text.data(), text.size());
    return true;
  }
  bool on_key(BoostView text, std::size_t, BoostErrorCode& code) {
    key.append(text.data(), text.size());
    const auto [found, inserted] = objects.back().emplace(key, keys_seen);
    if (!inserted) {
      first_key_number = found->second;
      return refuse(Refusal::kDuplicateKey, code);
    }
    ++keys_seen;
    key.clear();
    return true;
  }

  std::vector<std::unordered_map<std::string, std::size_t>> objects;
  std::string key;
  std::size_t keys_seen = 0;
  std::size_t first_key_number = 0;
};

/// Stops after a given key, to learn where it is.
struct StopAtKeyHandler : HandlerDefaults {
  explicit StopAtKeyHandler(std::size_t wanted) : remaining(wanted) {}
  bool on_key_part(BoostView, std::size_t, BoostErrorCode&) { return true; }
  bool on_key(BoostView, std::size_t, BoostErrorCode& code) {
    return remaining-- != 0 || refuse(Refusal::kStopHere, code);
  }

  std::size_t remaining;
};

boost::json::parse_options parse_options_for(const ParseLimits& limits) {
  boost::json::parse_options options;
  options.max_depth = limits.max_depth;
  return options;
}

Error error_at(Code code, std::string_view text, std::size_t offset, std::string_view message) {
  const codec::TextPosition position = codec::position_in(text, offset);
  return error(code, "line {}, column {}: {}", position.line, position.column, message);
}

std::string describe_character(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return "the text ends too early";
  const auto byte = static_cast<unsigned char>(text[offset]);
  if (byte < 0x20 || byte == 0x7F) return fmt::format("unexpected control character 0x{:02x}", byte);
  if (byte >= 0x80) return "unexpected character that is not ASCII, or a string that is not UTF-8";
  return fmt::format("unexpected '{}'", text[offset]);
}

Error syntax_error(const BoostErrorCode& code, std::string_view text, std::size_t offset, const ParseLimits& limits) {
  using Kind = boost::json::error;
  if (code == Kind::too_deep) {
    return error_at(Code::kExhausted, text, offset,
                    fmt::format("nested deeper than the limit of {} levels", limits.max_depth));
  }
  std::string message = describe_character(text, offset);
  if (code == Kind::incomplete) {
    message = text.empty() ? "the document is empty" : "the text ends too early";
  } else if (code == Kind::extra_data) {
    message = "unexpected text after the document";
  } else if (code == Kind::exponent_overflow) {
    message = "number out of range";
  } else if (code != Kind::syntax) {
    message = code.message();
  }
  return error_at(Code::kInvalidArgument, text, offset, message);
}

template <typename Handler>
struct StoppedParse {
  Handler handler;
  std::size_t offset;  ///< of the byte at which the handler stopped the parser
};

template <typename Handler, typename... Args>
StoppedParse<Handler> parse_until_refusal(std::string_view text, const ParseLimits& limits, Args... args) {
  boost::json::basic_parser<Handler> parser(parse_options_for(limits), args...);
  BoostErrorCode code;
  const std::size_t offset = parser.write_some(false, text.data(), text.size(), code);
  return {std::move(parser.handler()), offset};
}

/// The parser stops at the quote that ends a key; this is the one that opens it.
std::size_t start_of_key(std::string_view text, std::size_t closing_quote) {
  const auto is_escaped = [&](std::size_t at) {
    std::size_t backslashes = 0;
    while (backslashes < at && text[at - backslashes - 1] == '\\') ++backslashes;
    return backslashes % 2 == 1;
  };
  std::size_t at = std::min(closing_quote, text.size());
  while (at > 0) {
    --at;
    if (text[at] == '"' && !is_escaped(at)) break;
  }
  return at;
}

Error duplicate_key_error(std::string_view text, const ParseLimits& limits) {
  const auto second = parse_until_refusal<DuplicateHandler>(text, limits);
  const auto first = parse_until_refusal<StopAtKeyHandler>(text, limits, second.handler.first_key_number);
  return error_at(Code::kInvalidArgument, text, start_of_key(text, second.offset),
                  fmt::format("duplicate key {} (first at line {})", write(Value(second.handler.key)),
                              codec::position_in(text, start_of_key(text, first.offset)).line));
}

std::size_t count_members(const Value& value) {
  std::size_t count = 0;
  if (const Object* object = value.if_object()) {
    count = object->size();
    for (const auto& member : *object) {
      if (member.value().is_structured()) count += count_members(member.value());
    }
  } else if (const Array* array = value.if_array()) {
    for (const Value& element : *array) {
      if (element.is_structured()) count += count_members(element);
    }
  }
  return count;
}

template <typename V>
V* walk_members(V& root, std::initializer_list<std::string_view> path) {
  V* here = &root;
  for (const std::string_view step : path) {
    auto* object = here->if_object();
    if (object == nullptr) return nullptr;
    here = object->if_contains(step);
    if (here == nullptr) return nullptr;
  }
  return here;
}

}  // namespace

Result<Value> parse(std::string_view text, const ParseLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return error(Code::kExhausted, "JSON text of {} bytes exceeds the limit of {} bytes", text.size(),
                 limits.max_bytes);
  }
  try {
    unsigned char buffer[4096];
    boost::json::basic_parser<BuildHandler> parser(parse_options_for(limits), buffer, sizeof buffer);
    BoostErrorCode code;
    std::size_t consumed = parser.write_some(false, text.data(), text.size(), code);
    BuildHandler& handler = parser.handler();
    if (handler.refusal == Refusal::kNumberRange) {
      return error_at(Code::kInvalidArgument, text, consumed, "number out of range");
    }
    if (code) return syntax_error(code, text, consumed, limits);

    if (consumed < text.size()) {  // blanks after the document are consumed already
      return syntax_error(boost::json::error::extra_data, text, consumed, limits);
    }

    Value value = handler.stack.release();
    if (count_members(value) != handler.members) return duplicate_key_error(text, limits);
    return value;
  } catch (const std::exception& failure) {
    return error(Code::kExhausted, "cannot hold the JSON document: {}", failure.what());
  }
}

const Value* find(const Value& root, std::initializer_list<std::string_view> path) { return walk_members(root, path); }
Value* find(Value& root, std::initializer_list<std::string_view> path) { return walk_members(root, path); }

std::optional<std::string> find_string(const Value& root, std::initializer_list<std::string_view> path) {
  const Value* value = find(root, path);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string(as_view(value->get_string()));
}

std::optional<std::int64_t> find_int(const Value& root, std::initializer_list<std::string_view> path) {
  const Value* value = find(root, path);
  if (value == nullptr) return std::nullopt;
  if (const std::int64_t* number = value->if_int64()) return *number;
  if (const std::uint64_t* number = value->if_uint64()) {
    if (*number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(*number);
  }
  if (const double* number = value->if_double()) {
    // 420.0 is written as 420, so it is the same value to everybody else.
    constexpr double kTwoTo63 = 9223372036854775808.0;
    if (*number == std::trunc(*number) && *number >= -kTwoTo63 && *number < kTwoTo63) {
      return static_cast<std::int64_t>(*number);
    }
  }
  return std::nullopt;
}

std::optional<bool> find_bool(const Value& root, std::initializer_list<std::string_view> path) {
  const Value* value = find(root, path);
  if (value == nullptr || !value->is_bool()) return std::nullopt;
  return value->get_bool();
}

Value& ensure(Value& root, std::initializer_list<std::string_view> path) {
  Value* here = &root;
  for (const std::string_view step : path) {
    if (!here->is_object()) here->emplace_object();
    Object& object = here->get_object();
    // Boost may reallocate even when the member exists; what callers already point to must stay where it is.
    here = object.if_contains(step);
    if (here == nullptr) here = &object[step];
  }
  return *here;
}

std::string_view as_view(const String& text) { return {text.data(), text.size()}; }

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case boost::json::kind::null: return "null";
    case boost::json::kind::bool_: return "boolean";
    case boost::json::kind::int64:
    case boost::json::kind::uint64: return "integer";
    case boost::json::kind::double_: return "number";
    case boost::json::kind::string: return "string";
    case boost::json::kind::array: return "array";
    case boost::json::kind::object: return "object";
  }
  return "null";
}

}  // namespace strake::json
