#include "machineconfig/render/render.h"

#include <algorithm>

#include "api/controller_config.h"
#include "api/kinds.h"
#include "api/machine_config.h"
#include "api/machine_config_pool.h"
#include "api/node_annotations.h"
#include "api/os_image_stream.h"
#include "machineconfig/agent_files.h"
#include "machineconfig/merge/provenance.h"
#include "machineconfig/merge/select.h"
#include "machineconfig/render/render_gates.h"
#include "machineconfig/render/rendered_name.h"

namespace strake::machineconfig {

namespace {

GateInput gate_input(const RenderInput& input, const std::vector<kube::ObjectPtr>& selected) {
  GateInput gates;
  gates.pool = input.pool.get();
  gates.controller_config = input.controller_config.get();
  gates.os_image_stream = input.os_image_stream.get();
  for (const kube::ObjectPtr& config : selected) gates.selected.push_back(config.get());
  gates.configs.reserve(input.configs.size());
  for (const kube::ObjectPtr& config : input.configs) gates.configs.push_back(config.get());
  for (const kube::ObjectPtr& generator : input.generators) gates.generators.push_back(generator.get());
  gates.generators_processed = input.generators_processed;
  gates.version = input.version;
  return gates;
}

/// The entries of a list with the most JSON, as a hint where to save.
void add_large_items(const json::Value& config, std::initializer_list<std::string_view> list, std::string_view key,
                     std::vector<std::pair<std::size_t, std::string>>& items) {
  const json::Value* entries = json::find(config, list);
  if (entries == nullptr) return;
  for (const json::Value& entry : entries->get_array()) {
    items.emplace_back(go_json_size(entry), json::find_string(entry, {key}).value_or(""));
  }
}

Error too_large(std::size_t size, std::size_t limit, const json::Value& spec) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::pair<std::size_t, std::string>> items;
  add_large_items(*json::find(spec, {"config"}), {"storage", "files"}, "path", items);
  add_large_items(*json::find(spec, {"config"}), {"systemd", "units"}, "name", items);
  std::ranges::sort(items, std::greater());
  std::string largest;
  for (std::size_t i = 0; i < std::min(items.size(), kNamed); ++i) {
    largest += fmt::format("{}{} ({} bytes)", largest.empty() ? "" : ", ", items[i].second, items[i].first);
  }
  return error(Code::kExhausted,
               "the rendered config would have {} bytes, the limit is {}; make files smaller or compress them, the "
               "largest first: {}",
               size, limit, largest);
}

kube::Object rendered_object(const RenderInput& input, const std::string& name, bool os_image_overridden) {
  kube::Object rendered(api::kMachineConfig, {"", name});
  rendered.set_annotation(api::config_annotation::kGeneratedByController, input.version.value_or(""));
  if (input.controller_config) {
    if (const auto release = input.controller_config->annotation(api::config_annotation::kReleaseImageVersion)) {
      rendered.set_annotation(api::config_annotation::kReleaseImageVersion, *release);
    }
  }
  if (os_image_overridden) rendered.set_annotation(api::config_annotation::kOsImageUrlOverridden, "true");
  const kube::Object& pool = *input.pool;
  rendered.add_owner({pool.api_version(), pool.kind(), pool.name(), pool.uid(), true, true});
  return rendered;
}

/// The last MachineConfig that names its own OS image.
std::string image_chooser(const std::vector<Fragment>& fragments) {
  const auto last = std::find_if(fragments.rbegin(), fragments.rend(), [](const Fragment& fragment) {
    return !fragment.generated && !fragment.os_image.empty();
  });
  return last == fragments.rend() ? "" : last->name;
}

/// Adds to a refusal which MachineConfig gave the file its contents.
Status blame_contents(Status refused, const std::vector<kube::ObjectPtr>& selected, const std::string& path) {
  if (refused.ok()) return {};
  STRAKE_TRY(const std::vector<Fragment> fragments, read_fragments(selected));
  const Provenance provenance = trace(fragments, {});
  for (const Contribution& contribution : *provenance.find({SubjectKind::kFile, path})) {
    if (std::ranges::find(contribution.in_effect, "contents.source") == contribution.in_effect.end()) continue;
    return std::move(refused).context("MachineConfig {}: spec.config", contribution.source);
  }
  return refused;
}

Result<RenderPlan> render_selected(const RenderInput& input, const std::vector<kube::ObjectPtr>& selected) {
  RenderPlan plan;
  STRAKE_TRY(plan.defaults, default_images(input));
  STRAKE_TRY(std::vector<Fragment> fragments, read_fragments(selected));
  for (const Fragment& fragment : fragments) plan.sources.push_back(fragment.name);
  const std::string chooser = image_chooser(fragments);
  STRAKE_TRY(json::Value spec, merge_specs(std::move(fragments), plan.defaults));

  plan.os_image_overridden = json::find_string(spec, {"osImageURL"}) != plan.defaults.os_image;
  if (plan.os_image_overridden && !api::MachineConfigPoolView(input.pool->json()).os_image_stream().empty()) {
    return error(Code::kInvalidArgument,
                 "MachineConfig {}: spec.osImageURL: pool {} chooses an OS image stream (spec.osImageStream); remove "
                 "one of them",
                 chooser, input.pool->name());
  }
  plan.runtime = crio_default_runtime(*json::find(spec, {"config"}));
  if (plan.runtime && !plan.os_image_overridden) {
    STRAKE_CHECK_OK(
        blame_contents(check_runtime_exists(*plan.runtime, plan.defaults.stream), selected, plan.runtime->path));
  }
  if (input.size_limit) {
    // Before the name is known, because what is too large need not be hashed; only its length counts.
    const std::string any_name = fmt::format("{}{}-{:032}", api::kRenderedPrefix, input.pool->name(), 0);
    plan.size_bytes = rendered_size(rendered_object(input, any_name, plan.os_image_overridden).json(), spec);
    if (plan.size_bytes > *input.size_limit) return too_large(plan.size_bytes, *input.size_limit, spec);
  }
  STRAKE_TRY(const std::string name, rendered_name(input.pool->name(), spec));
  plan.rendered = rendered_object(input, name, plan.os_image_overridden);
  // Only a base config can have brought it: read_fragment refuses it in any other.
  if (const auto mark = agent_unit_mark(*json::find(spec, {"config"}))) {
    plan.rendered.set_annotation(kAgentUnitAnnotation, *mark);
  }
  plan.rendered.json().get_object()["spec"] = std::move(spec);
  plan.ignored = ignored_generators(gate_input(input, selected));
  return plan;
}

}  // namespace

