#include "oci/file_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "codec/archive_path.h"
#include "codec/compress.h"
#include "codec/tar.h"

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

Result<std::unique_ptr<ArchiveFiles>> ArchiveFiles::scan(const std::filesystem::path& archive) {
  const auto read = [&]() -> Result<std::unique_ptr<ArchiveFiles>> {
    STRAKE_TRY(RegularFile file, open_regular(archive));
    std::unique_ptr<ArchiveFiles> files(new ArchiveFiles(archive, std::move(file.fd)));
    ExtentSource bytes(files->fd_, archive.string(), 0, file.size);
    std::array<std::byte, codec::kCompressionMagicBytes> magic{};
    ExtentSource head(files->fd_, archive.string(), 0, std::min<std::uint64_t>(file.size, magic.size()));
    STRAKE_TRY(const std::size_t length, codec::read_full(head, magic));
    if (const auto found = codec::detect_compression(std::span(magic).first(length));
        found != codec::Compression::kNone) {
      return error(Code::kUnsupported, "the archive is compressed ({}): decompress it first", codec::to_string(found));
    }
    codec::TarLimits limits;
    limits.max_entries = kMaxArchiveMembers;
    codec::TarReader reader(bytes, limits);
    for (;;) {
      STRAKE_TRY(const std::optional<codec::TarEntry> entry, reader.next());
      if (!entry) return files;
      if (entry->type != codec::TarEntryType::kFile) continue;
      STRAKE_TRY_CONTEXT(const std::string name, codec::clean_archive_path(entry->path), "member '{}'", entry->path);
      // As unpacking would: the last of a name counts.
      files->members_.insert_or_assign(name, Extent{reader.offset(), entry->size});
    }
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
