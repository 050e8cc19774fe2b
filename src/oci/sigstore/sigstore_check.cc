#include "oci/sigstore/sigstore_check.h"

namespace strake::oci {

namespace {

class SigstoreSearch {
 public:
  SigstoreSearch(const ImageSource& source, const codec::Digest& digest, std::string_view name,
                 std::span<const SigstoreKey> keys, const SigstoreIdentity& identity, const runtime::Call& call)
      : source_(source), digest_(digest), name_(name), keys_(keys), identity_(identity), call_(call) {}

  Result<SigstoreProof> run() {
    const std::string tag = sigstore_tag(digest_);
    STRAKE_TRY(const std::optional<Descriptor> tagged, source_.find_companion(tag, call_));
    if (tagged) STRAKE_CHECK_OK(look_at(*tagged, fmt::format("tag {}", tag)));
    if (!good_) STRAKE_CHECK_OK(look_at_referrers());
    if (good_) return *std::move(good_);
    if (seen_ == 0 && refusals_.empty()) {
      return refused(
          fmt::format("{} has no sigstore signature: {} has neither {} nor a referrer that is one; a mirror has "
                      "to carry it along",
                      digest_.to_string(), source_.description(), tag));
    }
    return refused(fmt::format("{} has no good sigstore signature in {}{}", digest_.to_string(), source_.description(),
                               refusals_.empty() ? ": what is attached holds none" : refusals_));
  }

 private:
  static Error refused(std::string text) {
    return Error(Code::kDenied, std::move(text)).with_verdict(Verdict::kNotGenuine);
  }

  Status look_at_referrers() {
    STRAKE_TRY_CONTEXT(const std::vector<Descriptor> referrers, source_.find_referrers(digest_, call_),
                       "looking for signatures that refer to {}", digest_.to_string());
    for (const Descriptor& referrer : referrers) {
      const std::string place = fmt::format("referrer {}", referrer.digest.to_string());
      if (referrer.artifact_type.starts_with(kSigstoreBundleType)) {
        note(place, "it is a bundle, which does not say what the image is called; sign with cosign's older format");
      }
      if (referrer.artifact_type != kSigstoreArtifactType) continue;
      STRAKE_CHECK_OK(look_at(referrer, place));
      if (good_ || seen_ >= kMaxSigstoreSignatures) return {};
    }
    return {};
  }

  Status look_at(const Descriptor& entry, const std::string& place) {
    STRAKE_TRY_CONTEXT(const Manifest manifest, source_.read_manifest(entry, call_), "{}", place);
    STRAKE_CHECK_OK(source_.verify_blob(manifest.config, call_).context("{}", place));
    for (const SigstoreAttachment& attached : sigstore_attachments(manifest)) {
      if (seen_ >= kMaxSigstoreSignatures) {
        note(place, fmt::format("more than {} signatures are attached; the others were not looked at",
                                kMaxSigstoreSignatures));
        return {};
      }
      ++seen_;
      STRAKE_TRY_CONTEXT(const std::string payload,
                         source_.read_blob(attached.payload, kMaxSigstorePayloadBytes, call_), "{}", place);
      for (const SigstoreKey& key : keys_) {
        Result<SigstoreStatement> statement =
            verify_sigstore(key, payload, attached.signature_base64, digest_, name_, identity_);
        if (statement.ok()) {
          good_ = SigstoreProof{*std::move(statement), place};
          return {};
        }
        note(fmt::format("{}, {}", place, attached.payload.digest.to_string()), statement.error().to_string());
      }
    }
    return {};
  }

  void note(std::string_view place, std::string_view what) { refusals_ += fmt::format("\n  {}: {}", place, what); }

  const ImageSource& source_;
  const codec::Digest& digest_;
  const std::string_view name_;
  const std::span<const SigstoreKey> keys_;
  const SigstoreIdentity& identity_;
  const runtime::Call& call_;
  std::size_t seen_ = 0;
  std::string refusals_;
  std::optional<SigstoreProof> good_;
};

}  // namespace

Result<SigstoreProof> check_sigstore(const ImageSource& source, const codec::Digest& digest, std::string_view name,
                                     std::span<const SigstoreKey> keys, const SigstoreIdentity& identity,
                                     const runtime::Call& call) {
  return SigstoreSearch(source, digest, name, keys, identity, call).run();
}

}  // namespace strake::oci
