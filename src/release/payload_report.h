// A release for people and for scripts: what it is, which OS images it brings, which boot images belong to it.
#pragma once

#include <map>
#include <string>

#include "release/payload.h"

namespace strake::release {

/// A version that components of the release declare, such as "machine-os" or "kubernetes".
struct DeclaredVersion {
  std::string version;  ///< the lowest, as text, where components disagree
  std::string display_name;
};
std::map<std::string, DeclaredVersion> declared_versions(const ReleasePayload& payload);

/// The streams of the boot image data by name; the default one under the release's default where it has no name.
std::map<std::string, const stream::Stream*> named_boot_streams(const ReleasePayload& payload);

std::string describe_release(const ReleasePayload& payload);

/// Members named as `oc adm release info -o json` names them (image, digest, metadata, references, displayVersions),
/// the two documents as they stand in the payload; then defaultStream, osStreams and bootImages.
json::Value release_json(const ReleasePayload& payload);

/// One line a component: tag and pull spec.
std::string describe_components(const ReleasePayload& payload);
json::Value components_json(const ReleasePayload& payload);

}  // namespace strake::release
