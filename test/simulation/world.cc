#include "simulation/world.h"

#include <set>

#include "api/conditions.h"
#include "api/kinds.h"
#include "api/machine_config.h"
#include "api/machine_config_pool.h"
#include "api/node.h"
#include "base/testing/fenced_tree.h"
#include "codec/data_url.h"
#include "controlplane/sandbox_machine.h"
#include "machineconfig/merge/managed_tree.h"
#include "machineconfig/render/render_controller.h"
#include "machineconfig/template/template_controller.h"
#include "oci/layout.h"
#include "release/publish.h"
#include "rollout/rollout_controller.h"
#include "simulation/sample_payloads.h"

namespace strake::simulation {

using namespace std::chrono_literals;

namespace {

constexpr const char* kVersion = "simulated";
constexpr auto kSettleLimit = 2h;      // virtual
constexpr auto kCrashNoticed = 700ms;  // until the dead process is started anew
// Each machine has bad luck once in a while, never so often that an agent gives up for good.
constexpr double kFailingWrite = 0.03;
constexpr double kFallingBack = 0.15;
constexpr double kDriftDuringBoot = 0.15;
constexpr double kDriftAtRest = 0.3;

/// The platform's own policy: crio.service is reloaded when this changes, and nothing reboots.
const std::string kCrioFile = "/etc/containers/policy.json";
const std::string kCrioService = "crio.service";

/// What the agent and the sandbox keep for themselves.
bool is_own_record(const std::string& path) {
  return path.starts_with("/var/lib/strake/") || path.starts_with("/etc/machine-config-daemon/");
}

}  // namespace

struct World::NodeFacts {
  std::string pool;
  api::NodeView view;
  std::int64_t visits = 0;
};

/// What survives a crash of the machine's process: its disk, and what its services read when they were last told to.
struct World::Machine {
  std::string name;
  std::string role;
  MemoryTree disk;
  std::set<std::uint64_t> failed_boots;  ///< by number; each costs one more boot
  std::set<std::uint64_t> drifted_boots;
  std::string crio_runs_with;

  void services_read() {
    const auto file = disk.read(kCrioFile);
    STRAKE_INVARIANT(file.ok());
    crio_runs_with = *file ? (*file)->contents : "";
  }
  bool is_bad(std::uint64_t boot) const { return failed_boots.contains(boot) || drifted_boots.contains(boot); }
};

/// Keeps the sandbox's record, so that a disk that fails makes a service fail, and what crio.service has read.
class World::WatchedServices final : public osbackend::ServiceManager {
 public:
  WatchedServices(FileTree& tree, Machine& machine) : recorded_(tree), machine_(machine) {}

  Status read_units(const runtime::Call& call) override { return recorded_.read_units(call); }
  Status reload(const std::string& unit, const runtime::Call& call) override {
    if (unit == kCrioService) machine_.services_read();
    return recorded_.reload(unit, call);
  }
  Status restart(const std::string& unit, const runtime::Call& call) override { return recorded_.restart(unit, call); }
  Result<osbackend::ServiceState> state(const std::string& unit, const runtime::Call& call) override {
    return recorded_.state(unit, call);
  }

 private:
  osbackend::SandboxServices recorded_;
  Machine& machine_;
};

World::World(const WorldOptions& options) : options_(options), simulation_(options.seed) {
  simulation_.keep_trace(options.keep_trace);
  fault_counts_ = std::make_shared<apistore::FaultCounts>();
  if (options.faults) fault_plan_ = apistore::FaultPlan::rough();
  // Reading the definitions of all kinds costs more than a whole run; they never change.
  static const std::shared_ptr<const apistore::Registry> kRegistry = [] {
    auto registry = apistore::Registry::standard();
    STRAKE_INVARIANT(registry.ok());
    return std::make_shared<const apistore::Registry>(*std::move(registry));
  }();
  registry_ = kRegistry;
  auto service = apistore::Service::open(simulation_, registry_, {});
  STRAKE_INVARIANT(service.ok());
  service_ = *std::move(service);
  admin_ = std::make_unique<apistore::InProcessApi>(*service_, apistore::Caller::system("simulation"));
  service_->start();
}

World::~World() {
  for (runtime::Task& task : tasks_) task.request_stop();
  tasks_.clear();
  service_->stop();
}

void World::violation(std::string what) {
  if (violations_.size() < 20) violations_.push_back(std::move(what));
}

bool World::run_until(const std::string& what, const std::function<bool()>& reached) {
  bool done = false;
  auto watcher = simulation_.spawn("judge", [&](std::stop_token stop) {
    while (!stop.stop_requested()) {
      if (!violations_.empty() || reached()) {
        done = true;
        return;
      }
      if (!simulation_.sleep(5s, stop).ok()) return;
    }
  });
  sim::RunLimits limits;
  limits.virtual_time = kSettleLimit;
  limits.steps = 3'000'000;
  const sim::RunEnd end = simulation_.run(limits, [&] { return done; });
  watcher.request_stop();
  watcher.join();
  if (!done) violation(fmt::format("{} did not happen: {}", what, sim::to_string(end)));
  return violations_.empty();
}

struct World::FaultyApi {
  apistore::InProcessApi store;
  apistore::SimulatedApi api;

