#include "cmd/output/shell_words.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"

namespace strake::cmd {

namespace {

bool is_plain_in_shells(char c) {
  return is_alphanumeric(c) || std::string_view("_-./:=@%+,").find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, is_plain_in_shells)) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string program_to_paste(std::string_view called) {
  if (called.find('/') == std::string_view::npos) return shell_word(called);
  std::error_code failure;
  const std::filesystem::path path = std::filesystem::absolute(called, failure);
  return shell_word(failure ? std::string(called) : path.lexically_normal().string());
}

}  // namespace strake::cmd
