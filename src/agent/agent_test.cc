#include "agent/agent.h"

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "api/node.h"
#include "base/simulation.h"
#include "base/testing/fenced_tree.h"
#include "kube/testing/fake_api.h"
#include "kube/testing/run_for.h"
#include "machineconfig/render/rendered_name.h"
#include "osbackend/sandbox_backend.h"
#include "osbackend/sandbox_services.h"
#include "support/temp_dir.h"

namespace strake::agent::agent_test {

using namespace std::chrono_literals;
using kube::testing::run_for;

/// A live change (no reboot) unless the image differs.
kube::Object rendered(char image, const std::map<std::string, std::string>& files) {
  json::Array list;
  for (const auto& [path, contents] : files)
    list.push_back(json::Object{{"path", path}, {"contents", json::Object{{"source", "data:," + contents}}}});
  json::Value spec = json::Object{{"osImageURL", "registry.example/os@sha256:" + std::string(64, image)},
                                  {"kernelArguments", json::Array{}},
                                  {"config", json::Object{{"ignition", json::Object{{"version", "3.5.0"}}},
                                                          {"storage", json::Object{{"files", std::move(list)}}}}}};
  kube::Object config(api::kMachineConfig, {"", *machineconfig::rendered_name("worker", spec)});
  config.json().get_object()["spec"] = std::move(spec);
  return config;
}

const std::string kCrioFile = "/etc/containers/policy.json";

/// A machine whose crio.service remembers the file it read last; its record is the machine's, so a disk that fails lets
/// the service fail.
class ReadingService final : public osbackend::ServiceManager {
 public:
  ReadingService(FileTree& tree, std::string& runs_with) : tree_(tree), recorded_(tree), runs_with_(runs_with) {}

  void read_files() {
    const auto file = tree_.read(kCrioFile);
    runs_with_ = file.ok() && *file ? (*file)->contents : "";
  }
  Status read_units(const runtime::Call& call) override { return recorded_.read_units(call); }
  Status reload(const std::string& unit, const runtime::Call& call) override {
    // It reads the file whether or not it says so afterwards.
    read_files();
    return recorded_.reload(unit, call);
  }
  Status restart(const std::string& unit, const runtime::Call& call) override {
    read_files();
    return recorded_.restart(unit, call);
  }
  Result<osbackend::ServiceState> state(const std::string& unit, const runtime::Call& call) override {
    return recorded_.state(unit, call);
  }

 private:
  FileTree& tree_;
  osbackend::SandboxServices recorded_;
  std::string& runs_with_;
};

/// One machine with its agent, on an API in memory.
class Bench {
 public:
  explicit Bench(FileTree& disk)
      : server_(simulation),
        admin(server_),
        agent_api(server_),
        tree(disk, [this] { return disk_fault; }),
        os(tree),
        services(tree) {
    EXPECT_TRUE(admin.create(kube::core::kNode, kube::Object(kube::core::kNode, {"", "n"}), {}, {}).ok());
    options.node = "n";
    options.hooks.on_failure = [this](const Failure& failure) { failures.push_back(failure); };
    options.hooks.on_well = [this] { well_after = failures.size(); };
  }

  void power_on() {
    machine_ = simulation.spawn("machine", [this](std::stop_token stop) {
      while (!stop.stop_requested()) {
        (void)os.boot(boot_end);
        ++boots;
        (void)services.boot();
        Agent agent(simulation, agent_api, tree, os, services, options);
        if (agent.run(stop) != Outcome::kRebooting || !simulation.sleep(10s, stop).ok()) return;
      }
    });
  }

  void ask_for(const kube::Object& config) {
    (void)admin.create(api::kMachineConfig, config, {}, {});
    annotate(api::node_annotation::kDesiredConfig, config.name());
  }
  void annotate(std::string_view name, std::string_view value) {
    json::Object annotations;
    annotations[name] = value;
    const json::Value patch = json::Object{{"metadata", json::Object{{"annotations", std::move(annotations)}}}};
    EXPECT_TRUE(admin.patch(kube::core::kNode, {"", "n"}, kube::PatchType::kMerge, patch, {}, {}).ok());
  }
  api::NodeView node() { return api::node_view(*admin.get(kube::core::kNode, {"", "n"}, {})); }
  bool done_with(const kube::Object& config) { return node().done() && node().current_config == config.name(); }
  int writes() { return agent_api.counts().patch; }

