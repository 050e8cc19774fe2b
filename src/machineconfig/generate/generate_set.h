// A set of objects that may not be in a cluster, and the MachineConfigs somebody will make of its KubeletConfigs,
// mirror sets and their like.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json_locate.h"
#include "machineconfig/render/render_set.h"

namespace strake::machineconfig {

struct GeneratedSet {
  ConfigSet set;
  std::vector<Error> refusals{};  ///< of sources; what they made before is in the set as it was
};

/// The set as it is when Strake, as the whole stack, has made what the objects ask for: what it lacks is added, what
/// Strake made of them before is made anew or goes. What another manager made stays, whatever it is.
GeneratedSet with_generated(ConfigSet set, const std::string& version);

/// Something about the generated MachineConfigs of a set as it is.
struct GeneratedNote {
  enum class What {
    kMissing,   ///< a cluster makes it, the set has it not
    kUnknown,   ///< nobody can say from this set what a cluster makes
    kOutdated,  ///< the set has it, and a cluster would change or remove it
    kRefused,   ///< a cluster refuses to make it
  };
  What what;
  std::string
      source{};  ///< "KubeletConfig small", "MachineConfig 99-...": where it is to be repaired; "" when it is many
  json::Steps field{};    ///< of that object, where one is named
  std::string subject{};  ///< what the message is about
  std::string message{};  ///< "is not in the input: ...", "would be refused: ..."
  std::string next{};     ///< what to do about it

  /// All of it, in one line.
  std::string to_string() const;
};
std::vector<GeneratedNote> generated_notes(const ConfigSet& set);

/// Whether MachineConfigs are made of objects of this kind here.
bool is_generating_kind(std::string_view kind);

/// Whether with_generated shows in the set what objects of this kind come to: not where another manager's work stays.
bool shows_generated(const ConfigSet& set, std::string_view kind);

}  // namespace strake::machineconfig
