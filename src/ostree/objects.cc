#include "ostree/objects.h"

#include <sys/stat.h>

#include <algorithm>

#include "codec/compress.h"

namespace strake::ostree {

namespace {

constexpr std::string_view kCommitType = "(a{sv}aya(say)sstayay)";
constexpr std::string_view kDirTreeType = "(a(say)a(sayay))";
constexpr std::string_view kDirMetaType = "(uuua(ayay))";
constexpr std::string_view kXattrsType = "a(ayay)";
constexpr std::string_view kXattrType = "(ayay)";
constexpr std::string_view kArchivedType = "(tuuuusa(ayay))";
constexpr std::size_t kMaxSymlinkBytes = 4096;
constexpr std::size_t kMaxHeaderBytes = kMaxXattrBytes + 2 * kMaxSymlinkBytes;
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{64} << 30;
constexpr std::uint32_t kModeBits = 07777;

std::uint32_t swapped(std::uint32_t value) { return __builtin_bswap32(value); }
std::uint64_t swapped(std::uint64_t value) { return __builtin_bswap64(value); }
/// Stored big-endian inside a little-endian value.
std::uint32_t u32_of(const Variant& value) { return swapped(static_cast<std::uint32_t>(value.number)); }
Variant big_endian(std::uint32_t value) { return Variant::u32(swapped(value)); }

Variant xattrs_variant(const Xattrs& xattrs) {
  std::vector<Variant> items;
  for (const Xattr& xattr : xattrs) {
    items.push_back(Variant::tuple({Variant::bytes(xattr.name + '\0'), Variant::bytes(xattr.value)}));
  }
  return Variant::array(kXattrType, std::move(items));
}

Result<Xattrs> xattrs_of(const Variant& value) {
  Xattrs xattrs;
  for (const Variant& item : value.items) {
    std::string_view name = item.items[0].text;
    if (name.size() < 2 || name.find('\0') != name.size() - 1) {
      return error(Code::kCorrupt, "the name of an extended attribute does not end with its only zero byte");
    }
    name.remove_suffix(1);
    xattrs.push_back({std::string(name), item.items[1].text});
  }
  return xattrs;
}

Status check_names(const DirTree& tree) {
  const auto check = [](const auto& entries, std::string_view what) -> Status {
    const std::string* previous = nullptr;
    for (const auto& entry : entries) {
      const std::string& name = entry.name;
      if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos || name.size() > 255) {
        return error(Code::kCorrupt, "'{}' is no name for a {}", name.substr(0, 255), what);
      }
      if (previous != nullptr && *previous >= name) {
        return error(Code::kCorrupt, "{} '{}' stands after '{}': names are sorted", what, name, *previous);
      }
      previous = &name;
    }
    return {};
  };
  STRAKE_CHECK_OK(check(tree.files, "file"));
  STRAKE_CHECK_OK(check(tree.directories, "folder"));
  for (auto file = tree.files.begin(), end = tree.files.end(); const DirTree::Directory& folder : tree.directories) {
    while (file != end && file->name < folder.name) ++file;
    if (file != end && file->name == folder.name) {
      return error(Code::kCorrupt, "'{}' is a file and a folder at once", folder.name);
    }
  }
  return {};
}

/// What precedes the content, in the checksum and in an archive: the header's size, four zero bytes, the header.
std::string framed(const Variant& header) {
  const std::string bytes = encode_variant(header);
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((bytes.size() >> shift) & 0xff);
  out.append(4, '\0');
  return out + bytes;
}

std::vector<Variant> header_members(const FileInfo& info) {
  return {big_endian(info.uid),
          big_endian(info.gid),
          big_endian(info.mode),
          big_endian(0),
          Variant::string(info.symlink_target),
          xattrs_variant(info.xattrs)};
}

/// As GLib's g_strescape, in the quotes GLib chooses.
std::string quoted_bytes(std::string_view bytes) {
  const char quote = bytes.find('\'') == std::string_view::npos ? '\'' : '"';
  std::string out = {'b', quote};
  for (const char c : bytes) {
    constexpr std::string_view kNamed = "\b\f\n\r\t\v\\\"";
    constexpr std::string_view kLetters = "bfnrtv\\\"";
    const auto byte = static_cast<unsigned char>(c);
    if (const std::size_t at = kNamed.find(c); at != std::string_view::npos) {
      out += {'\\', kLetters[at]};
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  return out + quote;
}

/// Types are spelled out in the first item of an array only; the others follow from it.
std::string print_bytes(std::string_view bytes, bool with_type) {
  if (!bytes.empty() && bytes.find('\0') == bytes.size() - 1) return quoted_bytes(bytes.substr(0, bytes.size() - 1));
  if (bytes.empty()) return with_type ? "@ay []" : "[]";
  std::string out = "[";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0) out += ", ";
    if (i == 0 && with_type) out += "byte ";
    out += fmt::format("0x{:02x}", static_cast<unsigned char>(bytes[i]));
  }
  return out + "]";
}

/// Counts and hashes what passes to another sink.
class FileHashingSink final : public codec::Sink {
 public:
  FileHashingSink(FileHasher& hasher, codec::Sink& inner, std::uint64_t max_bytes)
      : hasher_(hasher), inner_(inner), max_bytes_(max_bytes) {}
  Status write(std::span<const std::byte> bytes) override {
    size_ += bytes.size();
    // Nothing beyond what was announced: a lie must not fill a disk.
    if (size_ > max_bytes_)
      return error(Code::kCorrupt, "there is more content than the {} bytes announced", max_bytes_);
    hasher_.update(bytes);
    return inner_.write(bytes);
  }
  std::uint64_t size() const { return size_; }

