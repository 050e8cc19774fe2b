#include <algorithm>
#include <filesystem>
#include <set>

#include "api/controller_config.h"
#include "api/kinds.h"
#include "api/machine_config.h"
#include "base/suggest.h"
#include "cmd/cli/commands.h"
#include "cmd/input/config_input.h"
#include "cmd/input/config_set.h"
#include "cmd/input/connection.h"
#include "cmd/input/image_access.h"
#include "cmd/input/text_input.h"
#include "cmd/output/config_difference.h"
#include "cmd/output/format.h"
#include "cmd/output/result_document.h"
#include "machineconfig/merge/provenance.h"

namespace strake::cmd {

namespace {

using machineconfig::ConfigSet;

constexpr ArgumentSpec kDiffArguments[] = {
    {"A", "before: a file or directory of MachineConfigs, or the name of a rendered config in the cluster", false,
     false, kFileValue},
    {"B", "after: likewise", false, false, kFileValue}};
enum class DiffFormat { kText, kJson, kMarkdown };
constexpr std::string_view kDiffFormats[] = {"text", "json", "markdown"};
constexpr OptionSpec kDiffOwnOptions[] = {
    {"with", "PATH", "after: A (or the cluster, without A) with these objects added or replaced; may be repeated", "",
     kListValue},
    {"without", "NAME", "after: the same without this MachineConfig; may be repeated", "", kListValue},
    kRecursiveOption,
    {"pool", "NAME", "only this pool"},
    {"policy", "FILE", "a MachineConfiguration whose disruption policy and overrides count, instead of the input's", "",
     kFileValue},
    {"show-secrets", "", "show passwords, keys and pull secrets too"},
    {"fail-on", "CLASS", "end with 2 only when nodes may have to bear this: any, drain, reboot or irreconcilable",
     "any", one_of(kFailOnWords)},
    {"o,output", "FORMAT", "text, json, or markdown for a comment on a pull request", "text", one_of(kDiffFormats)},
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

  bool recursive() const { return invocation_.is_set("recursive"); }

 private:
  Result<Side> read_files(const std::string& path) {
    // A side without anything is the state before the first MachineConfig, or after the last.
    STRAKE_TRY(ConfigFiles files, read_config_files(path, {.may_be_empty = true, .recursive = recursive()}));
    for (const std::string& note : files.notes) invocation_.out().warn(note);
    Side side;
    if (files.set.configs.size() == 1 && files.set.pools.empty()) side.single = files.set.configs.front();
    side.set = std::move(files.set);
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

/// Pools that are on both sides; those that come or go are changes of the set.
Result<std::vector<Comparison>> compare_sets(const ConfigSet& before, const ConfigSet& after, const std::string& only) {
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
    if (!old_pool || !new_pool) continue;
    Comparison comparison;
    comparison.pool = name;
    STRAKE_TRY_CONTEXT(comparison.before, rendered_for(before, old_pool), "before");
    STRAKE_TRY_CONTEXT(comparison.after, rendered_for(after, new_pool), "after");
    comparisons.push_back(std::move(comparison));
  }
  if (names.empty()) return error(Code::kNotFound, "neither side holds a MachineConfig or a MachineConfigPool");
  return comparisons;
}

Result<std::vector<Comparison>> compare(const Side& before, const Side& after, const std::string& only) {
  if (before.single && after.single) {
    std::vector<Comparison> comparisons;
    comparisons.push_back({"", as_it_stands(*before.single), as_it_stands(*after.single)});
    return comparisons;
  }
  if (before.single || after.single) return compare_with_single(before, after, only);
  return compare_sets(before.set, after.set, only);
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

/// One MachineConfig beside a set is one of a set too, unless it was rendered for a pool.
Status settle_forms(Sides& sides, const Invocation& invocation) {
  const auto stands_alone = [](const Side& side) {
    return side.single && !pool_of_rendered(side.single->name()).empty();
  };
  const bool both_single = sides.before.single && sides.after.single;
  for (Side* side : {&sides.before, &sides.after}) {
    if (both_single || stands_alone(*side)) continue;
    const bool named_pool = side->single && !invocation.value("pool").empty();
    const Side& other = side == &sides.before ? sides.after : sides.before;
    if (named_pool && !other.single) continue;
    side->single = nullptr;
    STRAKE_TRY(side->set, with_image_options(std::move(side->set), invocation));
  }
  return {};
}

Status leave_out(ConfigSet& set, const std::string& name) {
  if (std::erase_if(set.configs, [&](const kube::ObjectPtr& config) { return config->name() == name; }) > 0) return {};
  return error(Code::kNotFound, "--without {}: there is no such MachineConfig", name).with_verdict(Verdict::kAbsent);
}

/// What is changed is always a set, even when it is one MachineConfig.
Result<Sides> changed_sides(Side before, DiffInput& input, const Invocation& invocation) {
  before.single = nullptr;
  Sides sides{before, std::move(before)};
  for (const std::string& path : invocation.list("with")) {
    STRAKE_TRY(const ConfigFiles added, read_config_files(path, {.recursive = input.recursive()}));
    for (const std::string& note : added.notes) invocation.out().warn(note);
    sides.after.set.lay_over(added.set);
  }
  for (const std::string& name : invocation.list("without")) STRAKE_CHECK_OK(leave_out(sides.after.set, name));
  return sides;
}

Result<Sides> read_sides(const Invocation& invocation) {
  const std::string &a = invocation.value("A"), &b = invocation.value("B");
  const bool changes = !invocation.list("with").empty() || !invocation.list("without").empty();
  if (changes == !b.empty()) {
    return error(Code::kInvalidArgument,
                 "give A and B, or --with PATH and --without NAME (with or without A); see `strake diff --help`");
  }
  DiffInput input(invocation);
  if (changes) {
    STRAKE_TRY(Side before, a.empty() ? input.read_cluster() : input.read(a));
    if (!a.empty()) {
      STRAKE_TRY(before.set, with_image_options(std::move(before.set), invocation));
    }
    return changed_sides(std::move(before), input, invocation);
  }
  Sides sides;
  STRAKE_TRY(sides.before, input.read(a));
  STRAKE_TRY(sides.after, input.read(b));
  STRAKE_CHECK_OK(settle_forms(sides, invocation));
  return sides;
}

/// MachineConfigs that reach no node are named: a role with a typing error looks exactly so.
json::Array tell_unused(const ConfigSet& set, Output& out) {
  std::vector<std::string> names;
  for (const kube::ObjectPtr& pool : machineconfig::pools_of(set)) names.push_back(pool->name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  json::Array unused;
  for (const machineconfig::UnusedConfig& config : machineconfig::unused_configs(set)) {
    const std::string why = config.role.empty()
                                ? "it has no role label"
                                : fmt::format("its role is '{}'{}", config.role, did_you_mean(config.role, known));
    out.warn(fmt::format("MachineConfig {} is taken by no pool and reaches no node: {}", config.name, why));
    unused.push_back(json::Object{{"name", config.name}, {"why", why}});
  }
  return unused;
}

Result<int> show_difference(const Invocation& invocation, DiffFormat format) {
  if (invocation.is_set("show-secrets")) invocation.out().show_secrets();
  STRAKE_TRY(const Sides sides, read_sides(invocation));
  STRAKE_TRY(const auto context, disruption_context(invocation.value("policy"), sides.before, sides.after));
  const std::string& only = invocation.value("pool");
  STRAKE_TRY(const auto comparisons, compare(sides.before, sides.after, only));
  ConfigDifference findings;
  json::Array unused;
  if (!sides.before.single && !sides.after.single) {
    findings.set_changes = machineconfig::diff_sets(sides.before.set, sides.after.set);
    // One pool was asked about: what is set about others does not count.
    std::erase_if(findings.set_changes, [&](const machineconfig::SetChange& change) {
      return !only.empty() && change.subject.starts_with("pool ") && change.subject != "pool " + only;
    });
    unused = tell_unused(sides.after.set, invocation.out());
  }
  for (const Comparison& comparison : comparisons) {
    STRAKE_TRY_CONTEXT(machineconfig::SpecDiff diff, diff_of(comparison, context, invocation.is_set("show-secrets")),
                       "comparing {} with {}", comparison.before.name, comparison.after.name);
    findings.pools.emplace_back(comparison.pool, std::move(diff));
  }
  switch (format) {
    case DiffFormat::kJson: invocation.out().report(findings.json(std::move(unused))); break;
    case DiffFormat::kText: invocation.out().text(findings.text()); break;
    case DiffFormat::kMarkdown: invocation.out().text(findings.markdown()); break;
  }
  return findings.reaches(invocation.choice<FailOn>("fail-on")) ? kExitDiffers : kExitOk;
}

Result<int> run_diff(const Invocation& invocation) {
  const auto format = invocation.choice<DiffFormat>("output");
  return run_with_result(invocation, kConfigDifferenceKind, format == DiffFormat::kJson,
                         [&] { return show_difference(invocation, format); });
}

constexpr ExitMeaning kDiffExits[] = {{kExitOk, "the same, or nothing that --fail-on names"},
                                      {kExitDiffers, "they differ, so far as --fail-on asks"},
                                      kImageAbsent,
                                      kServerOrRegistryUnreachable,
                                      kImageNotGenuine};

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
    "Pools that come and go, what is set about them (paused, maxUnavailable, nodeSelector), policies, and objects the "
    "platform makes MachineConfigs of (KubeletConfig, mirror sets) are differences too, each with what it does. What "
    "does not count, and a MachineConfig no pool takes, is named. An empty folder is a side without anything.\n\n"
    "  strake diff --without 50-old --with new/ -R            what if I replace that?\n"
    "  strake diff main/ branch/ --fail-on reboot             fail only when nodes may reboot\n"
    "  strake diff main/ branch/ -o markdown > comment.md     for a comment on the pull request\n\n"
    "-o json: differs, setChanges, unused, and pools: for each before, after, reconcilable, reason, changedFiles, "
    "changedUnits, actions, drain, class and changes.",
    kDiffArguments,
    kDiffOptions,
    run_diff,
    kDiffExits};

}  // namespace strake::cmd
