// Whole files, or standard input, as verbs read them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace strake::cmd {

/// Stands for standard input where a file is asked for.
inline constexpr std::string_view kStandardInputPath = "-";

/// The whole of a file, or of standard input for "-"; kExhausted above the limit.
Result<std::string> read_text_input(const std::string& path, std::size_t max_bytes);

/// What a file is called in messages: "standard input" for "-".
std::string shown_path(std::string_view path);

}  // namespace strake::cmd
