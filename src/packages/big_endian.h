// Numbers in the byte order of the network, in which both SQLite and rpm write them. The caller has checked that they
// are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace strake::packages {

inline std::uint64_t big_endian(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  return value;
}

inline std::uint32_t big_endian_16(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint32_t>(big_endian(bytes, at, 2));
}

inline std::uint32_t big_endian_32(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint32_t>(big_endian(bytes, at, 4));
}

}  // namespace strake::packages
