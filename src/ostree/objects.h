// The objects of an ostree repository: commits, directory trees, directory metadata and files, read from untrusted
// bytes and written back to the same bytes.
//
// A metadata object is named by the SHA-256 of its bytes. A file is named by the SHA-256 of a header (owner, mode, link
// target, extended attributes) and its content, however a repository stores the two.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/digest.h"
#include "codec/stream.h"
#include "ostree/checksum.h"
#include "ostree/variant.h"

namespace strake::ostree {

/// As ostree itself has it.
inline constexpr std::size_t kMaxMetadataBytes = 10u << 20;
/// Extended attributes of one file, as a serialised variant.
inline constexpr std::size_t kMaxXattrBytes = 1u << 20;

enum class ObjectType { kCommit, kDirTree, kDirMeta, kFile };

/// "commit", "dirtree", "dirmeta", "file": the ends of file names too.
std::string_view to_string(ObjectType type);

struct Xattr {
  std::string name;
  std::string value;

  auto operator<=>(const Xattr&) const = default;
};
using Xattrs = std::vector<Xattr>;

Result<Xattrs> parse_xattrs(std::string_view bytes);
std::string serialize_xattrs(const Xattrs& xattrs);
/// As GLib prints a value of their type: `[(b'user.a', [byte 0x62])]`.
std::string print_xattrs(const Xattrs& xattrs);

struct Commit {
  Variant metadata;  ///< a{sv}
  std::optional<Checksum> parent;
  std::string subject;
  std::string body;
  std::uint64_t timestamp = 0;  ///< seconds since 1970
  Checksum root_tree;
  Checksum root_meta;

  /// A text of the metadata; nullopt when there is none of that name and type.
  std::optional<std::string> text(std::string_view key) const;
  bool flag(std::string_view key) const;
};

struct DirTree {
  struct File {
    std::string name;
    Checksum checksum;
  };
  struct Directory {
    std::string name;
    Checksum tree;
    Checksum meta;
  };
  std::vector<File> files;  ///< sorted by name, as the folders
  std::vector<Directory> directories;
};

struct DirMeta {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t mode = 0;  ///< with S_IFDIR
  Xattrs xattrs;

  bool operator==(const DirMeta&) const = default;
};

/// Each is refused unless every byte is as ostree would write it.
Result<Commit> parse_commit(std::string_view bytes);
Result<DirTree> parse_dirtree(std::string_view bytes);
Result<DirMeta> parse_dirmeta(std::string_view bytes);

std::string serialize_commit(const Commit& commit);
std::string serialize_dirtree(const DirTree& tree);
std::string serialize_dirmeta(const DirMeta& meta);

/// What a file is besides its content.
struct FileInfo {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t mode = 0;  ///< with S_IFREG or S_IFLNK
  std::uint64_t size = 0;
  std::string symlink_target;
  Xattrs xattrs;

  bool is_symlink() const;
  bool operator==(const FileInfo&) const = default;
};

/// Refuses what is neither a file nor a symbolic link, or both.
Status check_file_info(const FileInfo& info);

/// The checksum of a file: header first, then content as it passes.
class FileHasher {
 public:
  explicit FileHasher(const FileInfo& info);
  void update(std::span<const std::byte> content) { hasher_.update(content); }
  Checksum finish() &&;

 private:
  codec::Hasher hasher_;
};

Checksum checksum_of_file(const FileInfo& info, std::string_view content);

/// kCorrupt, naming both, when they differ.
Status require_checksum(ObjectType type, const Checksum& expected, const Checksum& actual);

/// Copies content that belongs to a file of this checksum. `sink` may have got anything unless this succeeds.
Status copy_checked(const FileInfo& info, codec::Source& content, const Checksum& expected, codec::Sink& sink);

/// "user.ostreemeta": how repositories of mode bare-user keep owner, mode and attributes beside the content.
Result<FileInfo> parse_user_metadata(std::string_view bytes);
std::string serialize_user_metadata(const FileInfo& info);

/// ".filez": a file of an archive repository. The header stands before the compressed content.
Result<FileInfo> read_archived_header(codec::Source& filez);
/// The content that follows the header.
Status copy_archived(const FileInfo& info, codec::Source& filez_after_header, const Checksum& expected,
                     codec::Sink& sink);
/// What stands before the content.
std::string serialize_archived_header(const FileInfo& info);

}  // namespace strake::ostree
