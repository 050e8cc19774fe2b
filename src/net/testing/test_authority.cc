#include "net/testing/test_authority.h"

#include <chrono>

namespace strake::net::testing {
namespace {

template <typename T>
T test_must(Result<T> result) {
  if (!result) fmt::print(stderr, "test authority: {}\n", result.error().to_string());
  STRAKE_INVARIANT(result.ok());
  return *std::move(result);
}

Validity test_validity() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return {now - std::chrono::hours(1), now + std::chrono::hours(24)};
}

}  // namespace

TestAuthority::TestAuthority(const std::string& common_name)
    : key_(test_must(PrivateKey::generate())),
      certificate_(test_must(make_ca(key_, {common_name, test_validity(), "root-serial"}))) {}

TestIdentity TestAuthority::server() {
  LeafRequest request;
  request.common_name = "test server";
  request.dns_names = {"localhost"};
  request.ip_addresses = {"127.0.0.1"};
  request.server_auth = true;
  return issue(std::move(request));
}

TestIdentity TestAuthority::client(const std::string& common_name, const std::vector<std::string>& organizations) {
  LeafRequest request;
  request.common_name = common_name;
  request.organizations = organizations;
  request.client_auth = true;
  return issue(std::move(request));
}

TestIdentity TestAuthority::issue(LeafRequest request) {
  if (request.validity.not_after == request.validity.not_before) request.validity = test_validity();
  if (request.serial.empty()) request.serial = fmt::format("serial-{:08}", ++serial_);
  const PrivateKey key = test_must(PrivateKey::generate());
  return {test_must(net::issue(certificate_, key_, key, request)).to_pem(), key.to_pem()};
}

}  // namespace strake::net::testing
