#include "packages/rpm_header.h"

#include <string>
#include <utility>

#include "packages/big_endian.h"

namespace strake::packages {
namespace {

constexpr std::size_t kPreambleBytes = 8;
constexpr std::size_t kEntryBytes = 16;

enum : std::uint32_t {
  kRpmChar = 1,
  kRpmInt8,
  kRpmInt16,
  kRpmInt32,
  kRpmInt64,
  kRpmString,
  kRpmBinary,
  kRpmStrings,
  kRpmI18n
};

/// The least number of bytes a value has; strings end with a zero byte.
constexpr std::uint64_t element_bytes(std::uint32_t type) {
  switch (type) {
    case kRpmInt16: return 2;
    case kRpmInt32: return 4;
    case kRpmInt64: return 8;
    default: return 1;
  }
}

}  // namespace

RpmHeader::Entry RpmHeader::entry(std::uint32_t number) const {
  const std::size_t at = std::size_t{number} * kEntryBytes;
  return {.tag = big_endian_32(index_, at),
          .type = big_endian_32(index_, at + 4),
          .offset = big_endian_32(index_, at + 8),
          .count = big_endian_32(index_, at + 12)};
}

Result<RpmHeader> RpmHeader::parse(std::string_view bytes) {
  if (bytes.size() < kPreambleBytes) return error(Code::kCorrupt, "an rpm header of {} bytes", bytes.size());
  const std::uint32_t entries = big_endian_32(bytes, 0);
  const std::uint32_t store_bytes = big_endian_32(bytes, 4);
  if (entries == 0 || entries > kMaxRpmHeaderEntries || store_bytes > kMaxRpmHeaderStoreBytes) {
    return error(Code::kCorrupt, "an rpm header with {} entries and {} bytes of values", entries, store_bytes);
  }
  const std::size_t index_bytes = std::size_t{entries} * kEntryBytes;
  if (bytes.size() != kPreambleBytes + index_bytes + store_bytes) {
    return error(Code::kCorrupt, "an rpm header of {} bytes that says it has {}", bytes.size(),
                 kPreambleBytes + index_bytes + store_bytes);
  }
  RpmHeader header(bytes.substr(kPreambleBytes, index_bytes), bytes.substr(kPreambleBytes + index_bytes));
  for (std::uint32_t i = 0; i < entries; ++i) {
    const Entry entry = header.entry(i);
    if (entry.type < kRpmChar || entry.type > kRpmI18n) {
      return error(Code::kCorrupt, "entry {} (tag {}) of an rpm header is of no known type ({})", i, entry.tag,
                   entry.type);
    }
    if (entry.offset > store_bytes || entry.count * element_bytes(entry.type) > store_bytes - entry.offset) {
      return error(Code::kCorrupt, "entry {} (tag {}) of an rpm header lies outside of its {} bytes of values", i,
                   entry.tag, store_bytes);
    }
  }
  return header;
}

std::optional<RpmHeader::Entry> RpmHeader::find(RpmTag tag) const {
  for (auto i = static_cast<std::uint32_t>(index_.size() / kEntryBytes); i-- > 0;) {
    if (const Entry found = entry(i); found.tag == static_cast<std::uint32_t>(tag)) return found;
  }
  return std::nullopt;
}

Result<std::optional<std::string_view>> RpmHeader::text(RpmTag tag) const {
  const auto found = find(tag);
  if (!found) return std::optional<std::string_view>();
  if (found->type != kRpmString && found->type != kRpmI18n) {
    return error(Code::kCorrupt, "tag {} of an rpm header is no text (type {})", found->tag, found->type);
  }
  const std::string_view rest = store_.substr(found->offset);
  const std::size_t end = rest.find('\0');
  if (found->count == 0 || end == rest.npos) {
    return error(Code::kCorrupt, "the text of tag {} of an rpm header has no end", found->tag);
  }
  return std::optional(rest.substr(0, end));
}

Result<std::optional<std::uint64_t>> RpmHeader::number(RpmTag tag) const {
  const auto found = find(tag);
  if (!found) return std::optional<std::uint64_t>();
  if (found->type < kRpmInt8 || found->type > kRpmInt64 || found->count == 0) {
    return error(Code::kCorrupt, "tag {} of an rpm header is no number (type {})", found->tag, found->type);
  }
  return std::optional(big_endian(store_, found->offset, element_bytes(found->type)));
}

Result<Package> package_of_rpm_header(std::string_view bytes) {
  STRAKE_TRY(const RpmHeader header, RpmHeader::parse(bytes));
  Package package;
  const std::pair<RpmTag, std::string*> texts[] = {{RpmTag::kName, &package.name},
                                                   {RpmTag::kVersion, &package.version},
                                                   {RpmTag::kRelease, &package.release},
                                                   {RpmTag::kArchitecture, &package.architecture},
                                                   {RpmTag::kSourcePackage, &package.source}};
  for (const auto& [tag, into] : texts) {
    STRAKE_TRY(const auto value, header.text(tag));
    *into = value.value_or("");
  }
  for (const std::string* needed : {&package.name, &package.version, &package.release}) {
    if (needed->empty()) return error(Code::kCorrupt, "an rpm header without name, version or release");
  }
  STRAKE_TRY(const auto epoch, header.number(RpmTag::kEpoch));
  if (epoch) package.epoch = fmt::format("{}", *epoch);
  STRAKE_TRY(const auto long_size, header.number(RpmTag::kLongSize));
  STRAKE_TRY(const auto size, header.number(RpmTag::kSize));
  package.installed_bytes = long_size.value_or(size.value_or(0));
  STRAKE_TRY(const auto installed, header.number(RpmTag::kInstallTime));
  if (installed) package.installed_at = static_cast<std::int64_t>(*installed);
  return package;
}

}  // namespace strake::packages
