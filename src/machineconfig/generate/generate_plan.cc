#include "machineconfig/generate/generate_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "api/config_generator.h"
#include "api/controller_config.h"
#include "api/kinds.h"
#include "api/machine_config_pool.h"
#include "api/node_annotations.h"
#include "kube/selector.h"
#include "machineconfig/generate/kubelet_config.h"
#include "machineconfig/generate/registries.h"
#include "machineconfig/generate/runtime_config.h"
#include "machineconfig/impact/registries_change.h"
#include "machineconfig/merge/select.h"

namespace strake::machineconfig {

namespace {

GeneratedKind generated_kind(const kube::Object& generator) {
  return generator.kind() == api::kKubeletConfig.kind ? GeneratedKind::kKubelet : GeneratedKind::kContainerRuntime;
}

/// Those of the MachineConfigs that the pool takes, to find base files in; none when it takes none.
std::vector<kube::ObjectPtr> selected_or_none(const kube::Object& pool, const std::vector<kube::ObjectPtr>& configs) {
  auto selected = select_configs(pool, configs);
  return selected.ok() ? *std::move(selected) : std::vector<kube::ObjectPtr>();
}

class Planner {
 public:
  explicit Planner(const GenerateInput& input) : input_(input) {
    for (const kube::ObjectPtr& pool : input.pools) {
      if (!pool->deleting()) pools_.push_back(pool);
    }
    // They alone are read; the others are many.
    std::ranges::copy_if(input.configs, std::back_inserter(bases_),
                         [](const kube::ObjectPtr& config) { return is_base_config(config->name()); });
  }

  GeneratePlan run() {
    plan_generators();
    plan_registries();
    std::ranges::sort(plan_.configs, {}, [](const kube::Object& config) { return config.name(); });
    find_stale();
    return std::move(plan_);
  }

 private:
  struct Candidate {
    GeneratorVerdict verdict;
    std::vector<kube::ObjectPtr> pools{};
  };

  void plan_generators() {
    std::vector<kube::ObjectPtr> ordered = input_.generators;
    std::ranges::stable_sort(ordered, [](const kube::ObjectPtr& a, const kube::ObjectPtr& b) {
      return std::pair(a->creation_timestamp(), a->name()) < std::pair(b->creation_timestamp(), b->name());
    });
    std::vector<Candidate> candidates;
    candidates.reserve(ordered.size());
    for (kube::ObjectPtr& generator : ordered) candidates.push_back({{std::move(generator)}, {}});
    for (Candidate& candidate : candidates) {
      if (!candidate.verdict.generator->deleting()) find_pools(candidate);
    }
    // Those that have a number keep it, whoever comes first now.
    for (Candidate& candidate : candidates) take_own_suffix(candidate);
    for (Candidate& candidate : candidates) take_new_suffix(candidate);
    for (Candidate& candidate : candidates) {
      generate(candidate);
      if (candidate.verdict.refusal) keep_present(*candidate.verdict.generator);
      plan_.generators.push_back(std::move(candidate.verdict));
    }
  }

  void find_pools(Candidate& candidate) const {
    for (const kube::ObjectPtr& pool : pools_) {
      const Result<bool> selects = generator_selects(*candidate.verdict.generator, *pool);
      if (!selects.ok()) {
        candidate.verdict.refusal = selects.error();
        candidate.pools.clear();
        return;
      }
      if (*selects) candidate.pools.push_back(pool);
    }
    if (candidate.pools.empty()) {
      candidate.verdict.refusal =
          error(Code::kNotFound,
                "spec.machineConfigPoolSelector: selects the labels of no MachineConfigPool; correct it, or "
                "label the pool it is meant for");
    }
  }

