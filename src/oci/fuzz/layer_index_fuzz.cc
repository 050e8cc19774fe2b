// A layer's tar, and the index made of it: both come from outside. What was read survives its own encoding, and
// flattening it ends.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "oci/image_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)strake::oci::decode_layer_index(bytes);
  strake::oci::LayerLimits limits;
  limits.decompress.max_output_bytes = 16u << 20;
  strake::codec::MemorySource source(bytes);
  const auto index = strake::oci::index_layer(source, limits);
  if (!index.ok()) return 0;
  const auto encoded = strake::oci::encode_layer_index(*index);
  if (!encoded.ok()) std::abort();
  const auto again = strake::oci::decode_layer_index(*encoded);
  if (!again.ok() || *again != *index) std::abort();
  (void)strake::oci::ImageFiles::flatten({*index, *index});
  return 0;
}
