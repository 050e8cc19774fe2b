// Copies a release and everything it names to a mirror. What is there already stays; a copy that died is done again and
// goes on where it ended.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "oci/copy.h"
#include "release/mirror_plan.h"
#include "release/release_signatures.h"

namespace strake::release {

/// The target for what is known under a repository's name: one for all, or one each. Valid until the copy is done.
using TargetFor = std::function<Result<oci::ImageTarget*>(const std::string& repository)>;

struct MirrorSources {
  const ReleasePlace& place;
  const ArtifactSource& downloads;                 ///< for boot artifacts that do not lie beside the release
  std::vector<AcceptedSignature> signatures = {};  ///< carried along
};

struct MirroredStep {
  const MirrorStep& step;
  const oci::CopyReport& copied;
  std::string source;          ///< where it was found
  bool with_sigstore = false;  ///< its sigstore signatures lay beside it and were copied too
};

struct MirrorOptions {
  unsigned parallel = 4;
  /// Everything but the release image is there. What a cluster needs besides is handed out now: where the tag of a
  /// release is, that is too.
  std::function<Status()> before_release;
  std::function<void(const MirroredStep&)> on_step;
};

struct MirrorTotals {
  std::size_t images = 0;
  std::size_t blobs_written = 0;
  std::size_t blobs_present = 0;  ///< mounted ones too
  std::uint64_t bytes_written = 0;
  std::size_t sigstore_signatures = 0;  ///< images whose signatures were copied
};

/// Runs exactly the plan, in its order.
Result<MirrorTotals> mirror_release(const MirrorSources& sources, const std::vector<MirrorStep>& plan,
                                    const TargetFor& target_for, const MirrorOptions& options,
                                    runtime::Runtime& runtime, const runtime::Call& call);

}  // namespace strake::release
