// Keeping text that others wrote within bounds.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace strake::kube {

/// At most `limit` bytes and an ellipsis, never ending inside a UTF-8 sequence: the text goes into JSON again.
inline std::string clip_utf8(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0u) == 0x80u) --limit;
  return std::string(text.substr(0, limit)) + "...";
}

}  // namespace strake::kube
