#include "release/sigstore_check.h"

namespace strake::release {

Result<oci::SigstoreStatement> check_sigstore(const PlacedImage& image, const std::string& name,
                                              std::span<const oci::SigstoreKey> keys, oci::SigstoreIdentity identity,
                                              const runtime::Call& call) {
  const codec::Digest& digest = image.entry.digest;
  const std::string tag = oci::sigstore_tag(digest);
  STRAKE_TRY(const std::optional<oci::Descriptor> entry, image.source->find_companion(tag, call));
  if (!entry) {
    return error(Code::kDenied, "{} has no sigstore signature: {} has no {}; a mirror has to carry it along",
                 digest.to_string(), image.source->description(), tag)
        .with_verdict(Verdict::kNotGenuine);
  }
  STRAKE_TRY_CONTEXT(const oci::Manifest manifest, image.source->read_manifest(*entry, call), "{}", tag);
  STRAKE_CHECK_OK(image.source->verify_blob(manifest.config, call).context("{}", tag));
  std::string refusals;
  for (const oci::SigstoreAttachment& attached : oci::sigstore_attachments(manifest)) {
    STRAKE_TRY_CONTEXT(const std::string payload,
                       image.source->read_blob(attached.payload, oci::kMaxSigstorePayloadBytes, call), "{}", tag);
    for (const oci::SigstoreKey& key : keys) {
      Result<oci::SigstoreStatement> statement =
          oci::verify_sigstore(key, payload, attached.signature_base64, digest, name, identity);
      if (statement.ok()) return statement;
      refusals += fmt::format("\n  {}: {}", attached.payload.digest.to_string(), statement.error().to_string());
    }
  }
  return error(Code::kDenied, "{} has no good sigstore signature in {}{}", digest.to_string(), tag,
               refusals.empty() ? ": it holds none" : refusals)
      .with_verdict(Verdict::kNotGenuine);
}

}  // namespace strake::release
