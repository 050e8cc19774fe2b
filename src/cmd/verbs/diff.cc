#include <algorithm>
#include <filesystem>
#include <set>

#include "api/controller_config.h"
#include "api/kinds.h"
#include "api/machine_config.h"
#include "cmd/cli/commands.h"
#include "cmd/input/config_input.h"
#include "cmd/input/config_set.h"
#include "cmd/input/connection.h"
#include "cmd/input/image_access.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "machineconfig/diff/spec_diff.h"
#include "machineconfig/merge/provenance.h"

namespace strake::cmd {

namespace {

using machineconfig::ConfigSet;

constexpr ArgumentSpec kDiffArguments[] = {
    {"A", "before: a file or directory of MachineConfigs, or the name of a rendered config in the cluster", false,
     false, kFileValue},
    {"B", "after: likewise", false, false, kFileValue}};
constexpr OptionSpec kDiffOwnOptions[] = {
    {"with", "PATH", "after: A (or the cluster, without A) with these MachineConfigs added or replaced", "",
     kFileValue},
    {"pool", "NAME", "only this pool"},
    {"policy", "FILE", "a MachineConfiguration whose disruption policy and overrides count, instead of the input's", "",
     kFileValue},
    {"show-secrets", "", "show passwords, keys and pull secrets too"},
    kOutputOption,
    kOsImageOption,
    kExtensionsImageOption,
    kReleaseOption,
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption};
constexpr auto kDiffOptions = join_options(kDiffOwnOptions, kImageOptions);

/// One side of the comparison: either a config that is taken as it stands, or a set that is rendered for each pool.
struct Side {
  kube::ObjectPtr single{};
  ConfigSet set{};
};

/// A config of a pool, and where its parts come from when that is known.
struct Comparand {
  std::string name;
  json::Value spec;
  std::optional<machineconfig::Provenance> provenance;
};

struct Comparison {
  std::string pool;  ///< "" for two configs taken as they stand
  Comparand before;
  Comparand after;
};

/// What may need a cluster, connected to once.
class DiffInput {
 public:
  explicit DiffInput(const Invocation& invocation) : invocation_(invocation) {}

  Result<Side> read(const std::string& operand) {
    std::error_code failure;
    if (operand == kStandardInputPath || std::filesystem::exists(operand, failure)) return read_files(operand);
    if (operand.find('/') != std::string::npos || !operand.starts_with(api::kRenderedPrefix)) {
      return error(Code::kNotFound,
                   "{}: there is no such file or directory, and it is not the name of a rendered config", operand);
    }
    STRAKE_TRY(kube::KubeApi * api, cluster());
    STRAKE_TRY_CONTEXT(kube::Object config, api->get(api::kMachineConfig, {"", operand}, call()),
                       "reading MachineConfig {} from the cluster", operand);
    Side side;
    side.single = std::make_shared<const kube::Object>(std::move(config));
    STRAKE_TRY(side.set.machine_configuration, read_machine_configuration());
    return side;
  }

  Result<Side> read_cluster() {
    STRAKE_TRY(kube::KubeApi * api, cluster());
    Side side;
    STRAKE_TRY(side.set, read_config_cluster(*api, call()));
    return side;
  }

 private:
  Result<Side> read_files(const std::string& path) {
    STRAKE_TRY(ConfigFiles files, read_config_files(path));
    for (const std::string& note : files.notes) invocation_.out().warn(note);
    if (files.set.configs.empty()) return error(Code::kNotFound, "{} holds no MachineConfig", shown_path(path));
    Side side;
    if (files.set.configs.size() == 1 && files.set.pools.empty()) {
      side.single = files.set.configs.front();
      side.set = std::move(files.set);
      return side;
    }
    STRAKE_TRY(side.set, with_image_options(std::move(files.set), invocation_));
    return side;
  }

  Result<kube::KubeApi*> cluster() {
    if (!api_) {
      STRAKE_TRY(api_, connect(runtime_, invocation_));
    }
    return api_.get();
  }

