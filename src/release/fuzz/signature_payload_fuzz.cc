// The statement of a signature and the keyring that checks it must be read or refused, whatever the bytes; what gpgv
// says must never be taken for more than it is.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "release/signature/signature.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake::release;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto payload = parse_signature_payload(text);
  if (payload.ok() && payload->docker_reference.empty()) std::abort();
  const auto keyring = parse_keyring("fuzz", text);
  if (keyring.ok() && keyring->entities.empty()) std::abort();
  // A keyring without keys trusts nobody.
  if (judge_gpgv_status(Keyring{"none", "", {}}, text).ok()) std::abort();
  (void)search_config_map(text, "fuzz", strake::codec::Digest::sha256_of(""));
  return 0;
}
