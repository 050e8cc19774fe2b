// The names under which container images live in an ostree repository, as the ostree container stack, bootc and
// rpm-ostree write and read them: image references, refs, the origin of a deployment.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/digest.h"

namespace strake::ostree {

/// "ostree-unverified-registry:quay.io/os/os:1": an image, where it is, and who vouches for it.
struct ContainerReference {
  enum class Signature {
    kUnverified,  ///< nobody: whoever pulls checks digests, or does not
    kPolicy,      ///< the container policy of the machine
    kRemote,      ///< the keys of an ostree remote, for the commit in the image
  };
  enum class Transport { kRegistry, kOci, kOciArchive, kDir, kDockerArchive, kDockerDaemon, kContainersStorage };

  Signature signature = Signature::kUnverified;
  std::string remote{};  ///< of kRemote
  Transport transport = Transport::kRegistry;
  std::string name{};  ///< "quay.io/os/os:1", "/srv/layout:v1"

  /// The canonical form.
  std::string to_string() const;
  /// "docker://quay.io/os/os:1", "oci:/srv/layout:v1": what refs are made of, whoever vouches.
  std::string image() const;

  bool operator==(const ContainerReference&) const = default;
};

Result<ContainerReference> parse_container_reference(std::string_view text);

/// A text as a part of a ref's name: letters, digits, `-` and most slashes stay, everything else is spelled out.
/// kInvalidArgument: an empty text, a NUL, no UTF-8.
Result<std::string> escape_ref(std::string_view text);
Result<std::string> unescape_ref(std::string_view text);

inline constexpr std::string_view kLayerRefPrefix = "ostree/container/blob/";
inline constexpr std::string_view kImageRefPrefix = "ostree/container/image/";

/// The ref of a layer, by the digest its manifest has for it.
std::string layer_ref(const codec::Digest& blob);
Result<std::string> image_ref(const ContainerReference& reference);

/// The origin file of a deployment of this image.
std::string origin_text(const ContainerReference& reference);
/// The other way round. kNotFound: the deployment came from no image.
Result<ContainerReference> read_origin(std::string_view origin);

}  // namespace strake::ostree
