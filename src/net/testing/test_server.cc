#include "net/testing/test_server.h"

namespace strake::net::testing {
namespace {

template <typename T>
T server_must(Result<T> result) {
  if (!result) fmt::print(stderr, "test server: {}\n", result.error().to_string());
  STRAKE_INVARIANT(result.ok());
  return *std::move(result);
}

ServerOptions with_identity(ServerOptions options, TestAuthority& authority) {
  const TestIdentity identity = authority.server();
  options.certificate_pem = identity.certificate_pem;
  options.key_pem = identity.key_pem;
  if (options.client_ca_pem == "self") options.client_ca_pem = authority.pem();
  return options;
}

}  // namespace

TestServer::TestServer(Handler handler, ServerOptions options)
    : server_(server_must(HttpsServer::start(with_identity(std::move(options), authority_), std::move(handler)))) {}

std::string TestServer::url(const std::string& path) const {
  return fmt::format("https://127.0.0.1:{}{}", server_.port(), path);
}

ClientOptions TestServer::client_options() const {
  ClientOptions options;
  options.ca_pem = authority_.pem();
  options.proxy = ProxySettings{};
  return options;
}

HttpClient TestServer::client(ClientOptions options) { return server_must(HttpClient::create(std::move(options))); }

RawTlsClient TestServer::raw_client(const TestIdentity& identity) const {
  RawTlsOptions options;
  options.ca_pem = authority_.pem();
  options.identity = identity;
  return server_must(RawTlsClient::connect(server_.port(), options));
}

}  // namespace strake::net::testing
