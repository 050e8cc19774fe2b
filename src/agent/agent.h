// The node agent: brings one node to the config its Node object asks for, and reports.
//
// It keeps nothing in memory that matters: every round it looks at the disk, the OS and the API, decides (plan.h), and
// acts. Killed anywhere and started again, it goes on from its journal. An update that cannot be applied is undone from
// the same journal, and the node runs what it ran before.
//
// After a failure it waits, longer each time. Only what can change the outcome ends that wait early: another desired
// config. Its own reports and the kubelet's heartbeats on the same object do not.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agent/executor.h"
#include "agent/failure.h"
#include "agent/plan.h"
#include "agent/preview.h"
#include "api/node.h"
#include "base/file_tree.h"
#include "base/runtime.h"
#include "kube/hooks.h"
#include "kube/kube_api.h"
#include "osbackend/os_backend.h"
#include "osbackend/service_manager.h"

namespace strake::agent {

enum class Outcome {
  kSettled,     ///< nothing to do until something changes
  kProgressed,  ///< look again at once
  kRebooting,   ///< a reboot was asked for; the process is about to end
};

/// Decisions that the simulation replaces by mistakes, to see that it notices.
struct AgentPolicy {
  /// What must be on disk before a reboot is asked for: without it the machine would not know after the boot that the
  /// work is done.
  std::function<std::optional<Journal>(const Journal&)> journal_before_reboot = [](const Journal& journal) {
    return std::optional(journal);
  };
};

struct AgentOptions {
  std::string node;
  runtime::Duration first_retry = std::chrono::seconds(1);
  runtime::Duration longest_retry = std::chrono::seconds(60);
  runtime::Duration look_again = std::chrono::minutes(5);  ///< without any change; a watch may lose one
  runtime::Duration call_timeout = std::chrono::seconds(30);
  runtime::Duration step_timeout = std::chrono::hours(1);       ///< an OS image may come over a slow line
  runtime::Duration service_timeout = std::chrono::minutes(5);  ///< longer than systemd waits for a start by default
  int boots_for_config = 3;  ///< a boot may fail once by bad luck; a machine must not boot for ever
  AgentHooks hooks;
  kube::Hooks informer_hooks;  ///< of its watch on the Node
  AgentPolicy policy;
};

class Agent {
 public:
  Agent(runtime::Runtime& runtime, kube::KubeApi& api, FileTree& tree, osbackend::OsBackend& os,
        osbackend::ServiceManager& services, AgentOptions options);

  /// Until told to stop or until a reboot was asked for.
  Outcome run(std::stop_token stop);

  /// One round: observe, decide, act.
  Result<Outcome> sync(std::stop_token stop);

  /// What the next round would do. Reads the API and the machine, and changes neither.
  Result<Preview> preview(std::stop_token stop);

 private:
  bool is_news(const api::NodeView& node) const;
  void wait_for_news(runtime::Queue<api::NodeView>& changes, const runtime::Call& wait);

  Result<Observation> observe(std::stop_token stop);
  Result<UpdatePlan> plan(Observation& observed, std::stop_token stop);
  Result<Outcome> update(Observation observed, std::stop_token stop);
  /// Leaves in `journal` what was written down last.
  Result<Outcome> apply(const UpdatePlan& plan, Journal& journal, std::stop_token stop);
  Status put_back(const Journal& journal, std::stop_token stop);
  Status run_step(const Step& step, std::stop_token stop);
  Result<Outcome> finish(const Observation& observed, std::stop_token stop);
  Result<std::optional<Error>> mismatch(const kube::Object& config, const osbackend::OsStatus& os);
  Status annotate(const api::NodePatch& patch, std::stop_token stop);
  Status report_done(const std::string& config, std::string_view executed_class, std::stop_token stop);
  /// Counts it, says it, and returns how long to wait.
  runtime::Duration failed(const Error& failure, std::stop_token stop);
  void report_failure(const Error& failure, std::stop_token stop);
  void recovered();
  runtime::Call within(runtime::Duration timeout, std::stop_token stop) { return runtime_.call_within(timeout, stop); }

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  osbackend::OsBackend& os_;
  Executor executor_;
  AgentDisk disk_;
  AgentOptions options_;
  Doing doing_ = Doing::kReadingNode;
  api::NodeView looked_at_;          ///< the Node as last read or written
  bool announced_mismatch_ = false;  ///< the next attempt may follow
  unsigned failures_ = 0;
  std::string failing_goal_;
};

}  // namespace strake::agent
