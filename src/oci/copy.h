// Copying images between sources and targets: everything an image is made of, each blob once, several at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "oci/image_target.h"

namespace strake::oci {

struct CopyOptions {
  unsigned parallel = 4;
  /// Only the image for this platform; absent: an index with all it names.
  std::optional<Platform> platform = {};
};

struct CopyReport {
  Descriptor root;  ///< what the tag names now
  std::size_t blobs_written = 0;
  std::size_t blobs_mounted = 0;
  std::size_t blobs_present = 0;
  std::uint64_t bytes_written = 0;
};

/// The manifests are written after their blobs and the tag last: who reads the target meanwhile sees the old image or
/// the new one. Documents keep their bytes, so every digest stays.
Result<CopyReport> copy_image(const ImageSource& from, std::string_view reference, ImageTarget& to,
                              std::string_view tag, const CopyOptions& options, runtime::Runtime& runtime,
                              const runtime::Call& call);

/// The same for an entry that was found already. Without a tag it is there by its digest alone.
Result<CopyReport> copy_entry(const ImageSource& from, Descriptor entry, ImageTarget& to, std::string_view tag,
                              unsigned parallel, runtime::Runtime& runtime, const runtime::Call& call);

}  // namespace strake::oci
