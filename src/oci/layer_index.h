// LayerIndex: what is in a layer, without its content. Made by streaming the layer once, kept in the cache by the
// layer's digest, a small part of its size: afterwards the files of an image are listed without reading a layer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "codec/tar.h"
#include "oci/image_source.h"
#include "oci/layers.h"

namespace strake::oci {

inline constexpr std::uint64_t kMaxLayerIndexEntries = 1'000'000;
/// Of names, link targets and extended attributes together.
inline constexpr std::uint64_t kMaxLayerIndexBytes = 256u << 20;

struct LayerLimits {
  codec::DecompressLimits decompress;
  codec::TarLimits tar;
};

/// What an entry takes of that.
std::uint64_t text_bytes(const codec::TarEntry& entry);

struct LayerFile {
  codec::TarEntry tar;           ///< its path is cleaned: relative, without dots
  std::uint64_t tar_offset = 0;  ///< where the content begins in the uncompressed layer

  bool operator==(const LayerFile&) const = default;
};

struct LayerIndex {
  codec::Digest diff_id;  ///< of the uncompressed layer
  std::vector<LayerFile> files;

  bool operator==(const LayerIndex&) const = default;
};

/// Reads the layer to its end, once; the index counts only when digest and size were right.
Result<LayerIndex> read_layer_index(const ImageSource& source, const Descriptor& layer, const runtime::Call& call);

/// The same for a layer that is already being read, by somebody who checks its digest; it is read to its end.
Result<LayerIndex> index_layer(codec::Source& compressed, const LayerLimits& limits = {});

/// A compact form for the cache: paths share their beginnings, numbers are short, and zstd does the rest.
Result<std::string> encode_layer_index(const LayerIndex& index);
Result<LayerIndex> decode_layer_index(std::string_view bytes);

}  // namespace strake::oci
