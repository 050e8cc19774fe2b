// AuditFile: a log file that is moved aside when it is full: FILE, FILE.1 (the one before), ... up to a number. Its
// owner alone may read it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace strake::apistore {

struct AuditFileLimits {
  std::uint64_t file_bytes = 32u << 20;
  unsigned files = 8;  ///< the one being written included
};

class AuditFile {
 public:
  AuditFile(std::filesystem::path path, AuditFileLimits limits) : path_(std::move(path)), limits_(limits) {}

  /// Opens what is there, or a new file with mode 0600. Refused: links, files of other users, files with a second name.
  Status open();
  /// Whole lines; all of them are in the file, or none. After an error the next call opens it anew.
  Status append(std::string_view lines);

 private:
  Status rotate();

  const std::filesystem::path path_;
  const AuditFileLimits limits_;
  Fd file_;
  std::uint64_t size_ = 0;
};

}  // namespace strake::apistore
