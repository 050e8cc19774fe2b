#include "machineconfig/merge/select.h"

#include <algorithm>

#include "api/machine_config_pool.h"
#include "api/node_annotations.h"
#include "kube/selector.h"

namespace strake::machineconfig {

void sort_for_merge(std::vector<kube::ObjectPtr>& configs) {
  struct Ranked {
    bool is_pool_specific;
    std::string name;
    kube::ObjectPtr config;
  };
  std::vector<Ranked> ranked;
  ranked.reserve(configs.size());
  for (kube::ObjectPtr& config : configs) {
    ranked.push_back({config->label(api::label::kRole) != api::kWorkerPool, config->name(), std::move(config)});
  }
  std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) {
    return std::tie(a.is_pool_specific, a.name) < std::tie(b.is_pool_specific, b.name);
  });
  std::ranges::transform(ranked, configs.begin(), [](Ranked& entry) { return std::move(entry.config); });
}

Result<std::vector<kube::ObjectPtr>> select_configs(const kube::Object& pool,
                                                    const std::vector<kube::ObjectPtr>& configs) {
  const json::Value* raw = api::MachineConfigPoolView(pool.json()).machine_config_selector();
  STRAKE_TRY_CONTEXT(const kube::Selector selector,
                     kube::Selector::from_json(raw, kube::AbsentSelector::kMatchesNothing),
                     "pool {}: spec.machineConfigSelector", pool.name());
  if (selector.matches_everything()) {
    return error(Code::kInvalidArgument,
                 "pool {}: spec.machineConfigSelector: an empty selector would select every MachineConfig; name a role",
                 pool.name());
  }
  std::vector<kube::ObjectPtr> selected;
  for (const kube::ObjectPtr& config : configs) {
    if (!selector.matches(config->labels())) continue;
    const json::Value* labels = json::find(config->json(), {"metadata", "labels"});
    if (labels == nullptr || labels->is_null()) {
      return error(Code::kInvalidArgument, "MachineConfig {}: metadata.labels: it has none; set {}", config->name(),
                   api::label::kRole);
    }
    selected.push_back(config);
  }
  if (selected.empty()) {
    return error(Code::kNotFound, "no MachineConfig matches the selector '{}' of pool {}", selector.to_string(),
                 pool.name());
  }
  sort_for_merge(selected);
  return selected;
}

std::string effective_os_image_stream(const kube::Object& pool, const kube::Object* worker_pool) {
  const std::string own = api::MachineConfigPoolView(pool.json()).os_image_stream();
  const bool custom = pool.name() != api::kMasterPool && pool.name() != api::kWorkerPool;
  if (!own.empty() || !custom || worker_pool == nullptr) return own;
  return api::MachineConfigPoolView(worker_pool->json()).os_image_stream();
}

}  // namespace strake::machineconfig