  void take_own_suffix(Candidate& candidate) {
    const kube::Object& generator = *candidate.verdict.generator;
    const auto own = generator.annotation(api::config_annotation::kConfigNameSuffix);
    if (!own || candidate.verdict.refusal || generator.deleting()) return;
    const bool fits = own->empty() || (own->size() == 1 && own->front() >= '1' && own->front() <= '9');
    if (!fits) {
      candidate.verdict.refusal =
          error(Code::kInvalidArgument, "annotation {}: '{}' is neither empty nor 1 to {}; remove it",
                api::config_annotation::kConfigNameSuffix, *own, kMaxGeneratedSuffix);
      return;
    }
    for (const kube::ObjectPtr& pool : candidate.pools) {
      const auto taken = owners_.find(generated_name(pool->name(), generated_kind(generator), *own));
      if (taken == owners_.end()) continue;
      candidate.verdict.refusal =
          error(Code::kConflict, "annotation {}: '{}' is taken by {} {} in pool {}; remove it",
                api::config_annotation::kConfigNameSuffix, *own, generator.kind(), taken->second, pool->name());
      return;
    }
    take_names(candidate, *own);
  }

  /// One above the highest in any of its pools: the newest has the last word.
  void take_new_suffix(Candidate& candidate) {
    const kube::Object& generator = *candidate.verdict.generator;
    if (candidate.verdict.suffix || candidate.verdict.refusal || generator.deleting()) return;
    int next = 0;
    for (const kube::ObjectPtr& pool : candidate.pools) {
      for (int number = 0; number <= kMaxGeneratedSuffix; ++number) {
        const std::string suffix = number == 0 ? "" : std::to_string(number);
        if (owners_.contains(generated_name(pool->name(), generated_kind(generator), suffix))) {
          next = std::max(next, number + 1);
        }
      }
      if (next <= kMaxGeneratedSuffix) continue;
      candidate.verdict.refusal = error(Code::kExhausted,
                                        "pool {} has no number left for a {}: the limit is {}; "
                                        "delete the one whose MachineConfig ends in -{} or another and create it anew",
                                        pool->name(), generator.kind(), kMaxGeneratedSuffix + 1, kMaxGeneratedSuffix);
      return;
    }
    take_names(candidate, next == 0 ? "" : std::to_string(next));
  }

  void take_names(Candidate& candidate, const std::string& suffix) {
    const kube::Object& generator = *candidate.verdict.generator;
    candidate.verdict.suffix = suffix;
    for (const kube::ObjectPtr& pool : candidate.pools) {
      std::string name = generated_name(pool->name(), generated_kind(generator), suffix);
      owners_[name] = generator.name();
      candidate.verdict.configs.push_back(std::move(name));
    }
  }

  Result<std::vector<GeneratedFile>> files_for(const kube::Object& generator, const kube::Object& pool) const {
    const std::vector<kube::ObjectPtr> selected = selected_or_none(pool, bases_);
    if (generated_kind(generator) == GeneratedKind::kKubelet) {
      return generate_kubelet_config({&generator, &pool, base_file(selected, kKubeletConfPath)});
    }
    return generate_runtime_config(generator, base_file(selected, kStorageConfPath).value_or(""));
  }

  void generate(Candidate& candidate) {
    GeneratorVerdict& verdict = candidate.verdict;
    const kube::Object& generator = *verdict.generator;
    if (verdict.refusal || generator.deleting()) return;
    std::vector<kube::Object> made;
    for (const kube::ObjectPtr& pool : candidate.pools) {
      const auto files = files_for(generator, *pool);
      if (!files.ok()) {
        verdict.refusal = files.error();
        return;
      }
      const std::string name = generated_name(pool->name(), generated_kind(generator), *verdict.suffix);
      made.push_back(generated_config(name, pool->name(), *files, input_.version));
      made.back().set_annotation(api::config_annotation::kGeneratedFrom, generated_from(generator));
    }
    std::ranges::move(made, std::back_inserter(plan_.configs));
  }

  /// What it made before stays in force, as a node's present config does when a new one is refused.
  void keep_present(const kube::Object& generator) {
    for (const std::string& name : generator.finalizers()) kept_.insert(name);
    const std::string from = fmt::format("{}/{}@", generator.kind(), generator.name());
    for (const kube::ObjectPtr& config : input_.configs) {
      const auto origin = config->annotation(api::config_annotation::kGeneratedFrom);
      if (origin && origin->starts_with(from)) kept_.insert(config->name());
    }
  }

