#include "oci/file_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "codec/archive_path.h"
#include "codec/compress.h"
#include "codec/tar.h"
#include "oci/spool.h"

namespace strake::oci {

namespace {

constexpr std::uint64_t kMaxArchiveMembers = 100'000;

struct RegularFile {
  Fd fd;
  std::uint64_t size = 0;
};

Result<RegularFile> open_regular(const std::filesystem::path& path) {
  // Non-blocking, so that a pipe put in place of a blob cannot make us wait for a writer.
  STRAKE_TRY(Fd fd, open_file(path, O_RDONLY | O_NONBLOCK));
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return errno_error(errno, path.string());
  if (!S_ISREG(info.st_mode)) return error(Code::kCorrupt, "{} is not a regular file", path.string());
  return RegularFile{std::move(fd), static_cast<std::uint64_t>(info.st_size)};
}

class OwnedFileSource final : public codec::Source {
 public:
  OwnedFileSource(Fd fd, std::string name) : fd_(std::move(fd)), file_(fd_.get(), std::move(name)) {}
  Result<std::size_t> read(std::span<std::byte> into) override { return file_.read(into); }

 private:
  Fd fd_;
  codec::FdSource file_;
};

/// A part of a file that others read at the same time.
class ExtentSource final : public codec::Source {
 public:
  ExtentSource(std::shared_ptr<const Fd> fd, std::string name, std::uint64_t offset, std::uint64_t size)
      : fd_(std::move(fd)), name_(std::move(name)), offset_(offset), left_(size) {}

  Result<std::size_t> read(std::span<std::byte> into) override {
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left_));
    if (wanted == 0) return std::size_t{0};
    ssize_t got = -1;
    do got = ::pread(fd_->get(), into.data(), wanted, static_cast<off_t>(offset_));
    while (got < 0 && errno == EINTR);
    if (got < 0) return errno_error(errno, fmt::format("reading {}", name_));
    if (got == 0) return error(Code::kCorrupt, "{} ends early: the archive was cut while it was read", name_);
    offset_ += static_cast<std::uint64_t>(got);
    left_ -= static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
  }

 private:
  std::shared_ptr<const Fd> fd_;
  std::string name_;
  std::uint64_t offset_;
  std::uint64_t left_;
};

/// Of a compressed archive, its plain bytes in a file without a name, so that members can be read in place.
Result<RegularFile> unpacked(RegularFile file, const std::filesystem::path& archive, std::uint64_t max_bytes) {
  codec::FdSource packed(file.fd.get(), archive.string());
  codec::Compression compression{};
  STRAKE_TRY(const std::unique_ptr<codec::Source> bytes,
             codec::make_detecting_decompressor(packed, {.max_output_bytes = max_bytes}, &compression));
  if (compression == codec::Compression::kNone) return file;
  RegularFile plain;
  STRAKE_TRY(plain.fd, open_unnamed_file());
  codec::FdSink sink(plain.fd.get(), "a temporary file (TMPDIR says where)");
  STRAKE_TRY_CONTEXT(plain.size, codec::copy(*bytes, sink), "unpacking it ({})", codec::to_string(compression));
  return plain;
}

/// The regular files of a tar, by their cleaned names, with where their content begins.
Status for_each_member(codec::Source& tar,
                       const std::function<void(std::string, const codec::TarEntry&, std::uint64_t)>& visit) {
  codec::TarLimits limits;
  limits.max_entries = kMaxArchiveMembers;
  codec::TarReader reader(tar, limits);
  for (;;) {
    STRAKE_TRY(const std::optional<codec::TarEntry> entry, reader.next());
    if (!entry) return {};
    if (entry->type != codec::TarEntryType::kFile) continue;
    STRAKE_TRY_CONTEXT(std::string name, codec::clean_archive_path(entry->path), "member '{}'", entry->path);
    visit(std::move(name), *entry, reader.offset());
  }
}

}  // namespace

Result<std::string> FileStore::read(std::string_view name, std::size_t max_bytes) const {
  STRAKE_TRY(const StoredFile file, open(name));
  if (file.size > max_bytes) {
    return error(Code::kExhausted, "{} has {} bytes, more than the {} a reader accepts", file.name, file.size,
                 max_bytes);
  }
  return codec::read_all(*file.content, max_bytes);
}

Result<StoredFile> FolderFiles::open(std::string_view name) const {
  const std::filesystem::path path = folder_ / name;
  STRAKE_TRY(RegularFile file, open_regular(path));
  return StoredFile{std::make_unique<OwnedFileSource>(std::move(file.fd), path.string()), file.size, path.string()};
}

Result<std::unique_ptr<ArchiveFiles>> ArchiveFiles::scan(const std::filesystem::path& archive,
                                                         std::uint64_t max_unpacked_bytes) {
  const auto read = [&]() -> Result<std::unique_ptr<ArchiveFiles>> {
    STRAKE_TRY(RegularFile file, open_regular(archive));
    STRAKE_TRY(file, unpacked(std::move(file), archive, max_unpacked_bytes));
    std::unique_ptr<ArchiveFiles> files(new ArchiveFiles(archive, std::move(file.fd)));
    ExtentSource bytes(files->fd_, archive.string(), 0, file.size);
    const auto keep = [&](std::string name, const codec::TarEntry& entry, std::uint64_t offset) {
      // As unpacking would: the last of a name counts.
      files->members_.insert_or_assign(std::move(name), Extent{offset, entry.size});
    };
    STRAKE_CHECK_OK(for_each_member(bytes, keep));
    return files;
  };
  return read().context("reading archive {}", archive.string());
}

Result<std::set<std::string>> ArchiveFiles::names(const std::filesystem::path& archive) {
  const auto read = [&]() -> Result<std::set<std::string>> {
    STRAKE_TRY(const RegularFile file, open_regular(archive));
    codec::FdSource packed(file.fd.get(), archive.string());
    STRAKE_TRY(const std::unique_ptr<codec::Source> bytes,
               codec::make_detecting_decompressor(packed, {.max_output_bytes = kMaxUnpackedArchiveBytes}));
    std::set<std::string> found;
    STRAKE_CHECK_OK(for_each_member(
        *bytes, [&](std::string name, const codec::TarEntry&, std::uint64_t) { found.insert(std::move(name)); }));
    return found;
  };
  return read().context("reading archive {}", archive.string());
}

Result<StoredFile> ArchiveFiles::open(std::string_view name) const {
  const auto found = members_.find(name);
  if (found == members_.end()) return error(Code::kNotFound, "{} has no file {}", path_.string(), name);
  std::string full_name = fmt::format("{} in {}", name, path_.string());
  return StoredFile{std::make_unique<ExtentSource>(fd_, full_name, found->second.offset, found->second.size),
                    found->second.size, std::move(full_name)};
}

}  // namespace strake::oci
