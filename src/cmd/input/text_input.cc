#include "cmd/input/text_input.h"

#include <cstdio>

#include "base/fd.h"

namespace strake::cmd {

std::string shown_path(std::string_view path) {
  return path == kStandardInputPath ? "standard input" : std::string(path);
}

Result<std::string> read_text_input(const std::string& path, std::size_t max_bytes) {
  if (path != kStandardInputPath) return read_file(path, max_bytes);
  std::string text;
  char buffer[65536];
  for (std::size_t got = sizeof buffer; got == sizeof buffer && text.size() <= max_bytes;) {
    got = std::fread(buffer, 1, sizeof buffer, stdin);
    text.append(buffer, got);
  }
  if (std::ferror(stdin) != 0) return error(Code::kIo, "cannot read standard input");
  if (text.size() > max_bytes) return error(Code::kExhausted, "standard input holds more than {} bytes", max_bytes);
  return text;
}

}  // namespace strake::cmd