  void plan_registries() {
    std::vector<kube::Object> made;
    for (const kube::ObjectPtr& pool : pools_) {
      if (!is_built_in_pool(*pool)) continue;
      const std::vector<kube::ObjectPtr> selected = selected_or_none(*pool, bases_);
      RegistriesInput registries;
      registries.policies = input_.policies;
      if (input_.controller_config) {
        registries.release_image = api::ControllerConfigView(input_.controller_config->json()).release_image();
      }
      registries.base_conf = base_file(selected, kRegistriesConfPath).value_or("");
      registries.base_policy = base_file(selected, kPolicyJsonPath).value_or("");
      const auto files = generate_registries(registries);
      if (!files.ok()) {
        plan_.registries_refusal = files.error();
        for (const kube::ObjectPtr& any : pools_) {
          kept_.insert(generated_name(any->name(), GeneratedKind::kRegistries));
        }
        return;
      }
      if (files->empty()) continue;
      made.push_back(generated_config(generated_name(pool->name(), GeneratedKind::kRegistries), pool->name(), *files,
                                      input_.version));
      made.back().set_annotation(api::config_annotation::kGeneratedFrom, kFromRegistryPolicies);
    }
    std::ranges::move(made, std::back_inserter(plan_.configs));
  }

  /// Only what a controller generated: a user's MachineConfig of such a name is the user's.
  void find_stale() {
    std::set<std::string> wanted = kept_;
    for (const kube::Object& config : plan_.configs) wanted.insert(config.name());
    for (const kube::ObjectPtr& config : input_.configs) {
      if (!parse_generated_name(config->name()) || wanted.contains(config->name())) continue;
      if (config->annotation(api::config_annotation::kGeneratedByController).value_or("").empty()) continue;
      plan_.stale.push_back(config);
    }
  }

  const GenerateInput& input_;
  std::vector<kube::ObjectPtr> pools_;
  std::vector<kube::ObjectPtr> bases_;
  std::map<std::string, std::string> owners_;  ///< generated name -> name of the generator
  std::set<std::string> kept_;                 ///< names nobody touches
  GeneratePlan plan_;
};

}  // namespace

std::vector<std::string> GeneratorVerdict::final_finalizers() const {
  std::vector<std::string> finalizers;
  for (const std::string& name : generator->finalizers()) {
    if (refusal || !parse_generated_name(name)) finalizers.push_back(name);
  }
  if (refusal) return finalizers;
  finalizers.insert(finalizers.end(), configs.begin(), configs.end());
  return finalizers;
}

Result<bool> generator_selects(const kube::Object& generator, const kube::Object& pool) {
  STRAKE_TRY_CONTEXT(const kube::Selector selector,
                     kube::Selector::from_json(api::ConfigGeneratorView(generator.json()).pool_selector(),
                                               kube::AbsentSelector::kMatchesNothing),
                     "{} {}: spec.machineConfigPoolSelector", generator.kind(), generator.name());
  return !selector.matches_everything() && selector.matches(pool.labels());
}

std::string generated_from(const kube::Object& generator) {
  return fmt::format("{}/{}@{}", generator.kind(), generator.name(), generator.generation());
}

GeneratePlan plan_generated(const GenerateInput& input) { return Planner(input).run(); }

bool is_built_in_pool(const kube::Object& pool) {
  return pool.label(api::label::kBuiltInPool) || pool.name() == api::kMasterPool || pool.name() == api::kWorkerPool ||
         pool.name() == api::kArbiterPool;
}

kube::ObjectPtr refused_policy(const std::vector<kube::ObjectPtr>& policies, const Error& refusal) {
  const std::string why = refusal.to_string();
  const auto found = std::ranges::find_if(policies, [&](const kube::ObjectPtr& policy) {
    return why.starts_with(fmt::format("{} {}: ", policy->kind(), policy->key().to_string()));
  });
  return found == policies.end() ? nullptr : *found;
}

}  // namespace strake::machineconfig
