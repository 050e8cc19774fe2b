#include "release/proven_release.h"

#include "oci/layout.h"

namespace strake::release {

std::string ReleaseProof::record() const {
  return is_signed() ? fmt::format("signed by {} of keyring {}", key_fingerprint, keyring) : "unsigned";
}

std::string ReleaseProof::public_record() const {
  return is_signed() ? fmt::format("signed by {}", key_fingerprint) : record();
}

ProvenRelease ProvenRelease::accept_unsigned(ReleasePayload payload) { return ProvenRelease(std::move(payload)); }

Result<ProvenRelease> read_proven_release(const ReleasePlace& place, const PayloadOptions& options,
                                          const SignatureDemand& demand, runtime::Runtime& runtime,
                                          const runtime::Call& call) {
  if (demand.keyrings.empty()) return error(Code::kInvalidArgument, "no keyring to check signatures with");
  STRAKE_TRY(const PlacedImage image, place.find_release(call));
  std::optional<ReleasePayload> payload;
  const auto read = [&]() -> Status {
    if (payload) return {};
    STRAKE_TRY(payload, read_payload(place, options, runtime, call));
    return {};
  };
  const ReadManifests manifests = [&]() -> Result<const std::map<std::string, std::string>*> {
    STRAKE_CHECK_OK(read());
    return &payload->manifests;
  };
  STRAKE_TRY_CONTEXT(SignatureProof proof, prove_signatures(place, image.entry.digest, demand, manifests, call),
                     "signature of {}", place.description());
  STRAKE_CHECK_OK(read());
  STRAKE_INVARIANT(payload->digest == image.entry.digest);
  ProvenRelease proven(*std::move(payload));
  STRAKE_INVARIANT(!proof.by_own_word && !proof.verdict.accepted.empty());
  const AcceptedSignature& first = proof.verdict.accepted.front();
  proven.proof_ = {first.keyring, first.key_fingerprint};
  proven.signatures_ = std::move(proof.verdict.accepted);
  proven.warnings_ = std::move(proof.verdict.warnings);
  return proven;
}

Result<ProvenRelease> read_signed_layout(const std::filesystem::path& directory, std::string_view reference,
                                         const Keyring& keyring, runtime::Runtime& runtime, const runtime::Call& call) {
  STRAKE_TRY(oci::Layout layout, oci::Layout::open(directory));
  const ReleasePlace place(std::make_unique<oci::Layout>(std::move(layout)), std::string(reference));
  STRAKE_TRY(const UrlReader reader, UrlReader::create());
  SignatureDemand demand;
  demand.keyrings = {keyring};
  demand.reader = &reader;
  return read_proven_release(place, {}, demand, runtime, call);
}

Keyring any_of_keyrings(const std::vector<Keyring>& keyrings) {
  Keyring all;
  for (const Keyring& keyring : keyrings) {
    all.name += (all.name.empty() ? "" : ", ") + keyring.name;
    all.packets += keyring.packets;
    all.entities.insert(all.entities.end(), keyring.entities.begin(), keyring.entities.end());
  }
  return all;
}

}  // namespace strake::release
