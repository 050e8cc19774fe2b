// A layer that carries ostree objects, and what the cache keeps of it: both come from outside. What was read survives
// its own encoding, and content goes nowhere but to its checksum. The first byte says which form the layer has.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "osimage/object_layer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  (void)osimage::decode_object_layer(bytes);
  const auto form = data[0] == 'a' ? osimage::ObjectLayerForm::kArchiveRepository : osimage::ObjectLayerForm::kNative;
  codec::MemorySource tar(bytes);
  codec::StringSink content(16u << 20);
  const osimage::OpenObjectSink open = [&](const ostree::Checksum&, const ostree::FileInfo&) -> Result<codec::Sink*> {
    return &content;
  };
  const auto layer = osimage::scan_object_tar(tar, form, open);
  if (!layer.ok()) return 0;
  const auto encoded = osimage::encode_object_layer(*layer);
  if (!encoded.ok()) std::abort();
  // Names that are not UTF-8 have no place in the cache: such a layer is read again.
  const auto again = osimage::decode_object_layer(*encoded);
  if (again.ok() && *again != *layer) std::abort();
  return 0;
}