 private:
  FileHasher& hasher_;
  codec::Sink& inner_;
  std::uint64_t max_bytes_;
  std::uint64_t size_ = 0;
};

}  // namespace

std::string_view to_string(ObjectType type) {
  switch (type) {
    case ObjectType::kCommit: return "commit";
    case ObjectType::kDirTree: return "dirtree";
    case ObjectType::kDirMeta: return "dirmeta";
    case ObjectType::kFile: return "file";
  }
  return "unknown";
}

Result<Xattrs> parse_xattrs(std::string_view bytes) {
  if (bytes.size() > kMaxXattrBytes) {
    return error(Code::kExhausted, "the extended attributes have more than {} bytes", kMaxXattrBytes);
  }
  STRAKE_TRY(const Variant value, decode_variant(kXattrsType, bytes));
  return xattrs_of(value);
}

std::string serialize_xattrs(const Xattrs& xattrs) { return encode_variant(xattrs_variant(xattrs)); }

std::string print_xattrs(const Xattrs& xattrs) {
  if (xattrs.empty()) return "@a(ayay) []";
  std::string out = "[";
  for (std::size_t i = 0; i < xattrs.size(); ++i) {
    if (i > 0) out += ", ";
    out += fmt::format("({}, {})", print_bytes(xattrs[i].name + '\0', i == 0), print_bytes(xattrs[i].value, i == 0));
  }
  return out + "]";
}

std::optional<std::string> Commit::text(std::string_view key) const {
  const Variant* found = find_entry(metadata, key);
  if (found == nullptr || found->type != "s") return std::nullopt;
  return found->text;
}

bool Commit::flag(std::string_view key) const {
  const Variant* found = find_entry(metadata, key);
  return found != nullptr && found->type == "b" && found->number == 1;
}

Result<Commit> parse_commit(std::string_view bytes) {
  STRAKE_TRY(Variant value, decode_variant(kCommitType, bytes));
  std::vector<Variant>& members = value.items;
  STRAKE_TRY_CONTEXT(const Checksum tree, Checksum::from_bytes(members[6].text), "root directory");
  STRAKE_TRY_CONTEXT(const Checksum meta, Checksum::from_bytes(members[7].text), "metadata of the root directory");
  Commit commit{
      std::move(members[0]), std::nullopt, members[3].text, members[4].text, swapped(members[5].number), tree, meta};
  if (!members[1].text.empty()) {
    STRAKE_TRY_CONTEXT(commit.parent, Checksum::from_bytes(members[1].text), "parent");
  }
  if (!members[2].items.empty()) return error(Code::kUnsupported, "the commit has related objects");
  return commit;
}

