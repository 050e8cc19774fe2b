#include "osimage/object_layer.h"

#include <sys/stat.h>

#include <optional>

#include "codec/compress.h"
#include "codec/hex.h"
#include "oci/layers.h"

namespace strake::osimage {

namespace {

using ostree::Checksum;
using ostree::FileInfo;
using ostree::ObjectType;

constexpr std::string_view kNativePrefix = "sysroot/ostree/repo/";
constexpr std::string_view kArchivePrefix = "srv/repo/";
constexpr std::size_t kMaxRepositoryTextBytes = 64 * 1024;

/// Takes what nobody wants.
class NowhereSink final : public codec::Sink {
 public:
  Status write(std::span<const std::byte>) override { return {}; }
};

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
    if (kind == ostree::to_string(type)) return type;
  }
  return std::nullopt;
}

/// What is kept of a layer while it streams past.
class LayerScan {
 public:
  LayerScan(ObjectLayerForm form, const OpenObjectSink& open, bool keep) : form_(form), open_(open), keep_(keep) {}

  Status add(const oci::LayerEntry& entry) {
    std::string_view path = entry.tar.path;
    const std::string_view prefix = form_ == ObjectLayerForm::kNative ? kNativePrefix : kArchivePrefix;
    if (!path.starts_with(prefix) || entry.tar.type == codec::TarEntryType::kDirectory) return {};
    path.remove_prefix(prefix.size());
    const std::optional<ObjectName> name = parse_object_path(path);
    if (!name) return add_text(path, entry);
    return add_object(*name, entry).context("entry '{}'", entry.tar.path);
  }

  /// The archive repository's folders say nothing; its config and refs do.
  Status add_text(std::string_view path, const oci::LayerEntry& entry) {
    if (form_ == ObjectLayerForm::kNative) {
      if (path.starts_with("xattrs/")) {
        return error(Code::kUnsupported, "the layer is of format 0, which only early versions of ostree-ext wrote");
      }
      return {};
    }
    const bool wanted = path == "config" || path.starts_with("refs/");
    if (!wanted || entry.tar.type != codec::TarEntryType::kFile) return {};
    STRAKE_TRY(std::string text, codec::read_all(entry.content, kMaxRepositoryTextBytes));
    STRAKE_CHECK_OK(count(text.size()));
    if (keep_) texts.insert_or_assign(std::string(path), std::move(text));
    return {};
  }

  std::map<std::pair<ObjectType, Checksum>, std::string> metadata;
  std::map<Checksum, FileInfo> files;
  std::map<std::string, std::string> texts;

 private:
  Status count(std::size_t bytes) {
    bytes_ += bytes;
    if (++objects_ > kMaxLayerObjects || bytes_ > kMaxLayerObjectBytes) {
      return error(Code::kExhausted, "the layer has more than {} ostree objects, or {} bytes of metadata",
                   kMaxLayerObjects, kMaxLayerObjectBytes);
    }
    return {};
  }

  Status add_object(const ObjectName& name, const oci::LayerEntry& entry) {
    if (const std::optional<ObjectType> type = metadata_type(name.kind)) return add_metadata(*type, name, entry);
    if (form_ == ObjectLayerForm::kArchiveRepository) {
      return name.kind == "filez" ? add_archived(name, entry) : Status();
    }
    if (name.kind == "file-xattrs") return add_shared_xattrs(name, entry);
    if (name.kind == "file-xattrs-link") return add_xattrs(name, entry);
    if (name.kind == "file") return add_file(name, entry);
    return {};  // commitmeta, and what later versions may add
  }

  Status add_metadata(ObjectType type, const ObjectName& name, const oci::LayerEntry& entry) {
    if (!keep_) return {};
    if (entry.tar.type != codec::TarEntryType::kFile) return error(Code::kCorrupt, "a metadata object is no file");
    STRAKE_TRY(std::string bytes, codec::read_all(entry.content, ostree::kMaxMetadataBytes));
    STRAKE_CHECK_OK(ostree::require_checksum(type, name.checksum, Checksum::of(bytes)));
    STRAKE_CHECK_OK(count(bytes.size()));
    if (!metadata.emplace(std::pair(type, name.checksum), std::move(bytes)).second) return duplicate();
    return {};
  }

