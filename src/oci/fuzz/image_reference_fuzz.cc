// A reference that was read must print as something that reads the same: whoever sees it sees what we asked for.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "oci/reference.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto reference = strake::oci::parse_reference(text);
  if (!reference.ok()) return 0;
  const auto again = strake::oci::parse_reference(reference->to_string());
  if (!again.ok() || *again != *reference) std::abort();
  return 0;
}
