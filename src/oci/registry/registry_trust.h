// Whom to trust when speaking to a registry: a file named by the user, and the certs.d folders podman and docker read.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace strake::oci {

struct TrustOptions {
  std::filesystem::path certificate_authority;  ///< --certificate-authority FILE: trusted for every registry
  /// Folders with one folder a registry, "HOST[:PORT]"; the first that has one for a registry counts.
  std::vector<std::filesystem::path> certificate_folders;
  /// Beside those; a machine that trusts nobody else spares the reading of a long list for every connection.
  bool also_system_roots = true;
};

/// $XDG_CONFIG_HOME/containers/certs.d (or below ~/.config), /etc/containers/certs.d, /etc/docker/certs.d.
std::vector<std::filesystem::path> default_certificate_folders();

/// Trusted in addition to the roots of the machine, and what to show when the registry asks who we are.
struct RegistryTrust {
  std::string ca_pem;
  std::string client_certificate_pem;
  std::string client_key_pem;
};

/// In a registry's folder NAME.crt is an authority; NAME.cert with NAME.key is our certificate.
Result<RegistryTrust> load_registry_trust(std::string_view registry, const TrustOptions& options);

}  // namespace strake::oci
