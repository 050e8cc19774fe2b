#include "net/client_trust.h"

#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include <openssl/ssl.h>

#include "net/openssl_handles.h"
#include "net/x509.h"

namespace strake::net {
namespace {

/// Where the bundle of this machine may be: the program also runs on distributions other than the one it was built on.
Result<std::string> system_roots_file() {
  if (const char* named = std::getenv("SSL_CERT_FILE"); named != nullptr && *named != '\0') return std::string(named);
  constexpr std::array<const char*, 4> kKnownPlaces = {
      "/etc/ssl/certs/ca-certificates.crt",
      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
      "/etc/pki/tls/certs/ca-bundle.crt",
      "/etc/ssl/ca-bundle.pem",
  };
  for (const char* place : kKnownPlaces) {
    std::error_code ignored;
    if (std::filesystem::exists(place, ignored)) return std::string(place);
  }
  return error(
      Code::kNotFound,
      "this machine has no bundle of certificate authorities: install ca-certificates, set SSL_CERT_FILE, or name a "
      "CA file");
}

Result<std::string> read_trust_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return error(Code::kIo, "cannot open the CA bundle {}", path.string());
  std::string text(kMaxPemBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return error(Code::kIo, "cannot read the CA bundle {}", path.string());
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxPemBytes) {
    return error(Code::kExhausted, "the CA bundle {} is longer than {} bytes", path.string(), kMaxPemBytes);
  }
  return text;
}

using Bundle = std::shared_ptr<const std::vector<Certificate>>;

/// The machine's roots, parsed once as long as the file stays the same. Never destroyed: OpenSSL may end first.
class SystemRoots {
 public:
  static Result<Bundle> get() {
    static SystemRoots& shared = *new SystemRoots;
    STRAKE_TRY(const std::string path, system_roots_file());
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return error(Code::kIo, "cannot open the CA bundle {}", path);
    const Version version{path, info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
    const std::scoped_lock lock(shared.mutex_);
    if (!shared.bundle_ || shared.version_ != version) {
      STRAKE_TRY(const std::string text, read_trust_file(path));
      STRAKE_TRY_CONTEXT(std::vector<Certificate> roots, parse_bundle(text), "CA bundle {}", path);
      shared.bundle_ = std::make_shared<const std::vector<Certificate>>(std::move(roots));
      shared.version_ = version;
    }
    return shared.bundle_;
  }

 private:
  using Version = std::tuple<std::string, ino_t, off_t, time_t, long>;

  std::mutex mutex_;
  Version version_;
  Bundle bundle_;
};

Status add_authorities(X509_STORE* store, std::span<const Certificate> authorities) {
  for (const Certificate& authority : authorities) {
    // One that is there already is no error.
    if (X509_STORE_add_cert(store, authority.impl().handle.get()) != 1) {
      return error(Code::kInternal, "{} cannot be trusted: {}", authority.info().common_name, take_openssl_error());
    }
  }
  return {};
}

/// The chain the server shows is verified as always, with the pinned certificate in it as the only root. Whoever shows
/// another chain, or shows the pinned one without being vouched for by it, is refused.
int verify_with_pinned(X509_STORE_CTX* verification, void* pinned_sha256) {
  const std::string& wanted = *static_cast<const std::string*>(pinned_sha256);
  const STACK_OF(X509)* shown = X509_STORE_CTX_get0_untrusted(verification);
  for (int i = 0; i < sk_X509_num(shown); ++i) {
    X509* certificate = sk_X509_value(shown, i);
    X509_up_ref(certificate);
    const auto read = wrap_certificate(X509Handle(certificate));
    if (!read.ok() || !read->info().is_ca || read->info().sha256 != wanted) continue;
    const std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)> roots(
        sk_X509_new_null(), [](STACK_OF(X509) * stack) { sk_X509_free(stack); });
    if (!roots || sk_X509_push(roots.get(), certificate) == 0) break;
    X509_STORE_CTX_set0_trusted_stack(verification, roots.get());
    return X509_verify_cert(verification);
  }
  X509_STORE_CTX_set_error(verification, X509_V_ERR_CERT_UNTRUSTED);
  return 0;
}

}  // namespace

void ClientTrust::install(void* tls_context) const {
  auto* context = static_cast<SSL_CTX*>(tls_context);
  SSL_CTX_set1_cert_store(context, store_.get());
  if (pinned_sha256_.empty()) return;
  SSL_CTX_set_cert_verify_callback(context, verify_with_pinned, const_cast<std::string*>(&pinned_sha256_));
}

Result<ClientTrust> pinned_client_trust(const std::string& sha256) {
  constexpr std::size_t kSha256HexDigits = 64;
  if (sha256.size() != kSha256HexDigits || sha256.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return error(Code::kInvalidArgument, "'{}' is no fingerprint of an authority: give {} hexadecimal digits", sha256,
                 kSha256HexDigits);
  }
  const std::shared_ptr<X509_STORE> nobody(X509_STORE_new(), X509_STORE_free);
  if (!nobody) return error(Code::kExhausted, "OpenSSL has no memory for the certificate authorities");
  return ClientTrust(nobody, sha256);
}

Result<ClientTrust> resolve_client_trust(const std::string& ca_pem, const std::filesystem::path& ca_file,
                                         bool also_system_roots) {
  const std::shared_ptr<X509_STORE> store(X509_STORE_new(), X509_STORE_free);
  // As libcurl sets them for the authorities it loads by itself: a trusted intermediate is enough.
  if (!store || X509_STORE_set_flags(store.get(), X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN) != 1) {
    return error(Code::kExhausted, "OpenSSL has no memory for the certificate authorities");
  }
  // A damaged bundle is reported here, by name, and not at the first connection.
  if (!ca_pem.empty()) {
    STRAKE_TRY_CONTEXT(const std::vector<Certificate> authorities, parse_bundle(ca_pem), "CA bundle");
    STRAKE_CHECK_OK(add_authorities(store.get(), authorities));
  }
  if (!ca_file.empty()) {
    STRAKE_TRY(const std::string text, read_trust_file(ca_file));
    STRAKE_TRY_CONTEXT(const std::vector<Certificate> authorities, parse_bundle(text), "CA bundle {}",
                       ca_file.string());
    STRAKE_CHECK_OK(add_authorities(store.get(), authorities));
  }
  if (also_system_roots || (ca_pem.empty() && ca_file.empty())) {
    STRAKE_TRY(const Bundle roots, SystemRoots::get());
    STRAKE_CHECK_OK(add_authorities(store.get(), *roots));
  }
  return ClientTrust(store);
}

}  // namespace strake::net
