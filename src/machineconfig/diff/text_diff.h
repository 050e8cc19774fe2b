// How two texts differ, in the lines people know: unified hunks for any text, section and key for systemd units.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace strake::machineconfig {

struct TextDiffLimits {
  std::size_t max_lines = 200;       ///< of output; what is left out is counted in a last line
  std::size_t max_line_bytes = 400;  ///< of one line; a longer one is shown around where it differs, with its column
  std::size_t context = 3;
};

/// "@@ -1,3 +1,4 @@", then lines that start with ' ', '-' or '+', as `diff -u` writes them. Empty for equal texts.
std::vector<std::string> unified_diff(std::string_view before, std::string_view after,
                                      const TextDiffLimits& limits = {});

/// "[Service]", then "-Restart=no" and "+Restart=always" for each key whose values differ. The order of different keys,
/// comments and blank lines mean nothing to systemd: when only they differ, one line says so.
std::vector<std::string> unit_diff(std::string_view before, std::string_view after, const TextDiffLimits& limits = {});

/// Every line is blank, a comment, a [section] or an assignment: the form of unit files and systemd's own settings.
bool is_unit_text(std::string_view text);

/// Text a person can read: UTF-8 without NUL.
bool is_text(std::string_view contents);

/// Cut to so many bytes, between characters, with a note of what is missing.
std::string shortened(std::string_view text, std::size_t max_bytes);

}  // namespace strake::machineconfig
