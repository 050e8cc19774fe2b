// UTF-8 to code points and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace strake::codec {

/// The code points of `text`, or nullopt when it is not valid UTF-8 (overlong forms and surrogates included).
std::optional<std::u32string> decode_utf8(std::string_view text);

bool is_valid_utf8(std::string_view text);

void append_utf8(std::string& out, char32_t code_point);

}  // namespace strake::codec
