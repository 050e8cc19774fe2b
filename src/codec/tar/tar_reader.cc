#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <system_error>

#include "codec/tar.h"
#include "codec/tar/tar_format.h"

namespace strake::codec {
namespace {

constexpr std::string_view kXattrPrefix = "SCHILY.xattr.";

Error corrupt_tar(std::uint64_t offset, std::string_view what) {
  return error(Code::kCorrupt, "tar: {} at offset {}", what, offset);
}

template <typename Number>
std::optional<Number> parse_tar_decimal(std::string_view text) {
  Number value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// `[-]seconds[.fraction]`; digits beyond nanoseconds are dropped.
std::optional<TarTime> parse_pax_time(std::string_view text) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const auto seconds = parse_tar_decimal<std::int64_t>(text.substr(0, dot));
  if (!seconds) return std::nullopt;
  TarTime time{.seconds = *seconds};
  std::uint32_t unit = 100'000'000;
  for (char c : text.substr(std::min(dot + 1, text.size()))) {
    if (c < '0' || c > '9') return std::nullopt;
    time.nanoseconds += static_cast<std::uint32_t>(c - '0') * unit;
    unit /= 10;
  }
  if (text.starts_with('-') && time.nanoseconds > 0) {
    if (time.seconds == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
    --time.seconds;
    time.nanoseconds = 1'000'000'000 - time.nanoseconds;
  }
  return time;
}

/// Records of the form "<length> <key>=<value>\n", where the length counts all of it.
std::optional<std::map<std::string, std::string>> parse_pax_records(std::string_view text) {
  std::map<std::string, std::string> records;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    const auto length = parse_tar_decimal<std::size_t>(text.substr(0, blank));
    if (!length || *length <= blank + 1 || *length > text.size() || text[*length - 1] != '\n') return std::nullopt;
    const std::string_view record = text.substr(blank + 1, *length - blank - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos || equals == 0) return std::nullopt;
    const std::string_view key = record.substr(0, equals);
    if (key.find('\0') != std::string_view::npos) return std::nullopt;
    records[std::string(key)] = record.substr(equals + 1);
    text.remove_prefix(*length);
  }
  return records;
}

std::optional<TarEntryType> parse_tar_type(char type) {
  switch (type) {
    case '\0':
    case '0':
    case '7': return TarEntryType::kFile;  // '7' is "contiguous", a hint nobody heeds
    case '1': return TarEntryType::kHardLink;
    case '2': return TarEntryType::kSymlink;
    case '3': return TarEntryType::kCharacterDevice;
    case '4': return TarEntryType::kBlockDevice;
    case '5': return TarEntryType::kDirectory;
    case '6': return TarEntryType::kFifo;
    default: return std::nullopt;
  }
}

/// Collects the first field that is out of range, so that reading them stays one line each.
class TarFieldReader {
 public:
  TarFieldReader(const TarHeader& header, const std::map<std::string, std::string>& records)
      : header_(header), records_(records) {}

  const std::string* record(std::string_view key) const {
    const auto found = records_.find(std::string(key));
    return found == records_.end() || found->second.empty() ? nullptr : &found->second;
  }

  std::string text(std::string_view key, std::string_view from_header) const {
    const std::string* value = record(key);
    return value != nullptr ? *value : std::string(from_header);
  }

  std::uint64_t number(std::string_view key, TarField field, std::uint64_t max) {
    if (const std::string* value = record(key)) {
      const auto parsed = parse_tar_decimal<std::uint64_t>(*value);
      return checked(parsed, key, max);
    }
    const auto parsed = header_.number(field);
    if (!parsed || *parsed < 0) return checked(std::nullopt, key, max);
    return checked(static_cast<std::uint64_t>(*parsed), key, max);
  }

  TarTime time() {
    if (const std::string* value = record("mtime")) {
      const auto parsed = parse_pax_time(*value);
      if (!parsed) note("mtime");
      return parsed.value_or(TarTime{});
    }
    const auto parsed = header_.number(kTarMtime);
    if (!parsed) note("mtime");
    return TarTime{.seconds = parsed.value_or(0)};
  }

  /// Empty when all fields were fine.
  const std::string& bad_field() const { return bad_field_; }

 private:
  std::uint64_t checked(std::optional<std::uint64_t> value, std::string_view key, std::uint64_t max) {
    if (value && *value <= max) return *value;
    note(key);
    return 0;
  }

  void note(std::string_view key) {
    if (bad_field_.empty()) bad_field_ = key;
  }

