#include "codec/archive_path.h"

#include <algorithm>

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

}  // namespace strake::codec
