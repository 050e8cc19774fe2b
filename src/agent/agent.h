// The node agent: brings one node to the config its Node object asks for, and reports.
//
// It keeps nothing in memory that matters: every round it looks at the disk, the OS and the API, decides (plan.h), and
// acts. Killed anywhere and started again, it goes on from its journal.
#pragma once

#include <string>

#include "agent/plan.h"
#include "base/file_tree.h"
#include "base/runtime.h"
#include "kube/kube_api.h"
#include "osbackend/os_backend.h"

namespace strake::agent {

enum class Outcome {
  kSettled,     ///< nothing to do until something changes
  kProgressed,  ///< look again at once
  kRebooting,   ///< a reboot was asked for; the process is about to end
};

struct AgentOptions {
  std::string node;
  runtime::Duration first_retry = std::chrono::seconds(1);
  runtime::Duration longest_retry = std::chrono::seconds(60);
  runtime::Duration call_timeout = std::chrono::seconds(30);
};

class Agent {
 public:
  Agent(runtime::Runtime& runtime, kube::KubeApi& api, FileTree& tree, osbackend::OsBackend& os, AgentOptions options);

  /// Until told to stop or until a reboot was asked for.
  Outcome run(std::stop_token stop);

  /// One round: observe, decide, act.
  Result<Outcome> sync(std::stop_token stop);

 private:
  Result<Observation> observe(const kube::Object& node);
  Result<Outcome> update(Observation observed, std::stop_token stop);
  Result<Outcome> finish(const Observation& observed, std::stop_token stop);
  Status apply(const UpdatePlan& plan);
  Status verify(const kube::Object& config, const osbackend::OsStatus& os);
  Status annotate(const api::NodePatch& patch, std::stop_token stop);
  Status report_done(const std::string& config, std::string_view executed_class, std::stop_token stop);
  void report_failure(const Error& failure, std::stop_token stop);

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  FileTree& tree_;
  osbackend::OsBackend& os_;
  AgentDisk disk_;
  AgentOptions options_;
};

}  // namespace strake::agent
