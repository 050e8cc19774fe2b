#include "controlplane/signals.h"

#include <algorithm>
#include <cstdlib>

#include "base/secrets.h"
#include "base/visible_text.h"
#include "controlplane/advice.h"

namespace strake::controlplane {

namespace {

double unix_seconds(runtime::WallTime time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

/// The error of a call to the API server, and what to do about it.
void add_error(log::Fields& fields, const Error& error) {
  fields.emplace_back("error", error);
  if (const std::string_view advice = advice_for(error); !advice.empty()) fields.emplace_back("advice", advice);
}

std::string describe(const machineconfig::Agreement& agreement) {
  if (agreement.ours.empty()) return "Strake cannot render the pool";
  return agreement.agrees() ? "the pool agrees with what Strake renders" : "the pool DIFFERS from what Strake renders";
}

}  // namespace

kube::Hooks Signals::hooks() {
  kube::Hooks hooks;
  hooks.on_informer_failure = [this](const kube::InformerFailure& failure) { informer_failed(failure); };
  hooks.on_informer_contact = [this](const kube::Resource& resource) { informer_reached(resource); };
  hooks.on_reconciled = [this](const kube::ReconcileRecord& record) { reconciled(record); };
  hooks.on_event_lost = [this](const kube::LostEvent& event) { event_lost(event); };
  return hooks;
}

void Signals::listen_to(ControllersOptions& options) {
  options.hooks = hooks();
  options.on_leader = [this, us = options.identity](const std::string& leader) { leader_changed(leader, us); };
  options.on_stopped_leading = [this] { stopped_leading(); };
  options.on_lease_failure = [this](const kube::LeaseFailure& failure) { lease_failed(failure); };
  options.on_lease_recovered = [this] { lease_recovered(); };
  options.on_failure = [this](const Error& error, runtime::Duration next_try) { cannot_start(error, next_try); };
  options.on_modes = [this](const ClusterModes& modes) { modes_changed(modes); };
  options.on_agreement = [this](const machineconfig::Agreement& agreement) { agreement_changed(agreement); };
  options.on_pool = [this](const rollout::PoolReport& report) { pool_planned(report); };
  options.on_drain = [this](const rollout::DrainReport& report) { drain_stands(report); };
  options.on_render = [this](const machineconfig::RenderReport& report) { pool_rendered(report); };
  options.on_generate = [this](const machineconfig::GenerateReport& report) { config_generated(report); };
  options.on_joining = [this](const stub::IdentityReport& report) { joining_stands(report); };
  options.on_joining_done = [this](stub::IdentityStep step, const std::string& what) { joining_changed(step, what); };
  options.on_overdue = [this] {
    // Two rollouts at once could let more nodes go than maxUnavailable allows.
    log_.error("the lease is lost and the controllers did not stop in time; exiting so that only one leads");
    std::_Exit(EXIT_FAILURE);
  };
}

void Signals::informer_failed(const kube::InformerFailure& failure) {
  const std::string resource = failure.resource.qualified_name();
  {
    std::lock_guard lock(mutex_);
    failing_informers_[resource] = failure.failures;
  }
  metrics_.counter("strake_informer_failures_total", "Lists and watches that failed.", {{"resource", resource}}).add();
  log::Fields fields{{"resource", resource}};
  add_error(fields, failure.error);
  fields.push_back(log::varying("failures", failure.failures));
  fields.push_back(log::varying("next_try", failure.next_try));
  log_.warning("cannot read the API; what is known grows old", fields);
}

void Signals::informer_reached(const kube::Resource& resource) {
  const std::string name = resource.qualified_name();
  metrics_
      .gauge("strake_informer_last_contact_timestamp_seconds",
             "When the local copy of a resource was last known to be current.", {{"resource", name}})
      .set(unix_seconds(runtime_.wall_now()));
  unsigned failures = 0;
  {
    std::lock_guard lock(mutex_);
    reached_ = true;
    start_trouble_.clear();
    const auto failing = failing_informers_.find(name);
    if (failing == failing_informers_.end()) return;
    failures = failing->second;
    failing_informers_.erase(failing);
  }
  log_.info("reading the API again", {{"resource", name}, log::varying("after_failures", failures)});
}

void Signals::reconciled(const kube::ReconcileRecord& record) {
  const net::Labels controller{{"controller", record.controller}};
  metrics_
      .counter("strake_reconciles_total", "Attempts to bring an object to what it should be.",
               {{"controller", record.controller}, {"result", record.error == nullptr ? "ok" : "error"}})
      .add();
  metrics_
      .histogram("strake_reconcile_seconds", "How long an attempt took.", net::default_duration_buckets(), controller)
      .observe(std::chrono::duration<double>(record.took).count());
  metrics_.gauge("strake_queue_depth", "Objects that wait for a worker.", controller)
      .set(static_cast<double>(record.queue_depth));
  bool recovered = false;
  std::size_t failing = 0;
  {
    std::lock_guard lock(mutex_);
    std::set<kube::ObjectKey>& keys = failing_objects_[record.controller];
    if (record.error == nullptr) {
      recovered = keys.erase(record.key) > 0;
    } else {
      keys.insert(record.key);
    }
    failing = keys.size();
  }
  metrics_.gauge("strake_failing_objects", "Objects whose last attempt failed.", controller)
      .set(static_cast<double>(failing));
  log::Fields fields{{"controller", record.controller}, {"object", record.key.to_string()}};
  if (recovered) log_.info("the object is well again", fields);
  if (record.error == nullptr) return;
  fields.emplace_back("error", *record.error);
  fields.push_back(log::varying("failures", record.failures));
  log_.warning("cannot bring an object to what it should be; will try again", fields);
}

void Signals::event_lost(const kube::LostEvent& event) {
  const std::string loss(kube::to_string(event.loss));
  metrics_.counter("strake_events_lost_total", "Events that never reached the cluster.", {{"why", loss}}).add();
  log::Fields fields{{"why", loss}, {"kind", event.kind}, {"name", event.name}, {"reason", event.reason}};
  if (event.error != nullptr) add_error(fields, *event.error);
  fields.push_back(log::varying("event", event.message));
  log_.warning("an event did not reach the cluster", fields);
}

void Signals::lease_failed(const kube::LeaseFailure& failure) {
  {
    std::lock_guard lock(mutex_);
    lease_trouble_ = fmt::format("lease {}: {}", failure.lease.to_string(), failure.error.to_string());
  }
  metrics_.counter("strake_lease_failures_total", "Attempts to take or keep the lease that failed.").add();
  log::Fields fields{{"lease", failure.lease.to_string()}, {"leading", failure.leading}};
  add_error(fields, failure.error);
  fields.push_back(log::varying("failures", failure.failures));
  log_.warning("cannot take or keep the lease", fields);
}

void Signals::lease_recovered() {
  {
    std::lock_guard lock(mutex_);
    lease_trouble_.clear();
  }
  log_.info("the lease can be read and written again");
}

void Signals::leader_changed(const std::string& leader, const std::string& us) {
  metrics_.gauge("strake_lease_held", "1 while this process leads.").set(leader == us ? 1 : 0);
  log_.info(leader == us ? "leading; controllers running" : "another process leads; waiting to take over",
            {{"leader", leader}});
}

void Signals::stopped_leading() {
  metrics_.gauge("strake_lease_held", "1 while this process leads.").set(0);
  {
    std::lock_guard lock(mutex_);
    pools_.clear();
    failing_objects_.clear();
  }
  log_.info("no longer leading");
}

void Signals::cannot_start(const Error& error, runtime::Duration next_try) {
  {
    std::lock_guard lock(mutex_);
    start_trouble_ = error.to_string();
  }
  metrics_.counter("strake_controllers_start_failures_total", "Attempts to start the controllers that failed.").add();
  log::Fields fields;
  add_error(fields, error);
  fields.push_back(log::varying("next_try", next_try));
  log_.error("the controllers cannot run", fields);
}

void Signals::modes_changed(const ClusterModes& modes) {
  {
    std::lock_guard lock(mutex_);
    start_trouble_.clear();
  }
  log_.info("how far Strake may act", {{"render", api::to_string(modes.render)},
                                       {"rollout", api::to_string(modes.rollout)},
                                       {"joining", api::to_string(modes.joining)}});
}

void Signals::agreement_changed(const machineconfig::Agreement& agreement) {
  const bool agrees = agreement.agrees();
  log::Fields fields{{"pool", agreement.pool}, {"has", agreement.theirs}};
  if (!agreement.ours.empty() && !agrees) fields.emplace_back("strake_renders", agreement.ours);
  if (!agreement.reason.empty()) fields.emplace_back("reason", agreement.reason);
  log_.say(agrees ? log::Level::kInfo : log::Level::kWarning, describe(agreement), fields);
}

apistore::ProblemHook Signals::store_hook() {
  return [this](const apistore::Problem& problem) { store_failed(problem); };
}

void Signals::store_failed(const apistore::Problem& problem) {
  metrics_
      .counter("strake_store_problems_total", "What failed behind the API server, where nobody waits for an answer.",
               {{"part", problem.part}})
      .add();
  log::Fields fields{{"part", problem.part}};
  if (problem.damage) {
    fields.emplace_back("damage", problem.damage->to_string());
  } else {
    fields.emplace_back("error", problem.error);
  }
  log_.error("the API server is in trouble", fields);
}

void Signals::pool_planned(const rollout::PoolReport& report) {
  std::vector<rollout::Trouble> known;
  {
    std::lock_guard lock(mutex_);
    known = pools_[report.pool].troubles;
    if (report.gone) {
      pools_.erase(report.pool);
    } else {
      pools_[report.pool] = report;
    }
  }
  for (const rollout::Trouble& trouble : report.troubles) {
    if (std::find(known.begin(), known.end(), trouble) != known.end()) continue;
    const bool bad = rollout::degrades_pool(trouble.kind);
    log_.say(bad ? log::Level::kWarning : log::Level::kInfo, "a pool does not get on by itself",
             {{"pool", report.pool}, {"reason", to_string(trouble.kind)}, {"message", trouble.message}});
  }
  if (!known.empty() && report.troubles.empty() && !report.gone) {
    log_.info("a pool gets on again", {{"pool", report.pool}});
  }
}

void Signals::config_generated(const machineconfig::GenerateReport& report) {
  if (report.refusal.empty()) {
    log_.info("made into MachineConfigs again", {{"source", report.source}});
    return;
  }
  metrics_.counter("strake_generate_refusals_total", "Sources that could not be made into MachineConfigs.", {}).add();
  log_.warning("not made into MachineConfigs; what it made before stays",
               {{"source", report.source}, {"message", report.refusal}});
}

void Signals::pool_rendered(const machineconfig::RenderReport& report) {
  if (report.message.empty()) return;
  metrics_
      .counter("strake_render_troubles_total", "Renders that were refused, wait for long, or left something out.",
               {{"outcome", std::string(machineconfig::to_string(report.outcome))}})
      .add();
  log_.warning("a pool's MachineConfigs are not in force as they are",
               {{"pool", report.pool},
                {"outcome", machineconfig::to_string(report.outcome)},
                {"reason", report.reason},
                {"message", report.message}});
}

std::string Signals::not_ready_because() const {
  std::lock_guard lock(mutex_);
  std::string why;
  const auto add = [&](std::string_view line) { why += visible_line(without_secrets(line)) + "\n"; };
  if (!reached_) add("the API server was not reached yet");
  for (const auto& [resource, failures] : failing_informers_) {
    add(fmt::format("cannot read {} ({} failures in a row)", resource, failures));
  }
  for (const std::string& pool : unserved_pools_) add(fmt::format("new machines of pool {} get no config", pool));
  if (!lease_trouble_.empty()) add(lease_trouble_);
  if (!start_trouble_.empty()) add(start_trouble_);
  return why;
}

std::string Signals::metrics_text() {
  const log::Log::Stats lines = log_.stats();
  // The log counts by itself; a scrape brings the counters up to it.
  const auto bring_to = [](net::Counter& counter, std::uint64_t value) {
    counter.add(static_cast<double>(value) - counter.value());
  };
  for (std::size_t level = 0; level < log::kLevels; ++level) {
    bring_to(metrics_.counter("strake_log_lines_total", "Log lines, whether written or held back.",
                              {{"level", std::string(log::to_string(static_cast<log::Level>(level)))}}),
             lines.lines[level]);
  }
  bring_to(metrics_.counter("strake_log_repeats_held_back_total", "Log lines not written because they repeat another."),
           lines.held_back);
  bring_to(metrics_.counter("strake_log_write_failures_total", "Log lines that could not be written."),
           lines.failed_writes);
  std::map<std::string_view, double> nodes, troubles;
  double degraded = 0, failing_informers = 0;
  {
    std::lock_guard lock(mutex_);
    failing_informers = static_cast<double>(failing_informers_.size());
    for (const rollout::NodeAction action : rollout::kNodeActions) nodes[to_string(action)] = 0;
    for (const rollout::TroubleKind kind : rollout::kTroubleKinds) troubles[to_string(kind)] = 0;
    for (const auto& [name, report] : pools_) {
      degraded += report.degraded ? 1 : 0;
      for (const auto& [action, count] : report.nodes) nodes[to_string(action)] += static_cast<double>(count);
      for (const rollout::Trouble& trouble : report.troubles) ++troubles[to_string(trouble.kind)];
    }
  }
  count_config_server();
  metrics_.gauge("strake_informers_failing", "Resources that cannot be read now.").set(failing_informers);
  metrics_.gauge("strake_pools_degraded", "Pools whose condition Degraded is true.").set(degraded);
  for (const auto& [action, count] : nodes) {
    metrics_.gauge("strake_nodes", "Nodes by what the rollout does with them.", {{"action", std::string(action)}})
        .set(count);
  }
  for (const auto& [reason, count] : troubles) {
    metrics_
        .gauge("strake_pool_troubles", "What keeps pools from getting on by themselves.",
               {{"reason", std::string(reason)}})
        .set(count);
  }
  return metrics_.text();
}

}  // namespace strake::controlplane
