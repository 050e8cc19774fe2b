// ConfigServer: hands every new machine the config of its pool, over TLS, from memory.
//
//   GET /config/POOL   the config, in the Ignition version the Accept field asks for
//   GET /healthz       200
//
// Every other path is 404, every other method 405, and nothing but a config has a body.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "configserver/answer_book.h"
#include "configserver/gate.h"
#include "net/http_server.h"

namespace strake::configserver {

/// One request for a config, for logs, metrics and the list of callers. Holds nothing of the config.
struct ConfigRequest {
  std::string caller;  ///< address and port
  std::string pool;    ///< as asked for: may be anything
  bool known_pool = false;
  std::optional<ignition::SpecVersion> version;
  Outcome outcome = Outcome::kServed;
  std::optional<stub::Standing> standing;  ///< of what it showed; nothing where nobody looks
  std::string credential;                  ///< id of the token, or the name in the certificate
  std::string problem;                     ///< for the log
  std::size_t bytes = 0;
};

struct ConfigServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 22623;
  net::TlsPolicy tls{};
  Gate* gate = nullptr;  ///< who may ask; absent: anybody. Must outlive the server
  /// For each request for a config, before its answer leaves: who has the answer finds it counted. On a handler's
  /// thread; must not wait.
  std::function<void(const ConfigRequest&)> on_request{};
};

class ConfigServer {
 public:
  /// The shelf must outlive it.
  ConfigServer(const AnswerShelf& shelf, ConfigServerOptions options);
  ~ConfigServer();

  /// Listens from the first time on; later connections get the new certificate, present ones go on. On error what was
  /// in use stays in use. Whether anything changed.
  Result<bool> set_identity(const std::string& certificate_pem, const std::string& key_pem);
  /// Whose client certificates count; "" asks for none. For new connections. On error what was in use stays in use.
  Status set_client_ca(const std::string& client_ca_pem);
  bool listening() const;
  std::uint16_t port() const;  ///< 0 before it listens
  net::ServerStats stats() const;
  void stop(std::chrono::milliseconds grace);

 private:
  void handle(const net::ServerRequest& request, const net::Responder& responder) const;
  void answer_config(const net::ServerRequest& request, const net::Responder& responder) const;
  Answer answer_for(const net::ServerRequest& request, ConfigRequest& record) const;

  const AnswerShelf& shelf_;
  const ConfigServerOptions options_;
  mutable std::mutex mutex_;
  bool stopped_ = false;
  std::string certificate_pem_;
  std::string key_pem_;
  std::string client_ca_pem_;
  std::optional<net::HttpsServer> server_;
};

}  // namespace strake::configserver
