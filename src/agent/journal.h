// What the agent writes down before it acts, so that a crash or power loss at any moment leaves a node that can go on,
// or be put back as it was.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/steps.h"
#include "base/file_tree.h"
#include "base/result.h"
#include "kube/object.h"
#include "machineconfig/impact/disruption.h"

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
  int boots = 0;  ///< asked for to reach this config, without it having been reached
  FileStates
      before;  ///< what was at every path this or an abandoned config may have changed since the node was at rest
  std::vector<TellService> told{};  ///< services that were told something since then, during the boot `boot_id`
};

/// The agent's memory on disk: the config that is applied, and the journal while an update is under way. Contents of
/// files before their change are kept beside the journal, one file each: the journal itself stays small.
class AgentDisk {
 public:
  explicit AgentDisk(FileTree& tree) : tree_(tree) {}

  Result<std::optional<kube::Object>> current_config();
  Status write_current_config(const kube::Object& config);

  Result<std::optional<Journal>> journal();
  /// A journal that is already there word for word costs no write.
  Status write_journal(const Journal& journal);
  /// Removes the journal and everything kept for it.
  Status clear_journal();

 private:
  Result<std::optional<json::Value>> read_json(const std::string& path);
  Result<Journal> journal_from(const json::Value& value);
  Result<std::optional<FileState>> state_from(const std::string& path, const json::Value& value);
  Status write_if_changed(const std::string& path, std::string_view contents);

  FileTree& tree_;
};

}  // namespace strake::agent