Result<DirTree> parse_dirtree(std::string_view bytes) {
  STRAKE_TRY(const Variant value, decode_variant(kDirTreeType, bytes));
  DirTree tree;
  for (const Variant& item : value.items[0].items) {
    STRAKE_TRY_CONTEXT(const Checksum checksum, Checksum::from_bytes(item.items[1].text), "'{}'", item.items[0].text);
    tree.files.push_back({item.items[0].text, checksum});
  }
  for (const Variant& item : value.items[1].items) {
    STRAKE_TRY_CONTEXT(const Checksum contents, Checksum::from_bytes(item.items[1].text), "'{}'", item.items[0].text);
    STRAKE_TRY_CONTEXT(const Checksum meta, Checksum::from_bytes(item.items[2].text), "'{}'", item.items[0].text);
    tree.directories.push_back({item.items[0].text, contents, meta});
  }
  STRAKE_CHECK_OK(check_names(tree));
  return tree;
}

Result<DirMeta> parse_dirmeta(std::string_view bytes) {
  STRAKE_TRY(const Variant value, decode_variant(kDirMetaType, bytes));
  DirMeta meta{u32_of(value.items[0]), u32_of(value.items[1]), u32_of(value.items[2]), {}};
  if ((meta.mode & ~kModeBits) != S_IFDIR) {
    return error(Code::kCorrupt, "mode {:o} is not that of a folder", meta.mode);
  }
  STRAKE_TRY(meta.xattrs, xattrs_of(value.items[3]));
  return meta;
}

std::string serialize_commit(const Commit& commit) {
  return encode_variant(
      Variant::tuple({commit.metadata, Variant::bytes(commit.parent ? commit.parent->bytes() : std::string_view()),
                      Variant::array("(say)", {}), Variant::string(commit.subject), Variant::string(commit.body),
                      Variant::u64(swapped(commit.timestamp)), Variant::bytes(commit.root_tree.bytes()),
                      Variant::bytes(commit.root_meta.bytes())}));
}

std::string serialize_dirtree(const DirTree& tree) {
  std::vector<Variant> files;
  files.reserve(tree.files.size());
  for (const auto& [name, checksum] : tree.files) {
    files.push_back(Variant::tuple({Variant::string(name), Variant::bytes(checksum.bytes())}));
  }
  std::vector<Variant> folders;
  folders.reserve(tree.directories.size());
  for (const auto& [name, contents, meta] : tree.directories) {
    folders.push_back(
        Variant::tuple({Variant::string(name), Variant::bytes(contents.bytes()), Variant::bytes(meta.bytes())}));
  }
  return encode_variant(
      Variant::tuple({Variant::array("(say)", std::move(files)), Variant::array("(sayay)", std::move(folders))}));
}

std::string serialize_dirmeta(const DirMeta& meta) {
  return encode_variant(
      Variant::tuple({big_endian(meta.uid), big_endian(meta.gid), big_endian(meta.mode), xattrs_variant(meta.xattrs)}));
}

bool FileInfo::is_symlink() const { return S_ISLNK(mode); }

Status check_file_info(const FileInfo& info) {
  const std::uint32_t kind = info.mode & S_IFMT;
  if ((info.mode & ~static_cast<std::uint32_t>(S_IFMT | kModeBits)) != 0 || (kind != S_IFREG && kind != S_IFLNK)) {
    return error(Code::kCorrupt, "mode {:o} is neither that of a file nor of a symbolic link", info.mode);
  }
  if (info.is_symlink() != !info.symlink_target.empty()) {
    return error(Code::kCorrupt, "{}",
                 info.is_symlink() ? "a symbolic link has no target" : "a file has a link target");
  }
  if (info.symlink_target.size() > kMaxSymlinkBytes) {
    return error(Code::kExhausted, "the target of a symbolic link has more than {} bytes", kMaxSymlinkBytes);
  }
  if (info.is_symlink() && info.size != 0) return error(Code::kCorrupt, "a symbolic link has content");
  return {};
}

FileHasher::FileHasher(const FileInfo& info) : hasher_(codec::HashAlgorithm::kSha256) {
  hasher_.update(framed(Variant::tuple(header_members(info))));
}

