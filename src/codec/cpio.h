// cpio archives in the "newc" format, the one the Linux kernel unpacks as initial RAM file system.
//
// A RAM disk may hold several archives one after the other, with zero bytes between them: the reader walks through all
// of them. Hard links share an inode number, and only the last of them carries the content; the reader delivers them as
// they are, the writer writes every entry as a file of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/archive_path.h"
#include "codec/stream.h"

namespace strake::codec {

struct CpioEntry {
  std::string path{};
  std::uint32_t mode = 0100644;  ///< file type and permission bits, as in stat(2)
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t mtime = 0;         ///< reading only: the writer has one time for all
  std::uint32_t size = 0;          ///< of the content; that of a symlink is its target
  std::uint32_t device_major = 0;  ///< of device nodes
  std::uint32_t device_minor = 0;
  std::uint32_t inode = 0;       ///< reading only
  std::uint32_t link_count = 1;  ///< reading only

  bool operator==(const CpioEntry&) const = default;
};

struct CpioLimits {
  std::size_t max_path_bytes = 4096;
  std::uint64_t max_entries = 1'000'000;
  std::uint64_t max_total_bytes = std::uint64_t{16} << 30;  ///< of the archives, headers included
};

class CpioReader {
 public:
  /// `archive` must outlive the reader.
  explicit CpioReader(Source& archive, const CpioLimits& limits = {}) : archive_(archive), limits_(limits) {}
  CpioReader(const CpioReader&) = delete;
  CpioReader& operator=(const CpioReader&) = delete;

  /// The next entry, skipping what is left of the current one; nullopt when no bytes are left behind the last trailer.
  /// Damage is kCorrupt and names the offset.
  Result<std::optional<CpioEntry>> next();

  /// The content of the current entry, valid until next() is called.
  Source& content() { return content_; }

  std::uint64_t offset() const { return offset_; }

  /// Which of the concatenated archives the current entry belongs to, from 0.
  std::uint64_t archive_index() const { return archive_index_; }

 private:
  class Content : public Source {
   public:
    explicit Content(CpioReader& reader) : reader_(reader) {}
    Result<std::size_t> read(std::span<std::byte> into) override { return reader_.read_content(into); }

   private:
    CpioReader& reader_;
  };

  Result<std::optional<CpioEntry>> read_next();
  Result<std::size_t> read_content(std::span<std::byte> into);
  Status read_exactly(std::span<std::byte> into, std::string_view what);
  Status skip(std::uint64_t size, std::string_view what);
  Result<bool> find_header(std::span<std::byte> header);
  Result<CpioEntry> read_entry(std::string_view header, std::uint64_t header_offset);

  Source& archive_;
  CpioLimits limits_;
  Content content_{*this};
  std::uint64_t offset_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t archive_index_ = 0;
  std::uint64_t content_left_ = 0;
  std::uint64_t padding_left_ = 0;
  bool at_archive_start_ = true;
  std::optional<Error> failure_;
  bool ended_ = false;
};

class CpioWriter {
 public:
  /// Every entry gets `mtime`; inode numbers count from 1 in the order of the entries. `archive` must outlive the
  /// writer.
  CpioWriter(Sink& archive, std::uint32_t mtime) : archive_(archive), mtime_(mtime) {}

  /// Writes the header and exactly `entry.size` bytes from `content`; less or more is an error.
  Status add(const CpioEntry& entry, Source& content);
  /// The same with the content in memory; `entry.size` is set from it.
  Status add(CpioEntry entry, std::string_view content = {});

  /// The trailer, and zero bytes up to a multiple of 512, so that another archive can follow.
  Status finish();

 private:
  Status write_header(const CpioEntry& entry, std::uint32_t inode, std::uint32_t link_count, std::uint32_t mtime);
  Status write_bytes(std::string_view bytes);
  Status pad_to(std::uint64_t alignment);

  Sink& archive_;
  std::uint32_t mtime_;
  std::uint32_t next_inode_ = 1;
  std::uint64_t offset_ = 0;
};

}  // namespace strake::codec
