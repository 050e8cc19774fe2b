// One MachineConfig read for a merge: its fields typed, its Ignition part checked and normalised, in one pass.
//
// What is refused here is what the Machine Config Operator refuses before a merge, contents no node could decode, and
// the files of the agent itself (agent_files.h): a refused MachineConfig keeps its pool at the old config, so nothing
// is refused that merely looks odd. `find_problems` says everything there is to say, for a linter.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json_locate.h"
#include "ignition/report.h"
#include "kube/object.h"

namespace strake::machineconfig {

inline constexpr std::string_view kDefaultKernelType = "default";

struct Fragment {
  std::string name;        ///< of the MachineConfig
  bool generated = false;  ///< by a controller: such a MachineConfig has no say in the OS images
  std::string os_image;    ///< "" when it names none
  std::string extensions_image;
  std::optional<json::Value> ignition;  ///< normalised, version 3.5.0; nullopt when the MachineConfig has no config
  std::vector<std::string> kernel_arguments;
  std::vector<std::string> extensions;
  std::optional<bool> fips;
  std::string kernel_type;  ///< "", "default", "realtime" or "64k-pages"
};

/// The first error names MachineConfig, field and member: "MachineConfig 50-x: spec.config: storage.files[2].path:
/// ...".
Result<Fragment> read_fragment(const kube::Object& config);

struct Problem {
  ignition::Severity severity = ignition::Severity::kError;
  std::string field;  ///< "spec.config: storage.files[2].path"
  std::string message;

  /// "spec.config: storage.files[2].path: path not absolute"
  std::string to_string() const;
  /// The field as steps from the object; where it only says spec.config, as deep as the message tells.
  json::Steps steps() const;
};

/// What read_fragment would refuse; nullopt when it succeeds.
std::optional<Problem> find_refusal(const kube::Object& config);

/// Whether an extension is one that nodes can install.
bool is_known_extension(std::string_view name);

/// All errors and warnings of one MachineConfig; errors first. No error means that read_fragment succeeds.
std::vector<Problem> find_problems(const kube::Object& config);

}  // namespace strake::machineconfig