  /// Every state the node showed, in order, without repetitions.
  std::vector<std::string> states_during(runtime::Duration time) {
    std::vector<std::string> states;
    run_for(simulation, time, [&] {
      const std::string state(node().state.text());
      if (states.empty() || states.back() != state) states.push_back(state);
    });
    return states;
  }

  sim::Simulation simulation{1};

 private:
  kube::testing::FakeServer server_;

 public:
  kube::testing::FakeClient admin;
  kube::testing::FakeClient agent_api;
  Status disk_fault;
  testing::FencedTree tree;
  osbackend::SandboxBackend os;
  osbackend::SandboxServices services;
  AgentOptions options;
  osbackend::BootEnd boot_end = osbackend::BootEnd::kAsStaged;
  int boots = 0;
  std::string crio_runs_with;  ///< of drive()
  std::vector<Failure> failures;
  std::size_t well_after = 0;  ///< so many failures

 private:
  runtime::Task machine_;  // last: ends before what it uses
};

using Files = std::map<std::string, std::string>;
const Files kOld{{"/etc/nmstate/openshift/a", "1"}};

/// What is on disk besides the agent's own records, each as text.
Files machine_files(FileTree& tree, const std::string& folder = "") {
  Files found;
  const std::vector<std::string> names = *tree.list(folder.empty() ? "/" : folder);
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    if (path == "/var" || path == "/etc/machine-config-daemon") continue;
    const FileState state = **tree.read(path);
    found[path] = fmt::format("{} {:o} {}", static_cast<int>(state.kind), state.mode, state.contents);
    if (state.kind == FileState::Kind::kDirectory) found.merge(machine_files(tree, path));
  }
  return found;
}

TEST(Agent, AReadOnlyDiskDegradesTheNodeOnceAndTheNextGoalHealsIt) {
  test::TempDir folder;
  DirectoryTree disk(folder.path(), false);
  Bench bench(disk);
  const kube::Object old_config = rendered('1', kOld);
  const kube::Object new_config = rendered('1', {{"/etc/nmstate/openshift/a", "2"}, {"/etc/nmstate/openshift/b", "2"}});
  bench.ask_for(old_config);
  bench.power_on();
  run_for(bench.simulation, 1min);
  ASSERT_TRUE(bench.done_with(old_config));
  const Files before = machine_files(disk);

  bench.disk_fault = error(Code::kDenied, "creating x: Read-only file system");
  const int writes_before = bench.writes();
  bench.ask_for(new_config);
  EXPECT_EQ(bench.states_during(10min), (std::vector<std::string>{"Done", "Working", "Degraded"}));
  EXPECT_LE(bench.writes() - writes_before, 3);
  EXPECT_NE(bench.node().reason.find("Read-only file system"), std::string::npos) << bench.node().reason;
  ASSERT_GE(bench.failures.size(), 10u);
  EXPECT_LE(bench.failures.size(), 18u);
  EXPECT_EQ(bench.failures.back().in_a_row, bench.failures.size());
  EXPECT_EQ(bench.failures.back().doing, Doing::kApplying);
  EXPECT_EQ(bench.failures.back().next_try, 60s);

  // The offending config goes, and the node is well at once, with the disk as it is.
  bench.ask_for(old_config);
  run_for(bench.simulation, 5s);
  EXPECT_TRUE(bench.done_with(old_config));
  EXPECT_EQ(bench.node().reason, "");
  EXPECT_EQ(bench.well_after, bench.failures.size());
  EXPECT_EQ(machine_files(disk), before);
  EXPECT_FALSE(AgentDisk(disk).journal()->has_value());
}