  FaultyApi(World& world, apistore::Caller caller, std::shared_ptr<apistore::Fence> fence)
      : store(*world.service_, std::move(caller)),
        api(world.simulation_, store, world.fault_plan_, world.simulation_.random().next(), world.fault_counts_,
            std::move(fence)) {}
};

std::unique_ptr<World::FaultyApi> World::faulty_api(apistore::Caller caller, std::shared_ptr<apistore::Fence> fence) {
  return std::make_unique<FaultyApi>(*this, std::move(caller), std::move(fence));
}

runtime::Task World::spawn_process(std::string name,
                                   std::function<void(std::shared_ptr<apistore::Fence>, std::stop_token)> body) {
  return simulation_.spawn("init-" + name, [this, name, body = std::move(body)](std::stop_token stop) {
    int crashes_left = options_.crashes_per_process;
    while (!stop.stop_requested()) {
      auto fence = std::make_shared<apistore::Fence>();
      if (crashes_left > 0 && simulation_.random().chance(0.8))
        fence->crash_after_calls(1 + simulation_.random().below(120));
      auto life = simulation_.spawn(name, [&](std::stop_token life_stop) { body(fence, life_stop); });
      while (!fence->down() && simulation_.sleep(kCrashNoticed, stop).ok()) {
      }
      const bool crashed = fence->down();
      fence->raise();  // a process that is stopped in good order must not write in its last moments either: it is gone
      life.request_stop();
      life.join();
      if (!crashed) return;
      --crashes_left;
      ++crashes_;
      if (!simulation_.sleep(std::chrono::milliseconds(simulation_.random().below(20'000)), stop).ok()) return;
    }
  });
}

void World::spawn_controllers() {
  tasks_.push_back(spawn_process("controllers", [this](std::shared_ptr<apistore::Fence> fence, std::stop_token stop) {
    const auto faulty = faulty_api(apistore::Caller::system("controllers"), fence);
    machineconfig::RenderController render(simulation_, faulty->api, {.version = kVersion});
    rollout::RolloutController rollout(simulation_, faulty->api, {.policy = options_.rollout_policy});
    machineconfig::TemplateController templates(simulation_, faulty->api, {.version = kVersion});
    templates.start();
    render.start();
    rollout.start();
    (void)simulation_.sleep(24h * 365, stop);
    rollout.stop();
    render.stop();
    templates.stop();
  }));
}

Status World::before_disk_change(apistore::Fence& fence) {
  if (!fence.admit()) return error(Code::kCancelled, "the machine lost power");
  if (!options_.faults || !simulation_.random().chance(kFailingWrite)) return {};
  ++machine_faults_.failed_writes;
  return error(Code::kIo, "the disk did not take it");
}

/// Somebody changes or removes a file behind the agent's back.
void World::drift(Machine& machine) {
  std::vector<std::string> files;
  for (const auto& [path, state] : machine.disk.snapshot()) {
    if (state.kind == FileState::Kind::kFile && !is_own_record(path)) files.push_back(path);
  }
  if (files.empty()) return;
  const std::string& path = files[simulation_.random().below(files.size())];
  const bool removed = simulation_.random().chance(0.3);
  const Status changed = removed ? machine.disk.remove(path) : machine.disk.write(path, "drifted", 0600, {});
  STRAKE_INVARIANT(changed.ok());
  ++machine_faults_.drifted_files;
}

osbackend::BootEnd World::end_of_boot(Machine& machine) {
  const osbackend::BootEnd end = luck_of_boot(machine);
  machine.services_read();
  return end;
}

/// Two bad boots in a row at most: an agent that tries three times must get there.
osbackend::BootEnd World::luck_of_boot(Machine& machine) {
  osbackend::SandboxBackend os(machine.disk);
  const std::uint64_t number = *os.boot_count();
  // The write that makes this a boot may fail too; then this one is tried again, as it was.
  if (machine.drifted_boots.contains(number)) return osbackend::BootEnd::kAsStaged;
  machine.failed_boots.erase(number);
  const bool bad_luck = simulation_.random().chance(kFallingBack + kDriftDuringBoot);
  const bool often = machine.is_bad(number - 1) && machine.is_bad(number - 2);
  if (!options_.faults || !bad_luck || often) return osbackend::BootEnd::kAsStaged;
  if (simulation_.random().chance(kFallingBack / (kFallingBack + kDriftDuringBoot))) {
    if (!os.status({})->staged) return osbackend::BootEnd::kAsStaged;  // nothing to fall back from
    ++machine_faults_.failed_boots;
    machine.failed_boots.insert(number);
    return osbackend::BootEnd::kFellBack;
  }
  machine.drifted_boots.insert(number);
  drift(machine);
  return osbackend::BootEnd::kAsStaged;
}

void World::spawn_machine(std::size_t index) {
  machines_.push_back(std::make_unique<Machine>());
  Machine& machine = *machines_.back();
  machine.name = fmt::format("node-{}", index);
  machine.role = index % 3 == 0 ? "master" : "worker";
  tasks_.push_back(
      spawn_process(machine.name, [this, &machine](std::shared_ptr<apistore::Fence> fence, std::stop_token stop) {
        const apistore::Caller agent_caller{std::string(api::kAgentUserPrefix) + machine.name,
                                            {std::string(api::kAgentGroup)}};
        const auto kubelet = faulty_api(apistore::Caller::system("kubelet"), fence);
        const auto agent = faulty_api(agent_caller, fence);
        testing::FencedTree tree(machine.disk, [this, fence] { return before_disk_change(*fence); });
        controlplane::MachineOptions options;
        options.identity = {machine.name, machine.role, ""};
        options.boot_time = 30s;
        options.agent.policy = options_.agent_policy;
        options.boot_end = [this, &machine] { return end_of_boot(machine); };
        WatchedServices services(tree, machine);
        options.services = &services;
        controlplane::SandboxMachine(simulation_, kubelet->api, agent->api, tree, options).keep_running(stop);
      }));
}

/// Follows every node from the beginning of time, without faults: what it sees is what the store committed.
void World::spawn_observer() {
  tasks_.push_back(simulation_.spawn("observer", [this](std::stop_token stop) {
    auto stream = admin_->watch(kube::core::kNode, "", {}, {stop, {}});
    while (stream.ok() && !stop.stop_requested()) {
      auto event = (*stream)->next({stop, {}});
      if (!event.ok()) return;
      if (!*event) {
        violation("the observer's watch ended");
        return;
      }
      if ((*event)->type == kube::WatchType::kAdded || (*event)->type == kube::WatchType::kModified)
        observe((*event)->object);
    }
  }));
}

void World::observe(const kube::Object& node) {
  NodeFacts& facts = seen_[node.name()];
  const api::NodeView view = api::node_view(node);
  facts.pool = node.label("node-role.kubernetes.io/master") ? "master" : "worker";
  const std::string visits = node.annotation(kForeignAnnotation).value_or("0");
  const std::int64_t count = std::stoll(visits);
  if (count < facts.visits)
    violation(fmt::format("{}: a write of somebody else was lost ({} after {})", node.name(), count, facts.visits));
  facts.visits = count;
  if (facts.view.done() && !view.current_config.empty() && view.current_config != facts.view.current_config &&
      facts.view.desired_config == facts.view.current_config && view.desired_config != view.current_config) {
    violation(fmt::format("{}: runs {} which nobody asked for", node.name(), view.current_config));
  }
  facts.view = view;
  check_capacity(facts.pool);
}

/// At no revision may more nodes of a pool be in the middle of a change than maxUnavailable (1) allows; a node's first
/// config is free.
void World::check_capacity(const std::string& pool) {
  std::string changing;
  int count = 0;
  for (const auto& [name, facts] : seen_) {
    const api::NodeView& view = facts.view;
    if (facts.pool != pool || view.current_config.empty() || view.current_config == view.desired_config) continue;
    ++count;
    changing += " " + name;
  }
  if (count > 1) violation(fmt::format("pool {}: {} nodes change at once:{}", pool, count, changing));
}

/// Another program that writes its own annotation on every node, all the time.
void World::spawn_neighbour() {
  tasks_.push_back(simulation_.spawn("neighbour", [this](std::stop_token stop) {
    while (!stop.stop_requested()) {
      for (const auto& machine : machines_) {
        std::int64_t& visits = neighbour_visits_[machine->name];
        const json::Value patch = json::Object{
            {"metadata",
             json::Object{{"annotations", json::Object{{kForeignAnnotation, std::to_string(visits + 1)}}}}}};
        if (admin_->patch(kube::core::kNode, {"", machine->name}, kube::PatchType::kMerge, patch, {}, {stop, {}}).ok())
          ++visits;
        if (!simulation_.sleep(std::chrono::milliseconds(100 + simulation_.random().below(3000)), stop).ok()) return;
      }
    }
  }));
}

void World::publish(release::ReleasePayload payload) {
  tasks_.push_back(spawn_process(
      "publisher", [this, payload = std::move(payload)](std::shared_ptr<apistore::Fence> fence, std::stop_token stop) {
        const auto faulty = faulty_api(apistore::Caller::system("publisher"), fence);
        while (!stop.stop_requested()) {
          // Checking a signature runs a program, which is no part of a simulation.
          const auto taken = release::ProvenRelease::accept_unsigned(payload);
          if (release::publish(faulty->api, taken, {kVersion, simulation_.wall_now()}, {stop, {}}).ok()) break;
          if (!simulation_.sleep(2s, stop).ok()) return;
        }
        (void)simulation_.sleep(24h * 365, stop);
      }));
}

bool World::settled_on(const std::string& release) {
  const auto pools = admin_->list(api::kMachineConfigPool, "", {}, {});
  if (!pools.ok() || pools->items.size() < 2) return false;
  std::set<std::string> targets;
  for (const kube::Object& pool : pools->items) {
    const api::MachineConfigPoolView view(pool.json());
    if (view.target().empty() || view.reached() != view.target() || !api::condition_is_true(pool.json(), "Updated"))
      return false;
    const auto config = admin_->get(api::kMachineConfig, {"", view.target()}, {});
    if (!config.ok() || config->annotation(api::config_annotation::kReleaseImageVersion) != release) return false;
    if (view.counts().machines == 0) return false;
    targets.insert(view.target());
  }
  const auto nodes = admin_->list(kube::core::kNode, "", {}, {});
  if (!nodes.ok() || nodes->items.size() != options_.nodes) return false;
  for (const kube::Object& node : nodes->items) {
    const api::NodeView view = api::node_view(node);
    if (!view.done() || !targets.contains(view.desired_config)) return false;
  }
  return true;
}

void World::check_settled(const std::string& release) {
  if (!settled_on(release)) {
    violation("not settled on " + release);
    return;
  }
  for (const auto& machine : machines_) {
    const auto node = admin_->get(kube::core::kNode, {"", machine->name}, {});
    STRAKE_INVARIANT(node.ok());
    const api::NodeView view = api::node_view(*node);
    const auto config = admin_->get(api::kMachineConfig, {"", view.current_config}, {});
    STRAKE_INVARIANT(config.ok());
    if (view.planned_class != view.executed_class) {
      violation(fmt::format("{}: planned {}, executed {}", machine->name, view.planned_class, view.executed_class));
    }
    const auto wanted = machineconfig::managed_tree(*api::spec_of(*config));
    STRAKE_INVARIANT(wanted.ok());
    for (const auto& [path, entry] : *wanted) {
      const auto state = machine->disk.read(path);
      if (!state.ok() || !*state || (*state)->contents != entry.contents)
        violation(fmt::format("{}: {} is not as its config says", machine->name, path));
    }
    for (const auto& [path, state] : machine->disk.snapshot()) {
      if (state.kind == FileState::Kind::kDirectory || is_own_record(path)) continue;
      if (!wanted->contains(path)) violation(fmt::format("{}: {} was left behind", machine->name, path));
    }
    osbackend::SandboxBackend os(machine->disk);
    const auto status = os.status({});
    STRAKE_INVARIANT(status.ok());
    const auto target = agent::os_target(*config, status->booted);
    STRAKE_INVARIANT(target.ok());
    if (!osbackend::differences(status->booted, *target).empty())
      violation(machine->name + ": runs another OS than its config says");
    if (status->staged) violation(machine->name + ": something is still staged");
    const auto crio_file = machine->disk.read(kCrioFile);
    STRAKE_INVARIANT(crio_file.ok());
    if (machine->crio_runs_with != (*crio_file ? (*crio_file)->contents : ""))
      violation(machine->name + ": crio.service runs with another file than its config says");
  }
}

std::uint64_t World::good_boots(Machine& machine) {
  const std::uint64_t boots = *osbackend::SandboxBackend(machine.disk).boot_count();
  return boots - machine.failed_boots.size() - machine.drifted_boots.size();
}

void World::run() {
  spawn_observer();
  spawn_neighbour();
  spawn_controllers();
  for (std::size_t i = 0; i < options_.nodes; ++i) spawn_machine(i);
  publish(sample_payload(release::SampleRelease::kA));
  const std::string release_a(release::to_string(release::SampleRelease::kA)),
      release_b(release::to_string(release::SampleRelease::kB));
  if (!run_until("release A on every node", [&] { return settled_on(release_a); })) return;
  check_settled(release_a);
  // What changes behind the agent's back while nothing is asked of it, the next update puts right.
  for (const auto& machine : machines_) {
    if (options_.faults && simulation_.random().chance(kDriftAtRest)) drift(*machine);
  }
  std::map<std::string, std::uint64_t> boots_before;
  for (const auto& machine : machines_) boots_before[machine->name] = good_boots(*machine);
  publish(sample_payload(release::SampleRelease::kB));
  if (!run_until("release B on every node", [&] { return settled_on(release_b); })) return;
  check_settled(release_b);
  for (const auto& machine : machines_) {
    const std::uint64_t boots = good_boots(*machine) - boots_before[machine->name];
    if (boots != 1) violation(fmt::format("{}: booted {} times for one reboot", machine->name, boots));
  }
  // A file the platform changes live: every node takes it without a boot, some after a service was told.
  const bool tells_service = options_.seed % 2 == 0;
  kube::Object live(api::kMachineConfig, {"", "50-live"});
  live.set_label(api::label::kRole, "worker");
  json::ensure(live.json(), {"spec", "config"}) = json::Object{
      {"ignition", json::Object{{"version", "3.5.0"}}},
      {"storage",
       json::Object{{"files", json::Array{json::Object{
                                  {"path", tells_service ? kCrioFile : "/etc/nmstate/openshift/net.yml"},
                                  {"contents", json::Object{{"source", codec::encode_data_url("dns: {}\n")}}}}}}}}};
  auto writer = simulation_.spawn("administrator", [&](std::stop_token stop) {
    const auto created = admin_->create(api::kMachineConfig, live, {}, {stop, {}});
    if (!created.ok()) violation("the administrator's write failed: " + created.error().to_string());
  });
  const auto worker_has_live = [&] {
    const auto pool = admin_->get(api::kMachineConfigPool, {"", "worker"}, {});
    if (!pool.ok()) return false;
    const auto sources = api::MachineConfigPoolView(pool->json()).reached_sources();
    return std::find(sources.begin(), sources.end(), "50-live") != sources.end() && settled_on(release_b);
  };
  if (!run_until("the live change on every worker", worker_has_live)) return;
  check_settled(release_b);
  for (const auto& machine : machines_) {
    const std::uint64_t boots = good_boots(*machine) - boots_before[machine->name];
    if (boots != 1) violation(fmt::format("{}: booted for a change that needs no boot", machine->name));
    if (machine->role != "worker") continue;
    const std::string expected = tells_service ? "reload" : "none";
    const api::NodeView node = api::node_view(*admin_->get(kube::core::kNode, {"", machine->name}, {}));
    if (node.executed_class != expected)
      violation(fmt::format("{}: {} where {} was enough", machine->name, node.executed_class, expected));
  }
}

std::optional<std::string> first_violation(WorldOptions options, std::uint64_t seeds) {
  for (options.seed = 1; options.seed <= seeds; ++options.seed) {
    World world(options);
    world.run();
    if (!world.violations().empty()) return fmt::format("seed {}: {}", options.seed, world.violations().front());
  }
  return std::nullopt;
}

}  // namespace strake::simulation
