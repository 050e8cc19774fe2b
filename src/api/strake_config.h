// StrakeConfig/cluster: how far Strake may act, for each capability.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/field.h"
#include "base/result.h"

namespace strake::api {

inline constexpr FieldTable kStrakeConfigFields{
    "strakeconfigs.strake.dev",    "spec.modes",
    "spec.releaseKeyrings",        "spec.agentImage",
    "spec.configServer.url",       "spec.configServer.names",
    "status.observedGeneration",   "status.conditions[].type",
    "status.conditions[].status",  "status.conditions[].reason",
    "status.conditions[].message", "status.conditions[].lastTransitionTime",
};

enum class Mode {
  kObserve,  ///< not one write
  kAssist,   ///< only what the platform leaves undone
  kOwn,
};
std::string_view to_string(Mode mode);
Result<Mode> parse_mode(std::string_view text);

/// Reads an object that outlives the view.
class StrakeConfigView {
 public:
  explicit StrakeConfigView(const json::Value& object) : object_(object) {}
  explicit StrakeConfigView(const json::Value&&) = delete;

  /// nullopt: not set, so the default of the cluster applies. kInvalidArgument: a mode nobody knows.
  Result<std::optional<Mode>> mode(std::string_view capability) const;
  Result<std::map<std::string, Mode>> modes() const;
  /// OpenPGP public keys, armoured, by name: whose releases the cluster takes.
  std::map<std::string, std::string> release_keyrings() const {
    return text_map_at(object_, kStrakeConfigFields["spec.releaseKeyrings"]);
  }
  /// "https://HOST:PORT", as stubs name the config server; "" when it is not set.
  std::string config_server_url() const { return text_at(object_, kStrakeConfigFields["spec.configServer.url"]); }
  /// Further names and addresses that its certificate must bear.
  std::vector<std::string> config_server_names() const {
    return texts_at(object_, kStrakeConfigFields["spec.configServer.names"]);
  }
  /// The image the agent of a machine is run from, by digest; "" where the OS image has the program.
  std::string agent_image() const { return text_at(object_, kStrakeConfigFields["spec.agentImage"]); }

 private:
  const json::Value& object_;
};

/// Writes in place; everything else of the object stays as it is.
class StrakeConfigEdit : public StrakeConfigView {
 public:
  explicit StrakeConfigEdit(json::Value& object) : StrakeConfigView(object), object_(object) {}

  /// nullopt: null, which as a merge patch goes back to the default of the cluster.
  void set_mode(std::string_view capability, std::optional<Mode> mode);
  /// nullopt: null, which as a merge patch removes it.
  void set_release_keyring(std::string_view name, const std::optional<std::string>& armoured);

 private:
  json::Value& object_;
};

}  // namespace strake::api
