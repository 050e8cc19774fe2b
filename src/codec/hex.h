// Bytes as lower-case hexadecimal text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace strake::codec {

std::string encode_hex(std::span<const std::byte> bytes);
std::string encode_hex(std::string_view bytes);

/// Accepts both cases; an error names the offset of the first character that is not a hexadecimal digit.
Result<std::string> decode_hex(std::string_view text);

/// True for a non-empty run of `0-9a-f`.
bool is_lower_hex(std::string_view text);

}  // namespace strake::codec
