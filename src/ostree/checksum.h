// Checksum: the name of an ostree object, a SHA-256.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace strake::ostree {

class Checksum {
 public:
  static constexpr std::size_t kBytes = 32;

  /// 64 lower-case hexadecimal digits, as ostree writes them.
  static Result<Checksum> from_hex(std::string_view hex);
  /// The 32 bytes themselves.
  static Result<Checksum> from_bytes(std::string_view bytes);
  static Checksum of(std::string_view content);

  std::string hex() const;
  std::string_view bytes() const { return {reinterpret_cast<const char*>(bytes_.data()), kBytes}; }

  auto operator<=>(const Checksum&) const = default;

 private:
  Checksum() = default;
  std::array<std::uint8_t, kBytes> bytes_{};
};

}  // namespace strake::ostree
