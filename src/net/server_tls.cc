#include "net/server_tls.h"

#include <array>
#include <cstring>
#include <map>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "net/openssl_handles.h"

namespace strake::net {
namespace {

/// The handshake takes any certificate; identify_peer() judges it afterwards, so that a client with a foreign or
/// expired one gets an answer that says so instead of a broken connection.
int judge_later(X509_STORE_CTX*, void*) { return 1; }

int choose_http_1_1(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  constexpr std::string_view kHttp11 = "http/1.1";
  for (unsigned int at = 0; at < offered_size;) {
    const unsigned int size = offered[at];
    if (at + 1 + size > offered_size) break;
    if (size == kHttp11.size() && std::memcmp(offered + at + 1, kHttp11.data(), size) == 0) {
      *out = offered + at + 1;
      *out_size = static_cast<unsigned char>(size);
      return SSL_TLSEXT_ERR_OK;
    }
    at += 1 + size;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

Error tls_setup_failed(std::string_view step) { return error(Code::kInternal, "{}: {}", step, take_openssl_error()); }

Status install_identity(SSL_CTX* context, const std::string& certificate_pem, const std::string& key_pem) {
  STRAKE_TRY_CONTEXT(const std::vector<Certificate> chain, parse_bundle(certificate_pem), "server certificate");
  STRAKE_TRY_CONTEXT(const PrivateKey key, PrivateKey::from_pem(key_pem), "server key");
  STRAKE_CHECK_OK(check_key_matches(chain.front(), key).context("server certificate"));
  if (SSL_CTX_use_certificate(context, chain.front().impl().handle.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.impl().handle.get()) != 1) {
    return tls_setup_failed("installing the server certificate");
  }
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].impl().handle.get()) != 1) {
      return tls_setup_failed("installing the chain of the server certificate");
    }
  }
  return {};
}

/// The suites of TLS 1.2 that authenticate the server and keep what is said secret, by both their names.
std::map<std::string, std::string, std::less<>> known_cipher_suites(SSL_CTX* context) {
  std::map<std::string, std::string, std::less<>> known;
  if (SSL_CTX_set_cipher_list(context, "HIGH:!aNULL:!eNULL:!PSK:!SRP") != 1) return known;
  const STACK_OF(SSL_CIPHER)* suites = SSL_CTX_get_ciphers(context);
  for (int i = 0; i < sk_SSL_CIPHER_num(suites); ++i) {
    const SSL_CIPHER* suite = sk_SSL_CIPHER_value(suites, i);
    const std::string name = SSL_CIPHER_get_name(suite);
    known.emplace(name, name);
    if (const char* standard = SSL_CIPHER_standard_name(suite)) known.emplace(standard, name);
  }
  return known;
}

Status apply_policy(SSL_CTX* context, const TlsPolicy& policy) {
  if (policy.minimum == TlsVersion::k1_3 && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1) {
    return tls_setup_failed("demanding TLS 1.3");
  }
  if (policy.cipher_suites.empty()) return {};
  // Taken apart here: the library passes over a name it does not know when others follow.
  const auto known = known_cipher_suites(context);
  std::string list;
  for (const std::string& name : policy.cipher_suites) {
    const auto suite = known.find(name);
    if (suite == known.end()) {
      return error(Code::kInvalidArgument, "'{}' is no cipher suite that can be served, or not a safe one", name);
    }
    // Those of TLS 1.3 are in use whatever is chosen.
    if (!suite->second.starts_with("TLS_")) list += (list.empty() ? "" : ":") + suite->second;
  }
  if (list.empty() && policy.minimum == TlsVersion::k1_2) {
    return error(Code::kInvalidArgument,
                 "no cipher suite of TLS 1.2 is among those chosen: name one, or demand TLS 1.3");
  }
  if (!list.empty() && SSL_CTX_set_cipher_list(context, list.c_str()) != 1) {
    return tls_setup_failed("choosing cipher suites");
  }
  return {};
}

Result<std::shared_ptr<ServerTls>> new_context() {
  ERR_clear_error();
  auto tls = std::make_shared<ServerTls>();
  tls->context =
      std::shared_ptr<SSL_CTX>(SSL_CTX_new(TLS_server_method()), [](SSL_CTX* context) { SSL_CTX_free(context); });
  if (!tls->context || SSL_CTX_set_min_proto_version(tls->context.get(), TLS1_2_VERSION) != 1) {
    return tls_setup_failed("preparing TLS");
  }
  return tls;
}

}  // namespace

Result<std::shared_ptr<const ServerTls>> make_plain() {
  STRAKE_TRY(const std::shared_ptr<ServerTls> tls, new_context());
  tls->plain = true;
  return std::shared_ptr<const ServerTls>(tls);
}

Result<std::shared_ptr<const ServerTls>> make_server_tls(const ServerIdentity& identity, const TlsPolicy& policy) {
  STRAKE_TRY(const std::shared_ptr<ServerTls> tls, new_context());
  SSL_CTX* context = tls->context.get();
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // A resumed session would bring back a client certificate without asking whether it is still good. Connections are
  // kept alive, so resumption would save little.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);  // an idle connection keeps none
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_alpn_select_cb(context, choose_http_1_1, nullptr);
  STRAKE_CHECK_OK(apply_policy(context, policy));
  STRAKE_CHECK_OK(install_identity(context, identity.certificate_pem, identity.key_pem));

  if (!identity.client_ca_pem.empty()) {
    STRAKE_TRY_CONTEXT(tls->client_roots, parse_bundle(identity.client_ca_pem), "client CA");
    for (const Certificate& root : tls->client_roots) {
      if (SSL_CTX_add_client_CA(context, root.impl().handle.get()) != 1) {
        return tls_setup_failed("naming the client CA");
      }
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);  // asks, and is content with none
    SSL_CTX_set_cert_verify_callback(context, judge_later, nullptr);
  }
  return std::shared_ptr<const ServerTls>(tls);
}

PeerIdentity identify_peer(const ServerTls& tls, const ssl_st* connection, std::chrono::sys_seconds now) {
  PeerIdentity identity;
  X509Handle shown(SSL_get1_peer_certificate(connection));
  if (!shown) return identity;
  const auto leaf = wrap_certificate(std::move(shown));
  if (!leaf) {
    identity.problem = leaf.error().to_string();
    return identity;
  }
  std::vector<Certificate> intermediates;
  const STACK_OF(X509)* chain = SSL_get_peer_cert_chain(connection);
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    X509* certificate = sk_X509_value(chain, i);
    X509_up_ref(certificate);
    if (auto wrapped = wrap_certificate(X509Handle(certificate))) intermediates.push_back(*std::move(wrapped));
  }
  if (Status verified = verify_chain(*leaf, intermediates, tls.client_roots, now, CertificatePurpose::kClient);
      !verified) {
    identity.problem = verified.error().to_string();
    return identity;
  }
  const CertificateInfo& info = leaf->info();
  identity.certificate =
      PeerCertificate{info.common_name, info.organizations, info.not_after, info.sha256, info.serial};
  return identity;
}

}  // namespace strake::net
