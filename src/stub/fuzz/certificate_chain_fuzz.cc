// Certificates somebody else wrote, as a server shows them or a bundle holds them: what is read is written and read
// again alike, and looking at it, as the checks and rotations do, harms nobody.
#include <cstdint>

#include "net/x509.h"
#include "stub/check.h"
#include "stub/identity/identity_objects.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto chain = net::parse_bundle(input);
  if (!chain.ok()) return 0;
  STRAKE_INVARIANT(!chain->empty());
  const auto again = net::parse_bundle(net::to_pem(*chain));
  STRAKE_INVARIANT(again.ok() && again->size() == chain->size());
  for (std::size_t i = 0; i < chain->size(); ++i) {
    const net::Certificate& one = (*chain)[i];
    STRAKE_INVARIANT((*again)[i].info().sha256 == one.info().sha256);
    STRAKE_INVARIANT(stub::contains(*chain, one));
    (void)stub::hosts_of(one);
    (void)stub::check_server_certificate(one, std::chrono::sys_seconds{});
    (void)stub::is_issued_by(one, chain->back());
  }
  return 0;
}
