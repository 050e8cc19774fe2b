// A key that lives as long as this object, and release signatures made with it: for the sample releases, which nobody
// else signs.
//
// ECDSA on P-256 with SHA-256 (RFC 4880 and RFC 6637): what gpgv and clusters can check. A vendor's key is kept and
// used elsewhere; nothing here reads one.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "codec/digest.h"
#include "release/signature/openpgp_keyring.h"

namespace strake::release {

class ReleaseSigner {
 public:
  using WallTime = std::chrono::system_clock::time_point;

  /// A new key for `user` ("Strake sample releases"), dated `now`.
  static Result<ReleaseSigner> create(std::string_view user, WallTime now);
  ReleaseSigner(ReleaseSigner&&) noexcept;
  ReleaseSigner& operator=(ReleaseSigner&&) noexcept;
  ~ReleaseSigner();

  /// Its public half.
  const Keyring& keyring() const;
  /// The statement "this digest is known under this name" as a signed message, as stores keep them.
  Result<std::string> sign_release(const codec::Digest& digest, std::string_view name, WallTime now) const;

 private:
  struct Impl;
  explicit ReleaseSigner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strake::release
