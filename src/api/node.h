// Node objects as Strake reads and writes them: the annotations by which controllers and agents talk, and the few
// fields of the platform that decide about a rollout. Nothing outside src/api spells the path of one of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/node_annotations.h"
#include "codec/json.h"
#include "kube/object.h"
#include "kube/selector.h"

namespace strake::api {

/// The state annotation. A word this version does not know is kept as it is, and is none of the known states.
class NodeState {
 public:
  enum Value {
    kAbsent,  ///< no annotation, or an empty one
    kDone,
    kWorking,
    kDegraded,
    kUnreconcilable,
    kRebooting,
    kOther,  ///< another word
  };

  NodeState(Value value = kAbsent) : value_(value) {}  // NOLINT(google-explicit-constructor): a state is its value
  static NodeState parse(std::string_view text);

  Value value() const { return value_; }
  /// The agent reports that it could not do what was asked.
  bool is_failure() const { return value_ == kDegraded || value_ == kUnreconcilable; }
  /// The word as the annotation has it; "" when absent.
  std::string_view text() const;

  bool operator==(const NodeState&) const = default;

 private:
  Value value_;
  std::string other_;  ///< of kOther
};
std::string_view to_string(NodeState::Value state);

/// Everything a plan reads of a Node, so that two equal views mean that nothing which matters has changed: a heartbeat
/// changes the object and not its view. The predicates are the platform's.
struct NodeView {
  std::string name;
  std::string uid;
  kube::Labels labels;
  std::string zone;
  std::string created;
  bool schedulable = true;
  bool healthy = true;  ///< Ready, no disk pressure, network available
  std::string current_config;
  std::string desired_config;
  NodeState state;
  std::string reason;
  std::string planned_class;
  std::string executed_class;

  kube::ObjectKey key() const { return {"", name}; }
  /// Never configured, so it runs no workload yet: it takes no capacity and waits for nobody.
  bool is_new() const { return current_config.empty() && desired_config.empty(); }
  bool ready() const { return healthy && schedulable; }
  bool done() const { return !current_config.empty() && current_config == desired_config && state == NodeState::kDone; }
  bool failing() const { return current_config != desired_config && state.is_failure(); }
  /// Nodes that run Windows belong to no pool.
  bool is_windows() const;

  bool operator==(const NodeView&) const = default;
};

/// A node writes its annotations itself, and whatever it writes harms nobody else: what is no name of a config reads as
/// absent, other words are made visible and cut.
NodeView node_view(const kube::Object& node);

/// What kReason says of a failure: cut to what the platform allows, without secrets.
std::string reason_text(std::string_view failure);

/// A view that many plans look at and nobody changes: read once from its Node, and shared.
using NodePtr = std::shared_ptr<const NodeView>;

/// The same Node with nothing but what node_view reads and its version: ten thousand Nodes of 2 KiB take 60 MiB, their
/// views a small part of that.
kube::Object slim_node(const kube::Object& node);

/// The Node of a machine that has just come: its role and host name as labels.
kube::Object new_node(const std::string& name, const std::string& role, const std::string& zone = "");

/// What a kubelet, or who stands in for it, reports of its machine.
struct NodeReport {
  bool ready = false;
  std::string reason;
  std::string message;
  std::string now;          ///< RFC 3339
  std::string ready_since;  ///< since when it is ready, or not
  std::string boot_id;
  std::string os_image;
  std::string kubelet_version;
};
/// As a strategic merge patch of the status: other conditions stay as they are.
json::Value node_status_patch(const NodeReport& report);

/// A merge patch of a Node that carries only annotations of ours, so that what others write is never touched.
class NodePatch {
 public:
  NodePatch& set_current_config(std::string_view config) { return set(node_annotation::kCurrentConfig, config); }
  NodePatch& set_desired_config(std::string_view config) { return set(node_annotation::kDesiredConfig, config); }
  NodePatch& set_state(NodeState state) { return set(node_annotation::kState, state.text()); }
  NodePatch& set_reason(std::string_view reason) { return set(node_annotation::kReason, reason_text(reason)); }
  NodePatch& set_planned_class(std::string_view word) { return set(node_annotation::kPlannedClass, word); }
  NodePatch& set_executed_class(std::string_view word) { return set(node_annotation::kExecutedClass, word); }

  bool empty() const { return annotations_.empty(); }
  json::Value to_json() const;

 private:
  NodePatch& set(std::string_view annotation, std::string_view value);

  json::Object annotations_;
};

}  // namespace strake::api
