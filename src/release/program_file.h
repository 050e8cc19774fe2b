// A program on its way to its name in a folder: written beside it, with its stamps, and named once it is whole.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/fd.h"
#include "release/release_programs.h"

namespace strake::release {

class ProgramFile {
 public:
  ProgramFile(const std::filesystem::path& folder, const std::string& name, bool overwrite);
  /// What was not named goes away.
  ~ProgramFile();
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;

  const std::filesystem::path& target() const { return target_; }
  /// kExists when the name is taken and may not be.
  Status check_free() const;
  /// Where the bytes go; asked for once more when they come anew. Makes the folder when it is not there.
  Result<codec::Sink*> open(std::vector<ProgramStamp> stamps);
  /// Gives the file its name.
  Status finish();

 private:
  std::filesystem::path target_;
  std::filesystem::path partial_;
  bool overwrite_;
  Fd fd_;
  std::optional<codec::FdSink> plain_;
  std::optional<StampingSink> stamping_;
};

}  // namespace strake::release
