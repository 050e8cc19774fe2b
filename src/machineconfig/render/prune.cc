#include "machineconfig/render/prune.h"

#include <algorithm>
#include <tuple>

#include "api/machine_config.h"
#include "api/machine_config_node.h"
#include "api/machine_config_pool.h"
#include "api/node_annotations.h"

namespace strake::machineconfig {

namespace {

constexpr std::string_view kNodeReferences[] = {api::node_annotation::kCurrentConfig,
                                                api::node_annotation::kDesiredConfig,
                                                api::node_annotation::kFirstPivotConfig};
constexpr std::string_view kDrainReferences[] = {api::node_annotation::kDesiredDrain,
                                                 api::node_annotation::kLastAppliedDrain};

/// "drain-rendered-worker-1" names the config behind the verb.
std::string config_of_drain(std::string_view request) {
  for (const std::string_view verb : {api::kDrainVerb, api::kUncordonVerb}) {
    if (request.starts_with(verb)) return std::string(request.substr(verb.size()));
  }
  return std::string(request);
}

bool is_owned_by(const kube::Object& config, const kube::Object& pool) {
  const auto owners = config.owners();
  return std::ranges::any_of(owners, [&](const kube::OwnerReference& owner) {
    return owner.controller && owner.kind == pool.kind() && owner.name == pool.name() && owner.uid == pool.uid();
  });
}

}  // namespace

std::set<std::string> rendered_configs_in_use(const RenderedUsers& users) {
  std::set<std::string> names;
  for (const kube::Object& pool : users.pools) {
    const api::MachineConfigPoolView view(pool.json());
    names.insert(view.target());
    names.insert(view.reached());
  }
  for (const kube::Object& node : users.nodes) {
    for (const std::string_view key : kNodeReferences) names.insert(node.annotation(key).value_or(""));
    for (const std::string_view key : kDrainReferences) {
      names.insert(config_of_drain(node.annotation(key).value_or("")));
    }
  }
  for (const kube::Object& node : users.machine_config_nodes) {
    const api::MachineConfigNodeView view(node.json());
    names.insert({view.desired_config(), view.current_config(), view.accepted_config()});
  }
  for (const kube::Object& build : users.os_builds) names.insert(build.text({"spec", "machineConfig", "name"}));
  names.erase("");
  return names;
}

std::vector<const kube::Object*> rendered_configs_of(const kube::Object& pool,
                                                     const std::vector<kube::ObjectPtr>& configs) {
  std::vector<const kube::Object*> own;
  for (const kube::ObjectPtr& config : configs) {
    const bool generated = !config->annotation(api::config_annotation::kGeneratedByController).value_or("").empty();
    if (generated && config->name().starts_with(api::kRenderedPrefix) && is_owned_by(*config, pool)) {
      own.push_back(config.get());
    }
  }
  std::ranges::sort(
      own, {}, [](const kube::Object* config) { return std::tuple(config->creation_timestamp(), config->name()); });
  return own;
}

std::vector<const kube::Object*> plan_prune(const kube::Object& pool, const std::vector<kube::ObjectPtr>& configs,
                                            const std::set<std::string>& in_use, std::size_t keep) {
  std::vector<const kube::Object*> doomed = rendered_configs_of(pool, configs);
  doomed.resize(doomed.size() - std::min(doomed.size(), keep));
  std::erase_if(doomed, [&](const kube::Object* config) { return in_use.contains(config->name()); });
  return doomed;
}

}  // namespace strake::machineconfig
