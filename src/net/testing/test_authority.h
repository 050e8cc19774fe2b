// A certificate authority for tests, in memory, made with this module's own x509.
#pragma once

#include <string>
#include <vector>

#include "net/x509.h"

namespace strake::net::testing {

struct TestIdentity {
  std::string certificate_pem;
  std::string key_pem;
};

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& common_name = "test authority");

  const Certificate& certificate() const { return certificate_; }
  std::string pem() const { return certificate_.to_pem(); }

  /// For 127.0.0.1 and localhost.
  TestIdentity server();
  TestIdentity client(const std::string& common_name, const std::vector<std::string>& organizations = {});
  /// Fills in the validity (an hour ago until tomorrow) and the serial when they are absent.
  TestIdentity issue(LeafRequest request);

 private:
  PrivateKey key_;
  Certificate certificate_;
  unsigned serial_ = 0;
};

}  // namespace strake::net::testing