TEST(Agent, AFileWhereAFolderIsNeededIsNamedAndNothingIsTouched) {
  test::TempDir folder;
  DirectoryTree disk(folder.path(), false);
  ASSERT_TRUE(disk.write("/etc/nmstate/openshift/x", "somebody's", 0600, {}).ok());
  Bench bench(disk);
  const kube::Object old_config = rendered('1', kOld);
  const kube::Object bad = rendered('1', {{"/etc/nmstate/openshift/0", "2"}, {"/etc/nmstate/openshift/x/y", "2"}});
  bench.ask_for(old_config);
  bench.power_on();
  run_for(bench.simulation, 1min);
  const Files before = machine_files(disk);
  const int writes_before = bench.writes();
  bench.ask_for(bad);
  EXPECT_EQ(bench.states_during(5min), (std::vector<std::string>{"Done", "Degraded"}));
  EXPECT_LE(bench.writes() - writes_before, 2);
  EXPECT_NE(bench.node().reason.find("/etc/nmstate/openshift/x is a file, and a folder is needed there; move it away"),
            std::string::npos)
      << bench.node().reason;
  EXPECT_EQ(machine_files(disk), before);
  bench.ask_for(old_config);
  run_for(bench.simulation, 5s);
  EXPECT_TRUE(bench.done_with(old_config));
  EXPECT_EQ(machine_files(disk), before);
  // And asked for again, with the file out of the way, it works.
  ASSERT_TRUE(disk.remove("/etc/nmstate/openshift/x").ok());
  bench.ask_for(bad);
  run_for(bench.simulation, 5s);
  EXPECT_TRUE(bench.done_with(bad)) << bench.node().reason;
}

/// Rounds of a fresh agent on `tree`, boots included, until nothing is left to do or something fails.
Result<Outcome> drive(Bench& bench, FileTree& tree) {
  Result<Outcome> outcome = Outcome::kProgressed;
  runtime::Task rounds = bench.simulation.spawn("rounds", [&](std::stop_token stop) {
    osbackend::SandboxBackend os(tree);
    ReadingService services(tree, bench.crio_runs_with);
    AgentOptions options;
    options.node = "n";
    Agent agent(bench.simulation, bench.agent_api, tree, os, services, options);
    while (outcome.ok() && *outcome != Outcome::kSettled) {
      outcome = agent.sync(stop);
      if (outcome.ok() && *outcome == Outcome::kRebooting) {
        if (const Status booted = os.boot(); !booted.ok()) outcome = booted.error();
        services.read_files();
      }
    }
  });
  bench.simulation.run({}, [&] { return rounds.done(); });
  return outcome;
}

TEST(Agent, AnUpdateThatFailsHalfWayIsUndone) {
  const Files new_files{{"/etc/nmstate/openshift/a", "2"}, {"/opt/new/b", "2"}, {"/opt/new/c", "2"}};
  int undone = 0;
  for (int good_changes = 0; good_changes < 16; ++good_changes) {
    for (const bool for_good : {false, true}) {
      SCOPED_TRACE(fmt::format("broken after {} changes, {}", good_changes, for_good ? "for good" : "for a moment"));
      MemoryTree disk;
      ASSERT_TRUE(disk.write("/opt/foreign", "somebody's", 0600, {}).ok());
      Bench bench(disk);
      const kube::Object old_config = rendered('1', kOld), new_config = rendered('2', new_files);
      bench.ask_for(old_config);
      ASSERT_TRUE(drive(bench, disk).ok());
      ASSERT_TRUE(bench.done_with(old_config));
      const Files before = machine_files(disk);
      const std::uint64_t boots_before = *bench.os.boot_count();
      int changes = 0;
      testing::FencedTree breaking(disk, [&]() -> Status {
        const int change = changes++;
        if (change < good_changes || (change > good_changes && !for_good)) return {};
        return error(Code::kIo, "the disk is broken");
      });
      bench.ask_for(new_config);
      if (drive(bench, breaking).ok()) continue;
      const auto journal = *AgentDisk(disk).journal();
      const bool all_in_place = journal && journal->phase != Phase::kApplying;
      if (all_in_place || *bench.os.boot_count() > boots_before) continue;  // it broke during the boot or after it
      if (for_good) {
        // Nothing could be put back then; on a disk that works, the next goal does it.
        bench.ask_for(old_config);
        ASSERT_TRUE(drive(bench, disk).ok());
        EXPECT_TRUE(bench.done_with(old_config));
      }
      ++undone;
      EXPECT_EQ(machine_files(disk), before);
      EXPECT_FALSE(AgentDisk(disk).journal()->has_value());
      EXPECT_FALSE(bench.os.status({})->staged.has_value());
    }
  }
  EXPECT_GE(undone, 12);
}

