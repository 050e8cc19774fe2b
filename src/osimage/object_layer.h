// Layers that carry ostree objects, and what is kept of them: streamed once; metadata objects are kept whole, of files
// only what `ls -l` shows.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "oci/blob_cache.h"
#include "ostree/object_layer.h"

namespace strake::osimage {

using ostree::ObjectLayerForm;

struct ObjectLayer {
  codec::Digest diff_id;  ///< of the uncompressed layer
  std::map<std::pair<ostree::ObjectType, ostree::Checksum>, std::string> metadata;
  std::map<ostree::Checksum, ostree::FileInfo> files;
  /// "refs/heads/NAME" and "config" of an archive repository.
  std::map<std::string, std::string> texts;

  bool operator==(const ObjectLayer&) const = default;
};

/// Where the content of a file goes; nullptr: nowhere.
using OpenObjectSink = std::function<Result<codec::Sink*>(const ostree::Checksum&, const ostree::FileInfo&)>;

/// Reads the layer to its end; the result, and what the sinks got, counts only on success. Every metadata object is
/// compared with its name, and so is every file of a native layer and every file that goes to a sink: those of an
/// archive repository would have to be decompressed for it, and the digest of the layer covers them.
Result<ObjectLayer> read_object_layer(const oci::ImageSource& source, const oci::Descriptor& layer,
                                      ObjectLayerForm form, const OpenObjectSink& open, const runtime::Call& call);

/// The same for an uncompressed layer that somebody else hashes; it is read to its end.
Result<ObjectLayer> scan_object_tar(codec::Source& tar, ObjectLayerForm form, const OpenObjectSink& open);

/// The content alone, of a layer whose objects are known; stops hashing files nobody asks for.
Status copy_layer_objects(const oci::ImageSource& source, const oci::Descriptor& layer, ObjectLayerForm form,
                          const OpenObjectSink& open, const runtime::Call& call);

/// The form for the cache.
Result<std::string> encode_object_layer(const ObjectLayer& layer);
Result<ObjectLayer> decode_object_layer(std::string_view bytes);

}  // namespace strake::osimage
