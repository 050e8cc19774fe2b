// Which certificate authorities a client trusts. Private to this module.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace strake::net {

/// One of the two is set; libcurl parses a file once and keeps it, which matters for the long list of a machine's
/// roots.
struct ClientTrust {
  std::string pem;
  std::string file;
};

Result<ClientTrust> resolve_client_trust(const std::string& ca_pem, const std::filesystem::path& ca_file,
                                         bool also_system_roots);

}  // namespace strake::net
