#include "oci/registry/registry_trust.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "base/fd.h"
#include "net/x509.h"

namespace strake::oci {

namespace {

constexpr std::size_t kMaxTrustFiles = 256;

Result<std::vector<std::filesystem::path>> sorted_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code failure;
  for (std::filesystem::directory_iterator it(folder, failure), end; !failure && it != end; it.increment(failure)) {
    if (files.size() == kMaxTrustFiles) {
      return error(Code::kExhausted, "{} has more than {} files", folder.string(), kMaxTrustFiles);
    }
    files.push_back(it->path());
  }
  if (failure) return errno_error(failure.value(), folder.string());
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::string> read_authority(const std::filesystem::path& file) {
  STRAKE_TRY(const std::string text, read_file(file, net::kMaxPemBytes));
  STRAKE_TRY_CONTEXT(const auto bundle, net::parse_bundle(text), "certificate authority {}", file.string());
  return net::to_pem(bundle);
}

Status read_folder(const std::filesystem::path& folder, RegistryTrust& trust) {
  STRAKE_TRY(const auto files, sorted_files(folder));
  for (const std::filesystem::path& file : files) {
    if (file.extension() == ".crt") {
      STRAKE_TRY(const std::string pem, read_authority(file));
      trust.ca_pem += pem;
    } else if (file.extension() == ".cert") {
      std::filesystem::path key = file;
      key.replace_extension(".key");
      if (!trust.client_certificate_pem.empty()) {
        return error(Code::kInvalidArgument, "{} is a second client certificate: keep one", file.string());
      }
      STRAKE_TRY(trust.client_certificate_pem, read_file(file, net::kMaxPemBytes));
      STRAKE_TRY_CONTEXT(trust.client_key_pem, read_file(key, net::kMaxPemBytes), "the key of {}", file.string());
    }
  }
  return {};
}

}  // namespace

std::vector<std::filesystem::path> default_certificate_folders() {
  std::vector<std::filesystem::path> folders;
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config != nullptr && *config != '\0') {
    folders.push_back(std::filesystem::path(config) / "containers/certs.d");
  } else if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    folders.push_back(std::filesystem::path(home) / ".config/containers/certs.d");
  }
  folders.emplace_back("/etc/containers/certs.d");
  folders.emplace_back("/etc/docker/certs.d");
  return folders;
}

Result<RegistryTrust> load_registry_trust(std::string_view registry, const TrustOptions& options) {
  RegistryTrust trust;
  if (!options.certificate_authority.empty()) {
    STRAKE_TRY(trust.ca_pem, read_authority(options.certificate_authority));
  }
  for (const std::filesystem::path& parent : options.certificate_folders) {
    const std::filesystem::path folder = parent / registry;
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored)) continue;
    STRAKE_CHECK_OK(read_folder(folder, trust).context("trust for registry {}", registry));
    break;
  }
  return trust;
}

}  // namespace strake::oci
