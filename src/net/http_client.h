// HttpClient: HTTP/1.1 over TLS for registries, clouds and API servers. One client serves any number of threads.
//
// TLS verification is always on; there is no switch. Connections are kept and reused between calls. Redirects are
// followed here and not by the library underneath, so that nothing secret crosses to another origin: not the client's
// credentials, not the request's Authorization or Cookie fields, and not the client certificate. A redirect from https
// to http is refused.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/foreign_url.h"
#include "net/http.h"

namespace strake::net {

struct ProxySettings {
  std::string https_proxy;  ///< used for https URLs; "http://user:password@host:3128"; empty: direct
  std::string http_proxy;   ///< used for http URLs
  std::string no_proxy;     ///< comma-separated hosts, domain suffixes and CIDR blocks, or "*"
  bool bypass_loopback = false;
};

/// HTTPS_PROXY, HTTP_PROXY and NO_PROXY (or their lower-case forms, which win). This machine itself is never reached by
/// proxy.
ProxySettings proxy_from_environment();

struct BasicAuth {
  std::string user;
  std::string password;
};

struct ClientOptions {
  /// Whom to trust. With neither given, the roots of this machine (SSL_CERT_FILE or the distribution's bundle).
  std::string ca_pem;
  std::filesystem::path ca_file;
  bool also_trust_system_roots = false;  ///< in addition to the two above
  /// Instead of all of them: the SHA-256 fingerprint of the one authority to trust, in lower case hexadecimal digits.
  /// The server must show that authority's certificate behind its own. For the first contact, before the list is known.
  std::string ca_sha256;

  std::string client_certificate_pem;  ///< with its chain
  std::string client_key_pem;

  /// Sent to the origin of the request's URL unless the request has an Authorization field of its own, and only over
  /// https or to this machine itself.
  std::string bearer_token;
  std::optional<BasicAuth> basic_auth;

  /// Set: the URLs of requests were written by somebody else, as redirects are; foreign_url.h says where they may lead.
  /// By way of a proxy only their text is checked: the proxy looks names up.
  std::optional<ForeignUrlRules> foreign_urls;
  /// Addresses by "HOST:PORT", instead of what the resolver says; or "HOST:PORT" to go there, port and all.
  std::map<std::string, std::string> known_addresses;

  std::optional<ProxySettings> proxy;  ///< absent: proxy_from_environment()
  std::string user_agent = "strake";
  std::chrono::milliseconds connect_timeout{15'000};
  unsigned max_redirects = 10;  ///< 0: a redirect is an answer like any other
  std::size_t max_header_bytes = 256 * 1024;
  std::size_t max_body_bytes = 64 * 1024 * 1024;  ///< of send(), after decompression; stream() has no limit of its own
};

struct CallOptions {
  std::chrono::milliseconds timeout{0};       ///< for the whole call; 0: none
  std::chrono::milliseconds idle_timeout{0};  ///< without a byte in either direction; 0: none
  std::stop_token stop;
};

class HttpClient {
 public:
  using OnHead = std::function<Status(const ResponseHead&)>;
  using OnData = std::function<Status(std::string_view)>;

  static Result<HttpClient> create(ClientOptions options);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  /// Any status is a success here: the caller judges it (see code_for_status). A gzip body arrives decompressed
  /// (not when the request has an Accept-Encoding field of its own).
  /// Errors: kUnavailable (no connection, name or answer), kTimeout, kCancelled, kDenied (TLS verification),
  /// kUnauthenticated (the proxy), kExhausted (a limit), kInvalidArgument (the request or the options).
  Result<Response> send(const Request& request, const CallOptions& call = {}) const;

  /// Hands the body over piece by piece, unchanged, in the calling thread. An error from a callback ends the call and
  /// is returned. For watches (no `timeout`, maybe an `idle_timeout`) and blobs.
  Result<ResponseHead> stream(const Request& request, const OnHead& on_head, const OnData& on_data,
                              const CallOptions& call = {}) const;

 private:
  struct Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strake::net
