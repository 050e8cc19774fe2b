// The entries read from any bytes, written again, must read back the same.
#include <cstdint>
#include <vector>

#include "codec/tar.h"

namespace {

using namespace strake;
using namespace strake::codec;

constexpr TarLimits kLimits{
    .max_path_bytes = 4096, .max_extended_header_bytes = 1 << 16, .max_entries = 1000, .max_total_bytes = 1 << 20};

/// Whatever could be read before the end or the first error.
std::vector<std::pair<TarEntry, std::string>> readable_part(std::string_view archive, bool* whole) {
  MemorySource source(archive);
  TarReader reader(source, kLimits);
  std::vector<std::pair<TarEntry, std::string>> members;
  *whole = false;
  for (;;) {
    auto entry = reader.next();
    if (!entry.ok()) return members;
    if (!entry->has_value()) {
      *whole = true;
      return members;
    }
    auto content = read_all(reader.content(), kLimits.max_total_bytes);
    if (!content.ok()) return members;
    STRAKE_INVARIANT(content->size() == (*entry)->size);
    (void)clean_archive_path((*entry)->path).ok();
    members.emplace_back(std::move(**entry), *std::move(content));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bool whole = false;
  const auto members = readable_part({reinterpret_cast<const char*>(data), size}, &whole);
  StringSink out;
  TarWriter writer(out);
  for (const auto& [entry, content] : members) STRAKE_INVARIANT(writer.add(entry, content).ok());
  STRAKE_INVARIANT(writer.finish().ok());
  // Headers that one global record served for many entries may be written many times.
  if (out.text().size() > kLimits.max_total_bytes || members.size() * 2 > kLimits.max_entries) return 0;
  const auto again = readable_part(out.text(), &whole);
  STRAKE_INVARIANT(whole);
  STRAKE_INVARIANT(again == members);
  return 0;
}
