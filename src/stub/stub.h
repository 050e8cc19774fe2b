// A stub: the small Ignition config a machine is born with, which says where the rest is and whom to trust for it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "ignition/version.h"
#include "net/x509.h"

namespace strake::stub {

/// Where a stub sends its machine.
struct Pointer {
  std::string source;  ///< the URL as written
  std::string host;    ///< without brackets; "" when it is no URL of a server
  std::uint16_t port = 0;
  std::string pool;        ///< the last segment of the path, for /config/POOL; else ""
  std::string scheme;      ///< "https"
  bool has_token = false;  ///< an Authorization field goes with the request
  /// SHA-256 of the bearer token in it, by which its record is found; "" when there is none that can be read.
  std::string token_sha256;

  bool operator==(const Pointer&) const = default;
};

/// One entry of the list of authorities; they may hold several certificates.
struct Authority {
  std::vector<net::Certificate> certificates;
  std::string problem;  ///< why it cannot be read; "" when it can
};

struct Stub {
  ignition::SpecVersion version;
  std::vector<Pointer> pointers;
  std::vector<Authority> authorities;
  /// What the config has beside pointer and authorities, for people: "storage.files (2)", "passwd.users (1)".
  std::vector<std::string> extras;
  std::size_t bytes = 0;  ///< of the text

  bool points_to_config_server() const;
  /// Every certificate that can be read.
  std::vector<net::Certificate> trusted() const;
};

/// From JSON, gzipped JSON, or that in base64. Errors name the member and never its contents.
Result<Stub> read_stub(std::string_view bytes);

/// From here on a request may carry header fields, a token among them.
inline constexpr ignition::SpecVersion kFirstWithHeaders{3, 1};
/// What converted stubs are written in: the oldest every image with spec 3 reads.
inline constexpr ignition::SpecVersion kConvertedVersion{3, 1};

/// The stub with this token in every pointer to the pool's config, in place of one that was there. Compact JSON,
/// members and other header fields in the order they had. kUnsupported when its spec knows no header fields,
/// kInvalidArgument when it points to no config of that pool.
Result<std::string> with_token(std::string_view bytes, std::string_view pool, std::string_view token);

/// The oldest release of the Ignition program that reads a spec: "2.3.0" for 3.1, "0.x" for spec 2, which later ones do
/// not read.
std::string_view oldest_ignition(ignition::SpecVersion version);

}  // namespace strake::stub
