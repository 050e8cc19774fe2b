#include "oci/sigstore/sigstore_copy.h"

#include "oci/copy.h"
#include "oci/sigstore/sigstore_check.h"

namespace strake::oci {

namespace {

/// Bundles too: whoever checks the copy may know them.
bool is_signature(const Descriptor& referrer) {
  return referrer.artifact_type == kSigstoreArtifactType || referrer.artifact_type.starts_with(kSigstoreBundleType);
}

Result<bool> copy_tagged(const ImageSource& from, const codec::Digest& image, ImageTarget& to,
                         runtime::Runtime& runtime, const runtime::Call& call) {
  const std::string tag = sigstore_tag(image);
  STRAKE_TRY(std::optional<Descriptor> entry, from.find_companion(tag, call));
  if (!entry) return false;
  STRAKE_TRY([[maybe_unused]] const CopyReport report, copy_entry(from, *std::move(entry), to, tag, 1, runtime, call));
  return true;
}

Result<bool> copy_referring(const ImageSource& from, const codec::Digest& image, ImageTarget& to,
                            runtime::Runtime& runtime, const runtime::Call& call) {
  STRAKE_TRY(std::vector<Descriptor> signatures, from.find_referrers(image, call));
  std::erase_if(signatures, [](const Descriptor& referrer) { return !is_signature(referrer); });
  // As many as are looked at when they are checked.
  while (signatures.size() > kMaxSigstoreSignatures) signatures.pop_back();
  for (const Descriptor& signature : signatures) {
    STRAKE_TRY([[maybe_unused]] const CopyReport report, copy_entry(from, signature, to, "", 1, runtime, call));
  }
  if (signatures.empty()) return false;
  STRAKE_CHECK_OK(to.list_referrers(image, std::move(signatures), call));
  return true;
}

}  // namespace

Result<bool> copy_sigstore_signatures(const ImageSource& from, const codec::Digest& image, ImageTarget& to,
                                      runtime::Runtime& runtime, const runtime::Call& call) {
  const auto copy = [&]() -> Result<bool> {
    STRAKE_TRY(const bool tagged, copy_tagged(from, image, to, runtime, call));
    STRAKE_TRY(const bool referring, copy_referring(from, image, to, runtime, call));
    return tagged || referring;
  };
  return copy().context("copying the signatures of {} from {} to {}", image.to_string(), from.description(),
                        to.description());
}

}  // namespace strake::oci
