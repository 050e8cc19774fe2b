// Secrets, recognised by what they look like, so that a diff can say that they changed without showing them.
//
// Recognition errs on the side of hiding: a hidden harmless file costs a second look with --show-secrets, a shown
// secret ends up in a ticket. Nothing derived from a secret is shown but its size: a digest of a weak one could be
// guessed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codec/json.h"

namespace strake::machineconfig {

enum class SecretKind {
  kPrivateKey,
  kKubeconfig,
  kPullSecret,
  kPasswordHash,
  kToken,
  kPassword,  ///< in clear text, by the name of the key it is assigned to
  kKubernetesSecret,
};

/// "a private key": as a sentence needs it.
std::string_view to_string(SecretKind kind);

/// The first kind of secret that `contents` hold.
std::optional<SecretKind> find_secret(std::string_view contents);

/// What is secret by its place in an Ignition config is replaced: password hashes, key files and anything else in a
/// data URL, HTTP headers. Returns whether there was any.
bool hide_secret_members(json::Value& section);

}  // namespace strake::machineconfig
