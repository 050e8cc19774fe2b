// Signals: what the parts of a daemon report through their hooks, as log lines and metrics.
//
// Libraries know what failed and tell a hook; here, at the outermost loop, it becomes a line for people (with what to
// do) and a number for machines (docs/metrics.md). One object a process. All of it is thread safe and never waits.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "apistore/service/problem.h"
#include "base/log.h"
#include "base/runtime.h"
#include "controlplane/config_service.h"
#include "controlplane/controllers.h"
#include "controlplane/renewal.h"
#include "controlplane/sandbox_machine.h"
#include "kube/events.h"
#include "kube/hooks.h"
#include "net/metrics.h"

namespace strake::controlplane {

class Signals {
 public:
  Signals(runtime::Runtime& runtime, log::Log& log) : runtime_(runtime), log_(log) {}

  /// For informers, controllers and event recorders. This object must outlive them.
  kube::Hooks hooks();
  /// Fills in every callback of the options; `options.identity` must be set.
  void listen_to(ControllersOptions& options);
  /// The same for a sandboxed machine with its agent; `options.identity` must be set.
  void listen_to(MachineOptions& options);

  /// The same for the renewal of a node's certificate; what fails also becomes an Event about the Node.
  void listen_to(RenewalOptions& options, const std::string& node, kube::EventRecorder& events);

  /// The same for a config server.
  void listen_to(ConfigServiceOptions& options);
  /// The age of its answers becomes a metric, until it is forgotten.
  void watch_age(const ConfigService& service);
  void forget_config_service();

  /// For the embedded API server's tasks.
  apistore::ProblemHook store_hook();

  log::Log& log() { return log_; }
  /// In the Prometheus text format.
  std::string metrics_text();
  /// What stands in the way now, one line each; empty while all is well and the API was reached at least once.
  std::string not_ready_because() const;

 private:
  void informer_failed(const kube::InformerFailure& failure);
  void informer_reached(const kube::Resource& resource);
  void reconciled(const kube::ReconcileRecord& record);
  void event_lost(const kube::LostEvent& event);
  void lease_failed(const kube::LeaseFailure& failure);
  void lease_recovered();
  void leader_changed(const std::string& leader, const std::string& us);
  void stopped_leading();
  void cannot_start(const Error& error, runtime::Duration next_try);
  void modes_changed(const ClusterModes& modes);
  void agreement_changed(const machineconfig::Agreement& agreement);
  void store_failed(const apistore::Problem& problem);
  void pool_planned(const rollout::PoolReport& report);
  void drain_stands(const rollout::DrainReport& report);
  void pool_rendered(const machineconfig::RenderReport& report);
  void config_generated(const machineconfig::GenerateReport& report);
  void joining_stands(const stub::IdentityReport& report);
  void joining_changed(stub::IdentityStep step, const std::string& what);
  void machine_failed(const std::string& node, std::string_view doing, const Error& error, unsigned in_a_row,
                      runtime::Duration next_try);
  void machine_well(const std::string& node);
  void first_config_looked_for(const std::string& node, const Error* why, runtime::Duration next_try);
  void config_asked_for(const configserver::ConfigRequest& request);
  void access_changed(const configserver::AccessReport& report);
  void pool_served(const configserver::PoolServing& serving);
  void count_config_server();

  runtime::Runtime& runtime_;
  log::Log& log_;
  net::Registry metrics_;

  mutable std::mutex mutex_;
  bool reached_ = false;                                              ///< an API server answered once
  std::map<std::string, unsigned> failing_informers_;                 ///< by resource: failures in a row
  std::map<std::string, std::set<kube::ObjectKey>> failing_objects_;  ///< by controller
  std::map<std::string, rollout::PoolReport> pools_;
  std::map<std::string, rollout::DrainReport> drains_;  ///< by node: those that go on
  std::map<std::string, unsigned> failing_machines_;    ///< by node: failures in a row
  std::set<std::string> waiting_machines_;              ///< without a first config
  std::set<std::string> unserved_pools_;                ///< whose new machines get no config
  const ConfigService* config_service_ = nullptr;
  std::string lease_trouble_;
  std::string start_trouble_;
};

}  // namespace strake::controlplane
