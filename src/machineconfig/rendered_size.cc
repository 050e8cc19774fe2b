#include "machineconfig/rendered_size.h"

#include <array>
#include <charconv>

namespace strake::machineconfig {

namespace {

/// Length of a byte inside a JSON string as Go writes it. U+2028 and U+2029 are seen to by their first byte's caller.
constexpr std::array<unsigned char, 256> kEscapedLength = [] {
  std::array<unsigned char, 256> lengths{};
  for (std::size_t byte = 0; byte < lengths.size(); ++byte) lengths[byte] = byte < 0x20 ? 6 : 1;
  for (const char c : {'"', '\\', '\n', '\r', '\t', '\b', '\f'}) lengths[static_cast<unsigned char>(c)] = 2;
  for (const char c : {'<', '>', '&'}) lengths[static_cast<unsigned char>(c)] = 6;
  return lengths;
}();

std::size_t string_size(std::string_view text) {
  std::size_t size = 2;
  for (const char c : text) size += kEscapedLength[static_cast<unsigned char>(c)];
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

}  // namespace

std::size_t go_json_size(const json::Value& value) {
  switch (value.kind()) {
    case boost::json::kind::null: return 4;
    case boost::json::kind::bool_: return value.get_bool() ? 4 : 5;
    case boost::json::kind::int64: return number_size(value.get_int64());
    case boost::json::kind::uint64: return number_size(value.get_uint64());
    case boost::json::kind::double_: return number_size(value.get_double());
    case boost::json::kind::string: return string_size(json::as_view(value.get_string()));
    case boost::json::kind::array: {
      const json::Array& items = value.get_array();
      std::size_t size = items.empty() ? 2 : 1 + items.size();  // brackets and commas
      for (const json::Value& item : items) size += go_json_size(item);
      return size;
    }
    case boost::json::kind::object: {
      const json::Object& members = value.get_object();
      std::size_t size = members.empty() ? 2 : 1 + members.size();
      for (const auto& entry : members) size += string_size(entry.key()) + 1 + go_json_size(entry.value());
      return size;
    }
  }
  return 0;
}

std::size_t rendered_size(const json::Value& machine_config, const json::Value& spec) {
  const json::Value* metadata = json::find(machine_config, {"metadata"});
  STRAKE_INVARIANT(metadata != nullptr);
  constexpr std::size_t kFrame = std::string_view(R"({"metadata":,"spec":})").size();
  return kFrame + go_json_size(*metadata) + go_json_size(spec);
}

}  // namespace strake::machineconfig
