// The chain of proof of a release, from the signature to the last boot image:
//
//   signature -> release image -> component images -> their layers -> boot artifacts
//
// Each link is a digest that the link before it names. The walk stops at the first link that breaks and names it; what
// was not looked at is said, never passed over.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oci/sigstore/sigstore_check.h"
#include "release/boot_artifacts.h"
#include "release/payload.h"
#include "release/release_signatures.h"

namespace strake::release {

/// Whose layers are hashed to their end; manifests and configs of all components are checked in any case.
enum class LayerCheck { kAll, kOs, kNone };
/// What is done with the files the stream metadata names: nothing; their checksums are listed; those that lie beside
/// the release or in the cache are hashed; all are, from their locations where nothing is nearer.
enum class ArtifactCheck { kNone, kListed, kLocal, kAll };

struct ChainLink {
  std::string kind;     ///< "signature", "release", "component", "boot artifacts", ...
  std::string subject;  ///< what holds: a digest, a component's tag
  std::string proof;    ///< by what
};

/// What is known about one thing when the walk ends.
enum class LinkVerdict {
  kOk,           ///< its bytes are those its digest names
  kListed,       ///< its digest is part of the release; its bytes were not asked for
  kNotChecked,   ///< nobody came to look
  kAbsent,       ///< no place that may be asked has it
  kRefused,      ///< not genuine
  kUnreachable,  ///< nobody answered
  kFailed,       ///< looking failed for another reason
};
std::string_view to_string(LinkVerdict verdict);

/// Something with a digest that the chain leads to.
struct ChainItem {
  std::string link;     ///< "signature", "release", "component", "layer", "boot artifact"
  std::string subject;  ///< a version, a component's tag, an artifact's label; of a layer: what it belongs to
  std::string digest;
  std::optional<std::uint64_t> size = {};  ///< of an image: its config and layers; nullopt where nobody has said
  LinkVerdict verdict = LinkVerdict::kNotChecked;
};

struct ChainImage {
  ChainItem image;
  std::vector<ChainItem> layers;  ///< known once its manifest was read
};

struct ChainReport {
  std::string version;
  std::string digest;
  ChainImage release;
  std::vector<ChainImage> components;  ///< by tag
  std::vector<ChainItem> artifacts;
  std::optional<ChainItem> broken;  ///< where the walk ended before its time, unless it was told to stop
  std::vector<ChainLink> links;
  std::vector<std::string> warnings;
  std::vector<std::string> not_checked;
  bool by_own_keyring = false;  ///< signed according to keyrings of the release itself, and no others
};

struct SigstoreDemand {
  std::vector<oci::SigstoreKey> keys;  ///< empty: sigstore signatures are not asked for
  bool components = false;             ///< of every component too, not of the release image alone
  oci::SigstoreIdentity identity = {};
  std::string signed_as;  ///< the name the release image was signed under; empty: the one it is pulled by
};

struct ChainOptions {
  oci::Platform platform = {};
  bool other_platforms_too = false;  ///< somebody follows their chains as well
  LayerCheck layers = LayerCheck::kAll;
  ArtifactCheck artifacts = ArtifactCheck::kListed;
  SignatureDemand signatures;
  const SigstoreDemand* sigstore = nullptr;
  const ArtifactDownloads* downloads = nullptr;  ///< for ArtifactCheck::kAll; nullptr: locations are not followed
  oci::BlobCache* cache = nullptr;
  unsigned parallel = 4;
  std::function<void(const ChainLink&)> on_link;  ///< as soon as it holds; from one task at a time
};

/// The report of everything that holds; the error names the link that broke. `report` is filled in both cases.
Status verify_chain(const ReleasePlace& place, const ChainOptions& options, ChainReport& report,
                    runtime::Runtime& runtime, const runtime::Call& call);

}  // namespace strake::release
