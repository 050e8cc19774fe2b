// What the agent writes down before it acts, so that a crash or power loss at any moment leaves a node that can go on.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/file_tree.h"
#include "base/result.h"
#include "kube/object.h"
#include "machineconfig/disruption.h"

namespace strake::agent {

enum class Phase {
  kApplying,   ///< files and the staged OS may be half of the old and half of the new
  kBooting,    ///< everything is in place; a reboot was asked for during boot `boot_id`
  kReporting,  ///< done; the API may not know it yet
};
std::string_view to_string(Phase phase);
Result<Phase> parse_phase(std::string_view text);

struct Journal {
  Phase phase = Phase::kApplying;
  kube::Object config;  ///< the rendered MachineConfig being applied, whole: finishing needs no API
  machineconfig::DisruptionClass disruption = machineconfig::DisruptionClass::kNone;
  std::string boot_id;
  std::set<std::string> touched;  ///< paths that may have been written for this or an abandoned config
};

/// The agent's memory on disk: the config that is applied, and the journal while an update is under way.
class AgentDisk {
 public:
  explicit AgentDisk(FileTree& tree) : tree_(tree) {}

  Result<std::optional<kube::Object>> current_config();
  Status write_current_config(const kube::Object& config);

  Result<std::optional<Journal>> journal();
  Status write_journal(const Journal& journal);
  Status clear_journal();

 private:
  Result<std::optional<json::Value>> read_json(const std::string& path);

  FileTree& tree_;
};

}  // namespace strake::agent
