#include "codec/base64.h"

#include <array>
#include <cstdint>

namespace strake::codec {
namespace {

constexpr std::string_view kStandardDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

using Base64Values = std::array<std::int8_t, 256>;

constexpr Base64Values make_base64_values(std::string_view digits) {
  Base64Values values{};
  values.fill(-1);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    values[static_cast<unsigned char>(digits[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}

constexpr Base64Values kStandardValues = make_base64_values(kStandardDigits);
constexpr Base64Values kUrlValues = make_base64_values(kUrlDigits);

Error bad_base64_character(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (c > ' ' && c < 0x7F) return error(Code::kInvalidArgument, "base64: unexpected `{}` at offset {}", c, at);
  return error(Code::kInvalidArgument, "base64: unexpected byte 0x{:02x} at offset {}", static_cast<unsigned char>(c),
               at);
}

const Base64Values& values_of(const Base64Form& form) {
  return form.alphabet == Base64Alphabet::kStandard ? kStandardValues : kUrlValues;
}

/// How many digits `text` begins with.
std::size_t count_base64_digits(std::string_view text, const Base64Values& values) {
  const auto value = [&](std::size_t i) { return values[static_cast<unsigned char>(text[i])]; };
  std::size_t at = 0;
  // Negative as soon as one of the four is.
  while (at + 4 <= text.size() && (value(at) | value(at + 1) | value(at + 2) | value(at + 3)) >= 0) at += 4;
  while (at < text.size() && value(at) >= 0) ++at;
  return at;
}

/// The number of digits of well-formed text.
Result<std::size_t> checked_base64_digits(std::string_view text, const Base64Form& form) {
  const Base64Values& values = values_of(form);
  const std::size_t digits = count_base64_digits(text, values);
  const std::size_t digits_in_last_group = digits % 4;
  const std::size_t padding = form.padded && digits_in_last_group >= 2 ? 4 - digits_in_last_group : 0;
  std::size_t at = digits;
  for (std::size_t i = 0; i < padding; ++i, ++at) {
    if (at == text.size())
      return error(Code::kInvalidArgument, "base64: ends at offset {} without its `=` padding", at);
    if (text[at] != '=') return bad_base64_character(text, at);
  }
  if (at < text.size()) return bad_base64_character(text, at);
  if (digits_in_last_group == 1) {
    return error(Code::kInvalidArgument, "base64: cut short at offset {}: one digit alone encodes no byte", at);
  }
  const int unused_bits = digits_in_last_group == 2 ? 0x0F : digits_in_last_group == 3 ? 0x03 : 0;
  if (!form.ignore_unused_bits && unused_bits != 0 &&
      (values[static_cast<unsigned char>(text[digits - 1])] & unused_bits) != 0) {
    return error(Code::kInvalidArgument, "base64: the digit at offset {} carries bits that belong to no byte",
                 digits - 1);
  }
  return digits;
}

}  // namespace

std::string encode_base64(std::span<const std::byte> bytes, const Base64Form& form) {
  const std::string_view digits = form.alphabet == Base64Alphabet::kStandard ? kStandardDigits : kUrlDigits;
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t available = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < available ? std::to_integer<std::uint32_t>(bytes[i + j]) : 0);
    }
    for (std::size_t j = 0; j < available + 1; ++j) out.push_back(digits[group >> (18 - 6 * j) & 0x3F]);
    if (form.padded) out.append(3 - available, '=');
  }
  return out;
}

std::string encode_base64(std::string_view bytes, const Base64Form& form) {
  return encode_base64(std::as_bytes(std::span(bytes)), form);
}

Status check_base64(std::string_view text, const Base64Form& form) {
  if (auto digits = checked_base64_digits(text, form); !digits.ok()) return std::move(digits).error();
  return {};
}

Result<std::string> decode_base64(std::string_view text, const Base64Form& form) {
  STRAKE_TRY(const std::size_t digits, checked_base64_digits(text, form));
  const Base64Values& values = values_of(form);
  std::string out(digits * 6 / 8, '\0');
  std::size_t written = 0;
  for (std::size_t at = 0; at < digits; at += 4) {
    const std::size_t available = std::min<std::size_t>(4, digits - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const int value = i < available ? values[static_cast<unsigned char>(text[at + i])] : 0;
      group = group << 6 | static_cast<std::uint32_t>(value);
    }
    for (std::size_t i = 0; i + 1 < available; ++i) {
      out[written++] = static_cast<char>(static_cast<unsigned char>(group >> (16 - 8 * i)));
    }
  }
  return out;
}

}  // namespace strake::codec
