// The rendered configs a pool's plan needs, with what was found out about them: comparing two of them, and checking one
// against its name, are the dear parts of a plan and are done once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/result.h"
#include "kube/object.h"
#include "machineconfig/impact/consequence.h"

namespace strake::rollout {

/// What a change costs, shared by all nodes that make it.
using ConsequencePtr = std::shared_ptr<const machineconfig::Consequence>;
/// Of a node that is where it should be, or of which nobody can tell.
const ConsequencePtr& no_consequence();

class ConfigBook {
 public:
  /// A config as it is now; nullptr: it does not exist.
  void put(const std::string& name, kube::ObjectPtr config);
  /// Forgets all others.
  void keep_only(const std::set<std::string>& names);
  void set_policy(machineconfig::DisruptionPolicy policy);

  bool exists(const std::string& name) const;
  /// Its content is what its name promises: agents refuse a config that somebody edited.
  bool is_genuine(const std::string& name) const;
  /// Of going from `from` ("": never configured) to `to`, which exists. kNotFound: `from` does not exist any more.
  Result<ConsequencePtr> consequence(const std::string& from, const std::string& to) const;

 private:
  const json::Value* spec_of(const std::string& name) const;
  void forget(const std::string& name);

  std::map<std::string, kube::ObjectPtr> configs_;
  machineconfig::DisruptionPolicy policy_ = machineconfig::default_disruption_policy();
  mutable std::map<std::string, bool> genuine_;
  mutable std::map<std::pair<std::string, std::string>, Result<ConsequencePtr>> consequences_;
};

}  // namespace strake::rollout
