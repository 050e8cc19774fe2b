#include "cmd/input/local_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

namespace strake::cmd {

namespace {

constexpr int kMaxTreeDepth = 64;

Result<std::vector<std::string>> names_in_folder(const Fd& folder, const std::string& shown) {
  const int copy = fcntl(folder.get(), F_DUPFD_CLOEXEC, 0);  // reading a directory closes what it is given
  struct CloseDirectory {
    void operator()(DIR* directory) const { closedir(directory); }
  };
  const std::unique_ptr<DIR, CloseDirectory> directory(copy < 0 ? nullptr : fdopendir(copy));
  if (!directory) {
    const int failure = errno;
    if (copy >= 0) close(copy);
    return errno_error(failure, fmt::format("reading folder {}", shown));
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    if (names.size() > kMaxLocalEntries) break;  // the caller counts, and says so
    errno = 0;
  }
  if (errno != 0) return errno_error(errno, fmt::format("reading folder {}", shown));
  std::ranges::sort(names);
  return names;
}

}  // namespace

Result<LocalFolder> LocalFolder::open(const std::string& path) {
  STRAKE_TRY_CONTEXT(Fd folder, open_file(path, O_RDONLY | O_DIRECTORY), "--files-dir {}", path);
  return LocalFolder(path, std::move(folder));
}

Result<Fd> LocalFolder::open_below(const std::string& path, int flags) const {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  while (true) {
    const long number = syscall(SYS_openat2, folder_.get(), path.c_str(), &how, sizeof how);
    if (number >= 0) return Fd(static_cast<int>(number));
    if (errno == EXDEV) return error(Code::kInvalidArgument, "{}: a link in it leads out of {}", path, path_);
    if (errno != EINTR && errno != EAGAIN) return errno_error(errno, fmt::format("opening {} in {}", path, path_));
  }
}

Result<std::string> LocalFolder::read(const std::string& path) {
  // Without waiting: a pipe of this name must not hold the run up.
  STRAKE_TRY(const Fd file, open_below(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  return read_open(file, path);
}

Result<std::string> LocalFolder::read_open(const Fd& file, const std::string& path) {
  struct stat info{};
  if (fstat(file.get(), &info) != 0) return errno_error(errno, fmt::format("looking at {}", path));
  if (!S_ISREG(info.st_mode)) return error(Code::kInvalidArgument, "{} in {} is not a file", path, path_);
  std::string contents;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(errno, fmt::format("reading {}", path));
    if (count == 0) return contents;
    contents.append(buffer.data(), static_cast<std::size_t>(count));
    bytes_ += static_cast<std::size_t>(count);
    if (contents.size() > kMaxLocalFileBytes) {
      return error(Code::kExhausted, "{} in {} is larger than {} bytes", path, path_, kMaxLocalFileBytes);
    }
    if (bytes_ > kMaxLocalBytes) {
      return error(Code::kExhausted, "the local files together are larger than {} bytes", kMaxLocalBytes);
    }
  }
}

Result<std::vector<ignition::LocalEntry>> LocalFolder::walk(const std::string& path) {
  std::vector<ignition::LocalEntry> entries;
  STRAKE_CHECK_OK(walk_folder(path, "", 0, entries));
  return entries;
}

Status LocalFolder::walk_folder(const std::string& path, const std::string& shown, int depth,
                                std::vector<ignition::LocalEntry>& entries) {
  if (depth > kMaxTreeDepth) {
    return error(Code::kExhausted, "{} is nested in more than {} folders", path, kMaxTreeDepth);
  }
  STRAKE_TRY(const Fd folder, open_below(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  STRAKE_TRY(const auto names, names_in_folder(folder, path));
  for (const std::string& name : names) {
    if (++entries_ > kMaxLocalEntries) {
      return error(Code::kExhausted, "the local trees hold more than {} entries", kMaxLocalEntries);
    }
    STRAKE_CHECK_OK(add_entry(folder.get(), fmt::format("{}/{}", path, name), shown + name, depth, entries));
  }
  return {};
}

Status LocalFolder::add_entry(int folder, const std::string& path, const std::string& shown, int depth,
                              std::vector<ignition::LocalEntry>& entries) {
  const std::string name = path.substr(path.rfind('/') + 1);
  struct stat info{};
  if (fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno_error(errno, fmt::format("looking at {}", path));
  }
  if (S_ISDIR(info.st_mode)) return walk_folder(path, shown + "/", depth + 1, entries);
  ignition::LocalEntry entry;
  entry.path = shown;
  if (S_ISLNK(info.st_mode)) {
    entry.kind = ignition::LocalEntry::Kind::kLink;
    entry.contents.resize(4096);
    const ssize_t length = readlinkat(folder, name.c_str(), entry.contents.data(), entry.contents.size());
    if (length < 0) return errno_error(errno, fmt::format("reading link {}", path));
    entry.contents.resize(static_cast<std::size_t>(length));
  } else if (S_ISREG(info.st_mode)) {
    const Fd file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.valid()) return errno_error(errno, fmt::format("opening {}", path));
    entry.is_executable = (info.st_mode & 0111) != 0;
    STRAKE_TRY(entry.contents, read_open(file, path));
  } else {
    return error(Code::kInvalidArgument, "{}: a tree may hold only files, folders and links", path);
  }
  entries.push_back(std::move(entry));
  return {};
}

}  // namespace strake::cmd
