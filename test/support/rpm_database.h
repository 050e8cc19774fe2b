// Real rpm databases: packages built by rpmbuild, recorded and listed by rpm.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace strake::test {

/// `count` packages without files, from one run of rpmbuild in `folder`: p001, p002, ... with and without epochs, with
/// pre-releases and snapshots among the versions, and with descriptions of up to 36 kB, so that some headers need
/// several pages. `dist` ends their releases: "el9" is older than "el10".
Result<std::vector<std::filesystem::path>> build_rpms(const std::filesystem::path& folder, int count,
                                                      const std::string& dist = "el9");

/// A database of rpm in a folder of its own, in the SQLite format.
class RpmDatabase {
 public:
  explicit RpmDatabase(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path file() const { return folder_ / "rpmdb.sqlite"; }

  /// Records packages as installed, without their files.
  Status install(const std::vector<std::filesystem::path>& packages) const;
  Status erase(const std::vector<std::string>& names) const;

  /// One line a package, sorted by bytes; `format` as in `rpm --queryformat`, without the line's end.
  Result<std::vector<std::string>> query(const std::string& format) const;

 private:
  Result<std::string> rpm(std::vector<std::string> arguments) const;

  std::filesystem::path folder_;
};

}  // namespace strake::test