  Result<kube::ObjectPtr> read_machine_configuration() {
    STRAKE_TRY(kube::KubeApi * api, cluster());
    auto found = api->get(api::kMachineConfiguration, {"", std::string(api::kMachineConfigurationName)}, call());
    if (found.ok()) return kube::ObjectPtr(std::make_shared<const kube::Object>(*std::move(found)));
    if (found.error().code() == Code::kNotFound) return kube::ObjectPtr();
    return found.error();
  }

  kube::Call call() { return cluster_call(runtime_, invocation_); }

  const Invocation& invocation_;
  runtime::ThreadRuntime runtime_;
  std::unique_ptr<kube::KubeApi> api_;
};

Comparand as_it_stands(const kube::Object& config) {
  const json::Value* spec = api::spec_of(config);
  return {config.name(), spec == nullptr ? json::Object{} : *spec, std::nullopt};
}

Result<Comparand> rendered_for(const ConfigSet& set, const kube::ObjectPtr& pool) {
  machineconfig::RenderInput input = machineconfig::render_input(set, pool);
  input.size_limit = std::nullopt;
  STRAKE_TRY_CONTEXT(machineconfig::RenderPlan plan, machineconfig::render_pool(input), "pool {}", pool->name());
  STRAKE_TRY_CONTEXT(machineconfig::Provenance provenance, machineconfig::trace_pool(input), "pool {}", pool->name());
  Comparand comparand = as_it_stands(plan.rendered);
  comparand.provenance = std::move(provenance);
  return comparand;
}

kube::ObjectPtr find_pool(const std::vector<kube::ObjectPtr>& pools, const std::string& name) {
  const auto found = std::ranges::find(pools, name, [](const kube::ObjectPtr& pool) { return pool->name(); });
  return found == pools.end() ? nullptr : *found;
}

/// "rendered-<pool>-<hash>" tells its pool.
std::string pool_of_rendered(const std::string& name) {
  const std::size_t hash = name.rfind('-');
  if (!name.starts_with(api::kRenderedPrefix) || hash < api::kRenderedPrefix.size()) return "";
  return name.substr(api::kRenderedPrefix.size(), hash - api::kRenderedPrefix.size());
}

Result<Comparand> one_side(const Side& side, const std::string& pool) {
  if (side.single) return as_it_stands(*side.single);
  STRAKE_TRY(const auto pools, chosen_pools(side.set, pool));
  return rendered_for(side.set, pools.front());
}

/// One of the sides is a set, the other a config that stands for one pool.
Result<std::vector<Comparison>> compare_with_single(const Side& before, const Side& after, const std::string& only) {
  const kube::Object& single = before.single ? *before.single : *after.single;
  const std::string pool = !only.empty() ? only : pool_of_rendered(single.name());
  if (pool.empty()) {
    return error(Code::kInvalidArgument, "say with --pool which pool MachineConfig {} is to be compared with",
                 single.name());
  }
  Comparison comparison;
  comparison.pool = pool;
  STRAKE_TRY(comparison.before, one_side(before, pool));
  STRAKE_TRY(comparison.after, one_side(after, pool));
  std::vector<Comparison> comparisons;
  comparisons.push_back(std::move(comparison));
  return comparisons;
}

Result<std::vector<Comparison>> compare_sets(const ConfigSet& before, const ConfigSet& after, const std::string& only,
                                             Output& out) {
  const auto old_pools = machineconfig::pools_of(before), new_pools = machineconfig::pools_of(after);
  std::set<std::string> names;
  for (const auto& pools : {old_pools, new_pools}) {
    for (const kube::ObjectPtr& pool : pools) names.insert(pool->name());
  }
  if (!only.empty() && !names.contains(only)) {
    return error(Code::kNotFound, "there is no pool '{}'; known are {}", only, fmt::join(names, ", "));
  }
  std::vector<Comparison> comparisons;
  for (const std::string& name : names) {
    if (!only.empty() && name != only) continue;
    const kube::ObjectPtr old_pool = find_pool(old_pools, name), new_pool = find_pool(new_pools, name);
    if (!old_pool || !new_pool) {
      out.warn(fmt::format("pool {} is only {}; it is left out", name, old_pool ? "before" : "after"));
      continue;
    }
    Comparison comparison;
    comparison.pool = name;
    STRAKE_TRY_CONTEXT(comparison.before, rendered_for(before, old_pool), "before");
    STRAKE_TRY_CONTEXT(comparison.after, rendered_for(after, new_pool), "after");
    comparisons.push_back(std::move(comparison));
  }
  if (comparisons.empty()) return error(Code::kNotFound, "the two sides have no pool in common");
  return comparisons;
}

Result<std::vector<Comparison>> compare(const Side& before, const Side& after, const std::string& only, Output& out) {
  if (before.single && after.single) {
    std::vector<Comparison> comparisons;
    comparisons.push_back({"", as_it_stands(*before.single), as_it_stands(*after.single)});
    return comparisons;
  }
  if (before.single || after.single) return compare_with_single(before, after, only);
  return compare_sets(before.set, after.set, only, out);
}

/// A cluster of one machine has nowhere to move pods to.
bool is_single_replica(const ConfigSet& set) {
  if (!set.controller_config) return false;
  const json::Value* infrastructure = api::ControllerConfigView(set.controller_config->json()).infrastructure();
  return infrastructure != nullptr &&
         json::find_string(*infrastructure, {"status", "controlPlaneTopology"}) == "SingleReplica";
}

Result<machineconfig::DisruptionContext> disruption_context(const std::string& policy_file, const Side& before,
                                                            const Side& after) {
  machineconfig::DisruptionContext context;
  context.single_replica = is_single_replica(after.set) || is_single_replica(before.set);
  kube::ObjectPtr settings =
      after.set.machine_configuration ? after.set.machine_configuration : before.set.machine_configuration;
  if (!policy_file.empty()) {
    STRAKE_TRY(const ConfigFiles files, read_config_files(policy_file));
    settings = files.set.machine_configuration;
    if (!settings) {
      return error(Code::kNotFound, "--policy {} holds no MachineConfiguration (operator.openshift.io/v1)",
                   shown_path(policy_file));
    }
  }
  if (!settings) return context;
  STRAKE_TRY_CONTEXT(context.policy, machineconfig::effective_policy(settings->json()), "MachineConfiguration {}",
                     settings->name());
  STRAKE_TRY_CONTEXT(context.overrides, machineconfig::reconcile_overrides(settings->json()), "MachineConfiguration {}",
                     settings->name());
  return context;
}

/// Who has a say in a subject: every MachineConfig with something in effect, in merge order. A unit that is there only
/// for its drop-ins, or a user only for its keys, is from whoever brought those.
std::string origin_of(const std::optional<machineconfig::Provenance>& provenance,
                      const machineconfig::Subject& subject) {
  if (!provenance) return "";
  std::vector<machineconfig::Subject> subjects{subject};
  if (provenance->find(subject) == nullptr) subjects = provenance->lookup(subject.name);
  std::vector<std::string> winners;
  for (const machineconfig::Subject& part : subjects) {
    for (const machineconfig::Contribution& contribution : *provenance->find(part)) {
      if (contribution.wins() && std::ranges::find(winners, contribution.source) == winners.end()) {
        winners.push_back(contribution.source);
      }
    }
  }
  return fmt::format("{}", fmt::join(winners, ", "));
}

Result<machineconfig::SpecDiff> diff_of(const Comparison& comparison, const machineconfig::DisruptionContext& context,
                                        bool show_secrets) {
  machineconfig::SpecDiffOptions options;
  options.context = context;
  options.show_secrets = show_secrets;
  options.before_name = comparison.before.name;
  options.after_name = comparison.after.name;
  STRAKE_TRY(machineconfig::SpecDiff diff,
             machineconfig::diff_specs(comparison.before.spec, comparison.after.spec, options));
  for (machineconfig::SpecChange& change : diff.changes) {
    change.before_from = origin_of(comparison.before.provenance, change.subject);
    change.after_from = origin_of(comparison.after.provenance, change.subject);
  }
  return diff;
}

struct Sides {
  Side before;
  Side after;
};

Result<Sides> read_sides(const Invocation& invocation) {
  const std::string &a = invocation.value("A"), &b = invocation.value("B"), &with = invocation.value("with");
  if (with.empty() == b.empty()) {
    return error(Code::kInvalidArgument, "give A and B, or --with PATH (with or without A); see `strake diff --help`");
  }
  DiffInput input(invocation);
  Sides sides;
  if (with.empty()) {
    STRAKE_TRY(sides.before, input.read(a));
    STRAKE_TRY(sides.after, input.read(b));
    return sides;
  }
  STRAKE_TRY(sides.before, a.empty() ? input.read_cluster() : input.read(a));
  // What is added to is always a set, even when it is one MachineConfig.
  if (sides.before.single) {
    sides.before.single = nullptr;
    STRAKE_TRY(sides.before.set, with_image_options(std::move(sides.before.set), invocation));
  }
  STRAKE_TRY(const ConfigFiles added, read_config_files(with));
  sides.after = sides.before;
  sides.after.set.lay_over(added.set);
  return sides;
}

Result<int> run_diff(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  if (invocation.is_set("show-secrets")) invocation.out().show_secrets();
  STRAKE_TRY(const Sides sides, read_sides(invocation));
  STRAKE_TRY(const auto context, disruption_context(invocation.value("policy"), sides.before, sides.after));
  STRAKE_TRY(const auto comparisons, compare(sides.before, sides.after, invocation.value("pool"), invocation.out()));
  bool differs = false;
  json::Array results;
  for (const Comparison& comparison : comparisons) {
    STRAKE_TRY_CONTEXT(const machineconfig::SpecDiff diff,
                       diff_of(comparison, context, invocation.is_set("show-secrets")), "comparing {} with {}",
                       comparison.before.name, comparison.after.name);
    differs = differs || !diff.empty();
    if (as_json) {
      json::Value result = machineconfig::to_json(diff);
      if (!comparison.pool.empty()) result.get_object()["pool"] = comparison.pool;
      results.push_back(std::move(result));
    } else {
      if (comparisons.size() > 1) {
        invocation.out().text(fmt::format("{}== pool {}\n", results.empty() ? "" : "\n", comparison.pool));
      }
      invocation.out().text(machineconfig::to_text(diff));
      results.emplace_back(nullptr);
    }
  }
  if (as_json) {
    invocation.out().report(results.size() == 1 ? std::move(results.front())
                                                : json::Object{{"pools", std::move(results)}});
  }
  return differs ? kExitDiffers : kExitOk;
}

constexpr ExitMeaning kDiffExits[] = {
    {kExitOk, "the same"}, {kExitDiffers, "they differ"}, kImageAbsent, kServerOrRegistryUnreachable, kImageNotGenuine};

}  // namespace

const CommandSpec kDiffCommand{
    "diff",
    "Show what changes between two configurations, who changed it, and what it costs a node.",
    "A and B are rendered configs or sets of MachineConfigs. A file with a single MachineConfig and no pool is "
    "compared as it stands; anything else is rendered first, and each pool is compared. First comes the cost (none, "
    "reload, restart, drain, reboot, or reinstall when running nodes cannot follow) with the actions nodes will take, "
    "then every change: contents decoded, the MachineConfigs it comes from, and why it costs what it costs. Secrets "
    "are hidden.\n\n"
    "  strake diff --with 99-chrony.yaml                      what if I add this to the cluster?\n"
    "  strake diff rendered-worker-1a2b... rendered-worker-3c4d...\n"
    "  strake diff main/ branch/ -o json                      for CI\n\n"
    "-o json: reconcilable, reason, changedFiles, changedUnits, actions, drain, class and changes; for several pools a "
    "list `pools` of these.",
    kDiffArguments,
    kDiffOptions,
    run_diff,
    kDiffExits};

}  // namespace strake::cmd