  /// Attributes that several files have in common; named by the checksum of their bytes.
  Status add_shared_xattrs(const ObjectName& name, const oci::LayerEntry& entry) {
    STRAKE_TRY(const std::string bytes, codec::read_all(entry.content, ostree::kMaxXattrBytes));
    if (Checksum::of(bytes) != name.checksum) {
      return not_genuine("the extended attributes have the checksum {}", Checksum::of(bytes).hex());
    }
    STRAKE_CHECK_OK(count(bytes.size()));
    STRAKE_TRY(ostree::Xattrs xattrs, ostree::parse_xattrs(bytes));
    shared_xattrs_.insert_or_assign(name.checksum, std::move(xattrs));
    return {};
  }

  Status add_xattrs(const ObjectName& name, const oci::LayerEntry& entry) {
    pending_.reset();
    if (entry.tar.type == codec::TarEntryType::kHardLink) {
      std::string_view target = entry.tar.link_target;
      while (target.starts_with('/') || target.starts_with("./")) target.remove_prefix(target.front() == '/' ? 1 : 2);
      if (!target.starts_with(kNativePrefix)) return unknown_xattrs(target);
      const std::optional<ObjectName> shared = parse_object_path(target.substr(kNativePrefix.size()));
      if (!shared || shared->kind != "file-xattrs") return unknown_xattrs(target);
      const auto found = shared_xattrs_.find(shared->checksum);
      if (found == shared_xattrs_.end()) return unknown_xattrs(target);
      pending_.emplace(name.checksum, found->second);
      return {};
    }
    STRAKE_TRY(const std::string bytes, codec::read_all(entry.content, ostree::kMaxXattrBytes));
    STRAKE_TRY(ostree::Xattrs xattrs, ostree::parse_xattrs(bytes));
    pending_.emplace(name.checksum, std::move(xattrs));
    return {};
  }

  static Status unknown_xattrs(std::string_view target) {
    return error(Code::kCorrupt, "it leads to '{}', which holds no extended attributes of this layer", target);
  }

  static Status duplicate() { return error(Code::kCorrupt, "the object is in the layer twice"); }

  /// A link is all header: it is checked before anybody hears of it, and followed.
  static Status check_symlink(const Checksum& checksum, const FileInfo& info) {
    if (!info.is_symlink()) return {};
    return ostree::require_checksum(ObjectType::kFile, checksum, ostree::checksum_of_file(info, ""));
  }

  Status add_file(const ObjectName& name, const oci::LayerEntry& entry) {
    FileInfo info;
    info.uid = static_cast<std::uint32_t>(entry.tar.uid);
    info.gid = static_cast<std::uint32_t>(entry.tar.gid);
    if (entry.tar.type == codec::TarEntryType::kSymlink) {
      info.mode = S_IFLNK | 0777;
      info.symlink_target = entry.tar.link_target;
    } else if (entry.tar.type == codec::TarEntryType::kFile) {
      info.mode = S_IFREG | entry.tar.mode;
      info.size = entry.tar.size;
    } else {
      return error(Code::kCorrupt, "a file object is a {}", codec::to_string(entry.tar.type));
    }
    // The attributes stand directly before their file; a file without any may do without them.
    if (pending_ && pending_->first == name.checksum) info.xattrs = std::move(pending_->second);
    pending_.reset();
    STRAKE_CHECK_OK(check_symlink(name.checksum, info));
    STRAKE_TRY(codec::Sink* const sink, open_ ? open_(name.checksum, info) : Result<codec::Sink*>(nullptr));
    if (!info.is_symlink() && (keep_ || sink != nullptr)) {
      NowhereSink nowhere;
      STRAKE_CHECK_OK(ostree::copy_checked(info, entry.content, name.checksum,
                                           sink == nullptr ? static_cast<codec::Sink&>(nowhere) : *sink));
    }
    return keep_file(name.checksum, std::move(info));
  }

