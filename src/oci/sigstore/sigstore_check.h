// The sigstore signatures attached to an image, fetched and checked.
//
// They lie under the tag sha256-HEX.sig, or are referrers of the image (ImageSource::find_referrers): manifests of the
// same form whose artifact type says that they are signatures. The tag is looked at first.
#pragma once

#include <span>
#include <string>

#include "oci/image_source.h"
#include "oci/sigstore/sigstore.h"

namespace strake::oci {

/// So many signatures of one image are looked at, wherever they lie: who may write to a repository must not keep its
/// readers busy.
inline constexpr std::size_t kMaxSigstoreSignatures = 64;

/// What cosign calls a signature that is a referrer.
inline constexpr std::string_view kSigstoreArtifactType = "application/vnd.dev.cosign.artifact.sig.v1+json";
/// The later form, which names no image: recognised, so that it can be said why it does not count.
inline constexpr std::string_view kSigstoreBundleType = "application/vnd.dev.sigstore.bundle.";

struct SigstoreProof {
  SigstoreStatement statement;
  std::string found_at;  ///< "tag sha256-....sig", "referrer sha256:..."
};

/// One good signature by one of the keys is enough. `name`: what the image is used under, with its tag or digest.
/// kDenied lists what is wrong with each; there being none at all is kDenied too.
Result<SigstoreProof> check_sigstore(const ImageSource& source, const codec::Digest& digest, std::string_view name,
                                     std::span<const SigstoreKey> keys, const SigstoreIdentity& identity,
                                     const runtime::Call& call);

}  // namespace strake::oci
