// The OpenPGP signatures of a release: found, checked, and carried along.
//
// A mirror carries them beside the release as an image of their own (tag sha256-HEX.gpg), so that whoever has nothing
// but the mirror can verify. They are asked first; the stores only when those do not suffice.
#pragma once

#include <functional>
#include <map>
#include <span>

#include "release/artifact_image.h"
#include "release/release_place.h"
#include "release/signature/signature.h"

namespace strake::release {

/// Who has to have signed, and where else to look.
struct SignatureDemand {
  std::vector<Keyring> keyrings;              ///< empty: those the payload names
  std::vector<std::string> stores;            ///< URLs and paths; empty: those the payload names
  const UrlReader* reader = nullptr;          ///< for the stores above; not owned
  const UrlReader* foreign_reader = nullptr;  ///< for those the payload names, with foreign_urls; nullptr: not asked
  net::CallOptions call;
};

struct SignatureProof {
  SignatureVerdict verdict;
  bool by_own_word = false;  ///< the keyrings are those of the payload
};

/// The files of the payload's release-manifests/; called when they are needed.
using ReadManifests = std::function<Result<const std::map<std::string, std::string>*>()>;

/// With keyrings of the caller's the payload is not read unless the signatures are nowhere else. Stores the payload
/// names are asked only when the release itself came over the network, and only where they may lead (foreign_url.h).
Result<SignatureProof> prove_signatures(const ReleasePlace& place, const codec::Digest& digest,
                                        const SignatureDemand& demand, const ReadManifests& manifests,
                                        const runtime::Call& call);

/// "sha256-<hex>.gpg": where the signatures lie in the repository of their release.
std::string signature_artifact_tag(const codec::Digest& digest);

/// An image under that tag, one file a signature.
void add_signature_artifact(ArtifactImages& images, const codec::Digest& digest,
                            std::span<const AcceptedSignature> signatures);

/// What lies beside the release; nothing found is a note, no error.
Result<SignatureSearch> search_beside(const ReleasePlace& place, const codec::Digest& digest,
                                      const runtime::Call& call);

/// The ConfigMap clusters look signatures up in, as `oc adm release mirror` writes it: namespace
/// openshift-config-managed, binaryData sha256-HEX-1 and so on.
json::Value signature_config_map(const codec::Digest& digest, std::span<const AcceptedSignature> signatures);

}  // namespace strake::release
