#include "apistore/rest/pki.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/fd.h"

namespace strake::apistore::rest {

namespace {

using std::chrono::system_clock;

constexpr std::size_t kMaxPemFileBytes = 64u << 10;
constexpr std::chrono::minutes kClockSkew{5};  // clients whose clocks are a little behind
constexpr std::size_t kSerialWords = 2;

std::string random_serial(Random& random) {
  std::string serial;
  for (std::size_t word = 0; word < kSerialWords; ++word) {
    std::uint64_t bits = random.next();
    for (std::size_t byte = 0; byte < sizeof bits; ++byte) {
      serial += static_cast<char>(bits & 0xff);
      bits >>= 8;
    }
  }
  return serial;
}

net::Validity validity_from(system_clock::time_point now, std::chrono::hours lifetime) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  return {seconds - kClockSkew, seconds + lifetime};
}

bool is_ip_address(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> parsed{};
  return ::inet_pton(AF_INET, text.c_str(), parsed.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), parsed.data()) == 1;
}

std::string this_host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

/// Loopback, this host, and what was asked for; addresses that mean "all of them" are no names.
std::vector<std::string> all_server_names(const std::vector<std::string>& wanted) {
  std::vector<std::string> names = {"localhost", "127.0.0.1", "::1", this_host()};
  names.insert(names.end(), wanted.begin(), wanted.end());
  std::erase_if(names, [](const std::string& name) { return name.empty() || name == "0.0.0.0" || name == "::"; });
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Status make_private_directory(const std::filesystem::path& directory) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) return errno_error(failure.value(), fmt::format("creating {}", directory.string()));
  std::filesystem::permissions(directory, std::filesystem::perms::owner_all, failure);
  if (failure) return errno_error(failure.value(), fmt::format("making {} private", directory.string()));
  return {};
}

}  // namespace

Result<Pki> Pki::open(PkiOptions options, Random& random, system_clock::time_point now) {
  Pki pki(std::move(options));
  pki.options_.server_names = all_server_names(pki.options_.server_names);
  STRAKE_CHECK_OK(make_private_directory(pki.options_.directory));
  STRAKE_CHECK_OK(pki.open_authority(random, now));
  STRAKE_TRY(pki.server_, pki.read_pair("server"));
  STRAKE_TRY(pki.admin_, pki.read_pair("admin"));
  STRAKE_CHECK_OK(pki.renew(random, now));
  return pki;
}

/// Empty texts for files that do not exist.
Result<PemPair> Pki::read_pair(const std::string& name) const {
  const auto read = [&](const char* extension) -> Result<std::string> {
    auto text = read_file(options_.directory / (name + extension), kMaxPemFileBytes);
    if (!text.ok() && text.error().code() == Code::kNotFound) return std::string();
    return text;
  };
  PemPair pair;
  STRAKE_TRY(pair.certificate, read(".crt"));
  STRAKE_TRY(pair.key, read(".key"));
  return pair;
}

/// The key first: a certificate without its key would look complete.
Status Pki::write_pair(const std::string& name, const PemPair& pair) const {
  STRAKE_CHECK_OK(write_file_atomic(options_.directory / (name + ".key"), pair.key, 0600));
  return write_file_atomic(options_.directory / (name + ".crt"), pair.certificate, 0600);
}

Status Pki::open_authority(Random& random, system_clock::time_point now) {
  const std::filesystem::path certificate_file = options_.directory / "ca.crt";
  STRAKE_TRY(PemPair pair, read_pair("ca"));
  if (pair.certificate.empty()) {
    // A key alone is left over from a first start that did not get far: nobody trusts it yet.
    STRAKE_TRY(const net::PrivateKey key, net::PrivateKey::generate());
    STRAKE_TRY(const net::Certificate certificate,
               net::make_ca(key, {.common_name = "strake",
                                  .validity = validity_from(now, options_.authority_lifetime),
                                  .serial = random_serial(random)}));
    pair = {certificate.to_pem(), key.to_pem()};
    STRAKE_CHECK_OK(write_pair("ca", pair));
  }
  const auto advice = [&](const Error& cause) {
    return error(
        Code::kCorrupt,
        "{}: {}; put the files back from a backup, or remove {} to begin with a new authority, which every client must "
        "then be given",
        certificate_file.string(), cause.to_string(), options_.directory.string());
  };
  auto certificate = net::Certificate::from_pem(pair.certificate);
  if (!certificate.ok()) return advice(certificate.error());
  auto key = net::PrivateKey::from_pem(pair.key);
  if (!key.ok()) return advice(key.error());
  if (const Status match = net::check_key_matches(*certificate, *key); !match.ok()) return advice(match.error());
  if (certificate->info().not_after <= std::chrono::floor<std::chrono::seconds>(now)) {
    return advice(Error(Code::kExpired, "the authority has expired"));
  }
  ca_pem_ = pair.certificate;
  ca_ = {*std::move(certificate)};
  ca_key_ = *std::move(key);
  return {};
}

