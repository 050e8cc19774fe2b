#include "ostree/checksum.h"

#include <algorithm>

#include "codec/digest.h"
#include "codec/hex.h"

namespace strake::ostree {

Result<Checksum> Checksum::from_hex(std::string_view hex) {
  if (hex.size() != 2 * kBytes || !codec::is_lower_hex(hex)) {
    return error(Code::kInvalidArgument, "'{}' is no ostree checksum: those are {} lower-case hexadecimal digits",
                 hex.substr(0, 80), 2 * kBytes);
  }
  STRAKE_TRY(const std::string bytes, codec::decode_hex(hex));
  return from_bytes(bytes);
}

Result<Checksum> Checksum::from_bytes(std::string_view bytes) {
  if (bytes.size() != kBytes) {
    return error(Code::kCorrupt, "a checksum has {} bytes instead of {}", bytes.size(), kBytes);
  }
  Checksum checksum;
  std::ranges::transform(bytes, checksum.bytes_.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
  return checksum;
}

Checksum Checksum::of(std::string_view content) {
  codec::Hasher hasher(codec::HashAlgorithm::kSha256);
  hasher.update(content);
  const Result<Checksum> checksum = from_bytes(std::move(hasher).finish_bytes());
  STRAKE_INVARIANT(checksum.ok());
  return *checksum;
}

std::string Checksum::hex() const { return codec::encode_hex(bytes()); }

}  // namespace strake::ostree
