// What mirroring a release means, as data: which images go where under which tags, and the manifests a cluster needs to
// use the copy.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "release/boot_artifacts.h"
#include "release/payload.h"

namespace strake::release {

struct MirrorStep {
  enum class Kind { kComponent, kBootArtifact, kSignatures, kRelease };
  Kind kind = Kind::kComponent;
  std::string subject;     ///< a component's tag, an artifact's label
  std::string repository;  ///< registry/repository by which it is known
  codec::Digest digest;    ///< of the image; of a boot artifact: of its file; of signatures: of what they sign
  std::string tag;         ///< in the mirror
};

std::string_view to_string(MirrorStep::Kind kind);

/// The release image comes last: where its tag is, everything else is.
std::vector<MirrorStep> plan_mirror(const ReleasePayload& payload, std::string_view arch_suffix,
                                    std::span<const BootArtifact> artifacts, bool with_signatures);

/// "4.21.0-x86_64" as mirroring tools tag releases; "-multi" for an image of several platforms. What a tag may not hold
/// becomes a dash.
std::string release_tag(std::string_view version, std::string_view arch_suffix);

/// The names in "metal,vmware".
std::set<std::string> names_in_list(std::string_view list);

/// "all", "none", or platforms by name ("metal,vmware"), for the given architectures; all architectures when there are
/// none. kNotFound names the platforms there are.
Result<std::vector<BootArtifact>> choose_artifacts(std::vector<BootArtifact> all, std::string_view platforms,
                                                   const std::set<std::string>& rpm_architectures);

/// ImageDigestMirrorSet and ImageTagMirrorSet that lead from the repositories of the plan to `mirror`; none where it is
/// the only one itself. Their name tells the mirror and is another one for other sources: applying the sets of a second
/// mirror replaces nothing of the first.
std::vector<json::Value> mirror_sets(std::span<const MirrorStep> plan, const std::string& mirror);

}  // namespace strake::release
