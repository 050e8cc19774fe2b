#include "osbackend/os_backend.h"

namespace strake::osbackend {

std::vector<std::string> split_kernel_arguments(const std::vector<std::string>& items) {
  std::vector<std::string> arguments;
  for (const std::string& item : items) {
    std::string current;
    bool quoted = false;
    for (const char c : item) {
      if (c == '"') quoted = !quoted;
      if (c == ' ' && !quoted) {
        if (!current.empty()) arguments.push_back(std::move(current));
        current.clear();
      } else {
        current += c;
      }
    }
    if (!current.empty()) arguments.push_back(std::move(current));
  }
  return arguments;
}

}  // namespace strake::osbackend
