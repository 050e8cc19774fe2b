// Whose sigstore signature an image needs, as verbs are told.
#pragma once

#include "cmd/cli/command.h"
#include "oci/sigstore/sigstore.h"

namespace strake::cmd {

/// Beside an option "sigstore-key".
inline constexpr OptionSpec kSigstoreIdentityOption{
    "identity", "RULE",
    "with --sigstore-key: which signed names fit, as in policy.json: matchRepoDigestOrExact (the default), matchExact, "
    "matchRepository, exactReference=NAME, exactRepository=NAME, remapIdentity=PREFIX=SIGNEDPREFIX"};

/// From --sigstore-key, which has to be there.
Result<oci::SigstoreKey> read_sigstore_key(const Invocation& invocation);
/// From --identity; without it the default.
Result<oci::SigstoreIdentity> read_sigstore_identity(const Invocation& invocation);

}  // namespace strake::cmd
