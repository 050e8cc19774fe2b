// A real container registry (docker-registry of the distribution) for tests: TLS, and a password or tokens.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "support/pki.h"
#include "support/temp_dir.h"
#include "support/token_server.h"

namespace strake::test {

enum class RegistryLogin { kPassword, kToken };

inline constexpr const char* kRegistryUser = "bot";
inline constexpr const char* kRegistryPassword = "pw";

class RegistryServer {
 public:
  static Result<std::unique_ptr<RegistryServer>> start(RegistryLogin login);
  ~RegistryServer();

  /// From now on nobody answers at its address.
  void stop();

  const std::string& host() const { return host_; }  ///< "127.0.0.1:PORT"
  /// Of the server that gives tokens, where the login wants them.
  std::optional<std::string> token_host() const;
  const std::filesystem::path& ca_file() const { return pki_->authority().certificate; }
  /// A folder with the authority as ca.crt, as --cert-dir wants it.
  std::filesystem::path certificate_folder() const { return directory() / "certs"; }
  /// A folder with config.json, as DOCKER_CONFIG wants it; the file is an auth file too.
  std::filesystem::path login_folder() const { return directory() / "login"; }
  const std::filesystem::path& directory() const { return directory_->path(); }

  /// Runs skopeo, buildah or crane, seeing nothing of the caller's environment; anything but success is an error.
  Result<std::string> run_client(std::vector<std::string> argv) const;

 private:
  RegistryServer() : directory_(std::make_unique<TempDir>()) {}
  Status prepare(RegistryLogin login);
  Status launch();

  std::unique_ptr<TempDir> directory_;
  std::optional<TestPki> pki_;
  CertificateFiles server_;
  std::unique_ptr<TokenServer> tokens_;
  std::string login_config_;
  std::string host_;
  std::optional<ChildProcess> process_;
};

}  // namespace strake::test
