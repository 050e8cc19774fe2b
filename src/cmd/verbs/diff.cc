#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "api/controller_config.h"
#include "api/kinds.h"
#include "api/machine_config.h"
#include "api/machine_config_pool.h"
#include "base/suggest.h"
#include "cmd/cli/commands.h"
#include "cmd/input/butane_input.h"
#include "cmd/input/config_input.h"
#include "cmd/input/config_set.h"
#include "cmd/input/connection.h"
#include "cmd/input/diff_sides.h"
#include "cmd/input/image_access.h"
#include "cmd/input/text_input.h"
#include "cmd/output/config_difference.h"
#include "cmd/output/format.h"
#include "cmd/output/node_cost.h"
#include "cmd/output/result_document.h"
#include "machineconfig/merge/comparable_spec.h"
#include "machineconfig/merge/provenance.h"
#include "rollout/cluster_plan.h"

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
    {"without", "NAME",
     "after: the same without this MachineConfig, or without an object of another kind (KubeletConfig/max-pods, "
     "pool/infra, ImagePolicy/NAMESPACE/NAME); may be repeated",
     "", kListValue},
    kRecursiveOption,
    kFilesDirOption,
    kGeneratedOption,
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

/// A config of a pool, and where its parts come from when that is known.
struct Comparand {
  kube::ObjectPtr config;
  std::optional<machineconfig::RenderInput>
      input;  ///< what it was rendered from, for who asks where its parts are from

  std::string name() const { return config->name(); }
};

struct Comparison {
  std::string pool;                         ///< "" for two configs taken as they stand
  std::optional<Result<Comparand>> before;  ///< nullopt: a new pool. What is wrong with it does not hinder a repair
  Comparand after;
};

Result<Comparand> as_it_stands(const DiffSide& side) {
  const kube::ObjectPtr& config = side.single;
  // Rendered configs were read when they were rendered; anything else is judged as one of a set is.
  if (pool_of_rendered(config->name()).empty()) {
    if (auto read = machineconfig::read_fragment(*config); !read.ok()) return side.placed(std::move(read).error());
  }
  return Comparand{config, std::nullopt};
}

Result<Comparand> rendered_for(const DiffSide& side, const kube::ObjectPtr& pool) {
  machineconfig::RenderInput input = machineconfig::render_input(side.set, pool);
  input.size_limit = std::nullopt;
  auto plan = machineconfig::render_pool(input).context("pool {}", pool->name());
  if (!plan.ok()) return side.placed(std::move(plan).error());
  return Comparand{std::make_shared<const kube::Object>(std::move(plan->rendered)), std::move(input)};
}

/// What is compared, read from a config that nobody keeps afterwards: a large one is in memory once. Configs that are
/// right one by one can come to one that is not.
Result<machineconfig::ComparableSpec> taken_apart(kube::ObjectPtr config) {
  static const json::Value kNothing = json::Object{};
  const json::Value* spec = api::spec_of(*config);
  auto read = machineconfig::comparable_spec(spec == nullptr ? kNothing : *spec);
  if (read.ok()) return read;
  return Error(read.error()).context(fmt::format("{}: merged, it is refused by nodes", config->name()));
}

kube::ObjectPtr find_pool(const std::vector<kube::ObjectPtr>& pools, const std::string& name) {
  const auto found = std::ranges::find(pools, name, [](const kube::ObjectPtr& pool) { return pool->name(); });
  return found == pools.end() ? nullptr : *found;
}

Result<Comparand> one_side(const DiffSide& side, const std::string& pool) {
  if (side.single) return as_it_stands(side);
  STRAKE_TRY(const auto pools, chosen_pools(side.set, pool));
  return rendered_for(side, pools.front());
}

/// Told of one comparison after the other, so that no two are in memory at once.
using ComparisonVisitor = std::function<Status(Comparison comparison)>;

/// At least one of the sides is a config that stands for one pool.
Status compare_with_single(const DiffSides& sides, const std::string& only, const ComparisonVisitor& visit) {
  const auto& [before, after] = sides;
  std::string pool;
  if (!before.single || !after.single) {
    const kube::Object& single = before.single ? *before.single : *after.single;
    pool = !only.empty() ? only : pool_of_rendered(single.name());
    if (pool.empty()) {
      return error(Code::kInvalidArgument, "say with --pool which pool MachineConfig {} is to be compared with",
                   single.name());
    }
  }
  if (!before.single) STRAKE_CHECK_OK(chosen_pools(before.set, pool));  // a wrong name is no broken config
  STRAKE_TRY_CONTEXT(Comparand proposed, one_side(after, pool), "after");
  return visit({pool, one_side(before, pool), std::move(proposed)});
}

