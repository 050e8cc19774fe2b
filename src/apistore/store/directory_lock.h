// One process per store directory: an advisory lock on DIRECTORY/lock, which the kernel drops when the holder dies.
#pragma once

#include <filesystem>

#include "base/fd.h"
#include "base/result.h"

namespace strake::apistore {

class DirectoryLock {
 public:
  DirectoryLock() = default;
  /// kDenied with reason "Locked", naming the directory and the process that holds it, when somebody else does.
  static Result<DirectoryLock> acquire(const std::filesystem::path& directory);

 private:
  explicit DirectoryLock(Fd file) : file_(std::move(file)) {}
  Fd file_;
};

}  // namespace strake::apistore
