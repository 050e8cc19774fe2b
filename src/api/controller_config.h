// ControllerConfig: what the cluster as a whole contributes to every machine's configuration.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "api/field.h"

namespace strake::api {

inline constexpr FieldTable kControllerConfigFields{
    "controllerconfigs.machineconfiguration.openshift.io",
    "spec.releaseImage",
    "spec.baseOSContainerImage",
    "spec.baseOSExtensionsContainerImage",
    "spec.osImageURL",
    "spec.images",
    "spec.rootCAData",
    "spec.kubeAPIServerServingCAData",
    "spec.cloudProviderCAData",
    "spec.additionalTrustBundle",
    "spec.infra",
    "spec.clusterDNSIP",
    "spec.proxy.httpProxy",
    "spec.proxy.httpsProxy",
    "spec.proxy.noProxy",
    "status.observedGeneration",
    "status.conditions[].type",
    "status.conditions[].status",
    "status.conditions[].reason",
    "status.conditions[].message",
    "status.conditions[].lastTransitionTime",
};

namespace controller_config_condition {
inline constexpr std::string_view kTemplateRunning = "TemplateControllerRunning";
inline constexpr std::string_view kTemplateCompleted = "TemplateControllerCompleted";
inline constexpr std::string_view kTemplateFailing = "TemplateControllerFailing";
/// Strake's own: whether the present release was signed under a keyring of the user's.
inline constexpr std::string_view kReleaseSigned = "ReleaseSigned";
}  // namespace controller_config_condition

/// Reads an object that outlives the view.
class ControllerConfigView {
 public:
  explicit ControllerConfigView(const json::Value& object) : object_(object) {}
  explicit ControllerConfigView(const json::Value&&) = delete;

  std::string release_image() const { return text_at(object_, kControllerConfigFields["spec.releaseImage"]); }
  std::string base_os_image() const { return text_at(object_, kControllerConfigFields["spec.baseOSContainerImage"]); }
  std::string base_os_extensions_image() const {
    return text_at(object_, kControllerConfigFields["spec.baseOSExtensionsContainerImage"]);
  }
  /// The OS image in the format that preceded bootable containers.
  std::string legacy_os_image() const { return text_at(object_, kControllerConfigFields["spec.osImageURL"]); }
  std::map<std::string, std::string> images() const {
    return text_map_at(object_, kControllerConfigFields["spec.images"]);
  }
  /// PEM bundles, base64 as in the object.
  std::string root_ca_base64() const { return text_at(object_, kControllerConfigFields["spec.rootCAData"]); }
  std::string api_server_ca_base64() const {
    return text_at(object_, kControllerConfigFields["spec.kubeAPIServerServingCAData"]);
  }
  std::string cloud_ca_base64() const { return text_at(object_, kControllerConfigFields["spec.cloudProviderCAData"]); }
  std::string trust_bundle_base64() const {
    return text_at(object_, kControllerConfigFields["spec.additionalTrustBundle"]);
  }
  std::string cluster_dns_ip() const { return text_at(object_, kControllerConfigFields["spec.clusterDNSIP"]); }
  std::string http_proxy() const { return text_at(object_, kControllerConfigFields["spec.proxy.httpProxy"]); }
  std::string https_proxy() const { return text_at(object_, kControllerConfigFields["spec.proxy.httpsProxy"]); }
  std::string no_proxy() const { return text_at(object_, kControllerConfigFields["spec.proxy.noProxy"]); }
  /// A copy of the Infrastructure object, or nullptr.
  const json::Value* infrastructure() const;
  std::int64_t observed_generation() const {
    return int_at(object_, kControllerConfigFields["status.observedGeneration"]);
  }

 private:
  const json::Value& object_;
};

/// Writes in place; everything else of the object stays as it is. Conditions: conditions.h.
class ControllerConfigEdit : public ControllerConfigView {
 public:
  explicit ControllerConfigEdit(json::Value& object) : ControllerConfigView(object), object_(object) {}

  void set_release_image(std::string_view image);
  void set_base_os_images(std::string_view os_image, std::string_view extensions_image);
  void set_observed_generation(std::int64_t generation);

 private:
  json::Value& object_;
};

}  // namespace strake::api
