#include "machineconfig/render/render_set.h"

#include <algorithm>
#include <set>

#include "api/controller_config.h"
#include "api/kinds.h"
#include "api/machine_config.h"
#include "api/machine_config_pool.h"
#include "api/node_annotations.h"
#include "base/text.h"

namespace strake::machineconfig {

namespace {

void lay_over_list(std::vector<kube::ObjectPtr>& under, const std::vector<kube::ObjectPtr>& over) {
  for (const kube::ObjectPtr& object : over) {
    const auto same_name = std::ranges::find_if(under, [&](const kube::ObjectPtr& known) {
      return known->key() == object->key() && known->kind() == object->kind();
    });
    if (same_name == under.end()) {
      under.push_back(object);
    } else {
      *same_name = object;
    }
  }
}

bool is_built_in(std::string_view pool) {
  return pool == api::kMasterPool || pool == api::kWorkerPool || pool == api::kArbiterPool;
}

}  // namespace

bool ConfigSet::remove(std::string_view kind, std::string_view name) {
  const auto is_meant = [&](const kube::ObjectPtr& object) {
    return object && object->key().to_string() == name && equal_ignoring_case(object->kind(), kind);
  };
  for (std::vector<kube::ObjectPtr>* list : {&configs, &pools, &generators, &mirror_policies}) {
    if (std::erase_if(*list, is_meant) > 0) return true;
  }
  for (kube::ObjectPtr* single : {&controller_config, &os_image_stream, &machine_configuration}) {
    if (!is_meant(*single)) continue;
    *single = nullptr;
    return true;
  }
  return false;
}

void ConfigSet::lay_over(const ConfigSet& over) {
  lay_over_list(configs, over.configs);
  lay_over_list(pools, over.pools);
  lay_over_list(generators, over.generators);
  lay_over_list(mirror_policies, over.mirror_policies);
  if (over.controller_config) controller_config = over.controller_config;
  if (over.os_image_stream) os_image_stream = over.os_image_stream;
  if (over.machine_configuration) machine_configuration = over.machine_configuration;
}

kube::Object pool_of_role(std::string_view role) {
  kube::Object pool(api::kMachineConfigPool, {"", std::string(role)});
  json::Value selector;
  if (is_built_in(role)) {
    selector = json::Object{{"matchLabels", json::Object{{api::label::kRole, role}}}};
  } else {
    const json::Array roles{json::Value(api::kWorkerPool), json::Value(role)};
    selector =
        json::Object{{"matchExpressions",
                      json::Array{json::Object{{"key", api::label::kRole}, {"operator", "In"}, {"values", roles}}}}};
  }
  api::MachineConfigPoolEdit(pool.json()).set_machine_config_selector(std::move(selector));
  if (is_built_in(role)) {
    // As every cluster has them: KubeletConfigs and their like choose pools by these.
    pool.set_label(api::label::kBuiltInPool, "");
    pool.set_label(fmt::format("{}{}", api::label::kPoolPrefix, role), "");
  }
  return pool;
}

std::vector<kube::ObjectPtr> pools_of(const ConfigSet& set) {
  if (!set.pools.empty()) return set.pools;
  std::set<std::string> roles;
  for (const kube::ObjectPtr& config : set.configs) {
    if (const auto role = config->label(api::label::kRole); role && !role->empty()) roles.insert(*role);
  }
  std::vector<kube::ObjectPtr> pools;
  pools.reserve(roles.size());
  for (const std::string& role : roles) pools.push_back(std::make_shared<const kube::Object>(pool_of_role(role)));
  return pools;
}

ConfigSet with_images(ConfigSet set, const ReleaseImages& images) {
  if (!lacks_images(set)) return set;
  kube::Object config(api::kControllerConfig, {"", std::string(api::kControllerConfigName)});
  api::ControllerConfigEdit(config.json()).set_base_os_images(images.os_image, images.extensions_image);
  if (!images.release_version.empty()) {
    config.set_annotation(api::config_annotation::kReleaseImageVersion, images.release_version);
  }
  set.controller_config = std::make_shared<const kube::Object>(std::move(config));
  return set;
}

bool lacks_images(const ConfigSet& set) { return !set.controller_config && !set.os_image_stream; }

RenderInput render_input(const ConfigSet& set, kube::ObjectPtr pool) {
  RenderInput input;
  input.pool = std::move(pool);
  for (const kube::ObjectPtr& other : set.pools) {
    if (other->name() == api::kWorkerPool) input.worker_pool = other;
  }
  input.configs = set.configs;
  input.controller_config = set.controller_config;
  input.os_image_stream = set.os_image_stream;
  input.generators = set.generators;
  return input;
}

}  // namespace strake::machineconfig
