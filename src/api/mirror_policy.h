// Mirror sets and the Image config: what a cluster says about the registries its nodes pull from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/field.h"

namespace strake::api {

inline constexpr FieldTable kImageDigestMirrorSetFields{
    "imagedigestmirrorsets.config.openshift.io",
    "spec.imageDigestMirrors",
    "spec.imageDigestMirrors[].source",
    "spec.imageDigestMirrors[].mirrors",
    "spec.imageDigestMirrors[].mirrorSourcePolicy",
};

inline constexpr FieldTable kImageTagMirrorSetFields{
    "imagetagmirrorsets.config.openshift.io",
    "spec.imageTagMirrors",
    "spec.imageTagMirrors[].source",
    "spec.imageTagMirrors[].mirrors",
    "spec.imageTagMirrors[].mirrorSourcePolicy",
};

inline constexpr FieldTable kImageContentSourcePolicyFields{
    "imagecontentsourcepolicies.operator.openshift.io",
    "spec.repositoryDigestMirrors",
    "spec.repositoryDigestMirrors[].source",
    "spec.repositoryDigestMirrors[].mirrors",
};

inline constexpr FieldTable kImageConfigFields{
    "images.config.openshift.io",
    "spec.registrySources.insecureRegistries",
    "spec.registrySources.blockedRegistries",
    "spec.registrySources.allowedRegistries",
    "spec.registrySources.containerRuntimeSearchRegistries",
};

/// Reads an Image config that outlives the view.
class ImageConfigView {
 public:
  explicit ImageConfigView(const json::Value& object) : object_(object) {}
  explicit ImageConfigView(const json::Value&&) = delete;

  /// Each a registry, a path in one, or "*.domain".
  std::vector<std::string> insecure() const {
    return texts_at(object_, kImageConfigFields["spec.registrySources.insecureRegistries"]);
  }
  std::vector<std::string> blocked() const {
    return texts_at(object_, kImageConfigFields["spec.registrySources.blockedRegistries"]);
  }
  std::vector<std::string> allowed() const {
    return texts_at(object_, kImageConfigFields["spec.registrySources.allowedRegistries"]);
  }
  /// Where names without a registry are looked for.
  std::vector<std::string> search() const {
    return texts_at(object_, kImageConfigFields["spec.registrySources.containerRuntimeSearchRegistries"]);
  }

 private:
  const json::Value& object_;
};

/// One source of one mirror set, as written.
struct MirrorEntry {
  std::string source;
  std::vector<std::string> mirrors;
  std::string policy;  ///< "", "AllowContactingSource" or "NeverContactSource"
};
inline constexpr std::string_view kNeverContactSource = "NeverContactSource";
inline constexpr std::string_view kAllowContactingSource = "AllowContactingSource";

/// Of an ImageDigestMirrorSet, ImageTagMirrorSet or ImageContentSourcePolicy, by its kind; none of any other.
std::vector<MirrorEntry> mirror_entries(const json::Value& object);

}  // namespace strake::api
