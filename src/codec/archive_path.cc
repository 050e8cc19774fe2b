#include "codec/archive_path.h"

#include <algorithm>
#include <vector>

namespace strake::codec {

Result<std::string> clean_archive_path(std::string_view path) {
  if (path.empty()) return error(Code::kInvalidArgument, "an archive entry has an empty name");
  if (path.find('\0') != std::string_view::npos) {
    return error(Code::kInvalidArgument, "archive entry {:?} has a NUL byte in its name", path.substr(0, 200));
  }
  std::string clean;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view component = path.substr(at, slash - at);
    at = slash + 1;
    if (component.empty() || component == ".") continue;
    if (component == "..") {
      return error(Code::kInvalidArgument, "archive entry {:?} would leave the folder it is unpacked into",
                   path.substr(0, 200));
    }
    if (!clean.empty()) clean.push_back('/');
    clean.append(component);
  }
  if (clean.empty()) clean = ".";
  return clean;
}

void prepend_path_parts(std::deque<std::string>& parts, std::string_view path) {
  std::vector<std::string> own;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") own.emplace_back(part);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  parts.insert(parts.begin(), own.begin(), own.end());
}

}  // namespace strake::codec
