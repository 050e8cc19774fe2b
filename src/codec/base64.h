// Base64 (RFC 4648), standard and URL-safe alphabets.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace strake::codec {

enum class Base64Alphabet { kStandard, kUrl };

struct Base64Form {
  Base64Alphabet alphabet = Base64Alphabet::kStandard;
  bool padded = true;               ///< `=` is written, and demanded when reading
  bool ignore_unused_bits = false;  ///< reading only: accept `QR==`, whose last four bits encode nothing
};

inline constexpr Base64Form kBase64Standard{};
inline constexpr Base64Form kBase64Url{.alphabet = Base64Alphabet::kUrl, .padded = true};
inline constexpr Base64Form kBase64UrlUnpadded{.alphabet = Base64Alphabet::kUrl, .padded = false};

/// What Go's encoding/base64 accepts by default, less its tolerance of line breaks.
inline constexpr Base64Form kBase64Lenient{.ignore_unused_bits = true};

std::string encode_base64(std::span<const std::byte> bytes, const Base64Form& form = kBase64Standard);
std::string encode_base64(std::string_view bytes, const Base64Form& form = kBase64Standard);

/// Strict: no white space, no characters of the other alphabet, exact padding. Errors name the offset (from 0).
Result<std::string> decode_base64(std::string_view text, const Base64Form& form = kBase64Standard);

/// What decode_base64 would say, without the decoded bytes.
Status check_base64(std::string_view text, const Base64Form& form = kBase64Standard);

}  // namespace strake::codec
