// The entries read from any bytes, written again, must read back the same, but for what the writer decides itself.
#include <cstdint>
#include <vector>

#include "codec/cpio.h"

namespace {

using namespace strake;
using namespace strake::codec;

constexpr CpioLimits kLimits{.max_path_bytes = 4096, .max_entries = 1000, .max_total_bytes = 1 << 20};

std::vector<std::pair<CpioEntry, std::string>> readable_part(std::string_view archive, bool* whole) {
  MemorySource source(archive);
  CpioReader reader(source, kLimits);
  std::vector<std::pair<CpioEntry, std::string>> members;
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
    members.emplace_back(std::move(**entry), *std::move(content));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bool whole = false;
  auto members = readable_part({reinterpret_cast<const char*>(data), size}, &whole);
  StringSink out;
  CpioWriter writer(out, 0);
  for (const auto& [entry, content] : members) STRAKE_INVARIANT(writer.add(entry, content).ok());
  STRAKE_INVARIANT(writer.finish().ok());
  if (out.text().size() > kLimits.max_total_bytes || members.size() == kLimits.max_entries) return 0;
  auto again = readable_part(out.text(), &whole);
  STRAKE_INVARIANT(whole);
  for (auto* list : {&members, &again}) {
    for (auto& [entry, content] : *list) entry.inode = 0, entry.mtime = 0, entry.link_count = 0;
  }
  STRAKE_INVARIANT(again == members);
  return 0;
}
