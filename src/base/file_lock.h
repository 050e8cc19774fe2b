// One process at a time: an advisory lock on a file, which the kernel drops when the holder dies.
#pragma once

#include <filesystem>

#include "base/fd.h"
#include "base/result.h"

namespace strake {

class FileLock {
 public:
  FileLock() = default;
  /// Never waits. kDenied with reason "Locked" and the message "in use by process N" when somebody else holds it; the
  /// caller says what that means and what to do.
  static Result<FileLock> acquire(const std::filesystem::path& path);

 private:
  explicit FileLock(Fd file) : file_(std::move(file)) {}
  Fd file_;
};

}  // namespace strake
