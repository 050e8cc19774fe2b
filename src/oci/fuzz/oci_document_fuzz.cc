// Whatever a registry or a disk hands over as manifest, index or config must be read or refused; descriptors that were
// read must be written back as something that reads the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "oci/manifest.h"

namespace {

void require_same(const strake::oci::Descriptor& descriptor) {
  const strake::json::Value index =
      strake::json::Object{{"schemaVersion", 2}, {"manifests", strake::json::Array{descriptor.to_json()}}};
  const auto again = strake::oci::parse_index(strake::json::write(index));
  if (!again.ok()) std::abort();
  const strake::oci::Descriptor& read = again->manifests.front();
  if (read.digest != descriptor.digest || read.size != descriptor.size || read.media_type != descriptor.media_type ||
      read.annotations != descriptor.annotations) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)strake::oci::parse_image_config(text);
  const auto document = strake::oci::parse_document(text);
  if (!document.ok()) return 0;
  if (const auto* index = std::get_if<strake::oci::Index>(&*document)) {
    for (const strake::oci::Descriptor& entry : index->manifests) require_same(entry);
  } else {
    for (const strake::oci::Descriptor& layer : std::get<strake::oci::Manifest>(*document).layers) require_same(layer);
  }
  return 0;
}