Checksum FileHasher::finish() && {
  const Result<Checksum> checksum = Checksum::from_bytes(std::move(hasher_).finish_bytes());
  STRAKE_INVARIANT(checksum.ok());
  return *checksum;
}

Checksum checksum_of_file(const FileInfo& info, std::string_view content) {
  FileHasher hasher(info);
  hasher.update(std::as_bytes(std::span(content)));
  return std::move(hasher).finish();
}

Status require_checksum(ObjectType type, const Checksum& expected, const Checksum& actual) {
  if (expected == actual) return {};
  return not_genuine("{} object {} has the checksum {}: it was damaged or replaced", to_string(type), expected.hex(),
                     actual.hex());
}

Status copy_checked(const FileInfo& info, codec::Source& content, const Checksum& expected, codec::Sink& sink) {
  FileHasher hasher(info);
  FileHashingSink hashing(hasher, sink, info.size);
  STRAKE_CHECK_OK(codec::copy(content, hashing).context("file object {}", expected.hex()));
  if (hashing.size() != info.size) {
    return not_genuine("file object {} has {} bytes instead of {}", expected.hex(), hashing.size(), info.size);
  }
  return require_checksum(ObjectType::kFile, expected, std::move(hasher).finish());
}

Result<FileInfo> parse_user_metadata(std::string_view bytes) {
  STRAKE_TRY(const Variant value, decode_variant(kDirMetaType, bytes));
  FileInfo info;
  info.uid = u32_of(value.items[0]);
  info.gid = u32_of(value.items[1]);
  info.mode = u32_of(value.items[2]);
  STRAKE_TRY(info.xattrs, xattrs_of(value.items[3]));
  return info;
}

std::string serialize_user_metadata(const FileInfo& info) {
  return serialize_dirmeta({info.uid, info.gid, info.mode, info.xattrs});
}

Result<FileInfo> read_archived_header(codec::Source& filez) {
  std::string frame(8, '\0');
  STRAKE_TRY(std::size_t got, codec::read_full(filez, std::as_writable_bytes(std::span(frame))));
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) size = (size << 8) | static_cast<unsigned char>(frame[i]);
  if (got != frame.size() || frame.find_first_not_of('\0', 4) != std::string::npos) {
    return error(Code::kCorrupt, "an archived file does not begin with the size of its header");
  }
  if (size > kMaxHeaderBytes) {
    return error(Code::kExhausted, "an archived file has a header of {} bytes, more than {}", size, kMaxHeaderBytes);
  }
  std::string bytes(size, '\0');
  STRAKE_TRY(
      got, bytes.empty() ? Result<std::size_t>(0) : codec::read_full(filez, std::as_writable_bytes(std::span(bytes))));
  if (got != bytes.size()) return error(Code::kCorrupt, "an archived file ends within its header");
  STRAKE_TRY(const Variant value, decode_variant(kArchivedType, bytes));
  FileInfo info;
  info.size = swapped(value.items[0].number);
  info.uid = u32_of(value.items[1]);
  info.gid = u32_of(value.items[2]);
  info.mode = u32_of(value.items[3]);
  if (value.items[4].number != 0) return error(Code::kCorrupt, "an archived file claims to be a device");
  info.symlink_target = value.items[5].text;
  STRAKE_TRY(info.xattrs, xattrs_of(value.items[6]));
  STRAKE_CHECK_OK(check_file_info(info));
  if (info.size > kMaxFileBytes) {
    return error(Code::kExhausted, "an archived file of {} bytes is larger than {}", info.size, kMaxFileBytes);
  }
  return info;
}

Status copy_archived(const FileInfo& info, codec::Source& filez_after_header, const Checksum& expected,
                     codec::Sink& sink) {
  if (info.is_symlink()) {
    return require_checksum(ObjectType::kFile, expected, checksum_of_file(info, ""));
  }
  const auto content =
      codec::make_inflater(filez_after_header, {.max_output_bytes = info.size, .max_memory_bytes = 1u << 20});
  return copy_checked(info, *content, expected, sink);
}

std::string serialize_archived_header(const FileInfo& info) {
  std::vector<Variant> members = header_members(info);
  members.insert(members.begin(), Variant::u64(swapped(info.size)));
  return framed(Variant::tuple(std::move(members)));
}

}  // namespace strake::ostree
