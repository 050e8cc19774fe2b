#include "release/release_signatures.h"

#include "codec/base64.h"

namespace strake::release {

namespace {

constexpr std::string_view kSignatureArtifactType = "application/vnd.strake.release-signature.v1";

Status add_stores(SignatureSearch& search, const std::vector<std::string>& stores, const codec::Digest& digest,
                  const UrlReader& reader, const net::CallOptions& call) {
  for (const std::string& store : stores) {
    STRAKE_TRY(SignatureSearch found, search_place(reader, store, digest, call));
    search.append(std::move(found));
  }
  return {};
}

/// Those the payload names: URLs, and never paths.
Status add_foreign_stores(SignatureSearch& search, const std::vector<std::string>& stores, const codec::Digest& digest,
                          const SignatureDemand& demand) {
  for (const std::string& store : stores) {
    STRAKE_TRY(SignatureSearch found, search_store(*demand.foreign_reader, store, digest, demand.call));
    search.append(std::move(found));
  }
  return {};
}

}  // namespace

Result<SignatureProof> prove_signatures(const ReleasePlace& place, const codec::Digest& digest,
                                        const SignatureDemand& demand, const ReadManifests& manifests,
                                        const runtime::Call& call) {
  std::vector<Keyring> keyrings = demand.keyrings;
  std::vector<std::string> foreign_stores, not_asked;
  const auto ask_payload = [&]() -> Status {
    STRAKE_TRY(const auto* files, manifests());
    STRAKE_TRY(SignatureTrust trust, trust_of_manifests(*files));
    if (keyrings.empty()) keyrings = std::move(trust.keyrings);
    if (!demand.stores.empty()) return {};
    // What was carried across an air gap does not reach out again unless it is told to, and it does not say which
    // files of this machine are to be read.
    const bool may_ask = !place.is_local() && demand.foreign_reader != nullptr;
    (may_ask ? foreign_stores : not_asked) = std::move(trust.stores);
    return {};
  };
  const bool by_own_word = keyrings.empty();
  if (by_own_word) STRAKE_CHECK_OK(ask_payload());
  const auto judge = [&](const SignatureSearch& search) {
    return verify_signatures(digest, keyrings, search, SignatureChecker(), call.stop);
  };
  STRAKE_TRY(SignatureSearch search, search_beside(place, digest, call));
  Result<SignatureVerdict> beside = judge(search);
  if (beside.ok()) return SignatureProof{*std::move(beside), by_own_word};
  if (beside.error().code() != Code::kDenied) return std::move(beside).error();
  if (demand.stores.empty()) {
    const Status asked = ask_payload();
    // The payload has nothing to say: what is missing is a good signature.
    if (!asked.ok()) return asked.error().code() == Code::kNotFound ? std::move(beside).error() : asked.error();
  }
  for (const std::string& store : not_asked) {
    search.notes.push_back(
        fmt::format("{}: not asked, as the release lies in a folder or file; --signature-store asks", store));
  }
  if (!demand.stores.empty()) {
    STRAKE_CHECK_OK(add_stores(search, demand.stores, digest, *demand.reader, demand.call));
  }
  STRAKE_CHECK_OK(add_foreign_stores(search, foreign_stores, digest, demand));
  STRAKE_TRY(SignatureVerdict verdict, judge(search));
  return SignatureProof{std::move(verdict), by_own_word};
}

std::string signature_artifact_tag(const codec::Digest& digest) {
  return fmt::format("{}-{}.gpg", codec::to_string(digest.algorithm()), digest.hex());
}

void add_signature_artifact(ArtifactImages& images, const codec::Digest& digest,
                            std::span<const AcceptedSignature> signatures) {
  std::vector<ArtifactImages::File> files;
  for (const AcceptedSignature& signature : signatures) {
    files.push_back(
        {std::string(kSignatureArtifactType), fmt::format("signature-{}", files.size() + 1), signature.bytes});
  }
  images.add(signature_artifact_tag(digest), kSignatureArtifactType, files);
}

Result<SignatureSearch> search_beside(const ReleasePlace& place, const codec::Digest& digest,
                                      const runtime::Call& call) {
  const std::string tag = signature_artifact_tag(digest);
  SignatureSearch search;
  const Result<std::optional<oci::Descriptor>> entry = place.home().find_companion(tag, call);
  if (!entry.ok()) {
    // They may lie in a store.
    if (!oci::may_be_elsewhere(entry.error())) return entry.error();
    search.notes.push_back(entry.error().to_string());
    search.unreachable = entry.error().verdict() == Verdict::kUnreachable;
    return search;
  }
  if (!*entry) {
    search.notes.push_back(fmt::format("{} has no {}", place.home().description(), tag));
    return search;
  }
  STRAKE_TRY_CONTEXT(const oci::Manifest manifest, place.home().read_manifest(**entry, call), "{}", tag);
  for (const oci::Descriptor& file : manifest.layers) {
    if (file.media_type != kSignatureArtifactType || search.found.size() == kMaxSignatureNumber) continue;
    STRAKE_TRY_CONTEXT(std::string bytes, place.home().read_blob(file, kMaxSignatureBytes, call), "{}", tag);
    search.found.push_back(
        {fmt::format("{} in {}, signature {}", tag, place.home().description(), search.found.size() + 1),
         std::move(bytes)});
  }
  return search;
}

json::Value signature_config_map(const codec::Digest& digest, std::span<const AcceptedSignature> signatures) {
  const std::string name = fmt::format("{}-{}", codec::to_string(digest.algorithm()), digest.hex());
  json::Object data;
  for (std::size_t i = 0; i < signatures.size(); ++i) {
    data[fmt::format("{}-{}", name, i + 1)] = codec::encode_base64(signatures[i].bytes);
  }
  return json::Object{
      {"apiVersion", "v1"},
      {"kind", "ConfigMap"},
      {"metadata", json::Object{{"name", name},
                                {"namespace", "openshift-config-managed"},
                                {"labels", json::Object{{"release.openshift.io/verification-signatures", ""}}}}},
      {"binaryData", std::move(data)}};
}

}  // namespace strake::release
