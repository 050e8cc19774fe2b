// Whatever lies in the Secret, it is a book that is read again as it was written, or an error.
#include <cstdint>

#include "codec/base64.h"
#include "stub/access_book.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  kube::Object secret;
  json::ensure(secret.json(), {"data", "mode"}) = codec::encode_base64("require");
  json::ensure(secret.json(), {"data", "tokens"}) = codec::encode_base64(input);
  const auto book = stub::read_access(secret);
  if (!book.ok()) return 0;
  const auto written = stub::access_data(*book);
  if (!written.ok()) return 0;  // more than a Secret holds
  kube::Object next;
  json::ensure(next.json(), {"data"}) = *written;
  const auto again = stub::read_access(next);
  STRAKE_INVARIANT(again.ok() && again->tokens() == book->tokens() && again->mode() == book->mode());
  return 0;
}
