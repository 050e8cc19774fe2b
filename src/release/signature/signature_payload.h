// The statement inside a release signature: "this digest is known under this name" (atomic container signature).
//
// Read as clusters read it: members are found whatever their capitals, of repeated ones the last counts, what follows
// the object is ignored; unknown members anywhere refuse the statement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/digest.h"

namespace strake::release {

inline constexpr std::size_t kMaxSignaturePayloadBytes = 1u << 20;

struct SignaturePayload {
  std::string manifest_digest;   ///< as written
  std::string docker_reference;  ///< not empty; compared with nothing, a release is known under many names
  std::string creator;
  std::optional<std::int64_t> timestamp;

  /// kDenied names both digests when they differ in a single byte.
  Status require_digest(const codec::Digest& expected) const;
};

Result<SignaturePayload> parse_signature_payload(std::string_view text);

}  // namespace strake::release
