// Names inside archives, made safe to use below a folder.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "base/result.h"

namespace strake::codec {

/// A relative path without empty, `.` and `..` components ("./a//b/" gives "a/b", the root gives "."). Leading slashes
/// are dropped, as unpackers do; a `..` anywhere is kInvalidArgument, because with symlinks even `a/../b` may lead
/// outside.
Result<std::string> clean_archive_path(std::string_view path);

/// For who walks a path and follows links in it: the parts of `path` come before those that are still to walk. Empty
/// parts and "." are nothing to walk; ".." is left to the walker.
void prepend_path_parts(std::deque<std::string>& parts, std::string_view path);

}  // namespace strake::codec
