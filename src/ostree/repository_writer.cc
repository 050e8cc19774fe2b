#include "ostree/repository_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/text.h"
#include "codec/deflate.h"
#include "ostree/tree.h"

namespace strake::ostree {

namespace {

constexpr std::size_t kCopyBytes = 256 * 1024;
constexpr std::size_t kMaxRefNameBytes = 1024;
constexpr std::uint32_t kUserOnlyBits = 0775;
constexpr std::uint32_t kUserContentBits = 0775;
constexpr std::string_view kTemporaryPrefix = "strake-";

/// What is read only to be hashed.
class DiscardingSink final : public codec::Sink {
 public:
  Status write(std::span<const std::byte>) override { return {}; }
};

Result<Fd> open_below(int folder, const std::string& name, int flags, mode_t mode = 0) {
  int number;
  do {
    number = ::openat(folder, name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, mode);
  } while (number < 0 && errno == EINTR);
  if (number < 0) return errno_error(errno, fmt::format("opening {}", name));
  return Fd(number);
}

/// A folder of the repository, made when it is missing. A symbolic link in its place is refused.
Result<Fd> open_folder(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0755) != 0 && errno != EEXIST) {
    return errno_error(errno, fmt::format("making folder {}", name));
  }
  return open_below(parent, name, O_RDONLY | O_DIRECTORY);
}

/// What writers that died left behind. Only while no writer lives.
void remove_leftovers(int tmp) {
  const int copy = ::fcntl(tmp, F_DUPFD_CLOEXEC, 0);
  DIR* const entries = copy < 0 ? nullptr : ::fdopendir(copy);
  if (entries == nullptr) {
    if (copy >= 0) ::close(copy);
    return;
  }
  // Cleaning is a courtesy: what cannot be removed costs space, nothing else.
  while (const dirent* entry = ::readdir(entries)) {
    const std::string_view name = static_cast<const char*>(entry->d_name);
    if (name.starts_with(kTemporaryPrefix)) ::unlinkat(tmp, entry->d_name, 0);
  }
  ::closedir(entries);
}

bool take_lock(const Fd& file, short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return ::fcntl(file.get(), F_OFD_SETLK, &lock) == 0;
}

/// A lock of the open file, shared with everybody who adds: those who prune take it alone, and so does the first writer
/// for a moment.
Result<Fd> lock_shared(int root, int tmp) {
  STRAKE_TRY(Fd file, open_below(root, ".lock", O_RDWR | O_CREAT, 0660));
  if (take_lock(file, F_WRLCK)) remove_leftovers(tmp);
  if (take_lock(file, F_RDLCK)) return file;
  if (errno == EAGAIN || errno == EACCES) {
    return error(Code::kUnavailable,
                 "another program is removing objects from the repository: try again when it ended");
  }
  return errno_error(errno, "locking .lock");
}

Status check_metadata(ObjectType type, std::string_view bytes) {
  if (bytes.size() > kMaxMetadataBytes) {
    return error(Code::kExhausted, "a {} object of {} bytes is larger than the {} ostree allows", to_string(type),
                 bytes.size(), kMaxMetadataBytes);
  }
  Status outcome;
  switch (type) {
    case ObjectType::kCommit:
      if (auto read = parse_commit(bytes); !read.ok()) outcome = std::move(read).error();
      break;
    case ObjectType::kDirTree:
      if (auto read = parse_dirtree(bytes); !read.ok()) outcome = std::move(read).error();
      break;
    case ObjectType::kDirMeta:
      if (auto read = parse_dirmeta(bytes); !read.ok()) outcome = std::move(read).error();
      break;
    case ObjectType::kFile: return error(Code::kInvalidArgument, "a file is no metadata object");
  }
  return std::move(outcome).context("{} object", to_string(type));
}

}  // namespace

