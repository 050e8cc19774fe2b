#include "net/client_trust.h"

#include <array>
#include <cstdlib>
#include <fstream>

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

/// Parsed and written again, so that a damaged bundle is reported here, by name, and not at the first connection.
Result<std::string> checked_bundle(const std::string& pem) {
  STRAKE_TRY(const std::vector<Certificate> bundle, parse_bundle(pem));
  return to_pem(bundle);
}

}  // namespace

Result<ClientTrust> resolve_client_trust(const std::string& ca_pem, const std::filesystem::path& ca_file,
                                         bool also_system_roots) {
  ClientTrust trust;
  if (!ca_pem.empty()) {
    STRAKE_TRY_CONTEXT(const std::string pem, checked_bundle(ca_pem), "CA bundle");
    trust.pem += pem;
  }
  if (!ca_file.empty()) {
    STRAKE_TRY(const std::string text, read_trust_file(ca_file));
    STRAKE_TRY_CONTEXT(const std::string pem, checked_bundle(text), "CA bundle {}", ca_file.string());
    trust.pem += pem;
  }
  if (trust.pem.empty()) {
    STRAKE_TRY(trust.file, system_roots_file());
  } else if (also_system_roots) {
    STRAKE_TRY(const std::string path, system_roots_file());
    STRAKE_TRY(const std::string text, read_trust_file(path));
    trust.pem += text;
  }
  return trust;
}

}  // namespace strake::net
