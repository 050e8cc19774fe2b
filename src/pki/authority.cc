#include "pki/authority.h"

#include <arpa/inet.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/fd.h"
#include "base/private_folder.h"
#include "codec/digest.h"

namespace strake::pki {

namespace {

constexpr std::size_t kSerialWords = 2;
constexpr std::size_t kMaxKeyFileBytes = 64u << 10;

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

net::Validity validity_from(WallTime now, std::chrono::hours lifetime) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  return {seconds - Authority::kClockSkew, seconds + lifetime};
}

bool is_ip_address(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> parsed{};
  return ::inet_pton(AF_INET, text.c_str(), parsed.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), parsed.data()) == 1;
}

}  // namespace

Subject Subject::user(std::string name, std::vector<std::string> groups) {
  Subject subject;
  subject.common_name = std::move(name);
  subject.organizations = std::move(groups);
  subject.client = true;
  return subject;
}

Subject Subject::host(std::string name, std::vector<std::string> hosts) {
  Subject subject;
  subject.common_name = std::move(name);
  subject.hosts = std::move(hosts);
  subject.server = true;
  return subject;
}

Result<Authority> Authority::open(AuthorityOptions options, Random& random, WallTime now) {
  Authority authority(std::move(options));
  STRAKE_CHECK_OK(claim_private_folder(authority.options_.directory));
  std::error_code failure;
  const bool there = std::filesystem::exists(authority.directory() / "ca.crt", failure);
  if (failure) return errno_error(failure.value(), (authority.directory() / "ca.crt").string());
  // A key alone is left over from a first start that did not get far: nobody trusts it yet.
  if (!there) STRAKE_CHECK_OK(authority.create(random, now));
  if (const Status loaded = authority.load(now); !loaded.ok()) {
    return error(
        Code::kCorrupt,
        "{}: {}; put the files back from a backup, or remove {} to begin with a new authority, which every client must "
        "then be given",
        (authority.directory() / "ca.crt").string(), loaded.error().to_string(), authority.directory().string());
  }
  return authority;
}

Status Authority::create(Random& random, WallTime now) {
  STRAKE_TRY(const net::PrivateKey key, net::PrivateKey::generate());
  STRAKE_TRY(const net::Certificate certificate, make(key, random, now));
  return write_pair(options_.directory, "ca", {certificate.to_pem(), key.to_pem()});
}

Status Authority::load(WallTime now) {
  STRAKE_TRY(const PemPair pair, read_pair(options_.directory, "ca"));
  STRAKE_TRY(std::vector<net::Certificate> bundle, net::parse_bundle(pair.certificate));
  const auto at = std::chrono::floor<std::chrono::seconds>(now);
  if (bundle.front().info().not_after <= at) return error(Code::kExpired, "the authority has expired");
  std::erase_if(bundle, [&](const net::Certificate& certificate) { return certificate.info().not_after <= at; });
  STRAKE_TRY(net::PrivateKey key, key_of(bundle.front()));
  STRAKE_CHECK_OK(net::check_key_matches(bundle.front(), key));
  trusted_ = std::move(bundle);
  signer_key_ = {std::move(key)};
  return {};
}

std::filesystem::path Authority::later_key_file(const net::Certificate& certificate) const {
  return options_.directory / fmt::format("ca-{}.key", certificate.info().serial);
}

Result<net::PrivateKey> Authority::key_of(const net::Certificate& certificate) const {
  auto text = read_file(later_key_file(certificate), kMaxKeyFileBytes);
  if (!text.ok() && text.error().code() == Code::kNotFound) {
    text = read_file(options_.directory / "ca.key", kMaxKeyFileBytes);
  }
  if (!text.ok()) return text.error();
  return net::PrivateKey::from_pem(*text);
}

Result<net::Certificate> Authority::make(const net::PrivateKey& key, Random& random, WallTime now) const {
  return net::make_ca(key, {.common_name = options_.common_name,
                            .validity = validity_from(now, options_.lifetime),
                            .serial = random_serial(random)});
}

