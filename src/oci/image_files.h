// ImageFiles: the file tree an image unpacks to, without unpacking it: whiteouts, opaque folders and hard links
// applied.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "oci/blob_cache.h"
#include "oci/layer_index.h"

namespace strake::oci {

struct ImageFile {
  codec::TarEntry tar;    ///< of a hard link: its own name, with the file it leads to
  std::size_t layer = 0;  ///< which holds the content; 0 is the lowest
  std::uint64_t tar_offset = 0;
  std::string hard_link_to = {};  ///< the path it shares its content with; empty: none
};

class ImageFiles {
 public:
  using Files = std::map<std::string, ImageFile, std::less<>>;

  struct Options {
    BlobCache* cache = nullptr;  ///< keeps the index of each layer; nullptr: nothing is written anywhere
    unsigned parallel = 4;
  };

  /// Layers whose index is in the cache are not read; the others are streamed once each. The uncompressed layers must
  /// be those the image config promises.
  static Result<ImageFiles> read(const ImageSource& source, const Manifest& manifest, const Options& options,
                                 runtime::Runtime& runtime, const runtime::Call& call);

  /// The same from indexes at hand, lowest layer first.
  static Result<ImageFiles> flatten(const std::vector<LayerIndex>& layers);

  /// By path: "etc/os-release". Folders that no layer names are there too, as unpacking makes them. The root itself is
  /// not listed.
  const Files& files() const { return files_; }
  const ImageFile* find(std::string_view path) const;

 private:
  explicit ImageFiles(Files files) : files_(std::move(files)) {}
  Files files_;
};

}  // namespace strake::oci
