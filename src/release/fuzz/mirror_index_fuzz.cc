// The index of a mirror comes from wherever the mirror was carried from: read or refused, never a folder outside of it,
// and what was read is written to the same index again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "release/mirror_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto index = strake::release::parse_mirror_index(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!index.ok()) return 0;
  for (const auto& [repository, folder] : index->repositories) {
    if (!folder.starts_with("images/") || folder.find("/../") != std::string::npos || folder.ends_with("/..")) {
      std::abort();
    }
  }
  const auto again = strake::release::parse_mirror_index(strake::release::write_mirror_index(*index));
  if (!again.ok() || !(*again == *index)) std::abort();
  return 0;
}