  Status add_archived(const ObjectName& name, const oci::LayerEntry& entry) {
    if (entry.tar.type != codec::TarEntryType::kFile) return error(Code::kCorrupt, "a file object is no file");
    STRAKE_TRY(FileInfo info, ostree::read_archived_header(entry.content));
    STRAKE_CHECK_OK(check_symlink(name.checksum, info));
    STRAKE_TRY(codec::Sink* const sink, open_ ? open_(name.checksum, info) : Result<codec::Sink*>(nullptr));
    if (sink != nullptr) STRAKE_CHECK_OK(ostree::copy_archived(info, entry.content, name.checksum, *sink));
    return keep_file(name.checksum, std::move(info));
  }

  Status keep_file(const Checksum& checksum, FileInfo info) {
    if (!keep_) return {};
    std::size_t bytes = info.symlink_target.size();
    for (const ostree::Xattr& xattr : info.xattrs) bytes += xattr.name.size() + xattr.value.size();
    STRAKE_CHECK_OK(count(bytes));
    if (!files.emplace(checksum, std::move(info)).second) return duplicate();
    return {};
  }

  ObjectLayerForm form_;
  const OpenObjectSink& open_;
  bool keep_;
  std::optional<std::pair<Checksum, ostree::Xattrs>> pending_;
  std::map<Checksum, ostree::Xattrs> shared_xattrs_;
  std::size_t objects_ = 0;
  std::uint64_t bytes_ = 0;
};

/// The digest of the whole archive.
Result<codec::Digest> scan_tar(LayerScan& scan, codec::Source& tar) {
  codec::HashingSource hashed(tar);
  const oci::LayerVisitor visit = [&](const oci::LayerEntry& entry) -> Result<oci::AfterEntry> {
    STRAKE_CHECK_OK(scan.add(entry));
    return oci::AfterEntry::kGoOn;
  };
  STRAKE_CHECK_OK(oci::visit_tar(hashed, visit, {}));
  // What follows the end of the archive belongs to the layer's digests.
  return hashed.finish();
}

// --- The form for the cache: a GVariant like the objects themselves, compressed -------------------------------------

/// Changes with the form: an older program's files are then simply not understood, and made anew.
constexpr std::string_view kObjectLayerMagic = "strake ostree layer 1\n";
constexpr std::string_view kObjectLayerType = "(sa(yayay)a(ayuuutsu)aaya(ss))";
constexpr int kObjectLayerZstdLevel = 9;
constexpr std::uint64_t kMaxEncodedLayerBytes = kMaxLayerObjectBytes + kMaxLayerObjects * 128;

Error damaged_layer() { return error(Code::kCorrupt, "the objects of a layer, as the cache holds them, are damaged"); }

}  // namespace

Result<ObjectLayer> scan_object_tar(codec::Source& tar, ObjectLayerForm form, const OpenObjectSink& open) {
  LayerScan scan(form, open, true);
  STRAKE_TRY(codec::Digest diff_id, scan_tar(scan, tar));
  return ObjectLayer{std::move(diff_id), std::move(scan.metadata), std::move(scan.files), std::move(scan.texts)};
}

Result<ObjectLayer> read_object_layer(const oci::ImageSource& source, const oci::Descriptor& layer,
                                      ObjectLayerForm form, const OpenObjectSink& open, const runtime::Call& call) {
  std::optional<ObjectLayer> objects;
  const auto read = [&](codec::Source& tar) -> Status {
    STRAKE_TRY(objects, scan_object_tar(tar, form, open));
    return {};
  };
  STRAKE_CHECK_OK(oci::read_layer(source, layer, read, call));
  return *std::move(objects);
}

Status copy_layer_objects(const oci::ImageSource& source, const oci::Descriptor& layer, ObjectLayerForm form,
                          const OpenObjectSink& open, const runtime::Call& call) {
  const auto read = [&](codec::Source& tar) -> Status {
    LayerScan scan(form, open, false);
    STRAKE_TRY([[maybe_unused]] const codec::Digest diff_id, scan_tar(scan, tar));
    return {};
  };
  return oci::read_layer(source, layer, read, call);
}

