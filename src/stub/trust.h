// Changing whom a stub trusts, with the least change: one entry gets another list, everything else stays as written.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/x509.h"

namespace strake::stub {

/// Fingerprints as CertificateInfo::sha256 gives them.
using Fingerprints = std::set<std::string, std::less<>>;

struct TrustChange {
  std::vector<net::Certificate> add;  ///< before those that are there; one that is there already is not added
  Fingerprints drop;
};

/// The stub as compact JSON. kUnsupported: it has not exactly one entry of authorities, so that it is not clear which
/// one is meant. The result is checked: it points as the old one does and trusts what it should.
Result<std::string> with_trust(std::string_view bytes, const TrustChange& change);

}  // namespace strake::stub
