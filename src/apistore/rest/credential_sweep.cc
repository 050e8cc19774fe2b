#include "apistore/rest/credential_sweep.h"

namespace strake::apistore::rest {

Result<CredentialSweep::Version> CredentialSweep::version_of(const std::filesystem::path& path) {
  if (path.empty()) return Version();
  return pki::file_version(path);
}

Result<std::size_t> CredentialSweep::look(WallTime now) {
  std::pair<Version, Version> versions;
  STRAKE_TRY(versions.first, version_of(token_file_));
  STRAKE_TRY(versions.second, version_of(revocation_file_));
  const auto expiry = connections_.next_expiry();
  if (seen_ == versions && (!expiry || *expiry > now)) return std::size_t{0};

  Status read;
  ++sweeps_;
  const std::size_t cut = connections_.cut_unless([&](const Credential& credential) {
    Result<bool> counts = still_counts(credential, credentials_, now);
    if (counts.ok()) return *counts;
    if (read.ok()) read = counts.error();
    return true;
  });
  STRAKE_CHECK_OK(std::move(read).context("looking for credentials that do not count any more"));
  seen_ = versions;
  return cut;
}

}  // namespace strake::apistore::rest
