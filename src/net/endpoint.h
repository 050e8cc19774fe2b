// ADDRESS:PORT, where a server listens; an IPv6 address stands in brackets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace strake::net {

struct Endpoint {
  std::string address;     ///< a name or an IP address, without brackets
  std::uint16_t port = 0;  ///< 0: the system chooses one

  /// With brackets where the address needs them.
  std::string to_string() const;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// "127.0.0.1:7443", "localhost:0", "[::1]:7443". Contacts nobody: a name stays a name.
Result<Endpoint> parse_endpoint(std::string_view text);

}  // namespace strake::net
