// TLS security profiles by name, as settings of a kubelet.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace strake::machineconfig {

struct TlsSettings {
  std::string min_version;           ///< "VersionTLS12"
  std::vector<std::string> ciphers;  ///< by their IANA names
};

/// {type: Old | Intermediate | Modern} or {type: Custom, custom: {minTLSVersion, ciphers}}, ciphers as OpenSSL names
/// them; those a Go program does not have are left out.
Result<TlsSettings> tls_settings(const json::Value& profile);

}  // namespace strake::machineconfig
