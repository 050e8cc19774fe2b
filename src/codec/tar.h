// tar archives: a streaming reader for what the world writes, and a deterministic writer.
//
// The reader understands v7, ustar, pax and GNU long names, links and base-256 numbers, and stops with kExhausted at
// its limits. Names are delivered as they are in the archive: pass them through clean_archive_path() before touching a
// disk. The writer emits ustar, with a pax header only where ustar cannot say it; equal entries give equal bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/archive_path.h"
#include "codec/stream.h"

namespace strake::codec {

enum class TarEntryType { kFile, kHardLink, kSymlink, kCharacterDevice, kBlockDevice, kDirectory, kFifo };

std::string_view to_string(TarEntryType type);

struct TarTime {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;  ///< forward from `seconds`, below 1e9

  bool operator==(const TarTime&) const = default;
};

struct TarEntry {
  TarEntryType type = TarEntryType::kFile;
  std::string path{};         ///< directories without their trailing slash, except "/"
  std::string link_target{};  ///< of symlinks and hard links
  std::uint32_t mode = 0644;  ///< permission bits, 07777
  std::uint64_t uid = 0;
  std::uint64_t gid = 0;
  std::string user{};
  std::string group{};
  std::uint64_t size = 0;  ///< of the content that follows; 0 for all but files
  TarTime mtime{};
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::map<std::string, std::string> xattrs{};  ///< without the "SCHILY.xattr." prefix

  bool operator==(const TarEntry&) const = default;
};

struct TarLimits {
  std::size_t max_path_bytes = 4096;
  std::size_t max_extended_header_bytes = 1u << 20;  ///< one pax header or GNU long name
  std::uint64_t max_entries = 2'000'000;
  std::uint64_t max_total_bytes = std::uint64_t{64} << 30;  ///< of the archive, headers included
};

class TarHeader;

class TarReader {
 public:
  /// `archive` must outlive the reader.
  explicit TarReader(Source& archive, const TarLimits& limits = {}) : archive_(archive), limits_(limits) {}
  TarReader(const TarReader&) = delete;
  TarReader& operator=(const TarReader&) = delete;

  /// The next entry, skipping what is left of the current one; nullopt at the end. Damage is kCorrupt and names the
  /// offset; sparse files, multi-volume archives and the like are kUnsupported.
  Result<std::optional<TarEntry>> next();

  /// The content of the current entry, valid until next() is called.
  Source& content() { return content_; }

  /// Where in the archive the reader is.
  std::uint64_t offset() const { return offset_; }

 private:
  class Content : public Source {
   public:
    explicit Content(TarReader& reader) : reader_(reader) {}
    Result<std::size_t> read(std::span<std::byte> into) override { return reader_.read_content(into); }

   private:
    TarReader& reader_;
  };

  using Records = std::map<std::string, std::string>;  // of pax headers

  Result<std::optional<TarEntry>> read_next();
  Result<std::size_t> read_content(std::span<std::byte> into);
  Status read_exactly(std::span<std::byte> into, std::string_view what);
  Status skip(std::uint64_t size, std::string_view what);
  Result<bool> read_header(TarHeader& header);
  Result<std::string> read_extension(const TarHeader& header, std::string_view what);
  Status merge_global_records(Records records);
  Result<TarEntry> make_entry(const TarHeader& header, const Records& records, std::uint64_t header_offset) const;

  Source& archive_;
  TarLimits limits_;
  Content content_{*this};
  std::uint64_t offset_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t content_left_ = 0;
  std::uint64_t padding_left_ = 0;
  Records global_records_;
  std::optional<Error> failure_;
  bool ended_ = false;
};

class TarWriter {
 public:
  /// `archive` must outlive the writer.
  explicit TarWriter(Sink& archive) : archive_(archive) {}

  /// Writes the header and exactly `entry.size` bytes from `content`; less or more is an error.
  Status add(const TarEntry& entry, Source& content);
  /// The same with the content in memory; `entry.size` is set from it.
  Status add(TarEntry entry, std::string_view content = {});

  /// The two zero blocks that end an archive.
  Status finish();

 private:
  Status write_header(const TarEntry& entry);
  Status write_padding(std::uint64_t content_size);

  Sink& archive_;
};

}  // namespace strake::codec
