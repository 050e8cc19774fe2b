// ImageFiles: the file tree an image unpacks to, without unpacking it: whiteouts, opaque folders and hard links
// applied. Content is read from the layers that hold it, all files asked for in one pass over each.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "oci/blob_cache.h"
#include "oci/layer_index.h"
#include "oci/layers.h"

namespace strake::oci {

/// Of names, link targets and attributes in the whole tree. Hard links repeat those of what they lead to, so a small
/// layer could ask for any amount.
inline constexpr std::uint64_t kMaxImageTextBytes = 512u << 20;

struct ImageFile {
  codec::TarEntry tar;    ///< of a hard link: its own name, with the file it leads to
  std::size_t layer = 0;  ///< which holds the content; 0 is the lowest
  std::uint64_t tar_offset = 0;
  std::string hard_link_to = {};  ///< the path it shares its content with; empty: none
};

/// Whether the last part of a path, and the folders before it, may be symbolic links. They lead through the image
/// alone, as after chroot: neither ".." nor an absolute target leaves it.
enum class SymbolicLinks { kKeep, kFollow };

/// As many as Linux follows.
inline constexpr int kMaxSymbolicLinks = 40;

/// Where the content of files is read from.
struct ContentOrigin {
  const ImageSource& source;
  const Manifest& manifest;
  BlobCache* cache = nullptr;  ///< asked first for a layer; one it does not have is streamed past it
};

struct FileContent {
  const std::vector<std::string>& paths;  ///< those asked for that share this content
  const ImageFile& file;
  codec::Source& content;  ///< valid during the visit
};
using ContentVisitor = std::function<Status(const FileContent&)>;

/// What is in a layer: from the cache when it is known there, else read once and kept. Whoever uses it compares the
/// diff id with the image config's.
Result<LayerIndex> list_layer(const ImageSource& source, const Descriptor& layer, BlobCache* cache,
                              const runtime::Call& call);

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
  static Result<ImageFiles> flatten(const std::vector<LayerIndex>& layers,
                                    std::uint64_t max_text_bytes = kMaxImageTextBytes);

  /// By path: "etc/os-release". Folders that no layer names are there too, as unpacking makes them. The root itself is
  /// not listed.
  const Files& files() const { return files_; }
  const ImageFile* find(std::string_view path) const;

  /// Where a path leads: "/etc/os-release" may be "usr/lib/os-release"; the root is ".". kNotFound names the part that
  /// is missing.
  Result<std::string> resolve(std::string_view path, SymbolicLinks links) const;

  /// The content of regular files, by the paths asked for. kNotFound when one is missing, kInvalidArgument when one is
  /// something else, kExhausted at the limits.
  Result<std::map<std::string, std::string>> read_files(const ContentOrigin& origin,
                                                        const std::vector<std::string>& paths, SymbolicLinks links,
                                                        const FileLimits& limits, const runtime::Call& call) const;

  /// One regular file of any size. The sink gets its first byte after the whole layer was hashed; until then large
  /// content waits in a temporary file without a name.
  Status stream_file(const ContentOrigin& origin, std::string_view path, SymbolicLinks links, codec::Sink& sink,
                     const runtime::Call& call) const;

  /// For who can take back what it did: content is shown while its layer is still being hashed, and counts only when
  /// this returns success. Files come in the order of the layers, not of `paths`; when a mirror delivered a damaged
  /// layer they come again, from the next place.
  Status visit_files(const ContentOrigin& origin, const std::vector<std::string>& paths, SymbolicLinks links,
                     const ContentVisitor& visit, const runtime::Call& call) const;

 private:
  explicit ImageFiles(Files files) : files_(std::move(files)) {}
  Files files_;
};

}  // namespace strake::oci
