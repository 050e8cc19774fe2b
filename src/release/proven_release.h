// A release that may be published: signed under a keyring of the user's, or taken unsigned because the user said so.
//
// Only the two functions below make one, so that nothing reaches a cluster by another way. The order is: the name is
// looked up once, the signature of that digest is checked, then the image of that digest is read.
#pragma once

#include <string>
#include <vector>

#include "release/payload.h"
#include "release/release_signatures.h"

namespace strake::release {

/// Why a release is believed.
struct ReleaseProof {
  std::string keyring = {};          ///< whose key it was; empty: it is not signed
  std::string key_fingerprint = {};  ///< of the key that signed

  bool is_signed() const { return !key_fingerprint.empty(); }
  /// "signed by KEY of keyring NAME", "unsigned": what is kept with the release.
  std::string record() const;
  /// The same without the keyring, whose name is a path on somebody's machine: for what leaves it.
  std::string public_record() const;
};

class ProvenRelease {
 public:
  const ReleasePayload& payload() const { return payload_; }
  const ReleaseProof& proof() const { return proof_; }
  /// The good ones, to be carried along; none when it is not signed.
  const std::vector<AcceptedSignature>& signatures() const { return signatures_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// At the explicit wish of the user, which is recorded.
  static ProvenRelease accept_unsigned(ReleasePayload payload);

 private:
  friend Result<ProvenRelease> read_proven_release(const ReleasePlace& place, const PayloadOptions& options,
                                                   const SignatureDemand& demand, runtime::Runtime& runtime,
                                                   const runtime::Call& call);
  explicit ProvenRelease(ReleasePayload payload) : payload_(std::move(payload)) {}

  ReleasePayload payload_;
  ReleaseProof proof_;
  std::vector<AcceptedSignature> signatures_;
  std::vector<std::string> warnings_;
};

/// kDenied ("not genuine") without a good signature. The demand has to bring keyrings: those the release names itself
/// prove nothing to whoever is about to use it.
Result<ProvenRelease> read_proven_release(const ReleasePlace& place, const PayloadOptions& options,
                                          const SignatureDemand& demand, runtime::Runtime& runtime,
                                          const runtime::Call& call);

/// The release in a layout folder, `reference` in its index.json.
Result<ProvenRelease> read_signed_layout(const std::filesystem::path& directory, std::string_view reference,
                                         const Keyring& keyring, runtime::Runtime& runtime, const runtime::Call& call);

/// One keyring out of several, each of whose keys may have signed.
Keyring any_of_keyrings(const std::vector<Keyring>& keyrings);

}  // namespace strake::release
