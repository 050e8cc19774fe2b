#include "codec/text_position.h"

#include <algorithm>

namespace strake::codec {

TextPosition position_in(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const std::size_t last_break = before.rfind('\n');
  const std::string_view line = last_break == std::string_view::npos ? before : before.substr(last_break + 1);

  TextPosition position;
  position.line += static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  position.column += static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }));
  return position;
}

}  // namespace strake::codec
