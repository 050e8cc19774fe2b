// Difference: what two OS images do not have in common, file by file and package by package.
#pragma once

#include <string>
#include <vector>

#include "codec/json.h"
#include "osimage/inspection.h"
#include "osimage/os_image.h"

namespace strake::osimage {

struct FileDifference {
  enum class Kind { kAdded, kRemoved, kChanged };
  Kind kind = Kind::kChanged;
  std::string path;                 ///< "/usr/bin/bash"
  std::vector<std::string> what{};  ///< of a change: "content", "mode 0644 -> 0755", ...

  bool operator==(const FileDifference&) const = default;
};

struct PackageDifference {
  packages::PackageSystem system;
  packages::PackageDiff changes{};
  std::string problem{};       ///< why they cannot be compared; empty: they were
  std::string_view trouble{};  ///< "unreadable" or "unsupported"
};

struct Difference {
  std::vector<FileDifference> files;
  std::vector<PackageDifference> packages;
  std::vector<std::string> kernels_before;  ///< their versions; both empty where they are the same
  std::vector<std::string> kernels_after;

  /// True when something differs, or could not be compared.
  bool any() const;
};

struct CompareOptions {
  bool files = true;
  bool packages = true;  ///< and kernels
};

/// Reads as little as will do: objects with the same checksum and files at the same place of the same layer are equal
/// unread. Times are not compared, nor are SELinux labels unless both come from a commit: elsewhere they are computed
/// when the image is deployed. /usr/etc of a commit is /etc of a plain image.
Result<Difference> compare_images(OsImage& before, OsImage& after, const CompareOptions& options,
                                  const runtime::Call& call);

json::Object difference_json(const Difference& difference);
std::string describe_difference(const Difference& difference);

}  // namespace strake::osimage
