// Whatever is accepted as a request about credentials names somebody who may be named, for a time that is allowed.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "apistore/rest/credential_requests.h"

namespace {

using namespace strake;

void require(bool condition) {
  if (!condition) std::abort();
}

void check_subject(const api::CredentialSubject& subject) {
  require(!subject.user.empty() && subject.user.size() <= 64);
  require((subject.role == api::Role::kAgent) == !subject.node.empty());
  require((subject.role == api::Role::kAgent) == subject.user.starts_with("strake:agent:"));
  require(!subject.user.starts_with("system:"));
  for (const char c : subject.user) require(c > ' ' && c < 0x7f && c != '/');
  require(subject.node.find("..") == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace apistore::rest;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  if (const auto token = parse_token_request(body); token.ok()) {
    check_subject(token->subject);
    require(token->lifetime >= std::chrono::minutes(1) && token->lifetime <= std::chrono::hours(24 * 365));
    require(token->join == !token->node_role.empty());
  }
  if (const auto order = parse_certificate_order(body); order.ok()) {
    check_subject(order->subject);
    require(order->lifetime >= std::chrono::hours(1) && !order->request_pem.empty());
  }
  if (const auto wanted = parse_revocation_request(body); wanted.ok()) {
    require(wanted->id.empty() + wanted->user.empty() + wanted->node.empty() == 2);
    require(!wanted->reason.empty() && wanted->reason.size() <= 200);
  }
  (void)parse_signing_request(body);
  (void)parse_rotation_request(body);
  return 0;
}
