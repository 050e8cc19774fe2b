#include "configserver/choice.h"

#include <algorithm>

#include "api/conditions.h"
#include "api/machine_config_pool.h"

namespace strake::configserver {

namespace {

/// The cluster's own registry: machines find it only once they are part of the cluster.
constexpr std::string_view kInternalRegistry = "image-registry.openshift-image-registry.svc";

bool in_internal_registry(std::string_view image) {
  if (!image.starts_with(kInternalRegistry)) return false;
  image.remove_prefix(kInternalRegistry.size());
  return image.empty() || image.front() == ':' || image.front() == '/' || image.front() == '.';
}

bool is_built(const kube::Object& os_config, std::string_view config, std::span<const kube::ObjectPtr> os_builds) {
  return std::ranges::any_of(os_builds, [&](const kube::ObjectPtr& build) {
    return build->text({"spec", "machineOSConfig", "name"}) == os_config.name() &&
           build->text({"spec", "machineConfig", "name"}) == config &&
           api::condition_is_true(build->json(), "Succeeded");
  });
}

}  // namespace

Result<std::string> served_config(const kube::Object& pool) {
  const api::MachineConfigPoolView view(pool.json());
  std::string name = view.counts().updated > 0 ? view.target() : view.reached();
  if (!name.empty()) return name;
  if (view.target().empty()) return error(Code::kNotFound, "pool {} has no rendered config yet", pool.name());
  return error(Code::kNotFound, "pool {}: status.configuration is empty: nobody reported which config the pool runs",
               pool.name());
}

std::string layered_image(const kube::Object& pool, std::string_view config,
                          std::span<const kube::ObjectPtr> os_configs, std::span<const kube::ObjectPtr> os_builds) {
  if (api::MachineConfigPoolView(pool.json()).counts().updated <= 0) return "";
  for (const kube::ObjectPtr& os_config : os_configs) {
    if (os_config->text({"spec", "machineConfigPool", "name"}) != pool.name()) continue;
    std::string image = os_config->text({"status", "currentImagePullSpec"});
    if (!image.empty() && is_built(*os_config, config, os_builds) && !in_internal_registry(image)) return image;
  }
  return "";
}

}  // namespace strake::configserver