TEST(Agent, AReloadTakesTheBootsPlace) {
  MemoryTree disk;
  Bench bench(disk);
  const kube::Object old_config = rendered('1', kOld);
  const kube::Object new_config = rendered('1', {{"/etc/nmstate/openshift/a", "1"}, {kCrioFile, "2"}});
  bench.ask_for(old_config);
  bench.power_on();
  run_for(bench.simulation, 2min);
  const int boots = bench.boots;
  bench.ask_for(new_config);
  run_for(bench.simulation, 1min);
  EXPECT_TRUE(bench.done_with(new_config)) << bench.node().reason;
  EXPECT_EQ(bench.node().executed_class, "reload");
  EXPECT_EQ(bench.boots, boots);
  const osbackend::ServiceRecord record = *bench.services.record();
  EXPECT_EQ(record.units.at("crio.service").reloads, 1u);
  EXPECT_EQ(record.units.size(), 1u);
}

TEST(Agent, ADryRunShowsTheStepsThatAreRunAndChangesNothing) {
  const kube::Object old_config = rendered('1', {{kCrioFile, "1"}});
  const std::map<std::string, kube::Object> goals = {
      {"none", rendered('1', {{kCrioFile, "1"}, {"/etc/nmstate/openshift/a", "2"}})},
      {"reload", rendered('1', {{kCrioFile, "2"}})},
      {"reboot", rendered('2', {{kCrioFile, "2"}, {"/etc/b", "2"}})},
  };
  for (const auto& [word, goal] : goals) {
    SCOPED_TRACE(word);
    MemoryTree disk;
    Bench bench(disk);
    bench.ask_for(old_config);
    ASSERT_TRUE(drive(bench, disk).ok());
    bench.ask_for(goal);
    const auto machine_before = disk.snapshot();
    const int writes_before = bench.writes();
    std::vector<std::string> run_steps, progress;
    bench.options.hooks.on_step = [&](const std::string& step) { run_steps.push_back(step); };
    bench.options.hooks.on_progress = [&](const Progress& at) { progress.push_back(at.doing); };
    std::optional<Preview> preview;
    auto task = bench.simulation.spawn("rounds", [&](std::stop_token stop) {
      Agent agent(bench.simulation, bench.agent_api, bench.tree, bench.os, bench.services, bench.options);
      auto looked = agent.preview(stop);
      ASSERT_TRUE(looked.ok()) << looked.error().to_string();
      preview = *std::move(looked);
      EXPECT_EQ(disk.snapshot(), machine_before);
      EXPECT_EQ(bench.writes(), writes_before);
      EXPECT_TRUE(run_steps.empty());
      ASSERT_TRUE(agent.sync(stop).ok());
    });
    bench.simulation.run({}, [&] { return task.done(); });
    ASSERT_TRUE(preview && preview->update);
    std::vector<std::string> planned;
    for (const Step& step : preview->update->steps) planned.push_back(to_string(step));
    EXPECT_EQ(planned, run_steps);
    EXPECT_EQ(progress.empty(), word != "reboot") << "staging says how far it is";
    const std::string text = to_text(*preview);
    EXPECT_NE(text.find(fmt::format("node n: from {} to {}\n  {}: ", old_config.name(), goal.name(), word)),
              std::string::npos)
        << text;
    for (const std::string& step : planned) EXPECT_NE(text.find(". " + step + "\n"), std::string::npos) << text;
  }
}

