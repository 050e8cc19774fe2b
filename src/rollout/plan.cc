#include "rollout/plan.h"

#include <algorithm>
#include <tuple>

#include "api/conditions.h"

namespace strake::rollout {

namespace {

using machineconfig::DisruptionClass;

/// Names in a message; the rest are counted, because ten thousand nodes fit into no condition.
constexpr std::size_t kNamesShown = 10;

std::string joined_names(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kNamesShown);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

/// Zone by zone, oldest first; nodes without a zone last.
bool goes_first(const api::NodeView& a, const api::NodeView& b) {
  const auto order = [](const api::NodeView& node) { return std::tie(node.zone, node.created, node.name); };
  if (a.zone.empty() != b.zone.empty()) return b.zone.empty();
  return order(a) < order(b);
}

NodeAction present_action(const api::NodeView& node, const std::string& target) {
  if (node.desired_config == target) {
    if (node.failing()) return NodeAction::kFailing;
    return node.done() ? NodeAction::kCurrent : NodeAction::kUpdating;
  }
  return NodeAction::kWait;
}

class PoolPlanner {
 public:
  PoolPlanner(const PoolInput& input, const RolloutPolicy& policy)
      : input_(input), policy_(policy), pool_(input.pool.json()) {}

  PoolPlan plan() {
    plan_.pool = input_.pool.name();
    plan_.target = pool_.target();
    plan_.paused = pool_.paused() || input_.pool.deleting();
    find_troubles();
    add_nodes();
    if (can_judge()) judge_nodes();
    choose_targets();
    note_nodes_that_cannot_follow();
    return std::move(plan_);
  }

 private:
  template <typename... Args>
  void trouble(TroubleKind kind, fmt::format_string<Args...> format, Args&&... args) {
    plan_.troubles.push_back({kind, fmt::format(format, std::forward<Args>(args)...)});
  }

  /// The target is there to be compared with.
  bool can_judge() const { return !plan_.target.empty() && input_.configs.exists(plan_.target); }

  void find_troubles() {
    if (input_.pool.deleting()) {
      trouble(TroubleKind::kPaused, "the pool is being deleted; its nodes stay where they are");
    } else if (plan_.paused) {
      trouble(TroubleKind::kPaused, "the pool is paused; set spec.paused to false to let its nodes go on");
    }
    if (!input_.selector_trouble.empty()) trouble(TroubleKind::kInvalidNodeSelector, "{}", input_.selector_trouble);
    find_limit();
    find_render_troubles();
    find_target_troubles();
    if (!input_.policy_trouble.empty()) {
      trouble(TroubleKind::kPolicyUnreadable, "what a change costs cannot be told: {}", input_.policy_trouble);
    }
    for (const StrayNode& node : input_.contested) {
      trouble(TroubleKind::kContestedNodes, "node {} {}", node.name, node.why());
    }
  }

  void find_limit() {
    const auto limit = pool_.max_unavailable(static_cast<int>(input_.nodes.size()));
    plan_.max_unavailable = limit.ok() ? std::max(*limit, 0) : 0;
    if (!limit.ok()) {
      trouble(TroubleKind::kInvalidMaxUnavailable, "{}", limit.error().message());
    } else if (*limit < 0) {
      trouble(TroubleKind::kInvalidMaxUnavailable,
              "spec.maxUnavailable comes to {} nodes, so none may ever be away: write a number from 1, or a percentage "
              "such as \"10%\"",
              *limit);
    }
  }

  void find_render_troubles() {
    const auto rendered = api::find_condition(input_.pool.json(), api::pool_condition::kRenderDegraded);
    if (rendered && rendered->status == api::ConditionStatus::kTrue) {
      trouble(TroubleKind::kRenderFailed, "{}", rendered->message);
    } else if (rendered && rendered->reason == api::pool_condition::kReasonGateClosed) {
      trouble(TroubleKind::kRenderWaits, "{}", rendered->message);
    } else if (rendered && !rendered->message.empty()) {
      trouble(TroubleKind::kConfigsIgnored, "{}", rendered->message);
    }
  }

