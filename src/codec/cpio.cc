#include "codec/cpio.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "base/text.h"
#include "codec/hex.h"

namespace strake::codec {
namespace {

constexpr std::string_view kNewcMagic = "070701";
constexpr std::string_view kNewcChecksumMagic = "070702";
constexpr std::string_view kTrailerName = "TRAILER!!!";
constexpr std::size_t kCpioFieldCount = 13;
constexpr std::size_t kCpioFieldBytes = 8;
constexpr std::size_t kCpioHeaderBytes = 6 + kCpioFieldCount * kCpioFieldBytes;
constexpr std::uint64_t kCpioAlignment = 4;
constexpr std::uint64_t kArchiveAlignment = 512;

/// Positions of the fields behind the magic.
enum CpioField : std::size_t {
  kCpioInode,
  kCpioMode,
  kCpioUid,
  kCpioGid,
  kCpioLinkCount,
  kCpioMtime,
  kCpioFileSize,
  kCpioDeviceMajor,
  kCpioDeviceMinor,
  kCpioSpecialMajor,
  kCpioSpecialMinor,
  kCpioNameSize,
  kCpioChecksum
};

constexpr std::uint64_t cpio_padding(std::uint64_t offset, std::uint64_t alignment) {
  return (alignment - offset % alignment) % alignment;
}

Error corrupt_cpio(std::uint64_t offset, std::string_view what) {
  return error(Code::kCorrupt, "cpio: {} at offset {}", what, offset);
}

std::optional<std::uint32_t> parse_cpio_field(std::string_view digits) {
  std::uint32_t value = 0;
  for (char c : digits) {
    const int digit = hex_digit_value(c);
    if (digit < 0) return std::nullopt;
    value = value << 4 | static_cast<std::uint32_t>(digit);
  }
  return value;
}

}  // namespace

Result<std::size_t> CpioReader::read_content(std::span<std::byte> into) {
  const std::uint64_t wanted = std::min<std::uint64_t>(into.size(), content_left_);
  if (wanted == 0) return std::size_t{0};
  STRAKE_TRY(const std::size_t size, archive_.read(into.first(static_cast<std::size_t>(wanted))));
  if (size == 0) return corrupt_cpio(offset_, "the archive ends inside an entry");
  offset_ += size;
  content_left_ -= size;
  return size;
}

Status CpioReader::read_exactly(std::span<std::byte> into, std::string_view what) {
  STRAKE_TRY(const std::size_t size, read_full(archive_, into));
  offset_ += size;
  if (size < into.size()) return corrupt_cpio(offset_, fmt::format("the archive ends inside {}", what));
  return {};
}

Status CpioReader::skip(std::uint64_t size, std::string_view what) {
  std::array<std::byte, 16 * 1024> buffer;
  while (size > 0) {
    const std::uint64_t piece = std::min<std::uint64_t>(size, buffer.size());
    STRAKE_CHECK_OK(read_exactly(std::span(buffer).first(static_cast<std::size_t>(piece)), what));
    size -= piece;
  }
  return {};
}

/// Fills `header`; false when nothing but zero padding is left. Padding is allowed only between archives.
Result<bool> CpioReader::find_header(std::span<std::byte> header) {
  if (at_archive_start_) {
    std::byte first{};
    do {
      STRAKE_TRY(const std::size_t size, read_full(archive_, std::span(&first, 1)));
      if (size == 0) return false;
      if (++offset_ > limits_.max_total_bytes) {
        return error(Code::kExhausted, "cpio: more than the limit of {} bytes", limits_.max_total_bytes);
      }
    } while (first == std::byte{0});
    // Compressed archives may follow in a RAM disk; they are somebody else's to open.
    if (static_cast<char>(first) != kNewcMagic[0]) {
      return corrupt_cpio(offset_ - 1, "the bytes are neither a newc archive nor zero padding");
    }
    if ((offset_ - 1) % kCpioAlignment != 0)
      return corrupt_cpio(offset_ - 1, "an archive does not start at a multiple of 4");
    header[0] = first;
    STRAKE_CHECK_OK(read_exactly(header.subspan(1), "a header"));
    return true;
  }
  STRAKE_CHECK_OK(read_exactly(header, "a header, before its trailer"));
  return true;
}

Result<CpioEntry> CpioReader::read_entry(std::string_view header, std::uint64_t header_offset) {
  if (!header.starts_with(kNewcMagic) && !header.starts_with(kNewcChecksumMagic)) {
    return corrupt_cpio(header_offset, "an entry does not start with the newc magic 070701");
  }
  std::array<std::uint32_t, kCpioFieldCount> fields{};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto value = parse_cpio_field(header.substr(kNewcMagic.size() + i * kCpioFieldBytes, kCpioFieldBytes));
    if (!value) return corrupt_cpio(header_offset, fmt::format("field {} of a header is not hexadecimal", i + 1));
    fields[i] = *value;
  }
  const std::uint32_t name_size = fields[kCpioNameSize];
  if (name_size < 2) return corrupt_cpio(header_offset, "an entry without a name");
  if (name_size - 1 > limits_.max_path_bytes) {
    return error(Code::kExhausted, "cpio: a name of {} bytes at offset {} is longer than the limit of {}",
                 name_size - 1, header_offset, limits_.max_path_bytes);
  }
  std::string name(name_size, '\0');
  STRAKE_CHECK_OK(read_exactly(std::as_writable_bytes(std::span(name)), "a name"));
  STRAKE_CHECK_OK(skip(cpio_padding(offset_, kCpioAlignment), "a header"));
  if (name.find('\0') != name.size() - 1)
    return corrupt_cpio(header_offset, "a name is not closed by its only NUL byte");
  name.pop_back();
  return CpioEntry{.path = std::move(name),
                   .mode = fields[kCpioMode],
                   .uid = fields[kCpioUid],
                   .gid = fields[kCpioGid],
                   .mtime = fields[kCpioMtime],
                   .size = fields[kCpioFileSize],
                   .device_major = fields[kCpioSpecialMajor],
                   .device_minor = fields[kCpioSpecialMinor],
                   .inode = fields[kCpioInode],
                   .link_count = fields[kCpioLinkCount]};
}

