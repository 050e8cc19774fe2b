#include <cmath>

#include "codec/toml.h"

namespace strake::toml {

namespace {

bool is_bare_key(std::string_view key) {
  return !key.empty() && key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
                             std::string_view::npos;
}

void emit_string(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void emit_key(std::string_view key, std::string& out) {
  if (is_bare_key(key)) {
    out += key;
  } else {
    emit_string(key, out);
  }
}

/// A number with a point or an exponent stays a number with one.
std::string float_text(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void emit_inline(const json::Value& value, std::string& out) {
  switch (value.kind()) {
    case boost::json::kind::null: out += "\"\""; return;
    case boost::json::kind::bool_: out += value.get_bool() ? "true" : "false"; return;
    case boost::json::kind::int64: out += fmt::format("{}", value.get_int64()); return;
    case boost::json::kind::uint64: out += fmt::format("{}", value.get_uint64()); return;
    case boost::json::kind::double_: out += float_text(value.get_double()); return;
    case boost::json::kind::string: emit_string(json::as_view(value.get_string()), out); return;
    case boost::json::kind::array: {
      out += '[';
      bool first = true;
      for (const json::Value& item : value.get_array()) {
        if (!std::exchange(first, false)) out += ", ";
        emit_inline(item, out);
      }
      out += ']';
      return;
    }
    case boost::json::kind::object: {
      out += '{';
      bool first = true;
      for (const auto& member : value.get_object()) {
        if (member.value().is_null()) continue;
        if (!std::exchange(first, false)) out += ", ";
        emit_key(member.key(), out);
        out += " = ";
        emit_inline(member.value(), out);
      }
      out += '}';
      return;
    }
  }
}

bool is_array_of_tables(const json::Value& value) {
  const json::Array* items = value.if_array();
  if (items == nullptr || items->empty()) return false;
  for (const json::Value& item : *items) {
    if (!item.is_object()) return false;
  }
  return true;
}

/// `header`: the names of the tables on the way, joined by dots.
void emit_table(const json::Object& table, const std::string& header, std::size_t depth, std::string& out) {
  const std::string indent(depth * 2, ' ');
  for (const auto& member : table) {
    const json::Value& value = member.value();
    if (value.is_null() || value.is_object() || is_array_of_tables(value)) continue;
    out += indent;
    emit_key(member.key(), out);
    out += " = ";
    emit_inline(value, out);
    out += '\n';
  }
  for (const auto& member : table) {
    const json::Value& value = member.value();
    const bool repeated = is_array_of_tables(value);
    if (!repeated && !value.is_object()) continue;
    std::string name = header.empty() ? "" : header + ".";
    emit_key(member.key(), name);
    const auto emit_one = [&](const json::Object& inner) {
      if (!out.empty()) out += '\n';
      out += fmt::format("{}{}{}{}\n", indent, repeated ? "[[" : "[", name, repeated ? "]]" : "]");
      emit_table(inner, name, depth + 1, out);
    };
    if (repeated) {
      for (const json::Value& item : value.get_array()) emit_one(item.get_object());
    } else {
      emit_one(value.get_object());
    }
  }
}

}  // namespace

std::string emit(const json::Object& document) {
  std::string out;
  emit_table(document, "", 0, out);
  return out;
}

}  // namespace strake::toml
