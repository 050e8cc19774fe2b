#include "base/private_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

namespace strake {

namespace {

using Path = std::filesystem::path;
using Words = std::vector<std::string>;

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr mode_t kRightsOfOthers = 077;

template <typename... Args>
Error refused(fmt::format_string<Args...> text, Args&&... args) {
  return error(Code::kDenied, text, std::forward<Args>(args)...).with_verdict(Verdict::kBlocked);
}

bool is_ours(const struct stat& info) { return info.st_uid == ::geteuid(); }

Error of_another_owner(const Path& path, const struct stat& info) {
  return refused(
      "{} belongs to user {}, this program runs as user {}: what another user put there is not believed; move it away, "
      "choose another folder, or run as its owner",
      path.string(), info.st_uid, ::geteuid());
}

/// A link that somebody else made could point anywhere tomorrow.
Status check_link(const Path& folder) {
  struct stat info{};
  if (::lstat(folder.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return {};
  if (is_ours(info) || info.st_uid == 0) return {};
  return of_another_owner(folder, info);
}

/// Through the open descriptor, so that what was looked at is what is changed.
Status take_rights_away(const Fd& open, const Path& path, const struct stat& info, mode_t wanted, Words& changed) {
  if ((info.st_mode & kRightsOfOthers) == 0) return {};
  if (::fchmod(open.get(), wanted) != 0) return errno_error(errno, fmt::format("making {} private", path.string()));
  changed.push_back(fmt::format("{} was open to other users (mode {:04o}); now it is for its owner only ({:04o})",
                                path.string(), info.st_mode & 07777, wanted));
  return {};
}

Status claim_open_folder(const Fd& open, const Path& folder, Words& changed) {
  struct stat info{};
  if (::fstat(open.get(), &info) != 0) return errno_error(errno, folder.string());
  if (!is_ours(info)) return of_another_owner(folder, info);
  return take_rights_away(open, folder, info, kFolderMode, changed);
}

Status claim_file(const Fd& parent, const Path& path, const std::string& name, Words& changed) {
  struct stat info{};
  if (::fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Status() : Status(errno_error(errno, path.string()));
  }
  if (S_ISDIR(info.st_mode)) return {};
  if (!is_ours(info)) return of_another_owner(path, info);
  if (!S_ISREG(info.st_mode)) {
    return refused("{} is no plain file but a link or something else: what it leads to is not believed; move it away",
                   path.string());
  }
  if (info.st_nlink > 1) {
    return refused("{} has a second name elsewhere (hard link): another user may have planted it; move it away",
                   path.string());
  }
  const Fd file(::openat(parent.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return errno_error(errno, path.string());
  struct stat opened{};
  if (::fstat(file.get(), &opened) != 0) return errno_error(errno, path.string());
  if (opened.st_ino != info.st_ino || opened.st_dev != info.st_dev) {
    return refused("{} was replaced while it was looked at", path.string());
  }
  return take_rights_away(file, path, opened, kFileMode, changed);
}

Result<Words> names_in_folder(const Path& folder) {
  Words names;
  std::error_code failure;
  std::filesystem::directory_iterator entries(folder, failure), end;
  while (!failure && entries != end) {
    names.push_back(entries->path().filename().string());
    entries.increment(failure);
  }
  if (failure) return errno_error(failure.value(), fmt::format("listing {}", folder.string()));
  return names;
}

Status claim_files_of(const Path& folder, Words& changed) {
  const Fd open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!open.valid()) return errno_error(errno, folder.string());
  STRAKE_TRY(const Words names, names_in_folder(folder));
  for (const std::string& name : names) STRAKE_CHECK_OK(claim_file(open, folder / name, name, changed));
  return {};
}

}  // namespace

Result<Words> claim_private_folder(const Path& folder) {
  Words changed;
  STRAKE_CHECK_OK(check_link(folder));
  std::error_code failure;
  if (folder.has_parent_path()) std::filesystem::create_directories(folder.parent_path(), failure);
  if (failure) return errno_error(failure.value(), fmt::format("making {}", folder.parent_path().string()));
  if (::mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST) {
    return errno_error(errno, fmt::format("making {}", folder.string()));
  }
  const Fd open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!open.valid()) {
    if (errno == ENOTDIR || errno == ELOOP) return error(Code::kInvalidArgument, "{} is no folder", folder.string());
    return errno_error(errno, folder.string());
  }
  STRAKE_CHECK_OK(claim_open_folder(open, folder, changed));
  return changed;
}

Result<Words> claim_private_files(const Path& folder, const Words& subfolders) {
  Words changed;
  STRAKE_CHECK_OK(claim_files_of(folder, changed));
  for (const std::string& name : subfolders) {
    const Path subfolder = folder / name;
    struct stat info{};
    if (::lstat(subfolder.c_str(), &info) != 0) {
      if (errno == ENOENT) continue;
      return errno_error(errno, subfolder.string());
    }
    if (!S_ISDIR(info.st_mode)) return refused("{} is no folder; move it away", subfolder.string());
    STRAKE_TRY(Words more, claim_private_folder(subfolder));
    STRAKE_CHECK_OK(claim_files_of(subfolder, more));
    changed.insert(changed.end(), more.begin(), more.end());
  }
  return changed;
}

}  // namespace strake
