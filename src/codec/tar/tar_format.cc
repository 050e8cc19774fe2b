#include "codec/tar/tar_format.h"

#include <algorithm>

#include <fmt/format.h>

namespace strake::codec {
namespace {

/// The checksum counts its own field as eight blanks.
template <typename Byte>
std::int64_t tar_checksum(std::string_view block) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool own_field = i >= kTarChecksum.offset && i < kTarChecksum.offset + kTarChecksum.size;
    sum += own_field ? ' ' : static_cast<Byte>(block[i]);
  }
  return sum;
}

/// Big-endian two's complement with the marker bit taken out of the first byte.
std::optional<std::int64_t> parse_base256(std::string_view raw) {
  const bool negative = (static_cast<unsigned char>(raw[0]) & 0x40) != 0;
  const std::uint64_t sign_fill = negative ? 0xFF : 0x00;
  std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    std::uint64_t byte = static_cast<unsigned char>(raw[i]);
    if (i == 0) byte = negative ? byte | 0x80 : byte & 0x7F;
    if (value >> 56 != sign_fill) return std::nullopt;
    value = value << 8 | byte;
  }
  if ((value >> 63 != 0) != negative) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::string_view TarHeader::text(TarField field) const {
  const std::string_view whole = raw(field);
  return whole.substr(0, whole.find('\0'));
}

std::optional<std::int64_t> TarHeader::number(TarField field) const {
  std::string_view digits = raw(field);
  if ((static_cast<unsigned char>(digits[0]) & 0x80) != 0) return parse_base256(digits);
  const auto is_filler = [](char c) { return c == ' ' || c == '\0'; };
  while (!digits.empty() && is_filler(digits.front())) digits.remove_prefix(1);
  const auto end = std::find_if(digits.begin(), digits.end(), is_filler);
  std::int64_t value = 0;  // at most 12 octal digits: 36 bits
  for (auto it = digits.begin(); it != end; ++it) {
    if (*it < '0' || *it > '7') return std::nullopt;
    value = value * 8 + (*it - '0');
  }
  return value;
}

bool TarHeader::is_zero() const {
  return std::all_of(block_.begin(), block_.end(), [](char c) { return c == '\0'; });
}

bool TarHeader::checksum_matches() const {
  const auto stored = number(kTarChecksum);
  // Some old archivers summed signed characters.
  return stored && (*stored == tar_checksum<unsigned char>(bytes()) || *stored == tar_checksum<signed char>(bytes()));
}

bool TarHeader::set_text(TarField field, std::string_view value) {
  if (value.size() > field.size || value.find('\0') != std::string_view::npos) return false;
  std::copy(value.begin(), value.end(), block_.begin() + static_cast<std::ptrdiff_t>(field.offset));
  return true;
}

bool TarHeader::set_octal(TarField field, std::uint64_t value) {
  const std::size_t digits = field.size - 1;
  const std::string text = fmt::format("{:0{}o}", value, digits);
  return text.size() <= digits && set_text(field, text);
}

void TarHeader::set_checksum() {
  const std::string text = fmt::format("{:06o}", tar_checksum<unsigned char>(bytes()));
  std::copy(text.begin(), text.end(), block_.begin() + kTarChecksum.offset);
  block_[kTarChecksum.offset + 6] = '\0';
  block_[kTarChecksum.offset + 7] = ' ';
}

}  // namespace strake::codec
