// Secrets, recognised by what they look like and where they stand, so that they can be withheld from whatever people
// and other programs read: differences, explanations, logs, errors, conditions.
//
// Recognition errs on the side of hiding: a hidden harmless file costs a second look with --show-secrets, a shown
// secret ends up in a ticket. Every search is linear in the text, whatever the text is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace strake {

enum class SecretKind {
  kPrivateKey,
  kKubeconfig,
  kPullSecret,
  kPasswordHash,
  kToken,
  kPassword,  ///< in clear text, by the name of what it is assigned to
  kKubernetesSecret,
  kPrivateFile,  ///< by its path, or because its owner alone may read it
};

/// "a private key": as a sentence needs it.
std::string_view to_string(SecretKind kind);

/// The first kind of secret that the contents of a file, a unit or a kernel argument hold.
std::optional<SecretKind> find_secret(std::string_view contents);

/// Whether a file holds a secret whatever it looks like: "/etc/ppp/chap-secrets", or mode 0600.
std::optional<SecretKind> find_secret_place(std::string_view path, std::optional<std::uint32_t> mode);

/// What stands in the place of a secret.
inline constexpr std::string_view kHiddenSecret = "(hidden)";

/// A text for people with each secret replaced. Unlike in the contents of a file "password: x" is no assignment here:
/// messages join what was being done with colons ("reading the password: no such file").
std::string without_secrets(std::string_view text);

/// What may stand in a condition, an event, an annotation or a status, whoever wrote it: without secrets and data URLs,
/// with control characters spelled out, at most `limit` bytes.
std::string public_text(std::string_view text, std::size_t limit);

/// Whether a name says that its value is secret: "AWS_SECRET_ACCESS_KEY", "registry-password", "DB_PASS".
bool names_a_secret(std::string_view name);

}  // namespace strake
