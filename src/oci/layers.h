// The layers of an image, each read once from its first byte to its last: what was seen in one is believed only after
// all of its bytes were hashed.
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
  codec::TarEntry& tar;  ///< its path is cleaned: "etc/os-release", the root is "."; the visitor may move from it
  std::uint64_t tar_offset = 0;  ///< where the content begins in the uncompressed layer
  codec::Source& content;        ///< of a regular file, valid during the visit
};
/// Whether the visitor wants the entries that follow.
enum class AfterEntry { kGoOn, kEnough };
using LayerVisitor = std::function<Result<AfterEntry>(const LayerEntry&)>;

/// Gives the uncompressed layer to `read`, which need not reach its end, and hashes the layer to its end in any case.
/// What was seen counts only when this returns success. `read` is called again, with the layer from its start, when a
/// mirror delivered something else and there is another place.
Status read_layer(const ImageSource& source, const Descriptor& layer,
                  const std::function<Status(codec::Source& tar)>& read, const runtime::Call& call = {},
                  const codec::DecompressLimits& limits = {});

/// Shows the entries of an uncompressed layer in their order, whiteouts included.
Status visit_tar(codec::Source& tar, const LayerVisitor& visit, const codec::TarLimits& limits = {});

struct FileLimits {
  std::size_t max_files = 10'000;
  std::uint64_t max_file_bytes = 16u << 20;
  std::uint64_t max_total_bytes = 256u << 20;
};

/// The regular files of the final tree that `wanted` asks for, by path, as ImageFiles lists them: whiteouts, opaque
/// folders, replaced entries and hard links are honoured; symbolic links are not followed, so a wanted path that ends
/// up as one is absent. kExhausted at the limits. Who asks more than once keeps an ImageFiles instead.
Result<std::map<std::string, std::string>> read_files(const ImageSource& source, const Manifest& manifest,
                                                      const std::function<bool(std::string_view path)>& wanted,
                                                      const FileLimits& limits = {}, const runtime::Call& call = {});

}  // namespace strake::oci
