// Whatever a release image holds as image-references must be read or refused; what was read names every component by
// digest.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "release/payload.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto references =
      strake::release::parse_image_references(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!references.ok()) return 0;
  for (const auto& [tag, component] : references->components) {
    if (tag != component.tag || !component.pull_spec.ends_with("@" + component.digest.to_string())) std::abort();
    (void)strake::release::stream_of_os_tag(tag);
  }
  return 0;
}
