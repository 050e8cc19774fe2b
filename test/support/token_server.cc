#include "support/token_server.h"

#include <chrono>

#include <fmt/format.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/fd.h"
#include "base/random.h"
#include "codec/base64.h"
#include "codec/json.h"

namespace strake::test {
namespace {

constexpr std::size_t kMaxPemFileBytes = 1u << 20;
constexpr int kP256Bytes = 32;

std::string url_base64(std::string_view bytes) { return codec::encode_base64(bytes, codec::kBase64UrlUnpadded); }

/// The base64 text between the lines of a PEM file is the DER form as x5c wants it.
std::string pem_body(const std::string& pem) {
  std::string body;
  bool inside = false;
  for (std::size_t at = 0; at < pem.size();) {
    const std::size_t end = std::min(pem.find('\n', at), pem.size());
    const std::string line = pem.substr(at, end - at);
    if (line.starts_with("-----END")) break;
    if (inside) body += line;
    if (line.starts_with("-----BEGIN")) inside = true;
    at = end + 1;
  }
  return body;
}

/// ES256: the two numbers of the signature, each at full length, one after the other.
Result<std::string> sign_es256(const std::string& key_pem, std::string_view text) {
  BIO* bio = BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  if (key == nullptr) return error(Code::kInvalidArgument, "the signing key cannot be read");
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  std::string der(256, '\0');
  std::size_t size = der.size();
  const bool signed_well = EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, key) == 1 &&
                           EVP_DigestSign(context, reinterpret_cast<unsigned char*>(der.data()), &size,
                                          reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  EVP_MD_CTX_free(context);
  EVP_PKEY_free(key);
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  ECDSA_SIG* pair = signed_well ? d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(size)) : nullptr;
  if (pair == nullptr) return error(Code::kInternal, "signing a token failed");
  std::string raw(2 * kP256Bytes, '\0');
  auto* out = reinterpret_cast<unsigned char*>(raw.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(pair), out, kP256Bytes);
  BN_bn2binpad(ECDSA_SIG_get0_s(pair), out + kP256Bytes, kP256Bytes);
  ECDSA_SIG_free(pair);
  return raw;
}

/// "repository:a/b:pull,push" as an access entry, less what is not allowed.
json::Value access_entry(std::string_view scope, bool known_user) {
  const std::size_t first = scope.find(':');
  const std::size_t last = scope.rfind(':');
  json::Array actions;
  std::string_view rest = scope.substr(last + 1);
  while (!rest.empty()) {
    const std::string_view action = rest.substr(0, rest.find(','));
    if (known_user || action == "pull") actions.push_back(json::Value(action));
    rest.remove_prefix(std::min(rest.size(), action.size() + 1));
  }
  return json::Object{{"type", scope.substr(0, first)},
                      {"name", first < last ? scope.substr(first + 1, last - first - 1) : std::string_view()},
                      {"actions", std::move(actions)}};
}

class TokenHandler {
 public:
  TokenHandler(TokenServerOptions options, std::string signer_pem, std::string signer_key)
      : options_(std::move(options)), signer_pem_(std::move(signer_pem)), signer_key_(std::move(signer_key)) {}

  net::Response answer(const net::ServerRequest& request) {
    const std::string_view given = request.headers.get("Authorization").value_or("");
    const std::string right = "Basic " + codec::encode_base64(options_.user + ":" + options_.password);
    if (!given.empty() && given != right) return {401, {}, R"({"errors":[{"code":"UNAUTHORIZED"}]})"};
    const Result<std::string> token = make_token(request.target.query, !given.empty());
    if (!token.ok()) return {500, {}, token.error().to_string()};
    return {200,
            {{"Content-Type", "application/json"}},
            json::write(json::Object{{"token", *token}, {"access_token", *token}, {"expires_in", 300}})};
  }

 private:
  Result<std::string> make_token(const net::Query& query, bool known_user) {
    const std::int64_t now =
        std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()).time_since_epoch().count();
    json::Array access;
    for (const std::string_view scope : query.all("scope")) access.push_back(access_entry(scope, known_user));
    const json::Object header{
        {"alg", "ES256"}, {"typ", "JWT"}, {"x5c", json::Array{json::Value(pem_body(signer_pem_))}}};
    const json::Object claims{{"iss", options_.issuer},
                              {"sub", known_user ? options_.user : std::string()},
                              {"aud", query.get("service").value_or("")},
                              {"exp", now + 300},
                              {"nbf", now - 5},
                              {"iat", now},
                              {"jti", SystemRandom().uuid()},
                              {"access", std::move(access)}};
    const std::string text = url_base64(json::write(header)) + "." + url_base64(json::write(claims));
    STRAKE_TRY(const std::string signature, sign_es256(signer_key_, text));
    return text + "." + url_base64(signature);
  }

  TokenServerOptions options_;
  std::string signer_pem_;
  std::string signer_key_;
};

}  // namespace

Result<std::unique_ptr<TokenServer>> TokenServer::start(TokenServerOptions options) {
  net::ServerOptions server;
  STRAKE_TRY(server.certificate_pem, read_file(options.server.certificate, kMaxPemFileBytes));
  STRAKE_TRY(server.key_pem, read_file(options.server.key, kMaxPemFileBytes));
  STRAKE_TRY(std::string signer, read_file(options.signer.certificate, kMaxPemFileBytes));
  STRAKE_TRY(std::string key, read_file(options.signer.key, kMaxPemFileBytes));
  auto handler = std::make_shared<TokenHandler>(std::move(options), std::move(signer), std::move(key));
  STRAKE_TRY(
      net::HttpsServer started,
      net::HttpsServer::start(std::move(server), [handler](const net::ServerRequest& request, net::Responder out) {
        out.send(handler->answer(request));
      }));
  return std::unique_ptr<TokenServer>(new TokenServer(std::move(started)));
}

std::string TokenServer::realm() const { return fmt::format("https://localhost:{}/token", server_.port()); }

}  // namespace strake::test
