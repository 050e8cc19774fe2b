// A small cluster in simulation: the real store in memory, the real controllers and agents, faults on every API,
// crashes anywhere.
//
// The world watches itself: an observer sees every change of every node in the order the store committed them and
// records broken promises (`violations`) at once. At the end `check_settled` compares what is with what should be.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "apistore/in_process_api.h"
#include "apistore/service/service.h"
#include "apistore/simulated_api.h"
#include "base/file_tree.h"
#include "base/simulation.h"
#include "osbackend/sandbox_backend.h"
#include "osbackend/sandbox_services.h"
#include "release/payload.h"
#include "rollout/rollout_policy.h"

namespace strake::simulation {

/// Somebody else's annotation on every node: a program that counts its visits there.
inline constexpr const char* kForeignAnnotation = "example.com/visits";

struct WorldOptions {
  std::uint64_t seed = 1;
  std::size_t nodes = 4;
  bool faults = true;
  int crashes_per_process = 2;  ///< at most; when, is the seed's choice
  agent::AgentPolicy agent_policy = {};
  bool keep_trace = false;
  rollout::RolloutPolicy rollout_policy{};  ///< a mistake planted here must become a violation
};

/// What went wrong with the machines themselves, as the seed chose.
struct MachineFaultCounts {
  std::uint64_t failed_boots = 0;
  std::uint64_t drifted_files = 0;
  std::uint64_t failed_writes = 0;
};

class World {
 public:
  explicit World(const WorldOptions& options);
  ~World();

  /// Release A until it settles, then B and, in the middle of it, a change that needs no reboot; until everything
  /// settles.
  void run();

  const std::vector<std::string>& violations() const { return violations_; }
  const apistore::FaultCounts& faults() const { return *fault_counts_; }
  const MachineFaultCounts& machine_faults() const { return machine_faults_; }
  std::uint64_t crashes() const { return crashes_; }
  std::uint64_t trace_hash() const { return simulation_.trace_hash(); }
  std::uint64_t steps() const { return simulation_.steps(); }
  const std::vector<std::string>& trace() const { return simulation_.trace(); }

 private:
  struct Machine;
  class WatchedServices;
  struct NodeFacts;

  void violation(std::string what);
  bool run_until(const std::string& what, const std::function<bool()>& reached);
  struct FaultyApi;
  std::unique_ptr<FaultyApi> faulty_api(apistore::Caller caller, std::shared_ptr<apistore::Fence> fence);
  /// Runs `body` again and again: each life has its own fence and ends by a crash the seed chooses, or never.
  runtime::Task spawn_process(std::string name,
                              std::function<void(std::shared_ptr<apistore::Fence>, std::stop_token)> body);
  void spawn_controllers();
  void spawn_machine(std::size_t index);
  Status before_disk_change(apistore::Fence& fence);
  osbackend::BootEnd end_of_boot(Machine& machine);
  osbackend::BootEnd luck_of_boot(Machine& machine);
  void drift(Machine& machine);
  static std::uint64_t good_boots(Machine& machine);
  void spawn_observer();
  void spawn_neighbour();
  void observe(const kube::Object& node);
  void check_capacity(const std::string& pool);
  void publish(release::ReleasePayload payload);
  bool settled_on(const std::string& release);
  void check_settled(const std::string& release);

  WorldOptions options_;
  sim::Simulation simulation_;
  std::shared_ptr<const apistore::Registry> registry_;
  std::unique_ptr<apistore::Service> service_;
  std::unique_ptr<apistore::InProcessApi> admin_;
  apistore::FaultPlan fault_plan_;
  std::shared_ptr<apistore::FaultCounts> fault_counts_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::map<std::string, NodeFacts> seen_;
  std::map<std::string, std::int64_t> neighbour_visits_;
  std::vector<std::string> violations_;
  std::uint64_t crashes_ = 0;
  MachineFaultCounts machine_faults_;
  std::vector<runtime::Task> tasks_;  // last: end before what they use
};

/// Runs seeds 1 to `seeds` until one breaks a promise: which one and how. nullopt when none did.
std::optional<std::string> first_violation(WorldOptions options, std::uint64_t seeds);

}  // namespace strake::simulation
