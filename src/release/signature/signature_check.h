// One OpenPGP signed message checked with one keyring, by gpgv.
//
// gpgv and not gpgme: that drives gpg, which wants the keys imported into a home of its own and brings its daemons;
// gpgv is one small program that does nothing but verify, reads the keyring it is given and writes nothing. It needs no
// agent, no trust database and no network, and a relocatable bundle carries it as one more file.
// It runs with an empty environment, and its two inputs lie in a private folder that is removed afterwards.
//
// Accepted and refused as clusters do it:
//   accepted   one binary signed message, compressed (ZIP, ZLIB, BZIP2) or not, in text mode or not; bytes after it;
//              keys that have expired, a signature made after that included (a warning); signatures dated in the
//              future or made with SHA-1
//   refused    armoured, clear-signed and detached signatures; two signers; a signature past its own lifetime; a key
//              that is revoked, expired or not; EdDSA keys
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "release/signature/openpgp_keyring.h"

namespace strake::release {

/// Real ones have about 1 KiB.
inline constexpr std::size_t kMaxSignatureBytes = 1u << 20;

struct CheckedMessage {
  std::string content;
  std::string key_fingerprint;      ///< of the key or subkey that signed
  std::string primary_fingerprint;  ///< of the key it belongs to
  bool key_expired = false;
};

class SignatureChecker {
 public:
  /// `gpgv`: a path, or a name that is looked up in PATH.
  explicit SignatureChecker(std::string gpgv = "gpgv") : gpgv_(std::move(gpgv)) {}

  /// kDenied when the signature does not hold, saying which link broke; other codes when it could not be checked.
  Result<CheckedMessage> check(const Keyring& keyring, std::string_view message, std::stop_token stop = {}) const;

 private:
  std::string gpgv_;
};

/// What gpgv's status lines amount to; kDenied unless they tell of one good signature of one text and of nothing else.
Result<CheckedMessage> judge_gpgv_status(const Keyring& keyring, std::string_view status_text);

}  // namespace strake::release
