// A stub that can be read converts to one that can be read, points and trusts as before; and converting twice changes
// nothing.
#include <cstdint>

#include "stub/convert.h"
#include "stub/stub.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto read = stub::read_stub(input);
  const auto converted = stub::convert_stub(input, stub::kConvertedVersion);
  if (!read.ok()) {
    STRAKE_INVARIANT(!converted.ok());
    return 0;
  }
  if (!converted.ok()) return 0;
  const auto again = stub::convert_stub(converted->text, stub::kConvertedVersion);
  STRAKE_INVARIANT(again.ok() && !again->changed);
  const auto after = stub::read_stub(converted->text);
  STRAKE_INVARIANT(after.ok() && after->pointers == read->pointers);
  return 0;
}