TEST(Agent, AServiceThatDoesNotComeUpDegradesTheNodeByNameAndIsUndone) {
  MemoryTree disk;
  Bench bench(disk);
  const kube::Object old_config = rendered('1', {{kCrioFile, "1"}});
  const kube::Object new_config = rendered('1', {{kCrioFile, "2"}});
  bench.ask_for(old_config);
  bench.power_on();
  run_for(bench.simulation, 2min);
  ASSERT_TRUE(bench.done_with(old_config));
  const Files before = machine_files(disk);
  ASSERT_TRUE(bench.services.set_failing({"crio.service"}).ok());
  const int writes_before = bench.writes();
  bench.ask_for(new_config);
  EXPECT_EQ(bench.states_during(10min), (std::vector<std::string>{"Done", "Working", "Degraded"}));
  EXPECT_LE(bench.writes() - writes_before, 3);
  EXPECT_NE(bench.node().reason.find("reload crio.service: crio.service refused"), std::string::npos)
      << bench.node().reason;
  EXPECT_EQ(machine_files(disk), before);
  // Mended, the next try gets there.
  ASSERT_TRUE(bench.services.set_failing({}).ok());
  run_for(bench.simulation, 2min);
  EXPECT_TRUE(bench.done_with(new_config)) << bench.node().reason;
  EXPECT_EQ((*disk.read(kCrioFile))->contents, "2");
  EXPECT_FALSE(AgentDisk(disk).journal()->has_value());
}

TEST(Agent, AServiceRunsWithWhatIsOnDiskWhereverAnUpdateBreaks) {
  int undone = 0;
  for (int good_changes = 0; good_changes < 12; ++good_changes) {
    for (const bool for_good : {false, true}) {
      SCOPED_TRACE(fmt::format("broken after {} changes, {}", good_changes, for_good ? "for good" : "for a moment"));
      MemoryTree disk;
      Bench bench(disk);
      const kube::Object old_config = rendered('1', {{kCrioFile, "1"}});
      const kube::Object new_config = rendered('1', {{kCrioFile, "2"}, {"/etc/nmstate/openshift/z", "2"}});
      bench.ask_for(old_config);
      ASSERT_TRUE(drive(bench, disk).ok());
      ASSERT_EQ(bench.crio_runs_with, "1");
      int changes = 0;
      testing::FencedTree breaking(disk, [&]() -> Status {
        const int change = changes++;
        if (change < good_changes || (change > good_changes && !for_good)) return {};
        return error(Code::kIo, "the disk is broken");
      });
      bench.ask_for(new_config);
      if (drive(bench, breaking).ok()) {
        EXPECT_EQ(bench.crio_runs_with, "2");
        continue;
      }
      const auto journal = *AgentDisk(disk).journal();
      const bool committed = (*AgentDisk(disk).current_config())->name() == new_config.name();
      if (committed || (journal && journal->phase == Phase::kReporting)) continue;  // all was in place
      if (journal) {
        // Nothing could be put back then; on a disk that works, going back to the old config does it.
        bench.ask_for(old_config);
        ASSERT_TRUE(drive(bench, disk).ok());
        EXPECT_TRUE(bench.done_with(old_config));
      }
      ++undone;
      EXPECT_EQ((*disk.read(kCrioFile))->contents, "1");
      EXPECT_EQ(bench.crio_runs_with, "1");
      EXPECT_FALSE(AgentDisk(disk).journal()->has_value());
    }
  }
  EXPECT_GE(undone, 8);
}

TEST(Agent, HeartbeatsAndItsOwnReportsDoNotEndThePause) {
  MemoryTree disk;
  Bench bench(disk);
  bench.disk_fault = error(Code::kDenied, "creating x: Read-only file system");
  bench.ask_for(rendered('1', kOld));
  bench.power_on();
  auto kubelet = bench.simulation.spawn("kubelet", [&](std::stop_token stop) {
    for (int beat = 0; bench.simulation.sleep(100ms, stop).ok(); ++beat)
      bench.annotate("example.com/heartbeat", std::to_string(beat));
  });
  run_for(bench.simulation, 10min);
  kubelet.stop_and_join();
  EXPECT_LE(bench.writes(), 3);
  EXPECT_LE(bench.failures.size(), 18u);
}

