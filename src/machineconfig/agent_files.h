// The files that make a node's agent what it is: its state and journal, its credentials, its unit and its program. No
// MachineConfig may name them. An agent that is told to overwrite its own journal cannot undo what it does next, and
// one whose unit or credentials are replaced does not come back.
//
// Refused when a config is read for a merge (validate.h), and once more by the agent, which may be given a config that
// somebody else rendered. Pure: what links on a node's disk do to a path is not seen here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"

namespace strake::machineconfig {

/// The unit an agent runs in on a machine.
inline constexpr std::string_view kAgentUnit = "strake-agent.service";

/// Whether a path is one of them or lies in one of their folders, however it is written: "//", "/./", "..", a slash at
/// the end.
bool is_agent_path(std::string_view path);

/// A member of an Ignition config that names one.
struct AgentFileClaim {
  std::string member;  ///< "storage.files[2].path"
  std::string path;    ///< as the config has it

  /// "storage.files[2].path: /var/lib/strake/x belongs to the agent of the node; ..."
  std::string to_string() const;
};

/// Files, folders, links (where they are and where they lead), units and drop-ins, in that order. A file or link in the
/// place of a folder that one of them lies in counts, too.
std::vector<AgentFileClaim> agent_files_named(const json::Value& ignition);

}  // namespace strake::machineconfig
