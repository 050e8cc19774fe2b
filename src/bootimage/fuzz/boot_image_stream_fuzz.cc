// Whatever stands in data.stream must be read or refused, and every AMI that was read must be found again by look-up.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "bootimage/stream.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto stream = strake::bootimage::parse_stream(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!stream.ok()) return 0;
  for (const auto& [arch, architecture] : stream->architectures) {
    for (const auto& [region, image] : architecture.aws_regions) {
      const auto found = stream->aws_image(arch, region);
      if (!found.ok() || found->ami != image.ami || found->ami.empty()) std::abort();
    }
    for (const auto& [platform, artifacts] : architecture.artifacts) {
      for (const auto& [format, members] : artifacts.formats) (void)stream->artifact(arch, platform, format);
    }
  }
  return 0;
}
