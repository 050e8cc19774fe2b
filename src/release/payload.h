// A release payload: the image that names, by digest, every component of a release, and carries its manifests.
//
// Only verified bytes are read: a layer is hashed to its end before a single file of it is used. (Checking manifest
// digests alone would let a foreign layer pass under a signed digest.) What the digest in turn is trusted for, such as
// a release signature, is decided by the caller.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codec/digest.h"
#include "codec/json.h"
#include "oci/blob_cache.h"
#include "release/release_place.h"
#include "stream/import.h"

namespace strake::release {

/// One tag of image-references.
struct Component {
  std::string tag;
  std::string pull_spec;  ///< always by digest
  codec::Digest digest;
  std::map<std::string, std::string> annotations;
};

/// An OS the release offers to nodes.
struct OsStream {
  std::string name;  ///< "rhel-9": the image's stream class, or what its tag stands for when the image is elsewhere
  Component image;
  std::optional<Component> extensions;
  bool verified = false;  ///< the image was found and every byte of it was hashed
  /// Which of api::kKnownFiles it has; nullopt when nobody looked into it.
  std::optional<std::set<std::string>> known_files{};
};

/// Boot image metadata as the installer component publishes it (ConfigMap coreos-bootimages): the texts for publishing
/// them unchanged, and what they say.
struct BootImages {
  std::string stream;   ///< JSON text of the default stream
  std::string streams;  ///< JSON text, by stream name; empty in releases with one stream
  stream::StreamSet set;
};

struct ReleasePayload {
  std::string version;
  codec::Digest digest;   ///< of the release image, the list's when it has several platforms
  std::string pull_spec;  ///< repository@digest
  std::map<std::string, Component> components;
  std::vector<OsStream> os_streams;  ///< sorted by name, at least one
  std::string default_stream;
  std::vector<std::string> previous;  ///< versions that may be updated to this one, by its metadata
  std::vector<std::string> next;      ///< versions this one may be updated to, likewise
  std::optional<BootImages> boot_images;
  std::map<std::string, json::Value> base_configs;  ///< spec of MachineConfig 00-<role>, by role
  std::map<std::string, std::string> manifests;     ///< every file of release-manifests/, by name

  /// nullptr when the release has no such stream.
  const OsStream* find_stream(std::string_view name) const;
  /// kNotFound names the components there are.
  Result<const Component*> component(const std::string& tag) const;
};

/// What is done with the OS images and extensions that lie beside the release image.
enum class OsImageCheck {
  kLabels,  ///< their labels are read
  kLayers,  ///< and every layer is hashed to its end
};

struct PayloadOptions {
  oci::Platform platform = {};
  OsImageCheck os_images = OsImageCheck::kLayers;
  oci::BlobCache* cache = nullptr;  ///< nullptr: nothing is kept
};

Result<ReleasePayload> read_payload(const ReleasePlace& place, const PayloadOptions& options, runtime::Runtime& runtime,
                                    const runtime::Call& call);

/// The release in a layout folder. `reference`: a name or digest in its index.json.
Result<ReleasePayload> read_payload_of_layout(const std::filesystem::path& directory, std::string_view reference = {},
                                              const oci::Platform& platform = {});

/// image-references: an ImageStream whose every tag is from a DockerImage by digest. Its name is returned too, because
/// releases without release-metadata carry their version there.
struct ImageReferences {
  std::string name;
  std::map<std::string, Component> components;
};
Result<ImageReferences> parse_image_references(std::string_view text);

/// The stream an OS image tag stands for ("rhel-coreos-10": "rhel-10"); nullopt for every other tag.
std::optional<std::string> stream_of_os_tag(std::string_view tag);

}  // namespace strake::release
