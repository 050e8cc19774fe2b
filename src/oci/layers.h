// The file trees inside an image: its layers read in order, none of them believed before all of its bytes were hashed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "codec/compress.h"
#include "codec/tar.h"
#include "oci/image_source.h"

namespace strake::oci {

/// Reads every layer to its end against its digest. What a manifest's digest promises about the files in it is only as
/// good as this check.
Status verify_layers(const ImageSource& source, const Manifest& manifest);

/// Whether a blob of this type is a tar this program reads.
bool is_layer_type(std::string_view media_type);

struct LayerEntry {
  std::size_t layer = 0;  ///< 0 is the lowest
  std::string path;       ///< relative, cleaned: "etc/os-release"; the root is "."
  const codec::TarEntry& tar;
  codec::Source& content;  ///< of a regular file, valid during the visit
};
using LayerVisitor = std::function<Status(const LayerEntry&)>;

struct LayerLimits {
  codec::DecompressLimits decompress;
  codec::TarLimits tar;
};

/// Visits every entry of every layer, lowest layer first, whiteouts included. A layer is hashed completely before its
/// first entry is shown, and once more while it is read: what was seen counts only when this returns success.
Status for_each_layer_entry(const ImageSource& source, const Manifest& manifest, const LayerVisitor& visit,
                            const LayerLimits& limits = {});

struct FileLimits {
  std::size_t max_files = 10'000;
  std::uint64_t max_file_bytes = 16u << 20;
  std::uint64_t max_total_bytes = 256u << 20;
};

/// The regular files of the final tree that `wanted` asks for, by cleaned path. Whiteouts, opaque folders and replaced
/// entries are honoured; symbolic links are not followed, so a wanted path that ends up as a link is absent. kExhausted
/// at the limits.
Result<std::map<std::string, std::string>> read_files(const ImageSource& source, const Manifest& manifest,
                                                      const std::function<bool(std::string_view path)>& wanted,
                                                      const FileLimits& limits = {});

}  // namespace strake::oci
