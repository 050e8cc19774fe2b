#include "pki/kept_identity.h"

#include <algorithm>

namespace strake::pki {

Result<KeptIdentity> KeptIdentity::open(const Authority& authority, std::string name, Subject subject,
                                        std::chrono::hours lifetime, Random& random, WallTime now) {
  KeptIdentity identity(std::move(name), std::move(subject), lifetime);
  STRAKE_TRY(identity.pair_, read_pair(authority.directory(), identity.name_));
  STRAKE_CHECK_OK(identity.renew(authority, random, now));
  return identity;
}

bool KeptIdentity::still_good(const Authority& authority, WallTime now) const {
  if (pair_.certificate.empty() || pair_.key.empty()) return false;
  const auto certificate = net::Certificate::from_pem(pair_.certificate);
  const auto key = net::PrivateKey::from_pem(pair_.key);
  if (!certificate.ok() || !key.ok() || !net::check_key_matches(*certificate, *key).ok()) return false;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  // Against the signer alone: what a predecessor signed is renewed before that one is retired.
  for (const auto& [wanted, purpose] : {std::pair(subject_.server, net::CertificatePurpose::kServer),
                                        std::pair(subject_.client, net::CertificatePurpose::kClient)}) {
    if (wanted && !net::verify_chain(*certificate, {}, {&authority.signer(), 1}, seconds, purpose).ok()) return false;
  }
  const net::CertificateInfo& info = certificate->info();
  if (info.common_name != subject_.common_name || info.organizations != subject_.organizations) return false;
  if (!std::all_of(subject_.hosts.begin(), subject_.hosts.end(),
                   [&](const std::string& host) { return net::check_host(*certificate, host).ok(); })) {
    return false;
  }
  return info.not_after == authority.signer().info().not_after || info.not_after - seconds > lifetime_ / 3;
}

Result<bool> KeptIdentity::renew(const Authority& authority, Random& random, WallTime now) {
  if (still_good(authority, now)) return false;
  STRAKE_TRY(PemPair fresh, authority.issue(subject_, lifetime_, random, now));
  STRAKE_CHECK_OK(write_pair(authority.directory(), name_, fresh));
  pair_ = std::move(fresh);
  return true;
}

}  // namespace strake::pki