Result<std::string> encode_object_layer(const ObjectLayer& layer) {
  using ostree::Variant;
  std::vector<Variant> metadata;
  for (const auto& [key, bytes] : layer.metadata) {
    metadata.push_back(Variant::tuple({Variant{"y", static_cast<std::uint64_t>(key.first)},
                                       Variant::bytes(key.second.bytes()), Variant::bytes(bytes)}));
  }
  std::map<ostree::Xattrs, std::uint32_t> known;
  std::vector<Variant> xattrs;
  std::vector<Variant> files;
  for (const auto& [checksum, info] : layer.files) {
    const auto [entry, is_new] = known.emplace(info.xattrs, static_cast<std::uint32_t>(xattrs.size()));
    if (is_new) xattrs.push_back(Variant::bytes(ostree::serialize_xattrs(info.xattrs)));
    files.push_back(Variant::tuple({Variant::bytes(checksum.bytes()), Variant::u32(info.uid), Variant::u32(info.gid),
                                    Variant::u32(info.mode), Variant::u64(info.size),
                                    Variant::string(info.symlink_target), Variant::u32(entry->second)}));
  }
  std::vector<Variant> texts;
  for (const auto& [path, text] : layer.texts) {
    texts.push_back(Variant::tuple({Variant::string(path), Variant::string(text)}));
  }
  const Variant whole =
      Variant::tuple({Variant::string(layer.diff_id.to_string()), Variant::array("(yayay)", std::move(metadata)),
                      Variant::array("(ayuuutsu)", std::move(files)), Variant::array("ay", std::move(xattrs)),
                      Variant::array("(ss)", std::move(texts))});
  codec::StringSink sink;
  STRAKE_CHECK_OK(codec::write(sink, kObjectLayerMagic));
  STRAKE_TRY(const auto compressor, codec::make_compressor(codec::Compression::kZstd, sink, kObjectLayerZstdLevel));
  STRAKE_CHECK_OK(codec::write(*compressor, ostree::encode_variant(whole)));
  STRAKE_CHECK_OK(compressor->finish());
  return std::move(sink).take();
}

Result<ObjectLayer> decode_object_layer(std::string_view bytes) {
  if (!bytes.starts_with(kObjectLayerMagic)) return damaged_layer();
  codec::MemorySource compressed(bytes.substr(kObjectLayerMagic.size()));
  const auto plain =
      codec::make_decompressor(codec::Compression::kZstd, compressed,
                               {.max_output_bytes = kMaxEncodedLayerBytes, .max_memory_bytes = 64u << 20});
  STRAKE_TRY(const std::string text, codec::read_all(*plain, kMaxEncodedLayerBytes));
  STRAKE_TRY(ostree::Variant whole, ostree::decode_variant(kObjectLayerType, text, {.max_nodes = 20'000'000}));
  STRAKE_TRY(codec::Digest diff_id, codec::Digest::parse(whole.items[0].text));
  ObjectLayer layer{std::move(diff_id), {}, {}, {}};
  for (ostree::Variant& item : whole.items[1].items) {
    if (item.items[0].number > static_cast<std::uint64_t>(ObjectType::kFile)) return damaged_layer();
    STRAKE_TRY(const Checksum checksum, Checksum::from_bytes(item.items[1].text));
    layer.metadata.emplace(std::pair(static_cast<ObjectType>(item.items[0].number), checksum),
                           std::move(item.items[2].text));
  }
  std::vector<ostree::Xattrs> xattrs;
  for (const ostree::Variant& item : whole.items[3].items) {
    STRAKE_TRY(ostree::Xattrs parsed, ostree::parse_xattrs(item.text));
    xattrs.push_back(std::move(parsed));
  }
  for (ostree::Variant& item : whole.items[2].items) {
    std::vector<ostree::Variant>& members = item.items;
    STRAKE_TRY(const Checksum checksum, Checksum::from_bytes(members[0].text));
    if (members[6].number >= xattrs.size()) return damaged_layer();
    layer.files.emplace(
        checksum, FileInfo{static_cast<std::uint32_t>(members[1].number), static_cast<std::uint32_t>(members[2].number),
                           static_cast<std::uint32_t>(members[3].number), members[4].number, std::move(members[5].text),
                           xattrs[static_cast<std::size_t>(members[6].number)]});
  }
  for (ostree::Variant& item : whole.items[4].items) {
    layer.texts.emplace(std::move(item.items[0].text), std::move(item.items[1].text));
  }
  return layer;
}

}  // namespace strake::osimage
