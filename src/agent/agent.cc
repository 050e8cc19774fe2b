#include "agent/agent.h"

#include <algorithm>

#include "api/kinds.h"
#include "kube/informer.h"

namespace strake::agent {

namespace {

/// The other side's trouble, not this node's: tried again without telling the world that the node is degraded.
bool is_transient(Code code) {
  switch (code) {
    case Code::kConflict:
    case Code::kExpired:
    case Code::kUnavailable:
    case Code::kTimeout:
    case Code::kCancelled:
    case Code::kExhausted:
    case Code::kUnauthenticated:
    case Code::kNotFound: return true;
    case Code::kInvalidArgument:
    case Code::kExists:
    case Code::kDenied:
    case Code::kCorrupt:
    case Code::kUnsupported:
    case Code::kIo:
    case Code::kInternal: return false;
  }
  return false;
}

bool holds(const FileState& state, const machineconfig::ManagedEntry& entry) {
  if (entry.kind == machineconfig::ManagedEntry::Kind::kLink) {
    return state.kind == FileState::Kind::kLink && state.contents == entry.contents;
  }
  return state.kind == FileState::Kind::kFile && state.contents == entry.contents && state.mode == entry.mode;
}

}  // namespace

Agent::Agent(runtime::Runtime& runtime, kube::KubeApi& api, FileTree& tree, osbackend::OsBackend& os,
             AgentOptions options)
    : runtime_(runtime), api_(api), tree_(tree), os_(os), disk_(tree), options_(std::move(options)) {}

Outcome Agent::run(std::stop_token stop) {
  runtime::Queue<int> wake(runtime_);
  kube::InformerOptions only_this_node;
  only_this_node.field_selector = "metadata.name=" + options_.node;
  only_this_node.resync = std::chrono::minutes(5);
  kube::Informer node(runtime_, api_, kube::core::kNode, only_this_node);
  node.on_change([&](const kube::ObjectKey&) { wake.push(0); });
  node.start();
  runtime::Duration retry = options_.first_retry;
  while (!stop.stop_requested()) {
    Result<Outcome> outcome = sync(stop);
    if (outcome.ok() && *outcome == Outcome::kRebooting) return Outcome::kRebooting;
    if (outcome.ok() && *outcome == Outcome::kProgressed) {
      retry = options_.first_retry;
      continue;
    }
    runtime::Call wait{stop, {}};
    if (outcome.ok()) {
      retry = options_.first_retry;
    } else {
      report_failure(outcome.error(), stop);
      wait.deadline = runtime_.now() + retry;
      retry = std::min(retry * 2, options_.longest_retry);
    }
    // A change wakes the agent early. Several changes are one reason to look.
    if (wake.pop(wait).ok()) {
      while (wake.size() > 0) (void)wake.pop(wait);
    }
  }
  return Outcome::kSettled;
}

Result<Observation> Agent::observe(const kube::Object& node) {
  Observation observed;
  STRAKE_TRY(observed.current, disk_.current_config());
  STRAKE_TRY(observed.journal, disk_.journal());
  STRAKE_TRY_CONTEXT(observed.os, os_.status(), "asking the OS what it runs");
  observed.node = api::node_view(node);
  return observed;
}

Result<Outcome> Agent::sync(std::stop_token stop) {
  STRAKE_TRY_CONTEXT(
      const kube::Object node,
      api_.get(kube::core::kNode, {"", options_.node}, runtime_.call_within(options_.call_timeout, stop)),
      "reading node {}", options_.node);
  STRAKE_TRY(const Observation observed, observe(node));
  switch (next_step(observed)) {
    case NextStep::kNothing: return Outcome::kSettled;
    case NextStep::kUpdate: return update(observed, stop);
    case NextStep::kReboot:
      STRAKE_CHECK_OK(os_.reboot(fmt::format("update to {}", observed.journal->config.name())));
      return Outcome::kRebooting;
    case NextStep::kFinish: return finish(observed, stop);
    case NextStep::kReport: {
      STRAKE_CHECK_OK(report_done(observed.current->name(), observed.node.executed_class, stop));
      return Outcome::kProgressed;
    }
  }
  return error(Code::kInternal, "the next step is none of the known ones");
}

Result<Outcome> Agent::update(Observation observed, std::stop_token stop) {
  const std::string& target = observed.node.desired_config;
  STRAKE_TRY_CONTEXT(const kube::Object config,
                     api_.get(api::kMachineConfig, {"", target}, runtime_.call_within(options_.call_timeout, stop)),
                     "reading the desired config");
  STRAKE_TRY(observed.policy,
             machineconfig::read_disruption_policy(api_, runtime_.call_within(options_.call_timeout, stop)));
  STRAKE_TRY_CONTEXT(const UpdatePlan plan, plan_update(observed, config), "planning the update to {}", target);
  if (observed.node.state != api::NodeState::kWorking) {
    STRAKE_CHECK_OK(annotate(api::NodePatch().set_state(api::NodeState::kWorking), stop));
  }
  STRAKE_CHECK_OK(
      disk_.write_journal({Phase::kApplying, config, plan.consequence.disruption, observed.os.boot_id, plan.touched}));
  STRAKE_CHECK_OK(apply(plan).context("applying {}", target));
  if (!plan.reboot) {
    STRAKE_CHECK_OK(disk_.write_journal(
        {Phase::kReporting, config, plan.consequence.disruption, observed.os.boot_id, plan.touched}));
    return Outcome::kProgressed;
  }
  if (const auto entry = journal_before_reboot(plan, observed.os.boot_id)) STRAKE_CHECK_OK(disk_.write_journal(*entry));
  STRAKE_CHECK_OK(os_.reboot(fmt::format("update to {}", target)));
  return Outcome::kRebooting;
}

Status Agent::apply(const UpdatePlan& plan) {
  for (const auto& [path, entry] : plan.entries) {
    STRAKE_TRY(const auto state, tree_.read(path));
    if (state && holds(*state, entry)) continue;
    if (entry.kind == machineconfig::ManagedEntry::Kind::kLink) {
      STRAKE_CHECK_OK(tree_.write_link(path, entry.contents));
    } else {
      STRAKE_CHECK_OK(tree_.write(path, entry.contents, entry.mode, entry.owner));
    }
  }
  for (const std::string& path : plan.removals) STRAKE_CHECK_OK(tree_.remove(path));
  return os_.stage(plan.deployment).context("staging the OS image {}", plan.deployment.image);
}

Status Agent::verify(const kube::Object& config, const osbackend::OsStatus& os) {
  const osbackend::Deployment wanted = deployment_of(config);
  if (!(os.booted == wanted)) {
    return error(Code::kIo, "the machine booted '{}' with [{}] instead of '{}' with [{}]", os.booted.image,
                 fmt::join(os.booted.kernel_arguments, " "), wanted.image, fmt::join(wanted.kernel_arguments, " "));
  }
  STRAKE_TRY(const auto entries, machineconfig::managed_tree(*json::find(config.json(), {"spec"})));
  for (const auto& [path, entry] : entries) {
    STRAKE_TRY(const auto state, tree_.read(path));
    if (!state || !holds(*state, entry)) return error(Code::kIo, "content mismatch for file {}", path);
  }
  return {};
}

Result<Outcome> Agent::finish(const Observation& observed, std::stop_token stop) {
  Journal journal = *observed.journal;
  const std::string target = journal.config.name();
  STRAKE_CHECK_OK(verify(journal.config, observed.os).context("checking the node after applying {}", target));
  if (journal.phase != Phase::kReporting) {
    journal.phase = Phase::kReporting;
    STRAKE_CHECK_OK(disk_.write_journal(journal));
  }
  STRAKE_CHECK_OK(disk_.write_current_config(journal.config));
  STRAKE_CHECK_OK(report_done(target, machineconfig::to_string(journal.disruption), stop));
  STRAKE_CHECK_OK(disk_.clear_journal());
  return Outcome::kProgressed;
}

Status Agent::annotate(const api::NodePatch& patch, std::stop_token stop) {
  // Through the status: an agent's rights end before the spec, where taints and cordons are.
  kube::WriteOptions write;
  write.subresource = "status";
  const auto patched = api_.patch(kube::core::kNode, {"", options_.node}, kube::PatchType::kMerge, patch.to_json(),
                                  write, runtime_.call_within(options_.call_timeout, stop));
  if (patched.ok()) return {};
  return Error(patched.error()).context(fmt::format("writing annotations of node {}", options_.node));
}

Status Agent::report_done(const std::string& config, std::string_view executed_class, std::stop_token stop) {
  return annotate(api::NodePatch()
                      .set_state(api::NodeState::kDone)
                      .set_current_config(config)
                      .set_reason("")
                      .set_executed_class(executed_class),
                  stop);
}

void Agent::report_failure(const Error& failure, std::stop_token stop) {
  if (is_transient(failure.code()) || stop.stop_requested()) return;
  const bool cannot_follow = failure.reason() == kUnreconcilableReason;
  const api::NodePatch patch =
      api::NodePatch()
          .set_state(cannot_follow ? api::NodeState::kUnreconcilable : api::NodeState::kDegraded)
          .set_reason(failure.to_string());
  // Failing to say so is no second failure: the next round says it again.
  (void)annotate(patch, stop);
}

}  // namespace strake::agent
