// The files that make a node's agent what it is: its state and journal, its credentials, its unit and its program. No
// MachineConfig may name them. An agent that is told to overwrite its own journal cannot undo what it does next, and
// one whose unit or credentials are replaced does not come back.
//
// The one exception is the agent's unit in a base config of the template controller, which is how an agent gets to a
// machine. Rendering marks a config whose unit comes from there (agent_unit_mark), and the agent believes the mark.
//
// Refused when a config is read for a merge (validate.h), and once more by the agent, which may be given a config that
// somebody else rendered. Pure: what links on a node's disk do to a path is not seen here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"

namespace strake::machineconfig {

/// The unit an agent runs in on a machine.
inline constexpr std::string_view kAgentUnit = "strake-agent.service";

/// Whether a path is one of them or lies in one of their folders, however it is written: "//", "/./", "..", a slash at
/// the end, or by the links every system has (/bin, /var/run, /ostree, /proc/1/root).
bool is_agent_path(std::string_view path);

/// A member of an Ignition config that names one.
struct AgentFileClaim {
  std::string member;           ///< "storage.files[2].path"
  std::string path;             ///< as the config has it
  bool is_unit_itself = false;  ///< the agent's unit, whole: no drop-in, link or file of it

  /// "storage.files[2].path: /var/lib/strake/x belongs to the agent of the node; ..."
  std::string to_string() const;
};

/// On a rendered config: what Strake's renderer says of the agent's unit in it, "sha256:..." of the contents. nullopt
/// when the config has no such unit.
inline constexpr std::string_view kAgentUnitAnnotation = "strake.dev/agent-unit";
std::optional<std::string> agent_unit_mark(const json::Value& ignition);

/// Files, folders, links (where they are and where they lead), units and drop-ins, in that order. A file or link in the
/// place of a folder that one of them lies in counts, too.
std::vector<AgentFileClaim> agent_files_named(const json::Value& ignition);

}  // namespace strake::machineconfig
