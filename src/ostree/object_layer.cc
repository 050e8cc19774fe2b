#include "ostree/object_layer.h"

#include <sys/stat.h>

#include <limits>
#include <map>
#include <optional>

#include "codec/tar.h"

namespace strake::ostree {

namespace {

constexpr std::string_view kNativePrefix = "sysroot/ostree/repo/";
constexpr std::string_view kArchivePrefix = "srv/repo/";
constexpr std::size_t kMaxRepositoryTextBytes = 64 * 1024;

struct ObjectName {
  Checksum checksum;
  std::string_view kind;  ///< "file", "dirtree", "file-xattrs-link", ...
};

/// Of "objects/XX/62 digits.kind"; nullopt for anything else.
std::optional<ObjectName> parse_object_path(std::string_view path) {
  constexpr std::string_view kObjects = "objects/";
  constexpr std::size_t kHexDigits = 2 * Checksum::kBytes;
  if (!path.starts_with(kObjects)) return std::nullopt;
  path.remove_prefix(kObjects.size());
  if (path.size() < kHexDigits + 3 || path[2] != '/' || path[kHexDigits + 1] != '.') return std::nullopt;
  const std::string hex = std::string(path.substr(0, 2)) + std::string(path.substr(3, kHexDigits - 2));
  const Result<Checksum> checksum = Checksum::from_hex(hex);
  if (!checksum.ok()) return std::nullopt;
  return ObjectName{*checksum, path.substr(kHexDigits + 2)};
}

std::optional<ObjectType> metadata_type(std::string_view kind) {
  for (const ObjectType type : {ObjectType::kCommit, ObjectType::kDirTree, ObjectType::kDirMeta}) {
    if (kind == to_string(type)) return type;
  }
  return std::nullopt;
}

class LayerScan {
 public:
  LayerScan(ObjectLayerForm form, ObjectReceiver& receiver) : form_(form), receiver_(receiver) {}

  Status add(const codec::TarEntry& entry, codec::Source& content) {
    std::string_view path = entry.path;
    const std::string_view prefix = form_ == ObjectLayerForm::kNative ? kNativePrefix : kArchivePrefix;
    if (!path.starts_with(prefix) || entry.type == codec::TarEntryType::kDirectory) return {};
    path.remove_prefix(prefix.size());
    const std::optional<ObjectName> name = parse_object_path(path);
    if (!name) return add_text(path, entry, content).context("entry '{}'", entry.path);
    return add_object(*name, entry, content).context("entry '{}'", entry.path);
  }

 private:
  /// The archive repository's folders say nothing; its config and refs do.
  Status add_text(std::string_view path, const codec::TarEntry& entry, codec::Source& content) {
    const bool known = path == "config" || path.starts_with("refs/");
    if (form_ == ObjectLayerForm::kNative) {
      if (path.starts_with("xattrs/")) {
        return error(Code::kUnsupported, "the layer is of format 0, which only early versions of ostree-ext wrote");
      }
      return known ? Status() : receiver_.unknown(path);
    }
    if (!known || entry.type != codec::TarEntryType::kFile) return {};
    STRAKE_TRY(std::string text, codec::read_all(content, kMaxRepositoryTextBytes));
    STRAKE_CHECK_OK(count(text.size()));
    return receiver_.text(path, std::move(text));
  }

  Status count(std::size_t bytes) {
    bytes_ += bytes;
    if (++objects_ > kMaxLayerObjects || bytes_ > kMaxLayerObjectBytes) {
      return error(Code::kExhausted, "the layer has more than {} ostree objects, or {} bytes of metadata",
                   kMaxLayerObjects, kMaxLayerObjectBytes);
    }
    return {};
  }

  Status count_file(const FileInfo& info) {
    std::size_t bytes = info.symlink_target.size();
    for (const Xattr& xattr : info.xattrs) bytes += xattr.name.size() + xattr.value.size();
    return count(bytes);
  }

  Status add_object(const ObjectName& name, const codec::TarEntry& entry, codec::Source& content) {
    if (const std::optional<ObjectType> type = metadata_type(name.kind)) {
      return add_metadata(*type, name, entry, content);
    }
    if (form_ == ObjectLayerForm::kArchiveRepository) {
      return name.kind == "filez" ? add_archived(name, entry, content) : Status();
    }
    if (name.kind == "file-xattrs") return add_shared_xattrs(name, content);
    if (name.kind == "file-xattrs-link") return add_xattrs(name, entry, content);
    if (name.kind == "file") return add_file(name, entry, content);
    if (name.kind == "commitmeta") return receiver_.detached_metadata(name.checksum, content);
    return receiver_.unknown(entry.path);
  }