/// Pools of the side after; what they come from and those that go are changes of the set.
Status compare_sets(const DiffSides& sides, const std::string& only, const ComparisonVisitor& visit) {
  const auto& [before, after] = sides;
  const auto old_pools = machineconfig::pools_of(before.set), new_pools = machineconfig::pools_of(after.set);
  std::set<std::string> names;
  for (const auto& pools : {old_pools, new_pools}) {
    for (const kube::ObjectPtr& pool : pools) names.insert(pool->name());
  }
  if (names.empty()) return error(Code::kNotFound, "neither side holds a MachineConfig or a MachineConfigPool");
  if (!only.empty() && !names.contains(only)) {
    return error(Code::kNotFound, "there is no pool '{}'; known are {}", only, fmt::join(names, ", "));
  }
  for (const std::string& name : names) {
    if (!only.empty() && name != only) continue;
    const kube::ObjectPtr old_pool = find_pool(old_pools, name), new_pool = find_pool(new_pools, name);
    if (!new_pool) continue;
    STRAKE_TRY_CONTEXT(Comparand proposed, rendered_for(after, new_pool), "after");
    Comparison comparison{name, std::nullopt, std::move(proposed)};
    if (old_pool) comparison.before = rendered_for(before, old_pool);
    STRAKE_CHECK_OK(visit(std::move(comparison)));
  }
  return {};
}

/// A cluster of one machine has nowhere to move pods to.
bool is_single_replica(const ConfigSet& set) {
  if (!set.controller_config) return false;
  const json::Value* infrastructure = api::ControllerConfigView(set.controller_config->json()).infrastructure();
  return infrastructure != nullptr &&
         json::find_string(*infrastructure, {"status", "controlPlaneTopology"}) == "SingleReplica";
}

