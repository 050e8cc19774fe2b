#include "codec/hex.h"

#include <algorithm>

#include "base/text.h"

namespace strake::codec {

std::string encode_hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (std::byte byte : bytes) {
    out.push_back(kDigits[std::to_integer<std::size_t>(byte >> 4)]);
    out.push_back(kDigits[std::to_integer<std::size_t>(byte & std::byte{0x0F})]);
  }
  return out;
}

std::string encode_hex(std::string_view bytes) { return encode_hex(std::as_bytes(std::span(bytes))); }

Result<std::string> decode_hex(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (hex_digit_value(text[i]) < 0) {
      return error(Code::kInvalidArgument, "character {} of the hexadecimal text is not one of 0-9, a-f", i + 1);
    }
  }
  if (text.size() % 2 != 0) {
    return error(Code::kInvalidArgument, "hexadecimal text has {} digits; it must have an even number", text.size());
  }
  std::string out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    out.push_back(static_cast<char>(hex_digit_value(text[i]) << 4 | hex_digit_value(text[i + 1])));
  }
  return out;
}

bool is_lower_hex(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace strake::codec