  Status add_metadata(ObjectType type, const ObjectName& name, const codec::TarEntry& entry, codec::Source& content) {
    if (!receiver_.wants_metadata()) return {};
    if (entry.type != codec::TarEntryType::kFile) return error(Code::kCorrupt, "a metadata object is no file");
    STRAKE_TRY(std::string bytes, codec::read_all(content, kMaxMetadataBytes));
    STRAKE_CHECK_OK(require_checksum(type, name.checksum, Checksum::of(bytes)));
    STRAKE_CHECK_OK(count(bytes.size()));
    return receiver_.metadata(type, name.checksum, std::move(bytes));
  }

  /// Attributes that several files have in common; named by the checksum of their bytes.
  Status add_shared_xattrs(const ObjectName& name, codec::Source& content) {
    STRAKE_TRY(const std::string bytes, codec::read_all(content, kMaxXattrBytes));
    if (Checksum::of(bytes) != name.checksum) {
      return not_genuine("the extended attributes have the checksum {}", Checksum::of(bytes).hex());
    }
    STRAKE_CHECK_OK(count(bytes.size()));
    STRAKE_TRY(Xattrs xattrs, parse_xattrs(bytes));
    shared_xattrs_.insert_or_assign(name.checksum, std::move(xattrs));
    return {};
  }

  Status add_xattrs(const ObjectName& name, const codec::TarEntry& entry, codec::Source& content) {
    pending_.reset();
    if (entry.type == codec::TarEntryType::kHardLink) {
      std::string_view target = entry.link_target;
      while (target.starts_with('/') || target.starts_with("./")) target.remove_prefix(target.front() == '/' ? 1 : 2);
      if (!target.starts_with(kNativePrefix)) return unknown_xattrs(target);
      const std::optional<ObjectName> shared = parse_object_path(target.substr(kNativePrefix.size()));
      if (!shared || shared->kind != "file-xattrs") return unknown_xattrs(target);
      const auto found = shared_xattrs_.find(shared->checksum);
      if (found == shared_xattrs_.end()) return unknown_xattrs(target);
      pending_.emplace(name.checksum, found->second);
      return {};
    }
    STRAKE_TRY(const std::string bytes, codec::read_all(content, kMaxXattrBytes));
    STRAKE_TRY(Xattrs xattrs, parse_xattrs(bytes));
    pending_.emplace(name.checksum, std::move(xattrs));
    return {};
  }

  static Status unknown_xattrs(std::string_view target) {
    return error(Code::kCorrupt, "it leads to '{}', which holds no extended attributes of this layer", target);
  }

  /// A link is all header: it is checked before anybody hears of it, and followed.
  static Status check_symlink(const Checksum& checksum, const FileInfo& info) {
    if (!info.is_symlink()) return {};
    return require_checksum(ObjectType::kFile, checksum, checksum_of_file(info, ""));
  }

  Status add_file(const ObjectName& name, const codec::TarEntry& entry, codec::Source& content) {
    FileInfo info;
    info.uid = static_cast<std::uint32_t>(entry.uid);
    info.gid = static_cast<std::uint32_t>(entry.gid);
    if (entry.type == codec::TarEntryType::kSymlink) {
      info.mode = S_IFLNK | 0777;
      info.symlink_target = entry.link_target;
    } else if (entry.type == codec::TarEntryType::kFile) {
      info.mode = S_IFREG | entry.mode;
      info.size = entry.size;
    } else {
      return error(Code::kCorrupt, "a file object is a {}", codec::to_string(entry.type));
    }
    // The attributes stand directly before their file; a file without any may do without them.
    if (pending_ && pending_->first == name.checksum) info.xattrs = std::move(pending_->second);
    pending_.reset();
    STRAKE_CHECK_OK(check_symlink(name.checksum, info));
    STRAKE_CHECK_OK(count_file(info));
    return receiver_.file(name.checksum, std::move(info), content);
  }

  Status add_archived(const ObjectName& name, const codec::TarEntry& entry, codec::Source& content) {
    if (entry.type != codec::TarEntryType::kFile) return error(Code::kCorrupt, "a file object is no file");
    STRAKE_TRY(FileInfo info, read_archived_header(content));
    STRAKE_CHECK_OK(check_symlink(name.checksum, info));
    STRAKE_CHECK_OK(count_file(info));
    return receiver_.archived_file(name.checksum, std::move(info), content);
  }

  ObjectLayerForm form_;
  ObjectReceiver& receiver_;
  std::optional<std::pair<Checksum, Xattrs>> pending_;
  std::map<Checksum, Xattrs> shared_xattrs_;
  std::size_t objects_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Status scan_object_layer(codec::Source& tar, ObjectLayerForm form, ObjectReceiver& receiver) {
  LayerScan scan(form, receiver);
  codec::TarReader reader(tar);
  for (;;) {
    STRAKE_TRY(std::optional<codec::TarEntry> entry, reader.next());
    if (!entry) return {};
    STRAKE_TRY_CONTEXT(entry->path, codec::clean_archive_path(entry->path), "entry '{}'", entry->path);
    STRAKE_CHECK_OK(scan.add(*entry, reader.content()));
  }
}

}  // namespace strake::ostree
