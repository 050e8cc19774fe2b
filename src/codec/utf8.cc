#include "codec/utf8.h"

#include <cstddef>

namespace strake::codec {
namespace {

struct Utf8Step {
  char32_t code_point = 0;
  std::size_t width = 0;  ///< 0: the bytes here are not UTF-8
};

Utf8Step decode_one_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return {lead, 1};

  std::size_t width = 0;
  char32_t code_point = 0;
  char32_t smallest = 0;  // below it the form is overlong
  if (lead >= 0xC2 && lead <= 0xDF) {
    width = 2, code_point = lead & 0x1Fu, smallest = 0x80;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    width = 3, code_point = lead & 0x0Fu, smallest = 0x800;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    width = 4, code_point = lead & 0x07u, smallest = 0x10000;
  } else {
    return {};
  }
  if (text.size() - at < width) return {};
  for (std::size_t i = 1; i < width; ++i) {
    if ((byte(at + i) & 0xC0u) != 0x80u) return {};
    code_point = (code_point << 6) | (byte(at + i) & 0x3Fu);
  }
  const bool is_surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < smallest || code_point > 0x10FFFF || is_surrogate) return {};
  return {code_point, width};
}

}  // namespace

std::optional<std::u32string> decode_utf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Step step = decode_one_utf8(text, i);
    if (step.width == 0) return std::nullopt;
    out.push_back(step.code_point);
    i += step.width;
  }
  return out;
}

bool is_valid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Step step = decode_one_utf8(text, i);
    if (step.width == 0) return false;
    i += step.width;
  }
  return true;
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

}  // namespace strake::codec
