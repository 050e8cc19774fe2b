#include "machineconfig/render.h"

#include "api/controller_config.h"
#include "api/kinds.h"
#include "api/machine_config_pool.h"
#include "api/node_annotations.h"
#include "api/os_image_stream.h"
#include "kube/selector.h"
#include "machineconfig/merge.h"
#include "machineconfig/render_gates.h"
#include "machineconfig/rendered_name.h"

namespace strake::machineconfig {

namespace {

Result<OsImages> default_images(const RenderInput& input) {
  if (input.os_image_stream) {
    const api::MachineConfigPoolView pool(input.pool->json());
    const bool custom = input.pool->name() != api::kMasterPool && input.pool->name() != api::kWorkerPool;
    const std::string inherited =
        custom && input.worker_pool ? api::MachineConfigPoolView(input.worker_pool->json()).os_image_stream() : "";
    STRAKE_TRY(const api::OsStream stream,
               api::OsImageStreamView(input.os_image_stream->json()).resolve(pool.os_image_stream(), inherited));
    return OsImages{stream.os_image, stream.extensions_image};
  }
  if (input.controller_config) {
    const api::ControllerConfigView config(input.controller_config->json());
    return OsImages{config.base_os_image(), config.base_os_extensions_image()};
  }
  return OsImages{};
}

GateInput gate_input(const RenderInput& input, const std::vector<kube::ObjectPtr>& selected) {
  GateInput gates;
  gates.pool = input.pool.get();
  gates.controller_config = input.controller_config.get();
  gates.os_image_stream = input.os_image_stream.get();
  for (const kube::ObjectPtr& config : selected) gates.selected.push_back(config.get());
  for (const kube::ObjectPtr& generator : input.generators) gates.generators.push_back(generator.get());
  gates.version = input.version;
  return gates;
}

Result<RenderPlan> render_selected(const RenderInput& input, const std::vector<kube::ObjectPtr>& selected) {
  STRAKE_TRY(const OsImages images, default_images(input));
  STRAKE_TRY(json::Value spec, merge_specs(selected, images));
  STRAKE_TRY(const std::string name, rendered_name(input.pool->name(), spec));

  RenderPlan plan;
  for (const kube::ObjectPtr& config : selected) plan.sources.push_back(config->name());
  plan.os_image_overridden = json::find_string(spec, {"osImageURL"}) != images.os_image;
  if (plan.os_image_overridden && !api::MachineConfigPoolView(input.pool->json()).os_image_stream().empty()) {
    return error(Code::kInvalidArgument,
                 "a MachineConfig sets osImageURL while pool {} chooses an OS image stream; remove one of them",
                 input.pool->name());
  }
  plan.rendered = kube::Object(api::kMachineConfig, {"", name});
  plan.rendered.set_annotation(api::config_annotation::kGeneratedByController, input.version.value_or(""));
  if (input.controller_config) {
    if (const auto release = input.controller_config->annotation(api::config_annotation::kReleaseImageVersion)) {
      plan.rendered.set_annotation(api::config_annotation::kReleaseImageVersion, *release);
    }
  }
  if (plan.os_image_overridden) plan.rendered.set_annotation(api::config_annotation::kOsImageUrlOverridden, "true");
  plan.rendered.add_owner(
      {input.pool->api_version(), input.pool->kind(), input.pool->name(), input.pool->uid(), true, true});
  plan.rendered.json().get_object()["spec"] = std::move(spec);
  if (const std::size_t size = json::write(plan.rendered.json()).size(); size > kMaxRenderedBytes) {
    return error(Code::kExhausted,
                 "the rendered config would have {} bytes, the limit is {}; make files smaller or compress them", size,
                 kMaxRenderedBytes);
  }
  return plan;
}

}  // namespace

Result<std::vector<kube::ObjectPtr>> select_configs(const kube::Object& pool,
                                                    const std::vector<kube::ObjectPtr>& configs) {
  const json::Value* raw = api::MachineConfigPoolView(pool.json()).machine_config_selector();
  STRAKE_TRY_CONTEXT(const kube::Selector selector,
                     kube::Selector::from_json(raw, kube::AbsentSelector::kMatchesNothing),
                     "spec.machineConfigSelector");
  if (selector.matches_everything()) {
    return error(Code::kInvalidArgument,
                 "spec.machineConfigSelector: an empty selector would select every MachineConfig; name a role");
  }
  std::vector<kube::ObjectPtr> selected;
  for (const kube::ObjectPtr& config : configs) {
    if (selector.matches(config->labels())) selected.push_back(config);
  }
  if (selected.empty()) {
    return error(Code::kNotFound, "no MachineConfig matches the selector '{}' of pool {}", selector.to_string(),
                 pool.name());
  }
  sort_for_merge(selected);
  return selected;
}

Result<RenderPlan> plan_render(const RenderInput& input) {
  STRAKE_TRY(const auto selected, select_configs(*input.pool, input.configs));
  STRAKE_CHECK_OK(check_render_gates(gate_input(input, selected)));
  return render_selected(input, selected);
}

Result<RenderPlan> render_pool(const RenderInput& input) {
  STRAKE_TRY(const auto selected, select_configs(*input.pool, input.configs));
  return render_selected(input, selected);
}

}  // namespace strake::machineconfig
