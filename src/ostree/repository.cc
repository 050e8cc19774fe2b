#include "ostree/repository.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include <fmt/ranges.h>

#include "base/text.h"
#include "ostree/key_file.h"

namespace strake::ostree {

namespace {

constexpr std::size_t kMaxRepositoryConfigBytes = 1u << 20;
constexpr std::size_t kMaxRefBytes = 128;
constexpr std::size_t kMaxRefs = 10'000;
constexpr std::size_t kMaxRefsInMessage = 10;
constexpr std::uint32_t kUserOnlyModeBits = 0775;

Result<std::string> xattr_value(int fd, const std::string& name, const std::filesystem::path& path) {
  std::string value(kMaxXattrBytes, '\0');
  const ssize_t size = ::fgetxattr(fd, name.c_str(), value.data(), value.size());
  if (size < 0) return errno_error(errno, fmt::format("{}: extended attribute {}", path.string(), name));
  value.resize(static_cast<std::size_t>(size));
  return value;
}

/// All of a file, sorted by name as ostree keeps them.
Result<Xattrs> xattrs_of_path(const std::filesystem::path& path) {
  std::string names(64 * 1024, '\0');
  const ssize_t size = ::llistxattr(path.c_str(), names.data(), names.size());
  if (size < 0 && errno == ENOTSUP) return Xattrs{};
  if (size < 0) return errno_error(errno, fmt::format("{}: extended attributes", path.string()));
  Xattrs xattrs;
  for (std::string_view rest(names.data(), static_cast<std::size_t>(size)); !rest.empty();) {
    const std::string name(rest.substr(0, rest.find('\0')));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    std::string value(64 * 1024, '\0');
    const ssize_t got = ::lgetxattr(path.c_str(), name.c_str(), value.data(), value.size());
    if (got < 0) return errno_error(errno, fmt::format("{}: extended attribute {}", path.string(), name));
    value.resize(static_cast<std::size_t>(got));
    // ostree leaves out empty ones.
    if (!value.empty()) xattrs.push_back({name, std::move(value)});
  }
  std::ranges::sort(xattrs);
  return xattrs;
}

Result<std::string> link_target(const std::filesystem::path& path) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size < 0) return errno_error(errno, path.string());
  target.resize(static_cast<std::size_t>(size));
  return target;
}

Error missing_object(ObjectType type, const Checksum& checksum, const std::filesystem::path& repository) {
  return error(Code::kNotFound, "{} object {} is missing in ostree repository {}", to_string(type), checksum.hex(),
               repository.string());
}

}  // namespace

std::string_view to_string(RepositoryMode mode) {
  switch (mode) {
    case RepositoryMode::kBare: return "bare";
    case RepositoryMode::kBareUser: return "bare-user";
    case RepositoryMode::kBareUserOnly: return "bare-user-only";
    case RepositoryMode::kBareSplitXattrs: return "bare-split-xattrs";
    case RepositoryMode::kArchive: return "archive";
  }
  return "unknown";
}

Result<RepositoryMode> parse_repository_mode(std::string_view name) {
  for (const RepositoryMode mode : {RepositoryMode::kBare, RepositoryMode::kBareUser, RepositoryMode::kBareUserOnly,
                                    RepositoryMode::kBareSplitXattrs, RepositoryMode::kArchive}) {
    if (name == to_string(mode)) return mode;
  }
  if (name == "archive-z2") return RepositoryMode::kArchive;  // what ostree itself writes
  return error(Code::kUnsupported, "ostree repository mode '{}' is not known to this program", name);
}

Result<RepositoryMode> parse_repository_config(std::string_view text) {
  const std::optional<std::string> version = key_file_value(text, "core", "repo_version");
  if (version != "1") {
    return error(Code::kUnsupported, "[core] repo_version is {}, expected 1", version.value_or("missing"));
  }
  return parse_repository_mode(key_file_value(text, "core", "mode").value_or("bare"));
}

std::string object_path(RepositoryMode mode, ObjectType type, const Checksum& checksum) {
  const std::string hex = checksum.hex();
  const bool compressed = mode == RepositoryMode::kArchive && type == ObjectType::kFile;
  return fmt::format("objects/{}/{}.{}{}", hex.substr(0, 2), hex.substr(2), to_string(type), compressed ? "z" : "");
}

Result<Repository> Repository::open(const std::filesystem::path& directory) {
  Result<std::string> config = read_file(directory / "config", kMaxRepositoryConfigBytes);
  if (!config.ok()) {
    return std::move(config)
        .context("{} is no ostree repository: its file `config` cannot be read", directory.string())
        .error();
  }
  STRAKE_TRY_CONTEXT(const RepositoryMode mode, parse_repository_config(*config), "{}",
                     (directory / "config").string());
  return Repository(directory, mode);
}

Result<std::map<std::string, Checksum>> Repository::refs() const {
  std::map<std::string, Checksum> refs;
  for (const std::string_view kind : {"heads", "remotes"}) {
    const std::filesystem::path root = directory_ / "refs" / kind;
    std::error_code failure;
    for (std::filesystem::recursive_directory_iterator it(root, failure), end; !failure && it != end;
         it.increment(failure)) {
      if (!it->is_regular_file(failure) || failure) continue;
      std::string name = it->path().lexically_relative(root).string();
      if (kind == "remotes") {
        if (const std::size_t slash = name.find('/'); slash != std::string::npos) name[slash] = ':';
      }
      STRAKE_TRY(const std::string text, read_file(it->path(), kMaxRefBytes));
      STRAKE_TRY_CONTEXT(const Checksum checksum, Checksum::from_hex(trimmed(text)), "{}", it->path().string());
      refs.emplace(std::move(name), checksum);
      if (refs.size() > kMaxRefs) return error(Code::kExhausted, "{}: more than {} refs", root.string(), kMaxRefs);
    }
    if (failure && failure != std::errc::no_such_file_or_directory) {
      return errno_error(failure.value(), root.string());
    }
  }
  return refs;
}

