// JSON with an indentation of the reader's choice, for files whose form somebody else laid down.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "codec/json.h"

namespace strake::json {

/// Members in their stored order, one a line, `spaces` more for each level; a final newline.
std::string write_indented(const Value& value, std::size_t spaces);

using TextSink = std::function<void(std::string_view part)>;

/// The same part by part, so that a large text need never be whole in memory.
void write_indented_to(const Value& value, std::size_t spaces, const TextSink& sink);

}  // namespace strake::json
