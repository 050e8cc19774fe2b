#include "machineconfig/render/rendered_size.h"

#include <array>
#include <charconv>

namespace strake::machineconfig {

namespace {

using EscapedLengths = std::array<unsigned char, 256>;

/// Length of each byte inside a JSON string. U+2028 and U+2029 are seen to elsewhere.
constexpr EscapedLengths escaped_lengths(std::string_view in_short_form) {
  EscapedLengths lengths{};
  for (std::size_t byte = 0; byte < lengths.size(); ++byte) lengths[byte] = byte < 0x20 ? 6 : 1;
  for (const char c : in_short_form) lengths[static_cast<unsigned char>(c)] = 2;
  for (const char c : std::string_view("<>&")) lengths[static_cast<unsigned char>(c)] = 6;
  return lengths;
}

constexpr EscapedLengths kGoLengths = escaped_lengths("\"\\\n\r\t\b\f");
constexpr EscapedLengths kOldGoLengths = escaped_lengths("\"\\\n\r\t");  // before Go 1.22

std::size_t string_size(std::string_view text, const EscapedLengths& lengths) {
  std::size_t size = 2;
  for (const char c : text) size += lengths[static_cast<unsigned char>(c)];
  for (std::size_t at = text.find("\xE2\x80"); at != std::string_view::npos; at = text.find("\xE2\x80", at + 2)) {
    const std::string_view rest = text.substr(at + 2);
    if (rest.starts_with('\xA8') || rest.starts_with('\xA9')) size += 3;  // six characters for three bytes
  }
  return size;
}

template <typename Number>
std::size_t number_size(Number number) {
  char digits[32];
  return static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, number).ptr - digits);
}

std::size_t value_size(const json::Value& value, const EscapedLengths& lengths) {
  switch (value.kind()) {
    case boost::json::kind::null: return 4;
    case boost::json::kind::bool_: return value.get_bool() ? 4 : 5;
    case boost::json::kind::int64: return number_size(value.get_int64());
    case boost::json::kind::uint64: return number_size(value.get_uint64());
    case boost::json::kind::double_: return json::write(value).size();
    case boost::json::kind::string: return string_size(json::as_view(value.get_string()), lengths);
    case boost::json::kind::array: {
      const json::Array& items = value.get_array();
      std::size_t size = items.empty() ? 2 : 1 + items.size();  // brackets and commas
      for (const json::Value& item : items) size += value_size(item, lengths);
      return size;
    }
    case boost::json::kind::object: {
      const json::Object& members = value.get_object();
      std::size_t size = members.empty() ? 2 : 1 + members.size();
      for (const auto& entry : members) {
        size += string_size(entry.key(), lengths) + 1 + value_size(entry.value(), lengths);
      }
      return size;
    }
  }
  return 0;
}

}  // namespace

std::size_t go_json_size(const json::Value& value) { return value_size(value, kGoLengths); }

std::size_t spec_size(const json::Object& spec) {
  std::size_t size = 1 + spec.size();
  for (const auto& entry : spec) {
    const EscapedLengths& lengths = entry.key() == "config" ? kOldGoLengths : kGoLengths;
    size += string_size(entry.key(), kGoLengths) + 1 + value_size(entry.value(), lengths);
  }
  return size;
}

std::size_t rendered_size(const json::Value& machine_config, const json::Value& spec) {
  const json::Value* metadata = json::find(machine_config, {"metadata"});
  STRAKE_INVARIANT(metadata != nullptr);
  constexpr std::size_t kFrame = std::string_view(R"({"metadata":,"spec":})").size();
  return kFrame + go_json_size(*metadata) + spec_size(spec.get_object());
}

}  // namespace strake::machineconfig