Result<PemPair> Pki::issue(net::LeafRequest request, std::chrono::hours lifetime, Random& random,
                           system_clock::time_point now) const {
  request.validity = validity_from(now, lifetime);
  request.validity.not_after = std::min(request.validity.not_after, ca_.front().info().not_after);
  request.serial = random_serial(random);
  STRAKE_TRY(const net::PrivateKey key, net::PrivateKey::generate());
  STRAKE_TRY(const net::Certificate certificate, net::issue(ca_.front(), *ca_key_, key, request));
  return PemPair{certificate.to_pem(), key.to_pem()};
}

Result<PemPair> Pki::issue_client(const std::string& user, const std::vector<std::string>& groups,
                                  std::chrono::hours lifetime, Random& random, system_clock::time_point now) const {
  if (user.empty()) return error(Code::kInvalidArgument, "a client certificate needs a user");
  net::LeafRequest request;
  request.common_name = user;
  request.organizations = groups;
  request.client_auth = true;
  return issue(std::move(request), lifetime, random, now).context("issuing a client certificate for {}", user);
}

/// Readable, ours, matching its key, and with more than a third of its life left.
bool Pki::still_good(const PemPair& pair, std::chrono::hours lifetime, net::CertificatePurpose purpose,
                     system_clock::time_point now) const {
  if (pair.certificate.empty() || pair.key.empty()) return false;
  const auto certificate = net::Certificate::from_pem(pair.certificate);
  const auto key = net::PrivateKey::from_pem(pair.key);
  if (!certificate.ok() || !key.ok() || !net::check_key_matches(*certificate, *key).ok()) return false;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  if (!net::verify_chain(*certificate, {}, ca_, seconds, purpose).ok()) return false;
  const auto end_of_authority = ca_.front().info().not_after;
  return certificate->info().not_after == end_of_authority || certificate->info().not_after - seconds > lifetime / 3;
}

bool Pki::has_server_names(const PemPair& pair) const {
  const auto certificate = net::Certificate::from_pem(pair.certificate);
  if (!certificate.ok()) return false;
  return std::all_of(options_.server_names.begin(), options_.server_names.end(),
                     [&](const std::string& name) { return net::check_host(*certificate, name).ok(); });
}

Result<bool> Pki::renew(Random& random, system_clock::time_point now) {
  if (!still_good(admin_, options_.admin_lifetime, net::CertificatePurpose::kClient, now)) {
    STRAKE_TRY(PemPair admin, issue_client("strake:admin", {"strake:admins"}, options_.admin_lifetime, random, now));
    STRAKE_CHECK_OK(write_pair("admin", admin));
    admin_ = std::move(admin);
  }
  if (still_good(server_, options_.server_lifetime, net::CertificatePurpose::kServer, now) &&
      has_server_names(server_)) {
    return false;
  }
  net::LeafRequest request;
  request.common_name = "strake";
  request.server_auth = true;
  for (const std::string& name : options_.server_names) {
    (is_ip_address(name) ? request.ip_addresses : request.dns_names).push_back(name);
  }
  STRAKE_TRY_CONTEXT(PemPair server, issue(std::move(request), options_.server_lifetime, random, now),
                     "issuing the server's certificate");
  STRAKE_CHECK_OK(write_pair("server", server));
  server_ = std::move(server);
  return true;
}

}  // namespace strake::apistore::rest
