// ConnectionRegister: which user, with which credential, holds which connection of the server.
//
// It counts the connections of a user, and ends those whose credential does not count any more, with the watches on
// them. Thread safe; nothing here waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "net/http_server.h"

namespace strake::apistore {

/// What a request proved its sender with.
struct Credential {
  enum class Kind { kCertificate, kToken };
  Kind kind = Kind::kCertificate;
  std::string id;  ///< the certificate's serial number, or the SHA-256 of the token
  std::optional<std::chrono::system_clock::time_point> expires;

  bool operator==(const Credential&) const = default;
};

class ConnectionRegister {
 public:
  ConnectionRegister();
  ~ConnectionRegister();
  ConnectionRegister(const ConnectionRegister&) = delete;
  ConnectionRegister& operator=(const ConnectionRegister&) = delete;

  /// Called with every request. When its user has `limit` others already (0: no limit), the one of them that was idle
  /// for longest is cut; when all are busy, kExhausted (429): then the caller should end this connection.
  Status admit(const std::shared_ptr<net::ConnectionHandle>& connection, const std::string& user,
               const Credential& credential, std::size_t limit);

  /// Cuts every connection whose credential does not count. Returns how many.
  std::size_t cut_unless(const std::function<bool(const Credential&)>& counts);
  /// When the next credential of an open connection ends.
  std::optional<std::chrono::system_clock::time_point> next_expiry() const;

  std::size_t connections() const;

 private:
  struct Core;
  const std::shared_ptr<Core> core_;  ///< shared with callbacks of connections
};

}  // namespace strake::apistore
