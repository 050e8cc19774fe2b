// Where in a text an error is: the line and column a person sees in an editor.
#pragma once

#include <cstddef>
#include <string_view>

namespace strake::codec {

struct TextPosition {
  std::size_t line = 1;
  std::size_t column = 1;  ///< in code points, not bytes
};

/// The position of the byte at `offset`; an offset past the end counts as the end.
TextPosition position_in(std::string_view text, std::size_t offset);

}  // namespace strake::codec