net::LeafRequest Authority::leaf(const Subject& subject, std::chrono::hours lifetime, Random& random,
                                 WallTime now) const {
  net::LeafRequest request;
  request.common_name = subject.common_name;
  request.organizations = subject.organizations;
  request.server_auth = subject.server;
  request.client_auth = subject.client;
  for (const std::string& host : subject.hosts) {
    (is_ip_address(host) ? request.ip_addresses : request.dns_names).push_back(host);
  }
  request.validity = validity_from(now, lifetime);
  request.validity.not_after = std::min(request.validity.not_after, signer().info().not_after);
  request.serial = random_serial(random);
  return request;
}

Result<PemPair> Authority::issue(const Subject& subject, std::chrono::hours lifetime, Random& random,
                                 WallTime now) const {
  STRAKE_TRY(const net::PrivateKey key, net::PrivateKey::generate());
  STRAKE_TRY_CONTEXT(const net::Certificate certificate,
                     net::issue(signer(), signer_key_.front(), key, leaf(subject, lifetime, random, now)),
                     "issuing a certificate for {}", subject.common_name);
  return PemPair{certificate.to_pem(), key.to_pem()};
}

Result<std::string> Authority::sign(const net::CertificateRequest& request, const Subject& subject,
                                    std::chrono::hours lifetime, Random& random, WallTime now) const {
  STRAKE_TRY_CONTEXT(const net::Certificate certificate,
                     net::issue(signer(), signer_key_.front(), request, leaf(subject, lifetime, random, now)),
                     "signing a certificate request for {}", subject.common_name);
  return certificate.to_pem();
}

Status Authority::keep(std::vector<net::Certificate> trusted) {
  STRAKE_TRY(net::PrivateKey key, key_of(trusted.front()));
  STRAKE_CHECK_OK(net::check_key_matches(trusted.front(), key));
  STRAKE_CHECK_OK(write_file_atomic(options_.directory / "ca.crt", net::to_pem(trusted), 0600));
  trusted_ = std::move(trusted);
  signer_key_ = {std::move(key)};
  return {};
}

std::string_view to_string(Rotation rotation) {
  switch (rotation) {
    case Rotation::kSettled: return "settled";
    case Rotation::kAnnounced: return "announced";
    case Rotation::kSigning: return "signing";
  }
  return "";
}

Rotation Authority::rotation() const {
  if (trusted_.size() < 2) return Rotation::kSettled;
  return trusted_[1].info().not_before > signer().info().not_before ? Rotation::kAnnounced : Rotation::kSigning;
}

std::string Authority::trust_sha256() const { return codec::sha256_hex(trusted_pem()); }

Status Authority::add_successor(Random& random, WallTime now) {
  if (trusted_.size() > 1) {
    return error(Code::kExists, "{} holds two authorities already: finish that rotation first",
                 (options_.directory / "ca.crt").string());
  }
  STRAKE_TRY(const net::PrivateKey key, net::PrivateKey::generate());
  // One made in the first one's own second is dated a second later, to be the younger.
  if (validity_from(now, options_.lifetime).not_before == signer().info().not_before) now += std::chrono::seconds(1);
  STRAKE_TRY(const net::Certificate next, make(key, random, now));
  // The younger one is the successor: that is all that tells them apart after the next step.
  if (next.info().not_before <= signer().info().not_before) {
    return error(Code::kInvalidArgument, "this machine's clock is behind the authority's first day: set the clock");
  }
  STRAKE_CHECK_OK(write_file_atomic(later_key_file(next), key.to_pem(), 0600));
  return keep({signer(), next});
}

Status Authority::promote_successor() {
  if (rotation() != Rotation::kAnnounced) {
    return error(Code::kNotFound, "{} holds no successor", (options_.directory / "ca.crt").string());
  }
  return keep({trusted_[1], trusted_[0]});
}

Status Authority::retire_predecessors() {
  if (trusted_.size() < 2) return {};
  if (rotation() == Rotation::kAnnounced) {
    return error(Code::kConflict, "the successor does not sign yet: promote it first");
  }
  const net::Certificate old = trusted_[1];
  STRAKE_CHECK_OK(keep({signer()}));
  // Whose certificate nobody trusts any more: a key left behind after a failure here can do no harm.
  std::error_code ignored;
  if (!std::filesystem::remove(later_key_file(old), ignored)) {
    std::filesystem::remove(options_.directory / "ca.key", ignored);
  }
  return {};
}

}  // namespace strake::pki
