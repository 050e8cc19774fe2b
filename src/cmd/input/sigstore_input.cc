#include "cmd/input/sigstore_input.h"

#include "cmd/input/text_input.h"

namespace strake::cmd {

namespace {

constexpr std::size_t kMaxSigstoreKeyBytes = 64u << 10;

}  // namespace

Result<oci::SigstoreKey> read_sigstore_key(const Invocation& invocation) {
  const std::string& file = invocation.value("sigstore-key");
  STRAKE_TRY(const std::string pem, read_text_input(file, kMaxSigstoreKeyBytes));
  return oci::SigstoreKey::parse(pem).context("--sigstore-key {}", shown_path(file));
}

Result<oci::SigstoreIdentity> read_sigstore_identity(const Invocation& invocation) {
  if (!invocation.has("identity")) return oci::SigstoreIdentity{};
  return oci::parse_sigstore_identity(invocation.value("identity")).context("--identity");
}

}  // namespace strake::cmd
