// Whatever parses must survive being written, in every style. Compared as text: a large float with no fraction is
// written like an integer, and then read as one.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = json::parse(text);
  if (!value.ok()) {
    STRAKE_INVARIANT(!value.error().message().empty());
    return 0;
  }
  for (const auto& written : {json::write(*value), json::write_canonical(*value), json::write_pretty(*value)}) {
    const auto again = json::parse(written);
    STRAKE_INVARIANT(again.ok());
    STRAKE_INVARIANT(json::write_canonical(*again) == json::write_canonical(*value));
  }
  return 0;
}