  void find_target_troubles() {
    if (plan_.target.empty()) {
      trouble(TroubleKind::kNotRendered, "no config was rendered for the pool yet");
    } else if (!input_.configs.exists(plan_.target)) {
      trouble(TroubleKind::kTargetMissing,
              "MachineConfig {}, which the pool names, does not exist; the render controller makes it anew",
              plan_.target);
    } else if (!input_.configs.is_genuine(plan_.target)) {
      trouble(TroubleKind::kTargetEdited,
              "MachineConfig {} does not hold what its name promises: somebody edited it; delete it and it is rendered "
              "anew",
              plan_.target);
    }
  }

  void add_nodes() {
    plan_.nodes.reserve(input_.nodes.size());
    for (const api::NodePtr& node : input_.nodes) {
      NodePlan node_plan;
      node_plan.node = node;
      node_plan.away = policy_.occupies_capacity(*node);
      node_plan.action = plan_.target.empty() ? NodeAction::kWait : present_action(*node, plan_.target);
      // A new node runs no workload: taking its place in the pool disturbs nobody.
      if (node_plan.away && !node->is_new()) ++plan_.unavailable;
      plan_.nodes.push_back(std::move(node_plan));
    }
    const auto by_name = [](const NodePlan& a, const NodePlan& b) { return a.node->name < b.node->name; };
    if (!std::is_sorted(plan_.nodes.begin(), plan_.nodes.end(), by_name))
      std::sort(plan_.nodes.begin(), plan_.nodes.end(), by_name);
  }

  void judge_nodes() {
    for (NodePlan& node : plan_.nodes) {
      auto consequence = input_.configs.consequence(node.node->current_config, plan_.target);
      if (consequence.ok()) {
        node.consequence = *std::move(consequence);
        node.cannot_follow = !node.consequence->can_follow();
      } else {
        machineconfig::Consequence unknown;
        unknown.disruption = DisruptionClass::kReboot;
        unknown.reasons = {consequence.error().to_string()};
        node.consequence = std::make_shared<const machineconfig::Consequence>(std::move(unknown));
        // Without its old config a node is given the new one whole; two that cannot be compared are somebody's mistake.
        node.cannot_follow = consequence.error().code() != Code::kNotFound;
      }
    }
  }

  /// Lets as many waiting nodes go as capacity allows; the others learn what they wait for.
  void choose_targets() {
    std::vector<NodePlan*> waiting;
    int failing = 0;
    for (NodePlan& node : plan_.nodes) {
      if (node.action == NodeAction::kWait) waiting.push_back(&node);
      if (node.action == NodeAction::kFailing) ++failing;
    }
    int capacity = plan_.max_unavailable - plan_.unavailable - failing;
    // While nobody's turn has come, whose it is next makes no difference.
    if (capacity > 0) {
      std::sort(waiting.begin(), waiting.end(),
                [](const NodePlan* a, const NodePlan* b) { return goes_first(*a->node, *b->node); });
    }
    turn_ = fmt::format("its turn: {} of {} nodes may be away at once", plan_.max_unavailable, plan_.nodes.size());
    for (NodePlan* node : waiting) {
      node->waits_for = hindrance_of(*node, capacity);
      if (!node->waits_for.empty()) continue;
      node->action = NodeAction::kTarget;
      if (!node->node->is_new()) --capacity;
    }
  }

  /// What a node that needs the change waits for; "": it may go.
  std::string hindrance_of(const NodePlan& node, int capacity) const {
    for (const Trouble& trouble : plan_.troubles) {
      if (!stops_rollout(trouble.kind)) continue;
      if (!node.node->is_new() || stops_new_nodes(trouble.kind)) return waiting_for(trouble.kind);
    }
    if (!node.consequence->beyond_agent.empty()) {
      return fmt::format("another config, or another agent: this one cannot apply {}",
                         fmt::join(node.consequence->beyond_agent, ", "));
    }
    if (node.cannot_follow) {
      return fmt::format("a new installation, or another config: {}", fmt::join(node.consequence->reasons, "; "));
    }
    if (node.node->is_new()) return "";
    if (!node.node->schedulable) return "the node to be schedulable";
    if (!node.node->ready()) return "the node to be Ready";
    if (!node.node->done() && !node.node->failing()) {
      // Changing the goal under a working agent would make its plan, and what it told people, untrue.
      return fmt::format("its update to {} to finish", node.node->desired_config);
    }
    if (capacity > 0) return "";
    return turn_;
  }

