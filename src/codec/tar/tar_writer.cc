#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "codec/tar.h"
#include "codec/tar/tar_format.h"
#include "codec/utf8.h"

namespace strake::codec {
namespace {

constexpr std::uint64_t kMaxOctal11 = 077777777777;  // the largest size and time a ustar header can say

char tar_type_flag(TarEntryType type) {
  switch (type) {
    case TarEntryType::kFile: return '0';
    case TarEntryType::kHardLink: return '1';
    case TarEntryType::kSymlink: return '2';
    case TarEntryType::kCharacterDevice: return '3';
    case TarEntryType::kBlockDevice: return '4';
    case TarEntryType::kDirectory: return '5';
    case TarEntryType::kFifo: return '6';
  }
  return '0';
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// A stand-in for readers that do not know pax.
std::string ascii_stand_in(std::string_view text, std::size_t max_bytes) {
  std::string out(text.substr(0, max_bytes));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '_';
  }
  return out;
}

/// The slash at which a long path splits into prefix and name, or npos.
std::size_t find_ustar_split(std::string_view path) {
  const std::size_t last = std::min(path.size() - 1, kTarPrefix.size + 1);
  for (std::size_t at = last; at > 0; --at) {
    if (path[at - 1] == '/' && at > 1 && path.size() - at <= kTarName.size && at < path.size()) return at - 1;
  }
  return std::string_view::npos;
}

std::string format_pax_time(const TarTime& time) {
  if (time.nanoseconds == 0) return fmt::format("{}", time.seconds);
  std::string text;
  if (time.seconds >= 0) {
    text = fmt::format("{}.{:09}", time.seconds, time.nanoseconds);
  } else {
    text = fmt::format("-{}.{:09}", -(time.seconds + 1), 1'000'000'000 - time.nanoseconds);
  }
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

/// The length counts itself, so it is found by trying.
std::string format_pax_record(std::string_view key, std::string_view value) {
  const std::size_t fixed = key.size() + value.size() + 3;  // blank, `=`, newline
  std::size_t length = fixed + 1;
  while (fixed + fmt::formatted_size("{}", length) != length) ++length;
  return fmt::format("{} {}={}\n", length, key, value);
}

/// Builds the ustar header, and the pax records for whatever does not fit into it.
class TarHeaderBuilder {
 public:
  explicit TarHeaderBuilder(const TarEntry& entry) : entry_(entry) {
    std::copy(kTarMagicUstar.begin(), kTarMagicUstar.end(), header_.data() + kTarMagic.offset);
    header_.set_type(tar_type_flag(entry.type));
    set_path();
    set_name("linkpath", kTarLink, kTarLink.size, entry.link_target);
    set_name("uname", kTarUser, kTarUser.size - 1, entry.user);
    set_name("gname", kTarGroup, kTarGroup.size - 1, entry.group);
    header_.set_octal(kTarMode, entry.mode);
    set_number("uid", kTarUid, entry.uid);
    set_number("gid", kTarGid, entry.gid);
    set_number("size", kTarSize, entry.size);
    set_time();
    set_number("SCHILY.devmajor", kTarDeviceMajor, entry.device_major);
    set_number("SCHILY.devminor", kTarDeviceMinor, entry.device_minor);
    for (const auto& [name, value] : entry.xattrs) records_["SCHILY.xattr." + name] = value;
    header_.set_checksum();
  }

  const TarHeader& header() const { return header_; }

  std::string pax_records() const {
    if (records_.empty()) return {};
    std::string text;
    // Bytes that are not UTF-8 are announced, or strict readers refuse the names.
    if (has_binary_name_) text += format_pax_record("hdrcharset", "BINARY");
    for (const auto& [key, value] : records_) text += format_pax_record(key, value);
    return text;
  }

 private:
  void set_path() {
    std::string path = entry_.path;
    if (entry_.type == TarEntryType::kDirectory && !path.ends_with('/')) path.push_back('/');
    if (is_ascii(path)) {
      if (header_.set_text(kTarName, path)) return;
      if (const std::size_t split = find_ustar_split(path); split != std::string::npos) {
        header_.set_text(kTarPrefix, std::string_view(path).substr(0, split));
        header_.set_text(kTarName, std::string_view(path).substr(split + 1));
        return;
      }
    }
    set_name("path", kTarName, kTarName.size, path);
  }

  void set_name(std::string_view key, TarField field, std::size_t max_bytes, std::string_view value) {
    if (is_ascii(value) && value.size() <= max_bytes) {
      header_.set_text(field, value);
      return;
    }
    records_[std::string(key)] = value;
    has_binary_name_ = has_binary_name_ || !is_valid_utf8(value);
    header_.set_text(field, ascii_stand_in(value, max_bytes));
  }

  void set_number(std::string_view key, TarField field, std::uint64_t value) {
    if (header_.set_octal(field, value)) return;
    records_[std::string(key)] = fmt::format("{}", value);
    header_.set_octal(field, 0);
  }

  void set_time() {
    const TarTime& time = entry_.mtime;
    const bool fits = time.seconds >= 0 && static_cast<std::uint64_t>(time.seconds) <= kMaxOctal11;
    header_.set_octal(kTarMtime, fits ? static_cast<std::uint64_t>(time.seconds) : 0);
    if (!fits || time.nanoseconds != 0) records_["mtime"] = format_pax_time(time);
  }

  const TarEntry& entry_;
  TarHeader header_;
  std::map<std::string, std::string> records_;
  bool has_binary_name_ = false;
};

TarHeader make_pax_header(std::uint64_t size) {
  TarHeader header;
  std::copy(kTarMagicUstar.begin(), kTarMagicUstar.end(), header.data() + kTarMagic.offset);
  header.set_text(kTarName, "PaxHeaders.0/entry");
  header.set_type('x');
  header.set_octal(kTarMode, 0644);
  header.set_octal(kTarUid, 0);
  header.set_octal(kTarGid, 0);
  header.set_octal(kTarSize, size);
  header.set_octal(kTarMtime, 0);
  header.set_octal(kTarDeviceMajor, 0);
  header.set_octal(kTarDeviceMinor, 0);
  header.set_checksum();
  return header;
}

Status check_tar_entry(const TarEntry& entry) {
  if (entry.path.empty()) return error(Code::kInvalidArgument, "tar: an entry needs a name");
  const auto refuse = [&](std::string_view why) {
    return error(Code::kInvalidArgument, "tar: cannot archive {:?}: {}", entry.path.substr(0, 200), why);
  };
  for (const std::string* name : {&entry.path, &entry.link_target, &entry.user, &entry.group}) {
    if (name->find('\0') != std::string::npos) return refuse("a name has a NUL byte");
  }
  const bool is_link = entry.type == TarEntryType::kHardLink || entry.type == TarEntryType::kSymlink;
  if (is_link && entry.link_target.empty()) return refuse("the link has no target");
  if (!is_link && !entry.link_target.empty()) return refuse("only links have a target");
  if (entry.type != TarEntryType::kFile && entry.size != 0) return refuse("only files have content");
  if (entry.mode > 07777) return refuse("the mode has more than the permission bits");
  if (entry.mtime.nanoseconds >= 1'000'000'000) return refuse("nanoseconds of the time are out of range");
  for (const auto& [name, value] : entry.xattrs) {
    if (name.empty() || name.find('=') != std::string::npos || name.find('\0') != std::string::npos) {
      return refuse(fmt::format("extended attribute {:?} has a name tar cannot store", name));
    }
  }
  return {};
}

}  // namespace

Status TarWriter::write_header(const TarEntry& entry) {
  STRAKE_CHECK_OK(check_tar_entry(entry));
  const TarHeaderBuilder builder(entry);
  if (const std::string records = builder.pax_records(); !records.empty()) {
    STRAKE_CHECK_OK(write(archive_, make_pax_header(records.size()).bytes()));
    STRAKE_CHECK_OK(write(archive_, records));
    STRAKE_CHECK_OK(write_padding(records.size()));
  }
  return write(archive_, builder.header().bytes());
}

Status TarWriter::write_padding(std::uint64_t content_size) {
  constexpr std::array<char, kTarBlockBytes> kZeros{};
  return write(archive_, std::string_view(kZeros.data(), static_cast<std::size_t>(tar_padding(content_size))));
}

Status TarWriter::add(const TarEntry& entry, Source& content) {
  STRAKE_CHECK_OK(write_header(entry));
  std::vector<std::byte> buffer(64 * 1024);
  std::uint64_t written = 0;
  for (;;) {
    STRAKE_TRY(const std::size_t size, content.read(buffer));
    if (size == 0) break;
    if (size > entry.size - written) {
      return error(Code::kInvalidArgument, "tar: the content of {:?} is longer than the {} bytes announced",
                   entry.path.substr(0, 200), entry.size);
    }
    STRAKE_CHECK_OK(archive_.write(std::span(buffer).first(size)));
    written += size;
  }
  if (written < entry.size) {
    return error(Code::kInvalidArgument, "tar: the content of {:?} has {} bytes, not the {} announced",
                 entry.path.substr(0, 200), written, entry.size);
  }
  return write_padding(entry.size);
}

Status TarWriter::add(TarEntry entry, std::string_view content) {
  entry.size = content.size();
  MemorySource source(content);
  return add(entry, source);
}

Status TarWriter::finish() {
  constexpr std::array<char, 2 * kTarBlockBytes> kZeros{};
  return write(archive_, std::string_view(kZeros.data(), kZeros.size()));
}

}  // namespace strake::codec
