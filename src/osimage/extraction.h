// Extraction: files of an OS image written below a folder, by an ordinary user.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "osimage/os_image.h"

namespace strake::osimage {

struct ExtractOptions {
  bool overwrite = false;  ///< replace files and links that are there; never a folder
  /// Everything keeps its path below the target: "usr/lib/os-release". Else what is in a folder goes into the target,
  /// and a file or link becomes one in it; of several then no two may have the same name.
  bool keep_paths = false;
  std::string_view overwrite_option = "--force";  ///< what the user is told to give
};

struct Extracted {
  std::size_t files = 0;
  std::size_t folders = 0;
  std::size_t links = 0;
  std::vector<std::string> skipped;  ///< devices and fifos
  std::size_t steps = 0;             ///< of keeping account of files: in proportion to their number
};

/// Each layer is read once for all of them. Modes are kept, except for the bits that lend the owner's rights, because
/// owners are not. Links are written as they are and never followed, neither
/// those of the image nor those in `directory`: nothing outside it is touched. All content is checked before the first
/// file gets its name; kExists when something is in the way.
Result<Extracted> extract_files(OsImage& image, const std::vector<OsImage::Found>& what,
                                const std::filesystem::path& directory, const ExtractOptions& options,
                                const runtime::Call& call);

}  // namespace strake::osimage
