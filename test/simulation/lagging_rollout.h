// A rollout whose controller sees the nodes late, while people cordon and uncordon them: at no revision may more nodes
// be in the middle of a change than maxUnavailable (1) allows.
//
// Order is what makes this hard. A node that becomes free before the controller's last write, and is seen to be free
// after it, is the first in line again: only who remembers that write knows that its turn is taken.
#pragma once

#include <string>
#include <vector>

#include "api/kinds.h"
#include "api/node.h"
#include "rollout/rollout_controller.h"
#include "simulation/render_stage.h"

namespace strake::simulation {

class LaggingRollout : public RenderStage {
 public:
  static constexpr int kNodes = 4;
  static constexpr int kChanges = 3;

  LaggingRollout(std::uint64_t seed, const rollout::RolloutPolicy& policy) : RenderStage(seed), policy_(policy) {
    faults().watch_lag = 0.3;
    faults().lost_answer = 0.05;
    faults().max_delay = std::chrono::seconds(3);
    apply(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker}
spec:
  machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}
  nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: ""}}
)");
    put_file_config("50-worker", "worker", "/etc/w", "0");
    for (int i = 0; i < kNodes; ++i) {
      apply(fmt::format(R"(apiVersion: v1
kind: Node
metadata: {{name: node-{}, labels: {{node-role.kubernetes.io/worker: ""}}}}
status: {{conditions: [{{type: Ready, status: "True"}}]}}
)",
                        i));
    }
  }
  ~LaggingRollout() {
    for (runtime::Task& task : tasks_) task.request_stop();
    tasks_.clear();
  }

  /// Several changes, each until every node has it; what was broken on the way.
  std::vector<std::string> run() {
    using namespace std::chrono_literals;
    start_process([this](kube::KubeApi& api, std::stop_token stop) {
      machineconfig::RenderController render(simulation(), api, {.version = "1.0"});
      rollout::RolloutController rollout(simulation(), api, {.policy = policy_});
      render.start();
      rollout.start();
      (void)simulation().sleep(24h * 365, stop);
      rollout.stop();
      render.stop();
    });
    spawn("observer", [this](std::stop_token stop) { observe(stop); });
    spawn("agents", [this](std::stop_token stop) { act_as_agents(stop); });
    spawn("people", [this](std::stop_token stop) { cordon_and_uncordon(stop); });
    for (int change = 0; change <= kChanges && violations_.empty(); ++change) {
      const std::string before = target("worker");
      if (change > 0) put_file_config("50-worker", "worker", "/etc/w", std::to_string(change));
      const bool settled =
          run_until([&] { return !violations_.empty() || (target("worker") != before && all_at_target()); });
      if (!settled) violations_.push_back(fmt::format("change {} did not reach every node", change));
    }
    return violations_;
  }

 private:
  void spawn(std::string name, std::function<void(std::stop_token)> body) {
    tasks_.push_back(simulation().spawn(std::move(name), std::move(body)));
  }

  bool all_at_target() {
    const std::string wanted = target("worker");
    for (const kube::Object& node : list(kube::core::kNode)) {
      const api::NodeView view = api::node_view(node);
      if (wanted.empty() || !view.done() || view.current_config != wanted) return false;
    }
    return true;
  }

  /// Every change of every node in the order the store committed them.
  void observe(std::stop_token stop) {
    auto stream = admin().watch(kube::core::kNode, "", {}, {stop, {}});
    std::map<std::string, api::NodeView> nodes;
    while (stream.ok() && !stop.stop_requested()) {
      const auto event = (*stream)->next({stop, {}});
      if (!event.ok() || !*event) return;
      if ((*event)->type == kube::WatchType::kBookmark) continue;
      nodes[(*event)->object.name()] = api::node_view((*event)->object);
      std::string changing;
      int count = 0;
      for (const auto& [name, view] : nodes) {
        if (view.current_config.empty() || view.current_config == view.desired_config) continue;
        ++count;
        changing += " " + name;
      }
      if (count > 1) violations_.push_back(fmt::format("{} nodes change at once:{}", count, changing));
    }
  }

  void write(const std::string& node, const json::Value& patch, std::stop_token stop) {
    (void)admin().patch(kube::core::kNode, {"", node}, kube::PatchType::kMerge, patch, {}, {stop, {}});
  }

  void act_as_agents(std::stop_token stop) {
    while (simulation().sleep(std::chrono::milliseconds(500 + simulation().random().below(3000)), stop).ok()) {
      for (const kube::Object& node : list(kube::core::kNode)) {
        const api::NodeView view = api::node_view(node);
        if (view.desired_config == view.current_config) continue;
        write(view.name,
              api::NodePatch().set_current_config(view.desired_config).set_state(api::NodeState::kDone).to_json(),
              stop);
      }
    }
  }

  void cordon_and_uncordon(std::stop_token stop) {
    while (simulation().sleep(std::chrono::milliseconds(100 + simulation().random().below(1500)), stop).ok()) {
      const std::string node = fmt::format("node-{}", simulation().random().below(kNodes));
      const bool cordoned = simulation().random().chance(0.4);
      write(node, json::Object{{"spec", json::Object{{"unschedulable", cordoned}}}}, stop);
    }
  }

  const rollout::RolloutPolicy policy_;
  std::vector<std::string> violations_;
  std::vector<runtime::Task> tasks_;
};

}  // namespace strake::simulation