Result<OsImages> default_images(const RenderInput& input) {
  if (input.os_image_stream) {
    STRAKE_TRY(const api::OsStream stream,
               api::OsImageStreamView(input.os_image_stream->json())
                   .resolve(effective_os_image_stream(*input.pool, input.worker_pool.get())));
    return OsImages{stream.os_image, stream.extensions_image, stream.name,
                    fmt::format("OSImageStream {}", input.os_image_stream->name())};
  }
  if (input.controller_config) {
    const api::ControllerConfigView config(input.controller_config->json());
    return OsImages{config.base_os_image(), config.base_os_extensions_image(), "",
                    fmt::format("ControllerConfig {}", input.controller_config->name())};
  }
  return OsImages{};
}

Result<std::vector<Fragment>> read_fragments(const std::vector<kube::ObjectPtr>& selected) {
  std::vector<Fragment> fragments;
  fragments.reserve(selected.size());
  for (const kube::ObjectPtr& config : selected) {
    STRAKE_TRY(Fragment fragment, read_fragment(*config));
    fragments.push_back(std::move(fragment));
  }
  return fragments;
}

Result<RenderPlan> plan_render(const RenderInput& input) {
  const auto selected = select_configs(*input.pool, input.configs);
  const bool none_yet = !selected.ok() && selected.error().code() == Code::kNotFound;
  if (!selected.ok() && !none_yet) return selected.error();
  // A pool without configs may be waiting for its base config: then the gate says why there is none.
  STRAKE_CHECK_OK(check_render_gates(gate_input(input, none_yet ? std::vector<kube::ObjectPtr>{} : *selected)));
  if (none_yet) return selected.error();
  return render_selected(input, *selected);
}

Result<RenderPlan> render_pool(const RenderInput& input) {
  STRAKE_TRY(const auto selected, select_configs(*input.pool, input.configs));
  return render_selected(input, selected);
}

}  // namespace strake::machineconfig
