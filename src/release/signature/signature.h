// Is a release image signed by those it has to be signed by?
//
// The rule of clusters: for every keyring there must be one signature, found in any store, that is made by a key of
// this keyring and states the image's digest (signature_check.h and signature_payload.h say what counts). Whose
// keyrings and stores are asked is the caller's choice: those of the release that runs now for an upgrade, those of the
// payload itself when nothing else is known. The digest is the one the image is referred to by: the list's for an image
// of several platforms.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "codec/digest.h"
#include "release/signature/signature_check.h"
#include "release/signature/signature_payload.h"
#include "release/signature/signature_store.h"

namespace strake::release {

/// What a release's verification ConfigMap says.
struct SignatureTrust {
  std::vector<Keyring> keyrings;    ///< verifier-public-key-*
  std::vector<std::string> stores;  ///< store-*: URLs
};

/// The first manifest, by file name, that carries the annotation release.openshift.io/verification-config-map. It is
/// refused as a whole when it has no keyring or no store, when one keyring cannot be read or when one store is not an
/// http, https or file URL. kNotFound: the release says nothing, so it cannot be verified by its own word.
Result<SignatureTrust> trust_of_manifests(const std::map<std::string, std::string>& manifests);

struct AcceptedSignature {
  std::string keyring;
  std::string source;
  std::string key_fingerprint;
  bool key_expired = false;
  SignaturePayload payload;
  std::string bytes;  ///< the signature itself, to carry it along
};

struct SignatureVerdict {
  std::vector<AcceptedSignature> accepted;  ///< one for every keyring, in their order
  std::vector<std::string> warnings;        ///< keys that have expired
};

/// kDenied names the keyring without a good signature, and for every signature the link that broke. Its verdict is
/// "unreachable" where no signature was found and one of the places did not answer, else "not genuine".
Result<SignatureVerdict> verify_signatures(const codec::Digest& digest, std::span<const Keyring> keyrings,
                                           const SignatureSearch& search, const SignatureChecker& checker,
                                           std::stop_token stop = {});

}  // namespace strake::release
