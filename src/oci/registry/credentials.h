// Credentials for registries: the auth files of podman and docker, and credential helpers.
//
// Files are asked in the order of podman; the first that knows the registry decides. Within a file the longest key that
// is a prefix of the repository wins ("quay.io/org/os", "quay.io/org", "quay.io"); a helper named for the host comes
// before the keys, the file's general store (credsStore) after them. Secrets are handed over and never printed: no
// error and no description of anything here holds one.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"

namespace strake::oci {

inline constexpr std::size_t kMaxAuthFileBytes = 4u << 20;

struct Credentials {
  std::string user;
  std::string password;
  std::string identity_token = {};  ///< an OAuth2 refresh token instead of a password

  bool operator==(const Credentials&) const = default;
};

/// One auth file, as data.
struct AuthFile {
  std::map<std::string, Credentials> entries;  ///< by "host[:port][/path]"
  std::map<std::string, std::string> helpers;  ///< credHelpers: helper by host
  std::string default_helper;                  ///< credsStore

  /// The entry of the longest key that covers the repository; nullptr when there is none.
  const Credentials* find(std::string_view registry, std::string_view repository) const;
  /// The helper for the host itself; empty when there is none.
  std::string find_helper(std::string_view registry) const;
};

/// Members it does not know are left alone. Errors name the key, never its value.
Result<AuthFile> parse_auth_file(std::string_view text);

using RunCommand = std::function<Result<ProcessOutput>(const Command& command, std::stop_token stop)>;

/// What the search depends on; tests bring their own.
struct CredentialOptions {
  std::vector<std::filesystem::path> files;  ///< in the order they are asked; missing ones are fine
  bool files_required = false;               ///< the user named the file: it must be there
  std::chrono::milliseconds helper_timeout{30'000};
  RunCommand run;  ///< empty: strake::run
};

using ReadVariable = std::function<std::optional<std::string>(std::string_view name)>;

/// $REGISTRY_AUTH_FILE alone when it is set; else $XDG_RUNTIME_DIR/containers/auth.json (/run/containers/UID without
/// the variable), ~/.config/containers/auth.json and ~/.docker/config.json.
CredentialOptions credential_options(const ReadVariable& variable, unsigned user_id);
CredentialOptions credential_options_from_process();

/// nullopt: nothing is known about this registry, ask anonymously.
Result<std::optional<Credentials>> find_credentials(std::string_view registry, std::string_view repository,
                                                    const CredentialOptions& options, std::stop_token stop = {});

/// Letters, digits, '-', '_' and '.', not beginning with a separator: nothing that could lead to another program.
bool is_helper_name(std::string_view name);

/// Runs docker-credential-NAME get. nullopt: the helper has nothing for this host.
Result<std::optional<Credentials>> ask_credential_helper(std::string_view name, std::string_view registry,
                                                         const CredentialOptions& options, std::stop_token stop);

}  // namespace strake::oci
