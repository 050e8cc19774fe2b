// OpenPGP public keyrings as releases carry them: armoured text or bare packets, looked into as far as trust needs it.
//
// Signatures are checked by gpgv (signature_check.h). Two questions it does not answer are answered here: which keys a
// keyring holds, and which of them are revoked. (gpgv reports a key that is both expired and revoked as expired alone.)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace strake::release {

inline constexpr std::size_t kMaxKeyringBytes = 4u << 20;

struct OpenPgpKey {
  std::string fingerprint;  ///< upper-case hex, as gpgv prints it
  bool revoked = false;
};

/// A primary key with its subkeys.
struct OpenPgpEntity {
  OpenPgpKey primary;
  std::vector<OpenPgpKey> subkeys;
};

struct Keyring {
  std::string name;     ///< for messages: the ConfigMap's key or the file
  std::string packets;  ///< bare OpenPGP packets
  std::vector<OpenPgpEntity> entities;

  /// nullptr when the keyring does not hold the key.
  const OpenPgpEntity* find_entity(std::string_view primary_fingerprint) const;
};

/// `bytes` are armoured or bare. Of armoured text only the first block is read, as the cluster reads it. Keys of
/// algorithms the cluster cannot read (EdDSA and later) do not count; a keyring without any other key is refused.
Result<Keyring> parse_keyring(std::string name, std::string_view bytes);

/// Bare packets as armoured text, for files and objects that hold text.
std::string armour_keyring(std::string_view packets);

}  // namespace strake::release
