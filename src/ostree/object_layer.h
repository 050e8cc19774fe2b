// The layers of an image that carry ostree objects, read from untrusted bytes: those of an ostree-native image
// (sysroot/ostree/repo, files beside their attributes) and that of the older machine-os-content (srv/repo, an archive
// repository). What else is in such a layer is for container runtimes, which see the same files by hard links.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "codec/stream.h"
#include "ostree/objects.h"

namespace strake::ostree {

inline constexpr std::size_t kMaxLayerObjects = 1'000'000;
/// Of metadata objects and attributes of one layer.
inline constexpr std::uint64_t kMaxLayerObjectBytes = 256u << 20;

enum class ObjectLayerForm { kNative, kArchiveRepository };

/// Gets the objects of a layer in their order.
class ObjectReceiver {
 public:
  virtual ~ObjectReceiver() = default;

  /// Whether metadata objects are to be read and compared with their names at all.
  virtual bool wants_metadata() const { return true; }
  virtual Status metadata(ObjectType type, const Checksum& checksum, std::string bytes) = 0;
  /// A link was compared with its name. A file was not: whoever reads `content` finds out (copy_checked).
  virtual Status file(const Checksum& checksum, FileInfo info, codec::Source& content) = 0;
  /// The same of an archive repository; `filez` stands behind the header (copy_archived).
  virtual Status archived_file(const Checksum& checksum, FileInfo info, codec::Source& filez) = 0;
  /// What belongs to a commit and not to its checksum, such as signatures.
  virtual Status detached_metadata(const Checksum& /*commit*/, codec::Source& /*content*/) { return {}; }
  /// "config" and "refs/heads/NAME" of an archive repository.
  virtual Status text(std::string_view /*path*/, std::string /*text*/) { return {}; }
  /// Something in the repository that this program does not know.
  virtual Status unknown(std::string_view /*path*/) { return {}; }
};

/// Reads the archive to its end and not beyond. Errors name the entry.
Status scan_object_layer(codec::Source& tar, ObjectLayerForm form, ObjectReceiver& receiver);

}  // namespace strake::ostree
