#include "net/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <cstring>

#include "base/text.h"

namespace strake::net {

namespace {

constexpr std::size_t kMaxHostNameBytes = 253;

Error not_an_endpoint(std::string_view text, std::string_view why) {
  return error(Code::kInvalidArgument, "'{}': {}; expected ADDRESS:PORT, such as 127.0.0.1:7443 or [::1]:7443", text,
               why);
}

bool is_host_letter(char c) { return is_alphanumeric(c) || c == '.' || c == '-' || c == '_'; }

}  // namespace

std::string Endpoint::to_string() const {
  return address.find(':') == std::string::npos ? fmt::format("{}:{}", address, port)
                                                : fmt::format("[{}]:{}", address, port);
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  Endpoint endpoint;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return not_an_endpoint(text, "the bracket is not closed");
    endpoint.address = text.substr(1, close - 1);
    if (endpoint.address.find(':') == std::string::npos ||
        endpoint.address.find_first_not_of("0123456789abcdefABCDEF:.%") != std::string::npos) {
      return not_an_endpoint(text, "only an IPv6 address stands in brackets");
    }
    if (close + 1 >= text.size() || text[close + 1] != ':') return not_an_endpoint(text, "the port is missing");
    port = text.substr(close + 2);
  } else {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return not_an_endpoint(text, "the port is missing");
    if (text.find(':', colon + 1) != std::string_view::npos) {
      return not_an_endpoint(text, "an IPv6 address stands in brackets");
    }
    endpoint.address = text.substr(0, colon);
    if (endpoint.address.empty()) return not_an_endpoint(text, "the address is missing");
    for (const char c : endpoint.address) {
      if (!is_host_letter(c)) return not_an_endpoint(text, "that is no name and no address");
    }
    port = text.substr(colon + 1);
  }
  if (endpoint.address.size() > kMaxHostNameBytes) return not_an_endpoint(text, "the address is too long");
  const auto [end, failure] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (port.empty() || failure != std::errc() || end != port.data() + port.size()) {
    return not_an_endpoint(text, "the port is no number from 0 to 65535");
  }
  return endpoint;
}

Result<ReservedEndpoint> ReservedEndpoint::reserve(const Endpoint& wanted) {
  sockaddr_storage address{};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
  socklen_t length = 0;
  if (inet_pton(AF_INET, wanted.address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(wanted.port);
    length = sizeof(*v4);
  } else if (inet_pton(AF_INET6, wanted.address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(wanted.port);
    length = sizeof(*v6);
  } else {
    return error(Code::kInvalidArgument,
                 "'{}' is not an IP address to listen on: use one such as 127.0.0.1 or ::", wanted.address);
  }
  Fd socket(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // With this the server that listens later may bind the same port, as long as nobody listens on this one.
  const int shared = 1;
  if (!socket || setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &shared, sizeof(shared)) != 0 ||
      bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return error(Code::kUnavailable, "cannot listen on {}: {}; choose another address or port", wanted.to_string(),
                 std::strerror(errno));
  }
  return ReservedEndpoint(std::move(socket),
                          {wanted.address, ntohs(address.ss_family == AF_INET ? v4->sin_port : v6->sin6_port)});
}

}  // namespace strake::net
