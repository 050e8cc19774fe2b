#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "base/fd.h"
#include "base/file_tree.h"

namespace strake {

namespace {

constexpr std::size_t kMaxTreeFileBytes = 256u << 20;

/// Opens relative to `root` with links resolved inside it: what chroot would do, without needing root.
Result<Fd> open_in_root(int root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT;
  while (true) {
    const long number = syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
    if (number >= 0) return Fd(static_cast<int>(number));
    if (errno != EINTR && errno != EAGAIN) return errno_error(errno, fmt::format("opening {}", path));
  }
}

struct SplitPath {
  std::string parent;
  std::string name;
};

Result<SplitPath> split_tree_path(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (path.empty() || path.front() != '/' || slash + 1 == path.size()) {
    return error(Code::kInvalidArgument, "'{}' is not an absolute path of a file", path);
  }
  return SplitPath{slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

/// The parent folder of `path`, made with its ancestors when missing.
Result<Fd> open_parent(int root, const std::string& parent, bool create) {
  auto opened = open_in_root(root, parent, O_PATH | O_DIRECTORY);
  if (opened.ok() || !create || opened.error().code() != Code::kNotFound) return opened;
  STRAKE_TRY(SplitPath split, split_tree_path(parent));
  STRAKE_TRY(Fd above, open_parent(root, split.parent, true));
  if (mkdirat(above.get(), split.name.c_str(), 0755) != 0 && errno != EEXIST) {
    return errno_error(errno, fmt::format("making folder {}", parent));
  }
  return open_in_root(root, parent, O_PATH | O_DIRECTORY);
}

Status sync_directory(int parent) {
  const Fd readable(openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!readable.valid() || fsync(readable.get()) != 0) return errno_error(errno, "syncing a folder");
  return {};
}

/// What is written beside its target and then takes its place. A failure leaves nothing; what a crash left is removed
/// by the next write of the same target.
class TemporaryEntry {
 public:
  TemporaryEntry(int parent, const std::string& target)
      : parent_(parent), target_(target), name_("." + target + ".strake-new") {
    (void)unlinkat(parent_, name_.c_str(), 0);
  }
  ~TemporaryEntry() {
    if (!replaced_) (void)unlinkat(parent_, name_.c_str(), 0);
  }
  TemporaryEntry(const TemporaryEntry&) = delete;
  TemporaryEntry& operator=(const TemporaryEntry&) = delete;

  const std::string& name() const { return name_; }

  Status replace_target() {
    if (renameat(parent_, name_.c_str(), parent_, target_.c_str()) != 0) return errno_error(errno, "renaming");
    replaced_ = true;
    return sync_directory(parent_);
  }

 private:
  int parent_;
  std::string target_;
  std::string name_;
  bool replaced_ = false;
};

Result<std::string> read_all(int fd, const std::string& path) {
  std::string contents;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count == 0) return contents;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(errno, fmt::format("reading {}", path));
    contents.append(buffer.data(), static_cast<std::size_t>(count));
    if (contents.size() > kMaxTreeFileBytes)
      return error(Code::kExhausted, "{} is larger than {} bytes", path, kMaxTreeFileBytes);
  }
}

}  // namespace

Result<std::optional<FileState>> DirectoryTree::read(const std::string& path) {
  STRAKE_TRY(SplitPath split, split_tree_path(path));
  STRAKE_TRY(Fd root, open_file(root_, O_PATH | O_DIRECTORY));
  auto parent = open_parent(root.get(), split.parent, false);
  if (!parent.ok() && parent.error().code() == Code::kNotFound) return std::optional<FileState>();
  if (!parent.ok()) return std::move(parent).error();
  struct stat info{};
  if (fstatat(parent->get(), split.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<FileState>();
    return errno_error(errno, fmt::format("looking at {}", path));
  }
  FileState state;
  state.mode = info.st_mode & 07777;
  state.owner = {info.st_uid, info.st_gid};
  if (S_ISLNK(info.st_mode)) {
    state.kind = FileState::Kind::kLink;
    std::string target(4096, '\0');
    const ssize_t length = readlinkat(parent->get(), split.name.c_str(), target.data(), target.size());
    if (length < 0) return errno_error(errno, fmt::format("reading link {}", path));
    target.resize(static_cast<std::size_t>(length));
    state.contents = std::move(target);
  } else if (S_ISDIR(info.st_mode)) {
    state.kind = FileState::Kind::kDirectory;
  } else {
    const Fd file(openat(parent->get(), split.name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!file.valid()) return errno_error(errno, fmt::format("opening {}", path));
    STRAKE_TRY(state.contents, read_all(file.get(), path));
  }
  return std::optional(std::move(state));
}

Status DirectoryTree::write(const std::string& path, std::string_view contents, std::uint32_t mode,
                            const FileOwner& owner) {
  STRAKE_TRY(SplitPath split, split_tree_path(path));
  STRAKE_TRY(Fd root, open_file(root_, O_PATH | O_DIRECTORY));
  STRAKE_TRY(Fd parent, open_parent(root.get(), split.parent, true));
  TemporaryEntry temporary(parent.get(), split.name);
  const Fd file(
      openat(parent.get(), temporary.name().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return errno_error(errno, fmt::format("creating {}", path));
  // Permissions before contents: a secret is never readable by more than its mode allows, not even for a moment.
  if (set_owners_ && fchown(file.get(), static_cast<uid_t>(owner.user_id.value_or(0)),
                            static_cast<gid_t>(owner.group_id.value_or(0))) != 0) {
    return errno_error(errno, fmt::format("setting the owner of {}", path));
  }
  if (fchmod(file.get(), mode) != 0) return errno_error(errno, fmt::format("setting the mode of {}", path));
  STRAKE_CHECK_OK(write_all(file.get(), contents).context("writing {}", path));
  if (fsync(file.get()) != 0) return errno_error(errno, fmt::format("syncing {}", path));
  return temporary.replace_target().context("replacing {}", path);
}

Status DirectoryTree::write_link(const std::string& path, const std::string& target) {
  STRAKE_TRY(SplitPath split, split_tree_path(path));
  STRAKE_TRY(Fd root, open_file(root_, O_PATH | O_DIRECTORY));
  STRAKE_TRY(Fd parent, open_parent(root.get(), split.parent, true));
  TemporaryEntry temporary(parent.get(), split.name);
  if (symlinkat(target.c_str(), parent.get(), temporary.name().c_str()) != 0) {
    return errno_error(errno, fmt::format("linking {} to {}", path, target));
  }
  return temporary.replace_target().context("linking {} to {}", path, target);
}

Status DirectoryTree::make_folder(const std::string& path) {
  STRAKE_TRY(Fd root, open_file(root_, O_PATH | O_DIRECTORY));
  STRAKE_TRY(const Fd folder, open_parent(root.get(), path, true));
  return sync_directory(folder.get());
}

Status DirectoryTree::remove_folder(const std::string& path) {
  STRAKE_TRY(SplitPath split, split_tree_path(path));
  STRAKE_TRY(Fd root, open_file(root_, O_PATH | O_DIRECTORY));
  auto parent = open_parent(root.get(), split.parent, false);
  if (!parent.ok() && parent.error().code() == Code::kNotFound) return {};
  if (!parent.ok()) return std::move(parent).error();
  if (unlinkat(parent->get(), split.name.c_str(), AT_REMOVEDIR) != 0) {
    if (errno == ENOENT) return {};
    return errno_error(errno, fmt::format("removing folder {}", path));
  }
  return sync_directory(parent->get());
}

Status DirectoryTree::remove(const std::string& path) {
  STRAKE_TRY(SplitPath split, split_tree_path(path));
  STRAKE_TRY(Fd root, open_file(root_, O_PATH | O_DIRECTORY));
  auto parent = open_parent(root.get(), split.parent, false);
  if (!parent.ok() && parent.error().code() == Code::kNotFound) return {};
  if (!parent.ok()) return std::move(parent).error();
  if (unlinkat(parent->get(), split.name.c_str(), 0) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return errno_error(errno, fmt::format("removing {}", path));
  }
  return sync_directory(parent->get());
}

Result<std::vector<std::string>> DirectoryTree::list(const std::string& path) {
  std::vector<std::string> names;
  STRAKE_TRY(Fd root, open_file(root_, O_PATH | O_DIRECTORY));
  auto folder = open_in_root(root.get(), path, O_RDONLY | O_DIRECTORY);
  if (!folder.ok() && folder.error().code() == Code::kNotFound) return names;
  if (!folder.ok()) return std::move(folder).error();
  DIR* stream = fdopendir(folder->release());
  if (stream == nullptr) return errno_error(errno, fmt::format("listing {}", path));
  while (const dirent* entry = readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(stream);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace strake
