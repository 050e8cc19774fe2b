// A small forward proxy for tests: it understands CONNECT, remembers what it was told, and moves bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace strake::net::testing {

class ConnectProxy {
 public:
  /// Not empty: the value the Proxy-Authorization field must have, or the answer is 407.
  explicit ConnectProxy(std::string required_authorization = {});
  ~ConnectProxy();
  ConnectProxy(const ConnectProxy&) = delete;
  ConnectProxy& operator=(const ConnectProxy&) = delete;

  std::uint16_t port() const;
  /// The request heads seen so far.
  std::vector<std::string> heads() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strake::net::testing