/// A file or link in tmp/ that disappears unless it was placed.
class RepositoryWriter::Temporary {
 public:
  Temporary(int folder, std::atomic<std::uint64_t>& counter) : folder_(folder), counter_(counter) {}
  ~Temporary() {
    if (made_) ::unlinkat(folder_, name_.c_str(), 0);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  Status make_file() {
    return make([&] {
      fd_.reset(::openat(folder_, name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
      return fd_.valid();
    });
  }
  Status make_link(const std::string& target) {
    return make([&] { return ::symlinkat(target.c_str(), folder_, name_.c_str()) == 0; });
  }
  Status rename_to(int folder, const std::string& name) {
    if (::renameat(folder_, name_.c_str(), folder, name.c_str()) != 0) {
      return errno_error(errno, fmt::format("renaming tmp/{} to {}", name_, name));
    }
    made_ = false;
    return {};
  }
  /// -1: a link.
  int fd() const { return fd_.get(); }
  int folder() const { return folder_; }
  const std::string& name() const { return name_; }
  /// For calls that know no folder descriptors.
  std::string path() const { return fmt::format("/proc/self/fd/{}/{}", folder_, name_); }

 private:
  /// Under a name nobody has: one may be left of a process that had the same number and died.
  template <typename Create>
  Status make(const Create& create) {
    do {
      name_ = fmt::format("{}{}-{}", kTemporaryPrefix, ::getpid(), ++counter_);
      made_ = create();
    } while (!made_ && (errno == EEXIST || errno == EINTR));
    if (!made_) return errno_error(errno, "making tmp/" + name_);
    return {};
  }

  int folder_;
  std::atomic<std::uint64_t>& counter_;
  std::string name_;
  Fd fd_;
  bool made_ = false;
};

Status check_ref_name(std::string_view name) {
  const auto refuse = [&] {
    return error(Code::kInvalidArgument, "'{}' is no name for an ostree ref", name.substr(0, 100));
  };
  if (name.empty() || name.size() > kMaxRefNameBytes) return refuse();
  for (const std::string_view part : split(name, '/')) {
    const bool known =
        std::ranges::all_of(part, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
    if (part.empty() || part.size() > 255 || !known || part.front() == '.') return refuse();
  }
  return {};
}

Result<std::unique_ptr<RepositoryWriter>> RepositoryWriter::create(const std::filesystem::path& directory,
                                                                   RepositoryMode mode, const WriterOptions& options) {
  if (mode == RepositoryMode::kBareSplitXattrs) {
    return error(Code::kUnsupported, "repositories of mode {} are not written: use bare or bare-user", to_string(mode));
  }
  const auto describe = [&](Error failure) {
    return std::move(failure).context(fmt::format("making ostree repository {}", directory.string()));
  };
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) return describe(errno_error(failure.value(), directory.string()));
  Result<Fd> root = open_file(directory, O_RDONLY | O_DIRECTORY);
  if (!root.ok()) return describe(std::move(root).error());
  for (const char* name :
       {"objects", "refs", "refs/heads", "refs/mirrors", "refs/remotes", "tmp", "tmp/cache", "state", "extensions"}) {
    if (Result<Fd> made = open_folder(root->get(), name); !made.ok()) return describe(std::move(made).error());
  }
  // The config makes it a repository, so it comes last.
  struct stat status{};
  if (::fstatat(root->get(), "config", &status, AT_SYMLINK_NOFOLLOW) != 0) {
    // What ostree itself calls the mode.
    const std::string_view name = mode == RepositoryMode::kArchive ? "archive-z2" : to_string(mode);
    Status written =
        write_file_atomic(directory / "config", fmt::format("[core]\nrepo_version=1\nmode={}\n", name), 0644);
    if (!written.ok()) return describe(std::move(written).error());
  }
  STRAKE_TRY(std::unique_ptr<RepositoryWriter> writer, open(directory, options));
  if (writer->repository().mode() != mode) {
    return error(Code::kExists, "{} is an ostree repository of mode {}, not {}", directory.string(),
                 to_string(writer->repository().mode()), to_string(mode));
  }
  return writer;
}

Result<std::unique_ptr<RepositoryWriter>> RepositoryWriter::open(const std::filesystem::path& directory,
                                                                 const WriterOptions& options) {
  STRAKE_TRY(Repository repository, Repository::open(directory));
  if (repository.mode() == RepositoryMode::kBareSplitXattrs) {
    return error(Code::kUnsupported, "{}: repositories of mode {} are not written", directory.string(),
                 to_string(repository.mode()));
  }
  const auto open_all = [&]() -> Result<Folders> {
    Folders folders;
    STRAKE_TRY(folders.root, open_file(directory, O_RDONLY | O_DIRECTORY));
    STRAKE_TRY(folders.objects, open_folder(folders.root.get(), "objects"));
    STRAKE_TRY(folders.tmp, open_folder(folders.root.get(), "tmp"));
    STRAKE_TRY(folders.state, open_folder(folders.root.get(), "state"));
    STRAKE_TRY(const Fd refs, open_folder(folders.root.get(), "refs"));
    STRAKE_TRY(folders.heads, open_folder(refs.get(), "heads"));
    STRAKE_TRY(folders.lock, lock_shared(folders.root.get(), folders.tmp.get()));
    return folders;
  };
  STRAKE_TRY_CONTEXT(Folders folders, open_all(), "opening ostree repository {} for writing", directory.string());
  return std::unique_ptr<RepositoryWriter>(new RepositoryWriter(std::move(repository), std::move(folders), options));
}

Result<bool> RepositoryWriter::has_intact(ObjectType type, const Checksum& checksum) {
  {
    const std::lock_guard lock(mutex_);
    if (intact_.contains({type, checksum})) return true;
  }
  struct stat status{};
  // Where it would be; its folder and it itself may not exist.
  const std::string path = object_path(repository_.mode(), type, checksum);
  if (::fstatat(folders_.root.get(), path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    return errno_error(errno, path);
  }
  Status whole;
  if (type == ObjectType::kFile) {
    DiscardingSink nowhere;
    whole = repository_.copy_file(checksum, nowhere);
  } else if (auto bytes = read_metadata(repository_, type, checksum); !bytes.ok()) {
    whole = std::move(bytes).error();
  }
  const std::lock_guard lock(mutex_);
  if (whole.ok()) {
    intact_.insert({type, checksum});
    ++counts_.objects_kept;
    return true;
  }
  // No space or no right to look is no damage.
  if (whole.error().code() == Code::kDenied || whole.error().code() == Code::kExhausted)
    return std::move(whole).error();
  ++counts_.objects_damaged;
  return false;
}

Status RepositoryWriter::place(Temporary& temporary, ObjectType type, const Checksum& checksum, std::uint64_t bytes) {
  const std::string path = object_path(repository_.mode(), type, checksum);
  // "objects/ab/cdef.file"
  const std::size_t last = path.rfind('/');
  STRAKE_TRY(const Fd folder, open_folder(folders_.objects.get(), path.substr(last - 2, 2)));
  const bool each = options_.sync == SyncPolicy::kEachObject;
  if (each && temporary.fd() >= 0 && ::fsync(temporary.fd()) != 0) return errno_error(errno, "fsync " + path);
  STRAKE_CHECK_OK(temporary.rename_to(folder.get(), path.substr(last + 1)));
  if (each && ::fsync(folder.get()) != 0) return errno_error(errno, "fsync of the folder of " + path);
  unsynced_ = true;
  const std::lock_guard lock(mutex_);
  intact_.insert({type, checksum});
  ++counts_.objects_written;
  counts_.bytes_written += bytes;
  return {};
}

Result<Checksum> RepositoryWriter::write_metadata(ObjectType type, std::string_view bytes) {
  STRAKE_CHECK_OK(check_metadata(type, bytes));
  const Checksum checksum = Checksum::of(bytes);
  const auto write = [&]() -> Status {
    STRAKE_TRY(const bool known, has_intact(type, checksum));
    if (known) return {};
    Temporary temporary(folders_.tmp.get(), temporaries_);
    STRAKE_CHECK_OK(temporary.make_file());
    STRAKE_CHECK_OK(write_all(temporary.fd(), bytes));
    if (::fchmod(temporary.fd(), 0644) != 0) return errno_error(errno, "fchmod");
    return place(temporary, type, checksum, bytes.size());
  };
  STRAKE_CHECK_OK(write().context("writing {} object {}", to_string(type), checksum.hex()));
  return checksum;
}

Status RepositoryWriter::check_storable(const FileInfo& info) const {
  STRAKE_CHECK_OK(check_file_info(info));
  if (repository_.mode() != RepositoryMode::kBareUserOnly) return {};
  const std::uint32_t permissions = info.mode & 07777;
  if (info.uid == 0 && info.gid == 0 && info.xattrs.empty() &&
      (info.is_symlink() || (permissions & ~kUserOnlyBits) == 0)) {
    return {};
  }
  return error(
      Code::kUnsupported,
      "a repository of mode bare-user-only keeps neither owner {}:{} nor mode {:o} nor {} extended attributes: "
      "use one of mode bare-user",
      info.uid, info.gid, permissions, info.xattrs.size());
}

Result<Checksum> RepositoryWriter::write_file(const FileInfo& info, codec::Source& content,
                                              const std::optional<Checksum>& expected) {
  STRAKE_CHECK_OK(check_storable(info));
  if (!info.is_symlink()) return write_regular(info, content, expected);
  const Checksum checksum = checksum_of_file(info, "");
  if (expected) STRAKE_CHECK_OK(require_checksum(ObjectType::kFile, *expected, checksum));
  STRAKE_CHECK_OK(write_link(info, checksum).context("writing file object {}", checksum.hex()));
  return checksum;
}

Status RepositoryWriter::write_link(const FileInfo& info, const Checksum& checksum) {
  STRAKE_TRY(const bool known, has_intact(ObjectType::kFile, checksum));
  if (known) return {};
  Temporary temporary(folders_.tmp.get(), temporaries_);
  switch (repository_.mode()) {
    case RepositoryMode::kArchive:
      STRAKE_CHECK_OK(temporary.make_file());
      STRAKE_CHECK_OK(write_all(temporary.fd(), serialize_archived_header(info)));
      break;
    case RepositoryMode::kBareUser:
      STRAKE_CHECK_OK(temporary.make_file());
      // With the zero byte that libostree writes behind it.
      STRAKE_CHECK_OK(write_all(temporary.fd(), info.symlink_target + '\0'));
      break;
    case RepositoryMode::kBare:
    case RepositoryMode::kBareUserOnly:
    case RepositoryMode::kBareSplitXattrs: STRAKE_CHECK_OK(temporary.make_link(info.symlink_target)); break;
  }
  STRAKE_CHECK_OK(set_attributes(temporary, info));
  return place(temporary, ObjectType::kFile, checksum, info.symlink_target.size());
}

Result<Checksum> RepositoryWriter::write_regular(const FileInfo& info, codec::Source& content,
                                                 const std::optional<Checksum>& expected) {
  if (expected) {
    STRAKE_TRY_CONTEXT(const bool known, has_intact(ObjectType::kFile, *expected), "file object {}", expected->hex());
    if (known) {
      DiscardingSink nowhere;
      STRAKE_CHECK_OK(copy_checked(info, content, *expected, nowhere));
      return *expected;
    }
  }
  Temporary temporary(folders_.tmp.get(), temporaries_);
  FileHasher hasher(info);
  const auto write = [&]() -> Status {
    STRAKE_CHECK_OK(temporary.make_file());
    STRAKE_CHECK_OK(fill(temporary, info, content, hasher));
    return set_attributes(temporary, info);
  };
  STRAKE_CHECK_OK(write().context("writing a file object{}", expected ? " " + expected->hex() : ""));
  const Checksum checksum = std::move(hasher).finish();
  if (expected) STRAKE_CHECK_OK(require_checksum(ObjectType::kFile, *expected, checksum));
  const auto keep = [&]() -> Status {
    if (!expected) {
      STRAKE_TRY(const bool known, has_intact(ObjectType::kFile, checksum));
      if (known) return {};
    }
    return place(temporary, ObjectType::kFile, checksum, info.size);
  };
  STRAKE_CHECK_OK(keep().context("writing file object {}", checksum.hex()));
  return checksum;
}

Status RepositoryWriter::fill(Temporary& temporary, const FileInfo& info, codec::Source& content, FileHasher& hasher) {
  codec::FdSink file(temporary.fd(), "tmp/" + temporary.name());
  std::unique_ptr<codec::CompressingSink> deflater;
  if (repository_.mode() == RepositoryMode::kArchive) {
    STRAKE_CHECK_OK(codec::write(file, serialize_archived_header(info)));
    deflater = codec::make_deflater(file);
  }
  codec::Sink& sink = deflater ? static_cast<codec::Sink&>(*deflater) : file;
  // One byte more than is left, so that content beyond its announced size is noticed.
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(kCopyBytes, info.size + 1)));
  std::uint64_t size = 0;
  for (;;) {
    STRAKE_TRY(const std::size_t got, content.read(buffer));
    if (got == 0) break;
    size += got;
    if (size > info.size) return error(Code::kCorrupt, "there is more content than the {} bytes announced", info.size);
    const auto bytes = std::span<const std::byte>(buffer).first(got);
    hasher.update(bytes);
    STRAKE_CHECK_OK(sink.write(bytes));
  }
  if (size != info.size) return error(Code::kCorrupt, "content of {} bytes ends after {}", info.size, size);
  return deflater ? deflater->finish() : Status();
}

Status RepositoryWriter::set_owner(const Temporary& temporary, const FileInfo& info) {
  struct stat status{};
  if (::fstatat(temporary.folder(), temporary.name().c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno_error(errno, "tmp/" + temporary.name());
  }
  if (status.st_uid == info.uid && status.st_gid == info.gid) return {};
  if (::fchownat(temporary.folder(), temporary.name().c_str(), info.uid, info.gid, AT_SYMLINK_NOFOLLOW) == 0) return {};
  if (errno == EPERM) {
    return error(
        Code::kDenied,
        "repositories of mode bare keep owners, and only root can give a file to {}:{}: import as root, map the "
        "owners, or use a repository of mode bare-user",
        info.uid, info.gid);
  }
  return errno_error(errno, "chown");
}

Status RepositoryWriter::set_attributes(const Temporary& temporary, const FileInfo& info) {
  const auto set_xattr = [&](const std::string& name, std::string_view value) -> Status {
    const int outcome = temporary.fd() >= 0
                            ? ::fsetxattr(temporary.fd(), name.c_str(), value.data(), value.size(), 0)
                            : ::lsetxattr(temporary.path().c_str(), name.c_str(), value.data(), value.size(), 0);
    if (outcome == 0) return {};
    return errno_error(errno, fmt::format("setting extended attribute {}", name));
  };
  const auto set_mode = [&](std::uint32_t mode) -> Status {
    if (temporary.fd() >= 0 && ::fchmod(temporary.fd(), mode) != 0) return errno_error(errno, "fchmod");
    return {};
  };
  switch (repository_.mode()) {
    case RepositoryMode::kBare:
      // In this order: changing the owner takes set-user-id bits and capabilities away.
      STRAKE_CHECK_OK(set_owner(temporary, info));
      STRAKE_CHECK_OK(set_mode(info.mode & 07777));
      for (const Xattr& xattr : info.xattrs) STRAKE_CHECK_OK(set_xattr(xattr.name, xattr.value));
      break;
    case RepositoryMode::kBareUser:
      STRAKE_CHECK_OK(set_mode(info.is_symlink() ? 0644 : (info.mode & kUserContentBits) | S_IRUSR));
      STRAKE_CHECK_OK(set_xattr("user.ostreemeta", serialize_user_metadata(info)));
      break;
    case RepositoryMode::kBareUserOnly: STRAKE_CHECK_OK(set_mode(info.mode & kUserOnlyBits)); break;
    case RepositoryMode::kArchive: STRAKE_CHECK_OK(set_mode(0644)); break;
    case RepositoryMode::kBareSplitXattrs: return error(Code::kUnsupported, "mode bare-split-xattrs is not written");
  }
  // Deployments are made of these files: without times of their own two imports give the same system.
  if (repository_.mode() != RepositoryMode::kArchive && temporary.fd() >= 0) {
    const std::array<timespec, 2> zero{};
    if (::futimens(temporary.fd(), zero.data()) != 0) return errno_error(errno, "futimens");
  }
  return {};
}

Status RepositoryWriter::replace_small(int folder, const std::string& name, std::string_view bytes) {
  Temporary temporary(folders_.tmp.get(), temporaries_);
  STRAKE_CHECK_OK(temporary.make_file());
  STRAKE_CHECK_OK(write_all(temporary.fd(), bytes));
  if (::fchmod(temporary.fd(), 0644) != 0) return errno_error(errno, "fchmod");
  const bool sync = options_.sync != SyncPolicy::kNever;
  if (sync && ::fsync(temporary.fd()) != 0) return errno_error(errno, "fsync " + name);
  STRAKE_CHECK_OK(temporary.rename_to(folder, name));
  if (sync && ::fsync(folder) != 0) return errno_error(errno, "fsync of the folder of " + name);
  return {};
}

Status RepositoryWriter::write_detached_metadata(const Checksum& commit, std::string_view bytes) {
  if (bytes.size() > kMaxMetadataBytes)
    return error(Code::kExhausted, "metadata of commit {} is too large", commit.hex());
  if (auto read = decode_variant("a{sv}", bytes); !read.ok()) {
    return std::move(read).context("detached metadata of commit {}", commit.hex()).error();
  }
  const std::string hex = commit.hex();
  STRAKE_TRY(const Fd folder, open_folder(folders_.objects.get(), hex.substr(0, 2)));
  return replace_small(folder.get(), hex.substr(2) + ".commitmeta", bytes);
}

Status RepositoryWriter::mark_complete(const Checksum& commit) {
  const std::string name = commit.hex() + ".commitpartial";
  if (::unlinkat(folders_.state.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return errno_error(errno, "removing state/" + name);
}

Status RepositoryWriter::sync_all() {
  if (options_.sync != SyncPolicy::kBeforeRefs || !unsynced_.exchange(false)) return {};
  if (::syncfs(folders_.root.get()) != 0) return errno_error(errno, "syncing " + repository_.directory().string());
  return {};
}

Status RepositoryWriter::write_ref(std::string_view name, const Checksum& commit) {
  STRAKE_CHECK_OK(check_ref_name(name));
  const auto write = [&]() -> Status {
    STRAKE_CHECK_OK(sync_all());
    Fd below;
    int folder = folders_.heads.get();
    std::string_view rest = name;
    while (rest.find('/') != std::string_view::npos) {
      STRAKE_TRY(below, open_folder(folder, std::string(take_until(rest, '/'))));
      folder = below.get();
    }
    return replace_small(folder, std::string(rest), commit.hex() + "\n");
  };
  return write().context("writing ref {}", name);
}

Status RepositoryWriter::remove_ref(std::string_view name) {
  STRAKE_CHECK_OK(check_ref_name(name));
  Fd below;
  int folder = folders_.heads.get();
  std::string_view rest = name;
  while (rest.find('/') != std::string_view::npos) {
    Result<Fd> next = open_below(folder, std::string(take_until(rest, '/')), O_RDONLY | O_DIRECTORY);
    if (!next.ok() && next.error().code() == Code::kNotFound) return {};
    if (!next.ok()) return std::move(next).context("removing ref {}", name).error();
    below = *std::move(next);
    folder = below.get();
  }
  if (::unlinkat(folder, std::string(rest).c_str(), 0) == 0 || errno == ENOENT) return {};
  return errno_error(errno, fmt::format("removing ref {}", name));
}

RepositoryWriter::Counts RepositoryWriter::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace strake::ostree
