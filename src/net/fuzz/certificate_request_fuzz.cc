// A certificate request that is accepted can be written and read again, with the same names.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "net/x509.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using strake::net::CertificateRequest;
  const auto request = CertificateRequest::from_pem({reinterpret_cast<const char*>(data), size});
  if (!request.ok()) return 0;
  const auto again = CertificateRequest::from_pem(request->to_pem());
  if (!again.ok() || again->common_name() != request->common_name() ||
      again->organizations() != request->organizations()) {
    std::abort();
  }
  return 0;
}