  const TarHeader& header_;
  const std::map<std::string, std::string>& records_;
  std::string bad_field_;
};

}  // namespace

std::string_view to_string(TarEntryType type) {
  switch (type) {
    case TarEntryType::kFile: return "file";
    case TarEntryType::kHardLink: return "hard link";
    case TarEntryType::kSymlink: return "symlink";
    case TarEntryType::kCharacterDevice: return "character device";
    case TarEntryType::kBlockDevice: return "block device";
    case TarEntryType::kDirectory: return "directory";
    case TarEntryType::kFifo: return "fifo";
  }
  return "unknown";
}

Result<std::size_t> TarReader::read_content(std::span<std::byte> into) {
  const std::uint64_t wanted = std::min<std::uint64_t>(into.size(), content_left_);
  if (wanted == 0) return std::size_t{0};
  STRAKE_TRY(const std::size_t size, archive_.read(into.first(static_cast<std::size_t>(wanted))));
  if (size == 0) return corrupt_tar(offset_, "the archive ends inside an entry");
  offset_ += size;
  content_left_ -= size;
  return size;
}

Status TarReader::read_exactly(std::span<std::byte> into, std::string_view what) {
  STRAKE_TRY(const std::size_t size, read_full(archive_, into));
  offset_ += size;
  if (size < into.size()) return corrupt_tar(offset_, fmt::format("the archive ends inside {}", what));
  return {};
}

Status TarReader::skip(std::uint64_t size, std::string_view what) {
  std::array<std::byte, 16 * 1024> buffer;
  while (size > 0) {
    const std::uint64_t piece = std::min<std::uint64_t>(size, buffer.size());
    STRAKE_CHECK_OK(read_exactly(std::span(buffer).first(static_cast<std::size_t>(piece)), what));
    size -= piece;
  }
  return {};
}

/// False at the end of the archive: two zero blocks, or no more bytes (some writers leave the zero blocks out).
Result<bool> TarReader::read_header(TarHeader& header) {
  const auto block = std::as_writable_bytes(std::span(header.data(), kTarBlockBytes));
  bool seen_zero_block = false;
  for (;;) {
    const std::uint64_t start = offset_;
    STRAKE_TRY(const std::size_t size, read_full(archive_, block));
    offset_ += size;
    if (offset_ > limits_.max_total_bytes) {
      return error(Code::kExhausted, "tar: the archive is larger than the limit of {} bytes", limits_.max_total_bytes);
    }
    if (size == 0) return false;
    if (size < kTarBlockBytes) return corrupt_tar(offset_, "the archive ends inside a header");
    if (!header.is_zero()) {
      if (seen_zero_block) return corrupt_tar(start, "a lone zero block precedes the data");
      if (!header.checksum_matches()) return corrupt_tar(start, "the checksum of a header does not match");
      return true;
    }
    if (seen_zero_block) return false;
    seen_zero_block = true;
  }
}

Result<std::string> TarReader::read_extension(const TarHeader& header, std::string_view what) {
  const auto size = header.number(kTarSize);
  if (!size || *size < 0) return corrupt_tar(offset_ - kTarBlockBytes, "a header has an invalid size");
  const auto bytes = static_cast<std::uint64_t>(*size);
  if (bytes > limits_.max_extended_header_bytes) {
    return error(Code::kExhausted, "tar: {} of {} bytes at offset {} is larger than the limit of {}", what, bytes,
                 offset_, limits_.max_extended_header_bytes);
  }
  std::string text(static_cast<std::size_t>(bytes), '\0');
  STRAKE_CHECK_OK(read_exactly(std::as_writable_bytes(std::span(text)), what));
  STRAKE_CHECK_OK(skip(tar_padding(bytes), what));
  return text;
}

Status TarReader::merge_global_records(Records records) {
  for (auto& [key, value] : records) global_records_[key] = std::move(value);
  std::size_t total = 0;
  for (const auto& [key, value] : global_records_) total += key.size() + value.size();
  if (total > limits_.max_extended_header_bytes) {
    return error(Code::kExhausted, "tar: global headers hold {} bytes, more than the limit of {}", total,
                 limits_.max_extended_header_bytes);
  }
  return {};
}

Result<TarEntry> TarReader::make_entry(const TarHeader& header, const Records& records,
                                       std::uint64_t header_offset) const {
  for (const auto& [key, value] : records) {
    if (key.starts_with("GNU.sparse.")) {
      return error(Code::kUnsupported, "tar: sparse file at offset {}; archive it without --sparse", header_offset);
    }
  }
  const auto type = parse_tar_type(header.type());
  if (!type) {
    return error(Code::kUnsupported, "tar: entry type {:?} at offset {} is not supported",
                 std::string(1, header.type()), header_offset);
  }
  const bool is_ustar = header.raw(kTarMagic) == kTarMagicUstar;
  const bool has_owner_names = is_ustar || header.raw(kTarMagic) == kTarMagicGnu;

  TarFieldReader fields(header, records);
  TarEntry entry;
  entry.type = *type;
  std::string header_path(header.text(kTarName));
  if (is_ustar && !header.text(kTarPrefix).empty())
    header_path = fmt::format("{}/{}", header.text(kTarPrefix), header_path);
  entry.path = fields.text("path", header_path);
  entry.mode =
      static_cast<std::uint32_t>(fields.number("mode", kTarMode, std::numeric_limits<std::int64_t>::max()) & 07777);
  entry.uid = fields.number("uid", kTarUid, std::numeric_limits<std::uint64_t>::max());
  entry.gid = fields.number("gid", kTarGid, std::numeric_limits<std::uint64_t>::max());
  entry.mtime = fields.time();
  const std::uint64_t size = fields.number("size", kTarSize, std::numeric_limits<std::int64_t>::max());
  entry.user = fields.text("uname", has_owner_names ? header.text(kTarUser) : "");
  entry.group = fields.text("gname", has_owner_names ? header.text(kTarGroup) : "");

  // The archivers of old marked folders by a trailing slash only.
  if (header.type() == '\0' && entry.path.ends_with('/')) entry.type = TarEntryType::kDirectory;
  if (entry.type == TarEntryType::kDirectory) {
    while (entry.path.size() > 1 && entry.path.ends_with('/')) entry.path.pop_back();
  }
  if (entry.type == TarEntryType::kFile) entry.size = size;
  if (entry.type == TarEntryType::kHardLink || entry.type == TarEntryType::kSymlink) {
    entry.link_target = fields.text("linkpath", header.text(kTarLink));
    if (entry.link_target.empty()) return corrupt_tar(header_offset, "a link without a target");
  }
  if (entry.type == TarEntryType::kCharacterDevice || entry.type == TarEntryType::kBlockDevice) {
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
    entry.device_major = static_cast<std::uint32_t>(fields.number("SCHILY.devmajor", kTarDeviceMajor, kMax));
    entry.device_minor = static_cast<std::uint32_t>(fields.number("SCHILY.devminor", kTarDeviceMinor, kMax));
  }
  for (const auto& [key, value] : records) {
    if (key.starts_with(kXattrPrefix) && key.size() > kXattrPrefix.size()) {
      entry.xattrs[key.substr(kXattrPrefix.size())] = value;
    }
  }
  if (!fields.bad_field().empty()) {
    return corrupt_tar(header_offset,
                       fmt::format("{:?} has an invalid {}", entry.path.substr(0, 200), fields.bad_field()));
  }
  for (const std::string* name : {&entry.path, &entry.link_target, &entry.user, &entry.group}) {
    if (name->find('\0') != std::string::npos) return corrupt_tar(header_offset, "a name with a NUL byte");
    if (name->size() > limits_.max_path_bytes) {
      return error(Code::kExhausted, "tar: a name of {} bytes at offset {} is longer than the limit of {}",
                   name->size(), header_offset, limits_.max_path_bytes);
    }
  }
  if (entry.path.empty()) return corrupt_tar(header_offset, "an entry without a name");
  return entry;
}

Result<std::optional<TarEntry>> TarReader::next() {
  // Behind a failure nothing can be trusted: it stays.
  if (failure_) return *failure_;
  auto entry = read_next();
  if (!entry.ok()) failure_ = entry.error();
  return entry;
}

Result<std::optional<TarEntry>> TarReader::read_next() {
  if (ended_) return std::optional<TarEntry>();
  STRAKE_CHECK_OK(skip(std::exchange(content_left_, 0) + std::exchange(padding_left_, 0), "an entry"));
  Records local_records;
  for (;;) {
    TarHeader header;
    STRAKE_TRY(const bool has_header, read_header(header));
    if (!has_header) {
      if (!local_records.empty()) return corrupt_tar(offset_, "an extended header without its entry");
      ended_ = true;
      return std::optional<TarEntry>();
    }
    const std::uint64_t header_offset = offset_ - kTarBlockBytes;
    if (++entries_ > limits_.max_entries) {
      return error(Code::kExhausted, "tar: more than {} entries", limits_.max_entries);
    }
    switch (header.type()) {
      case 'x':
      case 'g': {
        STRAKE_TRY(const std::string text, read_extension(header, "a pax header"));
        auto records = parse_pax_records(text);
        if (!records) return corrupt_tar(header_offset, "a malformed pax header");
        if (header.type() == 'x') {
          for (auto& [key, value] : *records) local_records[key] = std::move(value);
        } else {
          STRAKE_CHECK_OK(merge_global_records(std::move(*records)));
        }
        continue;
      }
      case 'L':
      case 'K': {
        STRAKE_TRY(std::string name, read_extension(header, "a long name"));
        if (const std::size_t nul = name.find('\0'); nul != std::string::npos) name.resize(nul);
        local_records[header.type() == 'L' ? "path" : "linkpath"] = std::move(name);
        continue;
      }
      default: break;
    }
    Records records = global_records_;
    for (auto& [key, value] : local_records) records[key] = std::move(value);
    STRAKE_TRY(TarEntry entry, make_entry(header, records, header_offset));
    if (entry.size > limits_.max_total_bytes) {
      return error(Code::kExhausted, "tar: {:?} has {} bytes, more than the limit of {}", entry.path.substr(0, 200),
                   entry.size, limits_.max_total_bytes);
    }
    content_left_ = entry.size;
    padding_left_ = tar_padding(entry.size);
    return std::optional<TarEntry>(std::move(entry));
  }
}

}  // namespace strake::codec
