// OCI and Docker image documents: descriptors, manifests, indexes and image configs, parsed strictly from untrusted
// bytes.
//
// A document is either an index or a manifest, never both: bytes that two readers could take for different images are
// refused.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "codec/digest.h"
#include "codec/json.h"

namespace strake::oci {

namespace media_type {
inline constexpr std::string_view kOciIndex = "application/vnd.oci.image.index.v1+json";
inline constexpr std::string_view kOciManifest = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view kOciConfig = "application/vnd.oci.image.config.v1+json";
inline constexpr std::string_view kOciLayer = "application/vnd.oci.image.layer.v1.tar";
inline constexpr std::string_view kOciLayerGzip = "application/vnd.oci.image.layer.v1.tar+gzip";
inline constexpr std::string_view kOciLayerZstd = "application/vnd.oci.image.layer.v1.tar+zstd";
inline constexpr std::string_view kDockerList = "application/vnd.docker.distribution.manifest.list.v2+json";
inline constexpr std::string_view kDockerManifest = "application/vnd.docker.distribution.manifest.v2+json";
inline constexpr std::string_view kDockerConfig = "application/vnd.docker.container.image.v1+json";
inline constexpr std::string_view kDockerLayer = "application/vnd.docker.image.rootfs.diff.tar";
inline constexpr std::string_view kDockerLayerGzip = "application/vnd.docker.image.rootfs.diff.tar.gzip";
}  // namespace media_type

inline constexpr std::size_t kMaxManifestBytes = 4u << 20;
inline constexpr std::size_t kMaxConfigBytes = 8u << 20;
inline constexpr std::size_t kMaxLayers = 1024;
inline constexpr std::size_t kMaxIndexEntries = 4096;

/// The annotation that names an entry of a layout's index.json.
inline constexpr std::string_view kRefNameAnnotation = "org.opencontainers.image.ref.name";

struct Platform {
  std::string os = "linux";
  std::string architecture = "amd64";  ///< Go's name
  std::string variant;                 ///< empty: any

  std::string to_string() const;
  /// True when an image built for `other` is what was asked for here.
  bool accepts(const Platform& other) const;
};

/// Content by digest and size: the only way blobs are referred to.
struct Descriptor {
  std::string media_type;
  codec::Digest digest;
  std::uint64_t size = 0;
  std::map<std::string, std::string> annotations = {};
  std::optional<Platform> platform = {};
  std::string artifact_type = {};  ///< of a referrer: what it is

  json::Object to_json() const;
};

struct Manifest {
  std::string media_type;
  Descriptor config;
  std::vector<Descriptor> layers;  ///< lowest first
  std::map<std::string, std::string> annotations;
};

struct Index {
  std::string media_type;
  std::vector<Descriptor> manifests;
  std::map<std::string, std::string> annotations;
};

/// Parses either kind; which one it is follows from its members, and must agree with `announced_type` when that is
/// given.
Result<std::variant<Manifest, Index>> parse_document(std::string_view text, std::string_view announced_type = {});
Result<Manifest> parse_manifest(std::string_view text, std::string_view announced_type = {});
Result<Index> parse_index(std::string_view text, std::string_view announced_type = {});

json::Array to_json(const std::vector<Descriptor>& descriptors);
/// An index that lists these; the same list always gives the same bytes.
std::string write_index(const std::vector<Descriptor>& manifests);
/// Those of `more` whose digests are not among `descriptors` come behind them.
void add_missing(std::vector<Descriptor>& descriptors, std::vector<Descriptor> more);

struct ImageConfig {
  Platform platform;
  std::map<std::string, std::string> labels;
  std::vector<codec::Digest> diff_ids;  ///< of the uncompressed layers, lowest first
};

Result<ImageConfig> parse_image_config(std::string_view text);

bool is_index_type(std::string_view media_type);
bool is_manifest_type(std::string_view media_type);

}  // namespace strake::oci
