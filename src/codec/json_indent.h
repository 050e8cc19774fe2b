// JSON with an indentation of the reader's choice, for files whose form somebody else laid down.
#pragma once

#include <string>

#include "codec/json.h"

namespace strake::json {

/// Members in their stored order, one a line, `spaces` more for each level; a final newline.
std::string write_indented(const Value& value, std::size_t spaces);

}  // namespace strake::json
