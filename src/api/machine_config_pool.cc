#include "api/machine_config_pool.h"

#include "api/kinds.h"
#include "api/max_unavailable.h"

namespace strake::api {

namespace {

std::vector<std::string> source_names(const json::Value& pool, Field list, Field name) {
  std::vector<std::string> names;
  for (const json::Value& source : items_at(pool, list)) names.push_back(item_text_at(source, name));
  return names;
}

}  // namespace

Result<int> MachineConfigPoolView::max_unavailable(int node_count) const {
  if (name() == kArbiterPool) return 1;
  return parse_max_unavailable(find_field(object_, kMachineConfigPoolFields["spec.maxUnavailable"]), node_count)
      .context("MachineConfigPool {}", name());
}

std::vector<std::string> MachineConfigPoolView::target_sources() const {
  return source_names(object_, kMachineConfigPoolFields["spec.configuration.source"],
                      kMachineConfigPoolFields["spec.configuration.source[].name"]);
}

std::vector<std::string> MachineConfigPoolView::reached_sources() const {
  return source_names(object_, kMachineConfigPoolFields["status.configuration.source"],
                      kMachineConfigPoolFields["status.configuration.source[].name"]);
}

PoolCounts MachineConfigPoolView::counts() const {
  return {int_at(object_, kMachineConfigPoolFields["status.machineCount"]),
          int_at(object_, kMachineConfigPoolFields["status.updatedMachineCount"]),
          int_at(object_, kMachineConfigPoolFields["status.readyMachineCount"]),
          int_at(object_, kMachineConfigPoolFields["status.unavailableMachineCount"]),
          int_at(object_, kMachineConfigPoolFields["status.degradedMachineCount"])};
}

void MachineConfigPoolEdit::set_machine_config_selector(json::Value selector) {
  set_field(object_, kMachineConfigPoolFields["spec.machineConfigSelector"], std::move(selector));
}

void MachineConfigPoolEdit::set_node_selector(json::Value selector) {
  set_field(object_, kMachineConfigPoolFields["spec.nodeSelector"], std::move(selector));
}

void MachineConfigPoolEdit::set_paused(bool paused) {
  set_field(object_, kMachineConfigPoolFields["spec.paused"], paused);
}

void MachineConfigPoolEdit::set_target(std::string_view rendered, std::span<const std::string> sources) {
  set_text(object_, kMachineConfigPoolFields["spec.configuration.name"], rendered);
  json::Array references;
  references.reserve(sources.size());
  for (const std::string& source : sources) {
    references.push_back(
        json::Object{{"apiVersion", kMachineConfig.api_version()}, {"kind", kMachineConfig.kind}, {"name", source}});
  }
  set_field(object_, kMachineConfigPoolFields["spec.configuration.source"], std::move(references));
}

void MachineConfigPoolEdit::mark_target_reached() {
  const json::Value* target = find_field(object_, kMachineConfigPoolFields["spec.configuration"]);
  if (target == nullptr) return;
  set_field(object_, kMachineConfigPoolFields["status.configuration"], json::Value(*target));
}

void MachineConfigPoolEdit::set_observed_generation(std::int64_t generation) {
  set_field(object_, kMachineConfigPoolFields["status.observedGeneration"], generation);
}

void MachineConfigPoolEdit::set_counts(const PoolCounts& counts) {
  set_field(object_, kMachineConfigPoolFields["status.machineCount"], counts.machines);
  set_field(object_, kMachineConfigPoolFields["status.updatedMachineCount"], counts.updated);
  set_field(object_, kMachineConfigPoolFields["status.readyMachineCount"], counts.ready);
  set_field(object_, kMachineConfigPoolFields["status.unavailableMachineCount"], counts.unavailable);
  set_field(object_, kMachineConfigPoolFields["status.degradedMachineCount"], counts.degraded);
}

}  // namespace strake::api
