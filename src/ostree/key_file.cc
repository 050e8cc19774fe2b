#include "ostree/key_file.h"

#include <fmt/format.h>

#include "base/text.h"

namespace strake::ostree {

std::optional<std::string> key_file_value(std::string_view text, std::string_view section, std::string_view key) {
  std::optional<std::string> value;
  bool inside = false;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_until(text, '\n'));
    if (line.starts_with('[')) {
      inside = line == fmt::format("[{}]", section);
    } else if (const std::size_t equals = line.find('='); inside && equals != std::string_view::npos) {
      if (trimmed(line.substr(0, equals)) == key) value = std::string(trimmed(line.substr(equals + 1)));
    }
  }
  return value;
}

}  // namespace strake::ostree
