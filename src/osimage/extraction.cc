#include "osimage/extraction.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "base/fd.h"
#include "osimage/listing.h"

namespace strake::osimage {

namespace {

constexpr mode_t kOwnerMay = 0700;
constexpr std::uint32_t kKeptModeBits = 01777;
constexpr std::string_view kStagingName = ".strake-extract";

/// A folder below the target, reached part by part without following a link.
class TargetFolder {
 public:
  explicit TargetFolder(std::filesystem::path directory) : directory_(std::move(directory)) {}

  Status open() {
    std::error_code failure;
    std::filesystem::create_directories(directory_, failure);
    if (failure) return errno_error(failure.value(), directory_.string());
    STRAKE_TRY(root_, open_file(directory_, O_RDONLY | O_DIRECTORY));
    return {};
  }

  /// `path` is relative; "" is the target itself.
  Result<Fd> open_folder(std::string_view path) const {
    Fd at(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
    if (!at.valid()) return errno_error(errno, directory_.string());
    std::string walked;
    while (!path.empty()) {
      const std::size_t slash = path.find('/');
      const std::string part(path.substr(0, slash));
      path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
      walked = join_path(walked, part);
      Fd next(::openat(at.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!next.valid()) {
        if (errno == ELOOP || errno == ENOTDIR) {
          return error(Code::kExists, "{} is in the way: it is no folder, and links are not followed",
                       (directory_ / walked).string());
        }
        return errno_error(errno, (directory_ / walked).string());
      }
      at = std::move(next);
    }
    return at;
  }

  std::string shown(std::string_view path) const { return (directory_ / path).string(); }
  int root() const { return root_.get(); }

 private:
  std::filesystem::path directory_;
  Fd root_;
};

/// Content waits here until all of it was checked. Lies in the target, so that naming a file is one rename.
class Staging {
 public:
  explicit Staging(const TargetFolder& target) : target_(target) {}
  ~Staging() {
    for (std::size_t i = 0; i < count_; ++i) ::unlinkat(folder_.get(), name(i).c_str(), 0);
    if (folder_.valid()) ::unlinkat(target_.root(), own_name_.c_str(), AT_REMOVEDIR);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  Status open() {
    for (int attempt = 0; attempt < 100; ++attempt) {
      own_name_ = fmt::format("{}-{}-{}", kStagingName, ::getpid(), attempt);
      if (::mkdirat(target_.root(), own_name_.c_str(), kOwnerMay) == 0) {
        STRAKE_TRY(folder_, target_.open_folder(own_name_));
        return {};
      }
      if (errno != EEXIST) break;
    }
    return errno_error(errno, target_.shown(own_name_));
  }

  struct File {
    Fd fd;
    std::size_t number = 0;
  };
  Result<File> create() {
    const int fd = ::openat(folder_.get(), name(count_).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return errno_error(errno, target_.shown(own_name_));
    return File{Fd(fd), count_++};
  }
  Result<Fd> reopen(std::size_t number) const {
    Fd fd(::openat(folder_.get(), name(number).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid()) return errno_error(errno, target_.shown(own_name_));
    return fd;
  }
  int folder() const { return folder_.get(); }
  static std::string name(std::size_t number) { return std::to_string(number); }

 private:
  const TargetFolder& target_;
  std::string own_name_;
  Fd folder_;
  std::size_t count_ = 0;
};

class Extraction {
 public:
  Extraction(OsImage& image, std::filesystem::path directory, const ExtractOptions& options, const runtime::Call& call)
      : image_(image), target_(std::move(directory)), options_(options), call_(call) {}

  Result<Extracted> run(const std::vector<OsImage::Found>& what) {
    STRAKE_CHECK_OK(collect(what));
    STRAKE_CHECK_OK(target_.open());
    STRAKE_CHECK_OK(check_free());
    Staging staging(target_);
    STRAKE_CHECK_OK(staging.open());
    STRAKE_CHECK_OK(fetch(staging));
    for (const auto& [path, node] : folders_) STRAKE_CHECK_OK(make_folder(path));
    STRAKE_CHECK_OK(place_files(staging));
    for (const auto& [path, node] : links_) STRAKE_CHECK_OK(make_link(path, *node));
    // From the inside out: a folder that its owner may not write is filled by now.
    for (auto it = folders_.rbegin(); it != folders_.rend(); ++it) {
      STRAKE_TRY(const Fd fd, target_.open_folder(it->first));
      if (::fchmod(fd.get(), it->second->mode & kKeptModeBits) != 0)
        return errno_error(errno, target_.shown(it->first));
    }
    return std::move(extracted_);
  }

 private:
  using Nodes = std::map<std::string, const OsNode*>;  // by path in the target; a folder before what is in it

  /// Details first: which entry is a file and which a link must be known before anything is written.
  Status collect(const std::vector<OsImage::Found>& what) {
    std::map<std::string, std::string> all;  // path in the image -> in the target
    for (const OsImage::Found& found : what) {
      const bool is_folder = found.node->is_directory();
      const std::size_t cut = options_.keep_paths ? 0
                              : is_folder         ? (found.path.empty() ? 0 : found.path.size() + 1)
                                                  : found.path.size() - name_of(found.path).size();
      const NodeVisitor remember = [&](const std::string& path, const OsNode&) -> Status {
        all.emplace(path, path.substr(cut));
        return {};
      };
      if (is_folder) STRAKE_CHECK_OK(walk_nodes(found.path, *found.node, true, NodeOrder::kByName, remember));
      if (!is_folder) all.emplace(found.path, found.path.substr(cut));
      if (!options_.keep_paths) continue;
      if (is_folder && !found.path.empty()) all.emplace(found.path, found.path);
      for (std::string_view folder = parent_of(found.path); !folder.empty(); folder = parent_of(folder)) {
        all.emplace(folder, folder);
      }
    }
    std::vector<std::string> paths;
    for (const auto& [path, target] : all) paths.push_back(path);
    STRAKE_CHECK_OK(image_.load_details(paths, call_));
    for (const auto& [path, target] : all) STRAKE_CHECK_OK(add(target, path, *image_.tree().find(path)));
    return {};
  }

  Status add(const std::string& target, const std::string& path, const OsNode& node) {
    ++extracted_.steps;
    if (!node.is_directory() && !taken_.insert(target).second) {
      return error(Code::kInvalidArgument, "two of the files would become {}: /{} is the second", target_.shown(target),
                   path);
    }
    switch (node.type) {
      case NodeType::kDirectory: folders_.emplace(target, &node); return {};
      case NodeType::kSymlink: links_.emplace(target, &node); return {};
      case NodeType::kFile:
        files_.emplace(target, &node);
        sources_[path] = target;
        return {};
      case NodeType::kCharacterDevice:
      case NodeType::kBlockDevice:
      case NodeType::kFifo:
      case NodeType::kFileOrSymlink: extracted_.skipped.push_back("/" + path); return {};
    }
    return {};
  }

  /// Before anything is fetched: what would be refused in the end is refused now.
  Status check_free() const {
    for (const Nodes* nodes : {&files_, &links_}) {
      for (const auto& [path, node] : *nodes) {
        const Result<Fd> folder = target_.open_folder(parent_of(path));
        if (!folder.ok()) {
          if (folder.error().code() == Code::kNotFound) continue;
          return folder.error();
        }
        struct stat status{};
        if (::fstatat(folder->get(), std::string(name_of(path)).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (S_ISDIR(status.st_mode)) {
          return error(Code::kExists, "{} is a folder, and would have to become a {}", target_.shown(path),
                       to_string(node->type));
        }
        if (!options_.overwrite) {
          return error(Code::kExists, "{} exists; {} replaces it", target_.shown(path), options_.overwrite_option);
        }
      }
    }
    return {};
  }

  Status fetch(Staging& staging) {
    std::vector<std::string> paths;
    for (const auto& [path, target] : sources_) paths.push_back(path);
    Staging::File current;
    std::unique_ptr<codec::FdSink> sink;
    const OsImage::OpenSink open = [&](const std::vector<std::string>& sharing) -> Result<codec::Sink*> {
      STRAKE_TRY(current, staging.create());
      // Content that is read anew takes the place of what came first.
      const auto [earlier, first] = staged_as_.try_emplace(sharing.front(), current.number);
      if (!first) staged_.erase(std::exchange(earlier->second, current.number));
      ++extracted_.steps;
      for (const std::string& path : sharing) staged_[current.number].push_back(sources_.at(path));
      sink = std::make_unique<codec::FdSink>(current.fd.get(), target_.shown(sources_.at(sharing.front())));
      return sink.get();
    };
    return image_.copy_files(paths, open, call_);
  }

  Status make_folder(const std::string& path) {
    STRAKE_TRY(const Fd parent, target_.open_folder(parent_of(path)));
    const std::string name(name_of(path));
    if (::mkdirat(parent.get(), name.c_str(), kOwnerMay) != 0 && errno != EEXIST) {
      return errno_error(errno, target_.shown(path));
    }
    STRAKE_TRY(const Fd own, target_.open_folder(path));
    struct stat status{};
    if (::fstat(own.get(), &status) != 0 || ::fchmod(own.get(), (status.st_mode & 07777) | kOwnerMay) != 0) {
      return errno_error(errno, target_.shown(path));
    }
    ++extracted_.folders;
    return {};
  }

  /// The first name of a content gets the file itself, others a copy.
  Status place_files(Staging& staging) {
    for (const auto& [number, targets] : staged_) {
      for (std::size_t i = 1; i < targets.size(); ++i) {
        STRAKE_TRY(const Fd original, staging.reopen(number));
        STRAKE_TRY(const Staging::File copy, staging.create());
        codec::FdSource from(original.get(), target_.shown(targets[0]));
        codec::FdSink to(copy.fd.get(), target_.shown(targets[i]));
        STRAKE_TRY([[maybe_unused]] const std::uint64_t bytes, codec::copy(from, to));
        STRAKE_CHECK_OK(name_file(staging, copy.number, targets[i]));
      }
      STRAKE_CHECK_OK(name_file(staging, number, targets.front()));
    }
    return {};
  }

  Status name_file(const Staging& staging, std::size_t number, const std::string& path) {
    const std::string staged = Staging::name(number);
    STRAKE_TRY(const Fd parent, target_.open_folder(parent_of(path)));
    const auto mode = static_cast<mode_t>(files_.at(path)->mode & kKeptModeBits);
    STRAKE_TRY(const Fd file, staging.reopen(number));
    if (::fchmod(file.get(), mode) != 0) return errno_error(errno, target_.shown(path));
    const std::string name(name_of(path));
    if (!options_.overwrite) {
      // Claims the name: what appeared there since the check is not replaced. (renameat2 could do it in one step, but
      // not on old kernels.)
      const Fd claim(::openat(parent.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      if (!claim.valid()) return errno_error(errno, target_.shown(path));
    }
    if (::renameat(staging.folder(), staged.c_str(), parent.get(), name.c_str()) != 0) {
      return errno_error(errno, target_.shown(path));
    }
    ++extracted_.files;
    return {};
  }

  Status make_link(const std::string& path, const OsNode& node) {
    STRAKE_TRY(const Fd parent, target_.open_folder(parent_of(path)));
    const std::string name(name_of(path));
    if (options_.overwrite && ::unlinkat(parent.get(), name.c_str(), 0) != 0 && errno != ENOENT) {
      return errno_error(errno, target_.shown(path));
    }
    if (::symlinkat(node.link_target.c_str(), parent.get(), name.c_str()) != 0) {
      return errno_error(errno, target_.shown(path));
    }
    ++extracted_.links;
    return {};
  }

  OsImage& image_;
  TargetFolder target_;
  const ExtractOptions& options_;
  const runtime::Call& call_;
  Nodes folders_, files_, links_;
  std::map<std::string, std::string> sources_;              ///< path in the image -> in the target
  std::set<std::string> taken_;                             ///< paths in the target that are no folders
  std::map<std::size_t, std::vector<std::string>> staged_;  ///< number in the staging -> paths in the target
  std::map<std::string, std::size_t> staged_as_;            ///< the first path in the image of each content -> number
  Extracted extracted_;
};

}  // namespace

Result<Extracted> extract_files(OsImage& image, const std::vector<OsImage::Found>& what,
                                const std::filesystem::path& directory, const ExtractOptions& options,
                                const runtime::Call& call) {
  return Extraction(image, directory, options, call).run(what);
}

}  // namespace strake::osimage
