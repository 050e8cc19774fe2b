// What draining reads and writes: the two annotations by which an agent asks for it, whether pods may come to a node,
// and what of a pod decides whether it has to leave.
#pragma once

#include <string>

#include "codec/json.h"
#include "kube/object.h"

namespace strake::api {

enum class DrainRequest {
  kNone,      ///< nothing is asked for, or all of it was done
  kDrain,     ///< no new pods, and those there are leave
  kUncordon,  ///< pods may come again
  kUnknown,   ///< another word
};

struct DrainView {
  std::string node;
  std::string asked;    ///< "drain-<config>", "uncordon-<config>"
  std::string applied;  ///< what was done last
  bool schedulable = true;
  bool cordoned_by_us = false;

  DrainRequest request() const;
  bool operator==(const DrainView&) const = default;
};
DrainView drain_view(const kube::Object& node);
/// The same Node with nothing but what drain_view reads and its version.
kube::Object slim_drain_node(const kube::Object& node);

/// Merge patches of a Node. That it was us who closed it is written in the same moment.
json::Value cordon_patch();
json::Value uncordon_patch();
json::Value drain_applied_patch(const std::string& asked);

struct PodView {
  kube::ObjectKey key;
  std::string uid;
  bool leaving = false;    ///< its deletion was asked for
  bool of_node = false;    ///< a file of the node (a mirror pod): it cannot leave
  bool of_daemon = false;  ///< of a DaemonSet, which would put it back at once

  bool has_to_leave() const { return !of_node && !of_daemon; }
};
PodView pod_view(const kube::Object& pod);

}  // namespace strake::api
