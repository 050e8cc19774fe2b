// Boot image metadata of any shape must be read or refused; whatever was read must be found again by asking for it, and
// what is written out must be read as the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "stream/checksum_list.h"
#include "stream/import.h"
#include "stream/query.h"

namespace {

using namespace strake::stream;

void check_stream(const Stream& stream) {
  (void)describe_stream(stream);
  for (const auto& [arch, architecture] : stream.architectures) {
    for (const auto& [cloud, images] : architecture.images) {
      for (const auto& [region, image] : images.regions) {
        const auto found = stream.image(arch, cloud, region);
        if (!region.empty() && (!found.ok() || found->reference() != image.reference() || image.reference().empty()))
          std::abort();
      }
      if (!ask_stream(stream, {arch, cloud, "", ""}).ok()) std::abort();
    }
    for (const auto& [platform, artifacts] : architecture.artifacts) {
      for (const auto& [format, members] : artifacts.formats) (void)ask_stream(stream, {arch, platform, "", format});
      if (!narrow_stream(stream, {arch, platform, "", ""}).ok()) std::abort();
    }
  }
  const auto again = read_streams(strake::json::write(stream.document));
  if (!again.ok() || !again->default_stream || again->default_stream->document != stream.document) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)stream_of_checksums(text, "https://mirror.example/", "1", "1", "x86_64");
  ImportOptions options;
  options.base_url = "https://mirror.example/";
  const auto set = read_streams(text, options);
  if (!set.ok()) return 0;
  if (set->default_stream) check_stream(*set->default_stream);
  for (const auto& [name, stream] : set->by_name) check_stream(stream);
  return 0;
}