Result<Checksum> Repository::resolve(std::string_view name) const {
  if (const Result<Checksum> checksum = Checksum::from_hex(name); checksum.ok()) return *checksum;
  STRAKE_TRY(const auto refs, this->refs());
  if (const auto found = refs.find(std::string(name)); found != refs.end()) return found->second;
  if (name.empty() && refs.size() == 1) return refs.begin()->second;
  std::vector<std::string> names;
  for (const auto& [ref, checksum] : refs) {
    if (names.size() < kMaxRefsInMessage) names.push_back(ref);
  }
  const std::string known = refs.empty() ? "it has no refs: name a commit by its checksum"
                                         : fmt::format("its refs are {}{}", fmt::join(names, ", "),
                                                       refs.size() > names.size() ? ", ..." : "");
  if (name.empty()) {
    return error(Code::kNotFound, "which commit of ostree repository {}? {}", directory_.string(), known);
  }
  return error(Code::kNotFound, "ostree repository {} has no ref '{}'; {}", directory_.string(), name, known);
}

Result<std::string> Repository::load_metadata(ObjectType type, const Checksum& checksum) const {
  Result<std::string> bytes = read_file(directory_ / object_path(mode_, type, checksum), kMaxMetadataBytes);
  if (!bytes.ok() && bytes.error().code() == Code::kNotFound) return missing_object(type, checksum, directory_);
  return bytes;
}

Result<Repository::OpenedFile> Repository::open_bare(const std::filesystem::path& path,
                                                     const Checksum& checksum) const {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return missing_object(ObjectType::kFile, checksum, directory_);
    return errno_error(errno, path.string());
  }
  OpenedFile opened;
  FileInfo& info = opened.info;
  info.uid = status.st_uid;
  info.gid = status.st_gid;
  info.mode = status.st_mode;
  if (S_ISLNK(status.st_mode)) {
    STRAKE_TRY(info.symlink_target, link_target(path));
  } else if (S_ISREG(status.st_mode)) {
    STRAKE_TRY(opened.fd, open_file(path, O_RDONLY | O_NOFOLLOW));
    info.size = static_cast<std::uint64_t>(status.st_size);
  } else {
    return error(Code::kCorrupt, "{} is neither a file nor a symbolic link", path.string());
  }
  if (mode_ == RepositoryMode::kBareUserOnly) {
    info.uid = 0;
    info.gid = 0;
    if (!info.is_symlink()) info.mode &= S_IFMT | kUserOnlyModeBits;
    return opened;
  }
  if (mode_ == RepositoryMode::kBareSplitXattrs) {
    Result<std::string> bytes = read_file(path.string() + "-xattrs-link", kMaxXattrBytes);
    if (!bytes.ok() && bytes.error().code() == Code::kNotFound) return opened;
    if (!bytes.ok()) return std::move(bytes).error();
    STRAKE_TRY_CONTEXT(info.xattrs, parse_xattrs(*bytes), "{}-xattrs-link", path.string());
    return opened;
  }
  STRAKE_TRY(info.xattrs, xattrs_of_path(path));
  return opened;
}

Result<Repository::OpenedFile> Repository::open_object(const Checksum& checksum) const {
  const std::filesystem::path path = directory_ / object_path(mode_, ObjectType::kFile, checksum);
  if (mode_ != RepositoryMode::kArchive && mode_ != RepositoryMode::kBareUser) return open_bare(path, checksum);
  Result<Fd> fd = open_file(path, O_RDONLY | O_NOFOLLOW);
  if (!fd.ok() && fd.error().code() == Code::kNotFound) {
    return missing_object(ObjectType::kFile, checksum, directory_);
  }
  if (!fd.ok()) return std::move(fd).error();
  OpenedFile opened{*std::move(fd), {}};
  codec::FdSource source(opened.fd.get(), path.string());
  if (mode_ == RepositoryMode::kArchive) {
    STRAKE_TRY_CONTEXT(opened.info, read_archived_header(source), "{}", path.string());
    return opened;
  }
  STRAKE_TRY(const std::string kept, xattr_value(opened.fd.get(), "user.ostreemeta", path));
  STRAKE_TRY_CONTEXT(opened.info, parse_user_metadata(kept), "{}: attribute user.ostreemeta", path.string());
  if (opened.info.is_symlink()) {
    STRAKE_TRY(opened.info.symlink_target, codec::read_all(source, PATH_MAX));
    if (opened.info.symlink_target.ends_with('\0')) opened.info.symlink_target.pop_back();
    return opened;
  }
  struct stat status{};
  if (::fstat(opened.fd.get(), &status) != 0) return errno_error(errno, path.string());
  opened.info.size = static_cast<std::uint64_t>(status.st_size);
  return opened;
}

Result<FileInfo> Repository::read_file_info(const Checksum& checksum) const {
  STRAKE_TRY(OpenedFile opened, open_object(checksum));
  return std::move(opened.info);
}

Status Repository::copy_file(const Checksum& checksum, codec::Sink& sink) const {
  STRAKE_TRY(const OpenedFile opened, open_object(checksum));
  if (opened.info.is_symlink()) {
    return require_checksum(ObjectType::kFile, checksum, checksum_of_file(opened.info, ""));
  }
  codec::FdSource content(opened.fd.get(), directory_.string());
  if (mode_ == RepositoryMode::kArchive) return copy_archived(opened.info, content, checksum, sink);
  return copy_checked(opened.info, content, checksum, sink);
}

}  // namespace strake::ostree