  /// A node that runs no workload yet needs no turn, and no policy says what its first config costs.
  static bool stops_new_nodes(TroubleKind kind) {
    return kind != TroubleKind::kInvalidMaxUnavailable && kind != TroubleKind::kPolicyUnreadable;
  }

  std::string waiting_for(TroubleKind kind) const {
    switch (kind) {
      case TroubleKind::kPaused: return "its pool, which is paused";
      case TroubleKind::kNotRendered: return "the pool's first rendered config";
      case TroubleKind::kInvalidMaxUnavailable: return "a valid spec.maxUnavailable of its pool";
      case TroubleKind::kInvalidNodeSelector: return "a valid spec.nodeSelector of its pool";
      case TroubleKind::kTargetMissing: return fmt::format("MachineConfig {} to exist", plan_.target);
      case TroubleKind::kTargetEdited: return fmt::format("MachineConfig {} to be rendered anew", plan_.target);
      case TroubleKind::kPolicyUnreadable: return "a node disruption policy that can be read";
      case TroubleKind::kRenderWaits:
      case TroubleKind::kRenderFailed:
      case TroubleKind::kConfigsIgnored:
      case TroubleKind::kContestedNodes:
      case TroubleKind::kNodesCannotFollow:
      case TroubleKind::kCannotWrite: break;  // stop nobody, or are not known to a plan
    }
    return std::string(to_string(kind));
  }

  void note_nodes_that_cannot_follow() {
    std::vector<std::string> names;
    const NodePlan* first = nullptr;
    for (const NodePlan& node : plan_.nodes) {
      if (node.action != NodeAction::kWait || !node.cannot_follow) continue;
      if (first == nullptr) first = &node;
      names.push_back(node.node->name);
    }
    if (first == nullptr) return;
    trouble(TroubleKind::kNodesCannotFollow, "{} nodes cannot follow to {} ({}); {} waits for {}", names.size(),
            plan_.target, joined_names(names), first->node->name, first->waits_for);
  }

  const PoolInput& input_;
  const RolloutPolicy& policy_;
  const api::MachineConfigPoolView pool_;
  PoolPlan plan_;
  std::string turn_;  ///< what those wait for whom nothing else keeps
};

}  // namespace

std::string_view to_string(NodeAction action) {
  switch (action) {
    case NodeAction::kCurrent: return "current";
    case NodeAction::kUpdating: return "updating";
    case NodeAction::kFailing: return "failing";
    case NodeAction::kTarget: return "target";
    case NodeAction::kWait: return "wait";
  }
  return "unknown";
}

const Trouble* PoolPlan::find(TroubleKind kind) const {
  const auto found =
      std::find_if(troubles.begin(), troubles.end(), [&](const Trouble& one) { return one.kind == kind; });
  return found == troubles.end() ? nullptr : &*found;
}

const Trouble* PoolPlan::stopped_by() const {
  const auto found =
      std::find_if(troubles.begin(), troubles.end(), [](const Trouble& one) { return stops_rollout(one.kind); });
  return found == troubles.end() ? nullptr : &*found;
}

PoolPlan plan_pool(const PoolInput& input, const RolloutPolicy& policy) { return PoolPlanner(input, policy).plan(); }

api::PoolCounts count_nodes(const PoolPlan& plan) {
  api::PoolCounts counts;
  counts.machines = static_cast<std::int64_t>(plan.nodes.size());
  for (const NodePlan& node : plan.nodes) {
    const bool updated = node.node->done() && node.node->desired_config == plan.target;
    if (updated) ++counts.updated;
    if (updated && node.node->ready()) ++counts.ready;
    if (node.away) ++counts.unavailable;
    if (node.node->state.is_failure()) ++counts.degraded;
  }
  return counts;
}

}  // namespace strake::rollout
