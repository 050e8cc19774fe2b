// A release as a vendor publishes it, small: components and release image in one registry, put there by skopeo; boot
// artifacts behind URLs; signed by the real gpg and, sigstore's way, by openssl.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/gpg_signer.h"
#include "support/registry_server.h"
#include "support/temp_dir.h"

namespace strake::test {

inline constexpr const char* kPublishedVersion = "4.21.7";

class RegistryRelease {
 public:
  /// Publishes everything; failures are failed expectations.
  explicit RegistryRelease(const RegistryServer& registry);

  /// HOST/up/release:4.21.7
  std::string reference() const;
  const std::string& digest() const { return digest_; }
  /// By component: HOST/up/art-dev@sha256:...
  const std::map<std::string, std::string>& components() const { return components_; }
  std::filesystem::path keyring() const { return dir_ / "release.asc"; }
  std::filesystem::path signature_store() const { return dir_ / "store"; }
  std::filesystem::path sigstore_key() const { return dir_ / "sigstore.pub"; }
  /// The folder behind the URLs of the boot artifacts: x86_64.iso and so on.
  std::filesystem::path artifact_folder() const { return dir_ / "artifacts"; }
  /// What --allow-location takes: the signature store and the boot artifacts of this release are files of this machine.
  std::string location_prefix() const { return "file://" + dir_.path().string(); }
  std::string artifact_sha256(const std::string& file) const;
  const std::filesystem::path& directory() const { return dir_.path(); }
  const GpgSigner& signer() const { return signer_; }

 private:
  std::string push(const std::filesystem::path& layout, const std::string& name, const std::string& repository,
                   const std::string& tag);
  std::string publish_component(const std::string& name, const std::map<std::string, std::string>& labels);
  void attach_sigstore(const std::string& repository, const std::string& digest, const std::string& signed_as);
  std::string boot_image_manifest();
  void publish_release();

  const RegistryServer& registry_;
  TempDir dir_;
  GpgSigner signer_;
  std::map<std::string, std::string> components_;
  std::string digest_;
};

}  // namespace strake::test
