// Whatever a registry puts into WWW-Authenticate is read or refused, within its limits.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "oci/registry/challenge.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto challenges = strake::oci::parse_challenges({reinterpret_cast<const char*>(data), size});
  if (!challenges.ok()) return 0;
  if (challenges->size() > strake::oci::kMaxChallengeParts) std::abort();
  for (const auto& challenge : *challenges) {
    if (challenge.scheme.empty() || challenge.parameters.size() > strake::oci::kMaxChallengeParts) std::abort();
  }
  return 0;
}