TEST(Agent, AMachineThatFallsBackTriesAFewTimesAndHealsWithAnotherConfig) {
  MemoryTree disk;
  Bench bench(disk);
  const kube::Object old_config = rendered('1', kOld), bad = rendered('2', kOld), good = rendered('3', kOld);
  bench.ask_for(old_config);
  bench.power_on();
  run_for(bench.simulation, 2min);
  ASSERT_TRUE(bench.done_with(old_config));
  for (const kube::Object* healer : {&good, &old_config}) {
    bench.boot_end = osbackend::BootEnd::kFellBack;
    bench.boots = 0;
    bench.failures.clear();
    bench.ask_for(bad);
    const int writes_before = bench.writes();
    EXPECT_EQ(bench.states_during(30min), (std::vector<std::string>{"Done", "Working", "Degraded"}));
    EXPECT_EQ(bench.boots, bench.options.boots_for_config);
    EXPECT_LE(bench.writes() - writes_before, 5);
    EXPECT_NE(bench.node().reason.find("after 3 boots"), std::string::npos) << bench.node().reason;
    EXPECT_EQ(bench.failures.back().doing, Doing::kChecking);
    bench.boot_end = osbackend::BootEnd::kAsStaged;
    bench.ask_for(*healer);
    run_for(bench.simulation, 2min);
    EXPECT_TRUE(bench.done_with(*healer)) << bench.node().reason;
    EXPECT_EQ(bench.node().reason, "");
    EXPECT_FALSE(bench.os.status({})->staged.has_value());
  }
}

TEST(Agent, AMachineThatComesUpRightAfterAllIsDone) {
  MemoryTree disk;
  Bench bench(disk);
  const kube::Object old_config = rendered('1', kOld), new_config = rendered('2', kOld);
  bench.ask_for(old_config);
  bench.power_on();
  run_for(bench.simulation, 2min);
  bench.boot_end = osbackend::BootEnd::kFellBack;
  bench.ask_for(new_config);
  run_for(bench.simulation, 30min);
  ASSERT_EQ(bench.node().state, api::NodeState::kDegraded);
  // Somebody repairs the machine by hand: it runs what it was asked to run.
  ASSERT_TRUE(bench.os.stage(*os_target(new_config, {}), {}, {}).ok());
  ASSERT_TRUE(bench.os.boot().ok());
  run_for(bench.simulation, 2min);
  EXPECT_TRUE(bench.done_with(new_config)) << bench.node().reason;
}

TEST(Agent, AFileChangedDuringTheBootIsWrittenAgain) {
  MemoryTree disk;
  Bench bench(disk);
  const kube::Object old_config = rendered('1', kOld), new_config = rendered('2', {{"/etc/a", "2"}});
  bench.ask_for(old_config);
  bench.power_on();
  run_for(bench.simulation, 2min);
  bool drifted = false;
  auto gremlin = bench.simulation.spawn("gremlin", [&](std::stop_token stop) {
    while (!drifted && bench.simulation.sleep(1s, stop).ok()) {
      const auto journal = AgentDisk(disk).journal();
      if (!journal.ok() || !*journal || (*journal)->phase != Phase::kBooting) continue;
      drifted = disk.write("/etc/a", "changed", 0644, {}).ok();
    }
  });
  bench.ask_for(new_config);
  run_for(bench.simulation, 5min);
  ASSERT_TRUE(drifted);
  EXPECT_TRUE(bench.done_with(new_config)) << bench.node().reason;
  EXPECT_EQ((*disk.read("/etc/a"))->contents, "2");
}

TEST(Agent, AConfigThatIsGoneIsSaidAndAServerThatIsGoneIsNot) {
  MemoryTree disk;
  Bench bench(disk);
  bench.annotate(api::node_annotation::kDesiredConfig, "rendered-worker-gone");
  bench.power_on();
  run_for(bench.simulation, 1min);
  EXPECT_EQ(bench.node().state, api::NodeState::kDegraded);
  EXPECT_NE(bench.node().reason.find("rendered-worker-gone"), std::string::npos);
  EXPECT_EQ(bench.failures.back().doing, Doing::kReadingConfig);
  const std::string reason = bench.node().reason;
  bench.agent_api.set_link(kube::testing::Link::kRefused);
  run_for(bench.simulation, 5min);
  EXPECT_EQ(bench.failures.back().doing, Doing::kReadingNode);
  EXPECT_EQ(bench.node().reason, reason);
}

}  // namespace strake::agent::agent_test
