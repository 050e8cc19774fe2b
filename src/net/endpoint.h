// ADDRESS:PORT, where a server listens; an IPv6 address stands in brackets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
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

/// A port kept for a server that listens later: until then nobody else gets it, and the name it will have is known.
class ReservedEndpoint {
 public:
  /// kUnavailable when something listens there; kInvalidArgument for what is no IP address.
  static Result<ReservedEndpoint> reserve(const Endpoint& wanted);

  /// With the port that was chosen.
  const Endpoint& endpoint() const { return endpoint_; }

 private:
  ReservedEndpoint(Fd socket, Endpoint endpoint) : socket_(std::move(socket)), endpoint_(std::move(endpoint)) {}

  Fd socket_;  ///< bound, and never listened on
  Endpoint endpoint_;
};

}  // namespace strake::net
