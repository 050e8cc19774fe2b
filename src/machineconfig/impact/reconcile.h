// Whether a running node can follow from one rendered config to another, or must be installed anew.
//
// The rules, their order and their words are the Machine Config Operator's. What it does not compare (storage.luks and
// the sections below `ignition`) passes here too: a running node ignores it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "kube/object.h"
#include "machineconfig/diff/subject.h"
#include "machineconfig/merge/comparable_spec.h"

namespace strake::machineconfig {

/// Sections that may change although running nodes cannot follow: only machines installed later get the change.
struct ReconcileOverrides {
  bool disks = false;
  bool file_systems = false;
  bool raid = false;

  bool operator==(const ReconcileOverrides&) const = default;
};

/// From spec.irreconcilableValidationOverrides.storage of a MachineConfiguration.
Result<ReconcileOverrides> reconcile_overrides(const json::Value& machine_configuration);

struct Irreconcilable {
  std::string reason;
  Subject subject;  ///< what the first broken rule is about, so that provenance can name who brought it
};

/// nullopt: a running node can follow. The first broken rule otherwise. An error: one of the configs is not valid.
Result<std::optional<Irreconcilable>> check_reconcilable(const json::Value& old_spec, const json::Value& new_spec,
                                                         const ReconcileOverrides& overrides = {});
std::optional<Irreconcilable> check_reconcilable(const ComparableSpec& before, const ComparableSpec& after,
                                                 const ReconcileOverrides& overrides = {});

struct RefusedRender {
  std::string current_name;  ///< the rendered config the pool has
  const json::Value& current_spec;
  std::string new_name;
  const std::vector<kube::ObjectPtr>& components;  ///< the MachineConfigs of the new config, in merge order
  ReconcileOverrides overrides;
};

/// Which component makes the new config irreconcilable; nullptr when none does alone (something was removed).
const kube::Object* causing_component(const RefusedRender& render, const Irreconcilable& refusal);

/// What the pool's condition says.
std::string refusal_message(const RefusedRender& render, const Irreconcilable& refusal);

}  // namespace strake::machineconfig