Result<std::optional<CpioEntry>> CpioReader::next() {
  // Behind a failure nothing can be trusted: it stays.
  if (failure_) return *failure_;
  auto entry = read_next();
  if (!entry.ok()) failure_ = entry.error();
  return entry;
}

Result<std::optional<CpioEntry>> CpioReader::read_next() {
  if (ended_) return std::optional<CpioEntry>();
  STRAKE_CHECK_OK(skip(std::exchange(content_left_, 0) + std::exchange(padding_left_, 0), "an entry"));
  for (;;) {
    std::string header(kCpioHeaderBytes, '\0');
    STRAKE_TRY(const bool has_header, find_header(std::as_writable_bytes(std::span(header))));
    if (!has_header) {
      ended_ = true;
      return std::optional<CpioEntry>();
    }
    const std::uint64_t header_offset = offset_ - kCpioHeaderBytes;
    if (++entries_ > limits_.max_entries)
      return error(Code::kExhausted, "cpio: more than {} entries", limits_.max_entries);
    STRAKE_TRY(CpioEntry entry, read_entry(header, header_offset));
    if (offset_ + entry.size > limits_.max_total_bytes) {
      return error(Code::kExhausted, "cpio: more than the limit of {} bytes", limits_.max_total_bytes);
    }
    const std::uint64_t padding = cpio_padding(offset_ + entry.size, kCpioAlignment);
    if (entry.path == kTrailerName) {
      STRAKE_CHECK_OK(skip(entry.size, "the trailer"));  // the last bytes may lack their padding
      at_archive_start_ = true;
      ++archive_index_;
      continue;
    }
    at_archive_start_ = false;
    content_left_ = entry.size;
    padding_left_ = padding;
    return std::optional<CpioEntry>(std::move(entry));
  }
}

