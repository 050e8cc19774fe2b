// What parses as a data URL must survive both ways of writing it again; checking says what parsing says.
#include <cstdint>

#include "codec/data_url.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake::codec;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto parsed = parse_data_url(input);
  const auto checked = check_data_url(input);
  STRAKE_INVARIANT(checked.ok() == parsed.ok());
  STRAKE_INVARIANT(checked.ok() || checked.error().to_string() == parsed.error().to_string());
  if (!parsed.ok()) return 0;
  const auto percent = parse_data_url(encode_data_url(parsed->data));
  STRAKE_INVARIANT(percent.ok() && percent->data == parsed->data);
  const auto base64 = parse_data_url(encode_base64_data_url(parsed->data, parsed->media_type));
  STRAKE_INVARIANT(base64.ok() && base64->data == parsed->data && base64->media_type == parsed->media_type);
  return 0;
}
