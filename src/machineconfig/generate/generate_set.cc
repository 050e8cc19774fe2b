#include "machineconfig/generate/generate_set.h"

#include <algorithm>

#include "api/machine_config.h"
#include "api/node_annotations.h"
#include "machineconfig/generate/generate_plan.h"

namespace strake::machineconfig {

namespace {

GeneratePlan plan_of_set(const ConfigSet& set, const std::string& version) {
  GenerateInput input;
  input.pools = pools_of(set);
  input.configs = set.configs;
  input.generators = set.generators;
  input.policies = set.mirror_policies;
  input.controller_config = set.controller_config;
  input.version = version;
  return plan_generated(input);
}

const kube::Object* held_config(const ConfigSet& set, const std::string& name) {
  const auto found =
      std::ranges::find_if(set.configs, [&](const kube::ObjectPtr& config) { return config->name() == name; });
  return found == set.configs.end() ? nullptr : found->get();
}

/// "KubeletConfig small", "the mirror sets, image policies and the Image config".
std::string origin_of(const kube::Object& config) {
  const std::string from = config.annotation(api::config_annotation::kGeneratedFrom).value_or("");
  if (from.empty()) return "the mirror sets, image policies and the Image config";
  const std::size_t slash = from.find('/');
  return fmt::format("{} {}", from.substr(0, slash), from.substr(slash + 1, from.rfind('@') - slash - 1));
}

}  // namespace

Result<ConfigSet> with_generated(ConfigSet set, const std::string& version) {
  GeneratePlan plan = plan_of_set(set, version);
  for (const GeneratorVerdict& verdict : plan.generators) {
    if (!verdict.refusal) continue;
    return Error(*verdict.refusal).context(fmt::format("{} {}", verdict.generator->kind(), verdict.generator->name()));
  }
  if (plan.registries_refusal) return *std::move(plan.registries_refusal);
  for (kube::Object& config : plan.configs) {
    if (held_config(set, config.name()) != nullptr) continue;
    set.configs.push_back(std::make_shared<const kube::Object>(std::move(config)));
  }
  return set;
}

std::vector<std::string> generated_notes(const ConfigSet& set, const std::string& version) {
  std::vector<std::string> notes;
  const GeneratePlan plan = plan_of_set(set, version);
  for (const GeneratorVerdict& verdict : plan.generators) {
    if (!verdict.refusal) continue;
    const std::string who = fmt::format("{} {}", verdict.generator->kind(), verdict.generator->name());
    // What its pools or base files are is not in the input, so nobody can say here whether it is right.
    if (verdict.refusal->code() == Code::kNotFound) {
      const bool is_held =
          !verdict.configs.empty() && std::ranges::all_of(verdict.configs, [&](const std::string& name) {
            return held_config(set, name) != nullptr;
          });
      if (is_held) continue;
      notes.push_back(fmt::format("{} is not rendered: {}", who, verdict.refusal->to_string()));
    } else {
      notes.push_back(fmt::format("{} would be refused: {}", who, verdict.refusal->to_string()));
    }
  }
  if (plan.registries_refusal) notes.push_back(fmt::format("refused: {}", plan.registries_refusal->to_string()));
  for (const kube::Object& config : plan.configs) {
    const kube::Object* held = held_config(set, config.name());
    if (held == nullptr) {
      notes.push_back(fmt::format("{} is not in the input: a cluster makes it of {}, and the rendered name will differ",
                                  config.name(), origin_of(config)));
    } else if (held->annotation(api::config_annotation::kGeneratedFrom) && api::spec_of(*held) != nullptr &&
               json::write_canonical(*api::spec_of(*held)) != json::write_canonical(*api::spec_of(config))) {
      notes.push_back(fmt::format("{} of the input is not what {} makes of it now, and the rendered name will differ",
                                  config.name(), origin_of(config)));
    }
  }
  return notes;
}

}  // namespace strake::machineconfig