Result<machineconfig::DisruptionContext> disruption_context(const std::string& policy_file, const DiffSides& sides) {
  const auto& [before, after] = sides;
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
std::string origin_of(const machineconfig::Provenance& provenance, const machineconfig::Subject& subject) {
  std::vector<machineconfig::Subject> subjects{subject};
  if (provenance.find(subject) == nullptr) subjects = provenance.lookup(subject.name);
  std::vector<std::string> winners;
  for (const machineconfig::Subject& part : subjects) {
    for (const machineconfig::Contribution& contribution : *provenance.find(part)) {
      if (contribution.wins() && std::ranges::find(winners, contribution.source) == winners.end()) {
        winners.push_back(contribution.source);
      }
    }
  }
  return fmt::format("{}", fmt::join(winners, ", "));
}

/// Adds to each change who made it so.
Status add_origins(const machineconfig::RenderInput& input, std::string machineconfig::SpecChange::* from,
                   machineconfig::SpecDiff& diff) {
  if (diff.changes.empty()) return {};
  STRAKE_TRY(const machineconfig::Provenance provenance, machineconfig::trace_pool(input));
  for (machineconfig::SpecChange& change : diff.changes) change.*from = origin_of(provenance, change.subject);
  return {};
}

/// MachineConfigs that reach no node are named: a role with a typing error looks exactly so.
json::Array tell_unused(const ConfigSet& set, Output& out) {
  std::vector<std::string> names;
  for (const kube::ObjectPtr& pool : machineconfig::pools_of(set)) names.push_back(pool->name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  json::Array unused;
  for (const machineconfig::UnusedConfig& config : machineconfig::unused_configs(set)) {
    const bool has_pool = std::ranges::find(names, config.role) != names.end();
    const std::string why =
        config.role.empty() ? "it has no role label"
        : has_pool
            ? fmt::format("its role is '{0}', but the machineConfigSelector of pool {0} does not take it", config.role)
            : fmt::format("its role is '{}'{}", config.role, did_you_mean(config.role, known));
    out.warn(fmt::format("MachineConfig {} is taken by no pool and reaches no node: {}", config.name, why));
    unused.push_back(json::Object{{"name", config.name}, {"why", why}});
  }
  return unused;
}

/// Where roles alone make pools, one with a typing error makes a pool of its own.
void tell_odd_roles(const ConfigSet& before, const ConfigSet& after, Output& out) {
  if (!after.pools.empty()) return;
  std::vector<std::string> known{std::string(api::kMasterPool), std::string(api::kWorkerPool)};
  for (const kube::ObjectPtr& pool : machineconfig::pools_of(before)) known.push_back(pool->name());
  const std::vector<std::string_view> words(known.begin(), known.end());
  for (const kube::ObjectPtr& pool : machineconfig::pools_of(after)) {
    if (std::ranges::find(known, pool->name()) != known.end()) continue;
    const std::string hint = did_you_mean(pool->name(), words);
    if (!hint.empty()) out.warn(fmt::format("the role '{}' is new{}", pool->name(), hint));
  }
}

/// Everything that is not in a rendered config.
json::Array compare_rest(const Invocation& invocation, const DiffSides& sides, ConfigDifference& findings) {
  if (sides.before.single || sides.after.single) return {};
  findings.set_changes =
      machineconfig::diff_sets(sides.before.set, sides.after.set,
                               invocation.is_set(kGeneratedOption.name) ? machineconfig::GeneratedConfigs::kShown
                                                                        : machineconfig::GeneratedConfigs::kNotShown);
  // One pool was asked about: what is set about others does not count.
  const std::string& only = invocation.value("pool");
  std::erase_if(findings.set_changes, [&](const machineconfig::SetChange& change) {
    return !only.empty() && change.subject.starts_with("pool ") && change.subject != "pool " + only;
  });
  tell_odd_roles(sides.before.set, sides.after.set, invocation.out());
  return tell_unused(sides.after.set, invocation.out());
}

/// What is found, comparison by comparison.
class Findings {
 public:
  Findings(const Invocation& invocation, const DiffSides& sides, machineconfig::DisruptionContext context, bool live)
      : invocation_(invocation), sides_(sides), context_(std::move(context)), live_(live) {}

  Status add(Comparison comparison) {
    if (live_) remember(comparison);
    Comparand& after = comparison.after;
    machineconfig::SpecDiffOptions options;
    options.context = context_;
    options.show_secrets = invocation_.is_set("show-secrets");
    options.after_name = after.name();
    STRAKE_TRY(const machineconfig::ComparableSpec new_spec, taken_apart(std::move(after.config)));
    if (!comparison.before) return {};
    if (!comparison.before->ok()) {
      return tell_broken(comparison.pool, options.after_name, comparison.before->error());
    }
    Comparand& before = **comparison.before;
    options.before_name = before.name();
    const bool both_rendered = before.input && after.input;
    const auto old_spec = taken_apart(std::move(before.config));
    if (!old_spec.ok()) return tell_broken(comparison.pool, options.after_name, old_spec.error());
    STRAKE_TRY_CONTEXT(machineconfig::SpecDiff diff, machineconfig::diff_comparable(*old_spec, new_spec, options),
                       "comparing {} with {}", options.before_name, options.after_name);
    if (before.input) STRAKE_CHECK_OK(add_origins(*before.input, &machineconfig::SpecChange::before_from, diff));
    if (after.input) STRAKE_CHECK_OK(add_origins(*after.input, &machineconfig::SpecChange::after_from, diff));
    if (diff.empty() && both_rendered && diff.before_name != diff.after_name) {
      diff.notes.emplace_back(
          "only the name of the rendered config changes: nodes go to it, and nothing on them changes");
    }
    found.pools.emplace_back(comparison.pool, std::move(diff));
    return {};
  }

  /// Against a cluster: which of its nodes change.
  Status count_nodes(kube::KubeApi& api, const kube::Call& call) {
    auto nodes = rollout::read_nodes(api, call);
    if (!nodes.ok() && nodes.error().code() == Code::kDenied) {
      invocation_.out().warn(fmt::format("which nodes it concerns cannot be told: {}", nodes.error().to_string()));
      return {};
    }
    if (!nodes.ok()) return nodes.error();
    const auto members = rollout::sort_out(rollout::PoolSelectors(sides_.before.set.pools), *nodes);
    const auto policy = machineconfig::disruption_policy_of(sides_.after.set.machine_configuration.get());
    const std::string& only = invocation_.value("pool");
    // The other pools have a say in whose a node is.
    for (const kube::ObjectPtr& pool : machineconfig::pools_of(sides_.after.set)) {
      if (!only.empty() && pool->name() != only) proposal_.push_back({pool, nullptr});
    }
    STRAKE_TRY(const rollout::ClusterPlan plan, rollout::plan_proposal(api, *nodes, proposal_, policy, call));
    ClusterCost cost = cost_in_nodes(plan, destinations(members, targets_before_));
    std::erase_if(cost.pools, [&](const NodeCost& of_pool) { return !only.empty() && of_pool.pool != only; });
    found.cost = std::move(cost);
    return {};
  }

  ConfigDifference found;

 private:
  void remember(const Comparison& comparison) {
    const kube::ObjectPtr pool = find_pool(machineconfig::pools_of(sides_.after.set), comparison.pool);
    if (pool) proposal_.push_back({pool, comparison.after.config});
    if (comparison.before && comparison.before->ok()) {
      targets_before_[comparison.pool] = (*comparison.before)->name();
    }
  }

  Status tell_broken(const std::string& pool, const std::string& config, const Error& why) {
    invocation_.out().warn(fmt::format("before: {}", why.to_string()));
    found.set_changes.push_back(
        {pool.empty() ? "MachineConfig " + config : "pool " + pool, "could not be rendered before, and now can",
         "nodes run the last config that could be rendered; from it they go to this one, with all that was added since",
         true});
    return {};
  }

  const Invocation& invocation_;
  const DiffSides& sides_;
  const machineconfig::DisruptionContext context_;
  const bool live_;
  std::vector<rollout::ProposedPool> proposal_;
  std::map<std::string, std::string> targets_before_;
};

Result<int> show_difference(const Invocation& invocation, DiffFormat format) {
  if (invocation.is_set("show-secrets")) invocation.out().show_secrets();
  DiffInput input(invocation);
  STRAKE_TRY(const DiffSides sides, input.read());
  STRAKE_TRY(const auto context, disruption_context(invocation.value("policy"), sides));
  Findings findings(invocation, sides, context, input.live_cluster() != nullptr);
  json::Array unused = compare_rest(invocation, sides, findings.found);
  const std::string& only = invocation.value("pool");
  const auto add = [&](Comparison comparison) { return findings.add(std::move(comparison)); };
  STRAKE_CHECK_OK(sides.before.single || sides.after.single ? compare_with_single(sides, only, add)
                                                            : compare_sets(sides, only, add));
  if (input.live_cluster() != nullptr) STRAKE_CHECK_OK(findings.count_nodes(*input.live_cluster(), input.call()));
  const ConfigDifference& found = findings.found;
  switch (format) {
    case DiffFormat::kJson: invocation.out().report(found.json(std::move(unused))); break;
    case DiffFormat::kText: invocation.out().text(found.text()); break;
    case DiffFormat::kMarkdown: invocation.out().text(found.markdown()); break;
  }
  return found.reaches(invocation.choice<FailOn>("fail-on")) ? kExitDiffers : kExitOk;
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
    "A and B are rendered configs or sets of MachineConfigs. A file with a single MachineConfig and nothing else is "
    "compared as it stands; anything else is rendered first, and each pool is compared. First comes the cost (none, "
    "reload, restart, drain, reboot, or reinstall when running nodes cannot follow) with the actions nodes will take, "
    "then every change: contents decoded, the MachineConfigs it comes from, and why it costs what it costs. Secrets "
    "are hidden.\n\n"
    "  strake diff --with 99-chrony.yaml                      what if I add this to the cluster?\n"
    "  strake diff rendered-worker-1a2b... rendered-worker-3c4d...\n"
    "  strake diff main/ branch/ -o json                      for CI\n\n"
    "Pools that come and go, what is set about them (paused, maxUnavailable, nodeSelector), policies, and objects the "
    "platform makes MachineConfigs of (KubeletConfig, mirror sets) are differences too, each with what it does; with "
    "--generated what Strake makes of them is compared as well. What "
    "does not count, and a MachineConfig no pool takes, is named. An empty folder is a side without anything. What is "
    "wrong with the side before (a key twice, a config that cannot be rendered) is a warning, so that a repair can be "
    "reviewed; with the side after it is an error.\n\n"
    "  strake diff --without 50-old --with new/ -R            what if I replace that?\n"
    "  strake diff main/ branch/ --generated                  what does my KubeletConfig come to?\n"
    "  strake diff main/ branch/ --fail-on reboot             fail only when nodes may reboot\n"
    "  strake diff main/ branch/ -o markdown > comment.md     for a comment on the pull request\n\n"
    "-o json: differs, setChanges, unused, and pools: for each before, after, reconcilable, reason, changedFiles, "
    "changedUnits, actions, drain, class and changes.",
    kDiffArguments,
    kDiffOptions,
    run_diff,
    kDiffExits};

}  // namespace strake::cmd
