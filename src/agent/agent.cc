#include "agent/agent.h"

#include <algorithm>

#include "api/kinds.h"
#include "kube/informer.h"

namespace strake::agent {

Agent::Agent(runtime::Runtime& runtime, kube::KubeApi& api, FileTree& tree, osbackend::OsBackend& os,
             osbackend::ServiceManager& services, AgentOptions options)
    : runtime_(runtime),
      api_(api),
      os_(os),
      executor_(tree, os, services, options.hooks.on_progress),
      disk_(tree),
      options_(std::move(options)) {}

bool Agent::is_news(const api::NodeView& node) const {
  if (node.uid != looked_at_.uid || node.desired_config != looked_at_.desired_config) return true;
  // While it fails, what it wrote itself is no reason to try again.
  if (failures_ > 0) return false;
  return node.current_config != looked_at_.current_config || node.state != looked_at_.state;
}

void Agent::wait_for_news(runtime::Queue<api::NodeView>& changes, const runtime::Call& wait) {
  while (true) {
    auto change = changes.pop(wait);
    if (!change.ok()) return;
    while (changes.size() > 0) {
      if (auto later = changes.pop(wait); later.ok()) change = std::move(later);
    }
    if (is_news(*change)) return;
  }
}

Outcome Agent::run(std::stop_token stop) {
  runtime::Queue<api::NodeView> changes(runtime_);
  kube::InformerOptions only_this_node;
  only_this_node.field_selector = "metadata.name=" + options_.node;
  only_this_node.resync = std::chrono::minutes(5);
  only_this_node.hooks = options_.informer_hooks;
  kube::Informer node(runtime_, api_, kube::core::kNode, only_this_node);
  node.add_handlers({[&](const kube::ObjectPtr& added) { changes.push(api::node_view(*added)); },
                     [&](const kube::ObjectPtr&, const kube::ObjectPtr& now) { changes.push(api::node_view(*now)); },
                     nullptr});
  node.start();
  while (!stop.stop_requested()) {
    const Result<Outcome> outcome = sync(stop);
    if (outcome.ok() && *outcome == Outcome::kRebooting) return Outcome::kRebooting;
    // Progress is no recovery: what is made good and breaks again must not be repeated without a pause.
    if (outcome.ok() && *outcome == Outcome::kProgressed) continue;
    runtime::Duration pause = options_.look_again;
    if (outcome.ok()) {
      recovered();
    } else {
      pause = failed(outcome.error(), stop);
    }
    wait_for_news(changes, within(pause, stop));
  }
  return Outcome::kSettled;
}

Result<Observation> Agent::observe(std::stop_token stop) {
  doing_ = Doing::kReadingNode;
  STRAKE_TRY_CONTEXT(const kube::Object node,
                     api_.get(kube::core::kNode, {"", options_.node}, within(options_.call_timeout, stop)),
                     "reading node {}", options_.node);
  looked_at_ = api::node_view(node);
  doing_ = Doing::kLookingAtMachine;
  Observation observed;
  STRAKE_TRY(observed.current, disk_.current_config());
  STRAKE_TRY(observed.journal, disk_.journal());
  STRAKE_TRY_CONTEXT(observed.os, os_.status(within(options_.call_timeout, stop)), "asking the OS what it runs");
  observed.node = looked_at_;
  if (observed.journal && should_be_in_place(*observed.journal, observed.os)) {
    STRAKE_TRY(observed.mismatch, mismatch(observed.journal->config, observed.os));
  }
  return observed;
}

Result<Preview> Agent::preview(std::stop_token stop) {
  Preview preview;
  STRAKE_TRY(preview.observed, observe(stop));
  preview.next = next_step(preview.observed, options_.boots_for_config);
  if (preview.next == NextStep::kUpdate || preview.next == NextStep::kRetry) {
    STRAKE_TRY(preview.update, plan(preview.observed, stop));
  }
  return preview;
}

Result<Outcome> Agent::sync(std::stop_token stop) {
  STRAKE_TRY(Observation observed, observe(stop));
  const NextStep next = next_step(observed, options_.boots_for_config);
  switch (next) {
    case NextStep::kNothing: return Outcome::kSettled;
    case NextStep::kUpdate: return update(std::move(observed), stop);
    case NextStep::kReboot: {
      doing_ = Doing::kApplying;
      const Reboot again{fmt::format("update to {}", observed.journal->config.name())};
      STRAKE_CHECK_OK(executor_.run(again, within(options_.step_timeout, stop)));
      return Outcome::kRebooting;
    }
    case NextStep::kFinish: return finish(observed, stop);
    case NextStep::kRetry: {
      doing_ = Doing::kChecking;
      announced_mismatch_ = !announced_mismatch_;
      if (announced_mismatch_) return *observed.mismatch;
      return update(std::move(observed), stop);
    }
    case NextStep::kGiveUp: {
      doing_ = Doing::kChecking;
      return Error(*observed.mismatch)
          .context(fmt::format("after {} boots the node stays as it is until that is put right or it is given another "
                               "config",
                               observed.journal->boots));
    }
    case NextStep::kReport: {
      doing_ = Doing::kReporting;
      // Asked for something else and back before anything of it was done.
      const bool nothing_done = observed.node.planned_class == "none";
      const std::string executed = nothing_done ? "none" : observed.node.executed_class;
      STRAKE_CHECK_OK(report_done(observed.current->name(), executed, stop));
      return Outcome::kProgressed;
    }
  }
  return error(Code::kInternal, "the next step is none of the known ones");
}

Result<UpdatePlan> Agent::plan(Observation& observed, std::stop_token stop) {
  const std::string& target = observed.node.desired_config;
  doing_ = Doing::kReadingConfig;
  STRAKE_TRY_CONTEXT(const kube::Object config,
                     api_.get(api::kMachineConfig, {"", target}, within(options_.call_timeout, stop)),
                     "reading the desired config {}", target);
  STRAKE_TRY(observed.policy, machineconfig::read_disruption_policy(api_, within(options_.call_timeout, stop)));
  doing_ = Doing::kPlanning;
  STRAKE_TRY_CONTEXT(const FileStates want, wanted_files(observed, config), "planning the update to {}", target);
  doing_ = Doing::kLookingAtMachine;
  STRAKE_TRY_CONTEXT(const FileStates have, executor_.look_at(want), "planning the update to {}", target);
  doing_ = Doing::kPlanning;
  return plan_update(observed, config, want, have).context("planning the update to {}", target);
}

Result<Outcome> Agent::update(Observation observed, std::stop_token stop) {
  STRAKE_TRY(const UpdatePlan update, plan(observed, stop));
  // A node that failed stays so until it is well: whoever looks at it must not see it flicker.
  if (observed.node.state != api::NodeState::kWorking && !observed.node.state.is_failure()) {
    doing_ = Doing::kReporting;
    STRAKE_CHECK_OK(annotate(api::NodePatch().set_state(api::NodeState::kWorking), stop));
  }
  doing_ = Doing::kApplying;
  Journal journal{Phase::kApplying, update.config, update.consequence.disruption, observed.os.boot_id, 0,
                  update.before,    update.told};
  const bool same_goal = observed.journal && observed.journal->config.name() == update.config.name();
  if (same_goal) journal.boots = observed.journal->boots;
  STRAKE_CHECK_OK(disk_.write_journal(journal));
  auto applied = apply(update, journal, stop);
  if (applied.ok()) return applied;
  Error failure = std::move(applied).error().context(fmt::format("applying {}", update.config.name()));
  // After a boot into the new OS the old files would be wrong too; when told to stop, the next start goes on.
  const bool booted_since = observed.journal && should_be_in_place(*observed.journal, observed.os);
  if (booted_since || failure.code() == Code::kCancelled) return failure;
  const Status undone = put_back(journal, stop);
  if (!undone.ok()) return std::move(failure).followed_by(undone.error());
  return failure;
}

Status Agent::run_step(const Step& step, std::stop_token stop) {
  const bool is_service = std::holds_alternative<TellService>(step);
  return executor_.run(step, within(is_service ? options_.service_timeout : options_.step_timeout, stop));
}

Result<Outcome> Agent::apply(const UpdatePlan& plan, Journal& journal, std::stop_token stop) {
  for (const Step& step : plan.steps) {
    if (options_.hooks.on_step) options_.hooks.on_step(to_string(step));
    if (std::holds_alternative<Reboot>(step)) {
      journal.phase = Phase::kBooting;
      ++journal.boots;
      if (const auto entry = options_.policy.journal_before_reboot(journal))
        STRAKE_CHECK_OK(disk_.write_journal(*entry));
      STRAKE_CHECK_OK(run_step(step, stop));
      return Outcome::kRebooting;
    }
    if (const auto* telling = std::get_if<TellService>(&step);
        telling != nullptr && std::find(journal.told.begin(), journal.told.end(), *telling) == journal.told.end()) {
      Journal next = journal;
      next.told.push_back(*telling);
      STRAKE_CHECK_OK(disk_.write_journal(next));
      journal = std::move(next);
    }
    STRAKE_CHECK_OK(run_step(step, stop));
  }
  journal.phase = Phase::kReporting;
  STRAKE_CHECK_OK(disk_.write_journal(journal));
  return Outcome::kProgressed;
}

/// Tries everything, whatever fails on the way; the journal goes only when all of it is as it was.
Status Agent::put_back(const Journal& journal, std::stop_token stop) {
  STRAKE_TRY_CONTEXT(const FileStates have, executor_.look_at(journal.before), "putting back what was changed");
  STRAKE_TRY_CONTEXT(const std::vector<Step> steps, plan_undo(journal.before, journal.told, have),
                     "putting back what was changed");
  Status undone;
  const auto keep_first = [&](Status status) {
    if (undone.ok() && !status.ok()) undone = std::move(status).context("putting back what was changed");
  };
  bool files_are_back = true;
  for (const Step& step : steps) {
    const bool is_service = std::holds_alternative<TellService>(step);
    // Told while the new files are still there, a service would only take them over once more.
    if (is_service && !files_are_back) continue;
    Status ran = run_step(step, stop);
    files_are_back = files_are_back && (is_service || ran.ok());
    keep_first(std::move(ran));
  }
  keep_first(os_.drop_staged(within(options_.step_timeout, stop)));
  STRAKE_CHECK_OK(undone);
  return disk_.clear_journal();
}

Result<std::optional<Error>> Agent::mismatch(const kube::Object& config, const osbackend::OsStatus& os) {
  const auto not_in_place = [&](std::string what) {
    return std::optional(error(Code::kIo, "{}", what).context(fmt::format("checking {}", config.name())));
  };
  STRAKE_TRY(const osbackend::OsTarget target, os_target(config, os.booted));
  if (const auto differences = osbackend::differences(os.booted, target); !differences.empty())
    return not_in_place(fmt::format("the machine booted with {}", fmt::join(differences, ", ")));
  Observation nothing_else;
  STRAKE_TRY(const FileStates want, wanted_files(nothing_else, config));
  STRAKE_TRY(const FileStates have, executor_.look_at(want));
  for (const auto& [path, wanted] : want) {
    if (!same_entry(have.at(path), wanted)) return not_in_place(fmt::format("content mismatch for file {}", path));
  }
  return std::optional<Error>();
}

Result<Outcome> Agent::finish(const Observation& observed, std::stop_token stop) {
  doing_ = Doing::kApplying;
  Journal journal = *observed.journal;
  const std::string target = journal.config.name();
  journal.phase = Phase::kReporting;
  STRAKE_CHECK_OK(disk_.write_journal(journal));
  STRAKE_CHECK_OK(disk_.write_current_config(journal.config));
  // An agent may only report what its Node asks for. When that has changed meanwhile, the next round goes on to it and
  // reports then.
  if (target == observed.node.desired_config) {
    doing_ = Doing::kReporting;
    STRAKE_CHECK_OK(report_done(target, machineconfig::to_string(journal.disruption), stop));
    doing_ = Doing::kApplying;
  }
  STRAKE_CHECK_OK(disk_.clear_journal());
  return Outcome::kProgressed;
}

Status Agent::annotate(const api::NodePatch& patch, std::stop_token stop) {
  // Through the status: an agent's rights end before the spec, where taints and cordons are.
  kube::WriteOptions write;
  write.subresource = "status";
  const auto patched = api_.patch(kube::core::kNode, {"", options_.node}, kube::PatchType::kMerge, patch.to_json(),
                                  write, within(options_.call_timeout, stop));
  if (!patched.ok())
    return Error(patched.error()).context(fmt::format("writing annotations of node {}", options_.node));
  looked_at_ = api::node_view(*patched);
  return {};
}

Status Agent::report_done(const std::string& config, std::string_view executed_class, std::stop_token stop) {
  return annotate(api::NodePatch()
                      .set_state(api::NodeState::kDone)
                      .set_current_config(config)
                      .set_reason("")
                      .set_executed_class(executed_class),
                  stop);
}

runtime::Duration Agent::failed(const Error& failure, std::stop_token stop) {
  if (failing_goal_ != looked_at_.desired_config) failures_ = 0;
  failing_goal_ = looked_at_.desired_config;
  runtime::Duration pause = options_.first_retry;
  for (unsigned i = 0; i < failures_ && pause < options_.longest_retry; ++i) pause *= 2;
  pause = std::min(pause, options_.longest_retry);
  ++failures_;
  if (stop.stop_requested()) return pause;
  const Doing failed_at = doing_;
  if (!is_api_trouble(failed_at, failure.code(), failures_)) report_failure(failure, stop);
  if (options_.hooks.on_failure) options_.hooks.on_failure({failed_at, failure, failures_, pause});
  return pause;
}

void Agent::recovered() {
  failures_ = 0;
  if (options_.hooks.on_well) options_.hooks.on_well();
}

void Agent::report_failure(const Error& failure, std::stop_token stop) {
  const bool cannot_follow = failure.reason() == kUnreconcilableReason;
  const api::NodeState state = cannot_follow ? api::NodeState::kUnreconcilable : api::NodeState::kDegraded;
  const std::string reason = api::reason_text(failure.to_string());
  if (looked_at_.state == state && looked_at_.reason == reason) return;
  // Failing to say so is no second failure: the next round says it again.
  (void)annotate(api::NodePatch().set_state(state).set_reason(reason), stop);
}

}  // namespace strake::agent
