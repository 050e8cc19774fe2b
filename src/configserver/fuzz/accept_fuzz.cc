// Whatever a client sends, the answer is a version somebody can write, or a refusal; and asking twice changes nothing.
#include <cstdint>

#include "configserver/accept.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake;
  const std::string_view accept(reinterpret_cast<const char*>(data), size);
  const auto version = configserver::negotiate(accept);
  const auto again = configserver::negotiate(accept);
  STRAKE_INVARIANT(version.ok() == again.ok());
  if (!version.ok()) {
    STRAKE_INVARIANT(version.error().code() == Code::kUnsupported);
    return 0;
  }
  STRAKE_INVARIANT(*version == *again && *version >= configserver::kOldestServed);
  STRAKE_INVARIANT(*version <= ignition::kLatestVersion);
  return 0;
}
