#include "release/mirror_release.h"

#include "oci/sigstore/sigstore_copy.h"

namespace strake::release {

namespace {

class MirrorRun {
 public:
  MirrorRun(const MirrorSources& sources, const MirrorOptions& options, runtime::Runtime& runtime,
            const runtime::Call& call)
      : sources_(sources), options_(options), runtime_(runtime), call_(call) {}

  Status run(const MirrorStep& step, oci::ImageTarget& target) {
    switch (step.kind) {
      case MirrorStep::Kind::kComponent:
      case MirrorStep::Kind::kRelease: return copy_signed_image(step, target);
      case MirrorStep::Kind::kBootArtifact: return copy_artifact(step, target);
      case MirrorStep::Kind::kSignatures: return copy_signatures(step, target);
    }
    return error(Code::kInternal, "unknown step");
  }

  const MirrorTotals& totals() const { return totals_; }

 private:
  Status copy(const MirrorStep& step, const oci::ImageSource& source, std::string_view reference,
              oci::ImageTarget& target, bool with_sigstore) {
    STRAKE_TRY(const oci::CopyReport report,
               oci::copy_image(source, reference, target, step.tag, {.parallel = options_.parallel}, runtime_, call_));
    ++totals_.images;
    totals_.blobs_written += report.blobs_written;
    totals_.blobs_present += report.blobs_present + report.blobs_mounted;
    totals_.bytes_written += report.bytes_written;
    totals_.sigstore_signatures += with_sigstore ? 1 : 0;
    if (options_.on_step) options_.on_step({step, report, source.description(), with_sigstore});
    return {};
  }

  /// Signatures go first: where an image is, they are.
  Status copy_signed_image(const MirrorStep& step, oci::ImageTarget& target) {
    STRAKE_TRY(const PlacedImage image, find(step));
    STRAKE_TRY(const bool with_sigstore,
               oci::copy_sigstore_signatures(*image.source, image.entry.digest, target, runtime_, call_));
    return copy(step, *image.source, step.digest.to_string(), target, with_sigstore);
  }

  Result<PlacedImage> find(const MirrorStep& step) const {
    if (step.kind == MirrorStep::Kind::kRelease) return sources_.place.find_release(call_);
    return sources_.place.find_image(fmt::format("{}@{}", step.repository, step.digest.to_string()),
                                     Search::kEverywhere, call_);
  }

  Status copy_artifact(const MirrorStep& step, oci::ImageTarget& target) {
    STRAKE_TRY(const std::optional<oci::Descriptor> beside, sources_.place.home().find_companion(step.tag, call_));
    if (beside) {
      const auto file = file_of_tag(sources_.place.home(), *beside, step.tag, step.digest, call_);
      if (!file.ok()) return file.error();
      return copy(step, sources_.place.home(), beside->digest.to_string(), target, false);
    }
    return copy(step, sources_.downloads, step.tag, target, false);
  }

  Status copy_signatures(const MirrorStep& step, oci::ImageTarget& target) {
    ArtifactImages images;
    add_signature_artifact(images, step.digest, sources_.signatures);
    return copy(step, images, step.tag, target, false);
  }

  const MirrorSources& sources_;
  const MirrorOptions& options_;
  runtime::Runtime& runtime_;
  const runtime::Call& call_;
  MirrorTotals totals_;
};

}  // namespace

Result<MirrorTotals> mirror_release(const MirrorSources& sources, const std::vector<MirrorStep>& plan,
                                    const TargetFor& target_for, const MirrorOptions& options,
                                    runtime::Runtime& runtime, const runtime::Call& call) {
  MirrorRun run(sources, options, runtime, call);
  for (const MirrorStep& step : plan) {
    if (step.kind == MirrorStep::Kind::kRelease && options.before_release) STRAKE_CHECK_OK(options.before_release());
    STRAKE_TRY(oci::ImageTarget * target, target_for(step.repository));
    STRAKE_CHECK_OK(run.run(step, *target).context("{} {}", to_string(step.kind), step.subject));
  }
  return run.totals();
}

}  // namespace strake::release
