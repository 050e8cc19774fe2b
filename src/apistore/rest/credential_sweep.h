// CredentialSweep: ends the connections, and with them the watches, of whoever was revoked or has expired.
//
// It looks often and does nothing unless a file of credentials has changed or one in use has ended: two looks at the
// file system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "apistore/guard/connection_register.h"
#include "apistore/rest/authentication.h"
#include "pki/private_files.h"

namespace strake::apistore::rest {

class CredentialSweep {
 public:
  /// All must outlive it. Paths may be empty: then there is no such file.
  CredentialSweep(Credentials credentials, std::filesystem::path token_file, std::filesystem::path revocation_file,
                  ConnectionRegister& connections)
      : credentials_(credentials),
        token_file_(std::move(token_file)),
        revocation_file_(std::move(revocation_file)),
        connections_(connections) {}

  /// Returns how many connections were cut. On error nothing is, and the next look tries again: while the files cannot
  /// be read no request is answered anyway.
  Result<std::size_t> look(WallTime now);

  /// How often all open connections had to be gone through.
  std::uint64_t sweeps() const { return sweeps_; }

 private:
  using Version = std::optional<pki::FileVersion>;
  static Result<Version> version_of(const std::filesystem::path& path);

  const Credentials credentials_;
  const std::filesystem::path token_file_;
  const std::filesystem::path revocation_file_;
  ConnectionRegister& connections_;
  std::optional<std::pair<Version, Version>> seen_;
  std::uint64_t sweeps_ = 0;
};

}  // namespace strake::apistore::rest
