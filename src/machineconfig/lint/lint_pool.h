// The rules about several MachineConfigs together: roles, what the configs of one pool do to each other. Internal to
// lint.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "machineconfig/lint/lint.h"
#include "machineconfig/merge/provenance.h"

namespace strake::machineconfig {

using ConfigsByName = std::map<std::string, const kube::Object*>;

/// Made by a controller: its author reads no findings.
bool is_generated(const kube::Object& config);

/// Roles near one that is known. `taken`: MachineConfigs that a pool of the input takes.
std::vector<LintFinding> lint_roles(const ConfigSet& set, const ConfigsByName& configs,
                                    const std::set<std::string>& taken);

/// What two MachineConfigs of one role set differently: a finding for each that loses.
std::vector<LintFinding> lint_conflicts(const Provenance& provenance, const ConfigsByName& configs,
                                        const std::string& pool);

/// Programs without the executable bit. `ignition` is what the pool's configs come to.
std::vector<LintFinding> lint_programs(const json::Value& ignition, const Provenance& provenance,
                                       const ConfigsByName& configs, const std::string& pool);

/// The contribution whose value of a member is in effect; nullptr when there is none.
const Contribution* winner_of(const Provenance::Contributions& contributions, std::string_view member);

}  // namespace strake::machineconfig
