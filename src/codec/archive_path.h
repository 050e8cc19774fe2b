// Names inside archives, made safe to use below a folder.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace strake::codec {

/// A relative path without empty, `.` and `..` components ("./a//b/" gives "a/b", the root gives "."). Leading slashes
/// are dropped, as unpackers do; a `..` anywhere is kInvalidArgument, because with symlinks even `a/../b` may lead
/// outside.
Result<std::string> clean_archive_path(std::string_view path);

}  // namespace strake::codec
