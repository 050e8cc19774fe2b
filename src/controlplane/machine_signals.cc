#include "api/node.h"
#include "base/time.h"
#include "controlplane/advice.h"
#include "controlplane/signals.h"

namespace strake::controlplane {

namespace {

void set_failures_in_a_row(net::Registry& metrics, const std::string& node, unsigned failures) {
  metrics
      .gauge("strake_agent_failures_in_a_row", "Failures of a node's agent since it was last well.", {{"node", node}})
      .set(failures);
}

}  // namespace

void Signals::listen_to(MachineOptions& options) {
  const std::string node = options.identity.name;
  options.agent.informer_hooks = hooks();
  options.agent.hooks.on_failure = [this, node](const agent::Failure& failure) {
    machine_failed(node, agent::to_string(failure.doing), failure.error, failure.in_a_row, failure.next_try);
  };
  options.agent.hooks.on_well = [this, node] { machine_well(node); };
  options.agent.hooks.on_step = [this, node](const std::string& step) {
    log_.info("changing the machine", {{"node", node}, {"step", step}});
  };
  options.agent.hooks.on_progress = [this, node](const Progress& progress) {
    log_.debug("changing the OS", {{"node", node},
                                   {"doing", progress.doing},
                                   log::varying("done", progress.done),
                                   log::varying("of", progress.total)});
  };
  options.on_report_failure = [this, node](const nodeshim::ReportFailure& failure) {
    machine_failed(node, "heartbeat", failure.error, failure.in_a_row, failure.next_try);
  };
  options.on_first_config = [this, node](const Error* why, runtime::Duration next_try) {
    first_config_looked_for(node, why, next_try);
  };
  options.on_broken = [this, node](const Error& error, unsigned in_a_row, runtime::Duration next_try) {
    machine_failed(node, "starting", error, in_a_row, next_try);
  };
}

void Signals::first_config_looked_for(const std::string& node, const Error* why, runtime::Duration next_try) {
  std::size_t waiting = 0;
  bool first = false;
  {
    std::lock_guard lock(mutex_);
    first = why != nullptr && waiting_machines_.insert(node).second;
    if (why == nullptr) waiting_machines_.erase(node);
    waiting = waiting_machines_.size();
  }
  metrics_.gauge("strake_machines_waiting", "New machines of this process that have no first config yet.")
      .set(static_cast<double>(waiting));
  if (why == nullptr) return log_.info("a new machine has its first config", {{"node", node}});
  // A release that is about to be applied is no trouble; one that does not come is said again, less and less often.
  log_.say(first ? log::Level::kDebug : log::Level::kInfo, "a new machine waits for its first config",
           {{"node", node}, {"why", *why}, log::varying("next_try", next_try)});
}

void Signals::listen_to(RenewalOptions& options, const std::string& node, kube::EventRecorder& events) {
  const auto failing = [this, node](unsigned failures) {
    metrics_
        .gauge("strake_agent_certificate_renewal_failures_in_a_row",
               "Failed tries to renew a node's certificate since the last good one.", {{"node", node}})
        .set(failures);
  };
  options.on_looked = [this, node, failing](const Renewal& renewal) {
    failing(0);
    metrics_
        .gauge("strake_agent_certificate_expires_seconds", "When a node's certificate ends, in seconds since 1970.",
               {{"node", node}})
        .set(static_cast<double>(renewal.expires.time_since_epoch().count()));
    if (renewal.renewed) {
      log_.info("renewed the certificate of a node", {{"node", node}, {"expires", format_rfc3339(renewal.expires)}});
    }
  };
  options.on_failure = [this, node, failing, &events](const Error& error, unsigned in_a_row,
                                                      runtime::Duration next_try) {
    failing(in_a_row);
    log_.warning(
        "the certificate of a node could not be renewed; will try again",
        {{"node", node}, {"error", error}, log::varying("failures", in_a_row), log::varying("next_try", next_try)});
    // Without a uid, as kubelets refer to their own Node.
    events.record(kube::ObjectReference{"v1", "Node", "", node, node, ""}, kube::EventType::kWarning,
                  "CertificateRenewalFailed", api::reason_text(error.to_string()));
  };
}

void Signals::machine_failed(const std::string& node, std::string_view doing, const Error& error, unsigned in_a_row,
                             runtime::Duration next_try) {
  set_failures_in_a_row(metrics_, node, in_a_row);
  {
    std::lock_guard lock(mutex_);
    failing_machines_[node] = in_a_row;
  }
  metrics_
      .counter("strake_agent_failures_total", "Rounds of a node's agent that failed, by what it was at.",
               {{"node", node}, {"doing", std::string(doing)}})
      .add();
  log::Fields fields{{"node", node}, {"doing", doing}, {"error", error}};
  if (const std::string_view advice = advice_for(error); !advice.empty()) fields.emplace_back("advice", advice);
  fields.push_back(log::varying("failures", in_a_row));
  fields.push_back(log::varying("next_try", next_try));
  log_.warning("the agent of a node failed; will try again", fields);
}

void Signals::machine_well(const std::string& node) {
  unsigned failures = 0;
  {
    std::lock_guard lock(mutex_);
    const auto found = failing_machines_.find(node);
    if (found == failing_machines_.end()) return;
    failures = found->second;
    failing_machines_.erase(found);
  }
  set_failures_in_a_row(metrics_, node, 0);
  log_.info("the agent of a node is well again", {{"node", node}, log::varying("after_failures", failures)});
}

void Signals::drain_stands(const rollout::DrainReport& report) {
  const bool over = report.step == rollout::DrainStep::kNothing || report.step == rollout::DrainStep::kEcho;
  std::size_t going = 0, overdue = 0;
  {
    const std::lock_guard lock(mutex_);
    if (over) {
      drains_.erase(report.node);
    } else {
      drains_[report.node] = report;
    }
    going = drains_.size();
    for (const auto& [node, drain] : drains_) overdue += drain.overdue ? 1 : 0;
  }
  metrics_.gauge("strake_drains", "Nodes that asked to be drained or opened and were not answered yet.")
      .set(static_cast<double>(going));
  metrics_.gauge("strake_drains_overdue", "Nodes whose drain has taken more than an hour.")
      .set(static_cast<double>(overdue));
  if (report.step == rollout::DrainStep::kNothing) return;
  log::Fields fields{{"node", report.node}, {"step", std::string(to_string(report.step))}};
  if (report.pods_left > 0) fields.push_back(log::varying("pods_left", report.pods_left));
  if (!report.why.empty()) fields.push_back({"why", report.why});
  const bool trouble = report.overdue || report.step == rollout::DrainStep::kRefuse;
  log_.say(trouble ? log::Level::kWarning : log::Level::kInfo, "a node asked to be drained or opened", fields);
}

}  // namespace strake::controlplane