Status CpioWriter::write_bytes(std::string_view bytes) {
  STRAKE_CHECK_OK(write(archive_, bytes));
  offset_ += bytes.size();
  return {};
}

Status CpioWriter::pad_to(std::uint64_t alignment) {
  constexpr std::array<char, kArchiveAlignment> kZeros{};
  return write_bytes(std::string_view(kZeros.data(), static_cast<std::size_t>(cpio_padding(offset_, alignment))));
}

Status CpioWriter::write_header(const CpioEntry& entry, std::uint32_t inode, std::uint32_t link_count,
                                std::uint32_t mtime) {
  std::array<std::uint32_t, kCpioFieldCount> fields{};
  fields[kCpioInode] = inode;
  fields[kCpioMode] = entry.mode;
  fields[kCpioUid] = entry.uid;
  fields[kCpioGid] = entry.gid;
  fields[kCpioLinkCount] = link_count;
  fields[kCpioMtime] = mtime;
  fields[kCpioFileSize] = entry.size;
  fields[kCpioSpecialMajor] = entry.device_major;
  fields[kCpioSpecialMinor] = entry.device_minor;
  fields[kCpioNameSize] = static_cast<std::uint32_t>(entry.path.size() + 1);
  std::string header(kNewcMagic);
  for (std::uint32_t field : fields) header += fmt::format("{:08X}", field);
  header += entry.path;
  header.push_back('\0');
  STRAKE_CHECK_OK(write_bytes(header));
  return pad_to(kCpioAlignment);
}

Status CpioWriter::add(const CpioEntry& entry, Source& content) {
  if (entry.path.empty() || entry.path.find('\0') != std::string::npos || entry.path == kTrailerName) {
    return error(Code::kInvalidArgument, "cpio: {:?} cannot be the name of an entry", entry.path.substr(0, 200));
  }
  if (entry.path.size() >= std::numeric_limits<std::uint32_t>::max()) {
    return error(Code::kInvalidArgument, "cpio: a name of {} bytes is too long", entry.path.size());
  }
  if (next_inode_ == std::numeric_limits<std::uint32_t>::max()) {
    return error(Code::kExhausted, "cpio: more entries than the format can number");
  }
  const std::uint32_t link_count = S_ISDIR(entry.mode) ? 2 : 1;
  STRAKE_CHECK_OK(write_header(entry, next_inode_++, link_count, mtime_));
  std::vector<std::byte> buffer(64 * 1024);
  std::uint64_t written = 0;
  for (;;) {
    STRAKE_TRY(const std::size_t size, content.read(buffer));
    if (size == 0) break;
    if (size > entry.size - written) {
      return error(Code::kInvalidArgument, "cpio: the content of {:?} is longer than the {} bytes announced",
                   entry.path.substr(0, 200), entry.size);
    }
    STRAKE_CHECK_OK(archive_.write(std::span(buffer).first(size)));
    written += size;
    offset_ += size;
  }
  if (written < entry.size) {
    return error(Code::kInvalidArgument, "cpio: the content of {:?} has {} bytes, not the {} announced",
                 entry.path.substr(0, 200), written, entry.size);
  }
  return pad_to(kCpioAlignment);
}

Status CpioWriter::add(CpioEntry entry, std::string_view content) {
  if (content.size() > std::numeric_limits<std::uint32_t>::max()) {
    return error(Code::kInvalidArgument, "cpio: {:?} has {} bytes; the format ends at 4 GiB", entry.path.substr(0, 200),
                 content.size());
  }
  entry.size = static_cast<std::uint32_t>(content.size());
  MemorySource source(content);
  return add(entry, source);
}

Status CpioWriter::finish() {
  STRAKE_CHECK_OK(write_header({.path = std::string(kTrailerName), .mode = 0}, 0, 1, 0));
  return pad_to(kArchiveAlignment);
}

}  // namespace strake::codec
