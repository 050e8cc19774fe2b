// Extraction: files of an OS image written below a folder, by an ordinary user.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "osimage/os_image.h"

namespace strake::osimage {

struct ExtractOptions {
  bool overwrite = false;  ///< replace files and links that are there; never a folder
};

struct Extracted {
  std::size_t files = 0;
  std::size_t folders = 0;
  std::size_t links = 0;
  std::vector<std::string> skipped;  ///< devices and fifos
};

/// What is in a folder goes into `directory`, a file or link becomes one in it. Modes are kept, except for the bits
/// that lend the owner's rights, because owners are not. Links are written as they are and never followed, neither
/// those of the image nor those in `directory`: nothing outside it is touched. All content is checked before the first
/// file gets its name; kExists when something is in the way.
Result<Extracted> extract_files(OsImage& image, const OsImage::Found& what, const std::filesystem::path& directory,
                                const ExtractOptions& options, const runtime::Call& call);

}  // namespace strake::osimage
