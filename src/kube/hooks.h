// Hooks: what the parts of this module tell the program that runs them, which logs and counts it.
//
// All are optional, are called from the part's own task and must not wait. Whoever builds informers, controllers and
// recorders for its own use takes one Hooks value and hands it on, so that nothing it runs fails unheard.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/runtime.h"
#include "kube/resource.h"

namespace strake::kube {

/// A list or watch that failed.
struct InformerFailure {
  const Resource& resource;
  const Error& error;
  unsigned failures;             ///< in a row, this one included
  runtime::Duration next_try{};  ///< from now
};

/// What one call of reconcile came to.
struct ReconcileRecord {
  const std::string& controller;
  const ObjectKey& key;
  runtime::Duration took;
  const Error* error;       ///< nullptr when it succeeded
  std::uint32_t failures;   ///< in a row, this one included
  std::size_t queue_depth;  ///< keys that wait for a worker now
};

/// A lease that could not be read or written.
struct LeaseFailure {
  const ObjectKey& lease;
  const Error& error;
  unsigned failures;  ///< in a row, this one included
  bool leading;       ///< we still lead, until the renew deadline
};

enum class EventLoss { kQueueFull, kOverBudget, kRefused };
std::string_view to_string(EventLoss loss);

/// An Event nobody will see in the cluster.
struct LostEvent {
  EventLoss loss;
  std::string_view kind;  ///< of the object it is about
  std::string_view name;
  std::string_view reason;
  std::string_view message;
  const Error* error;  ///< when the server refused it
};

struct Hooks {
  std::function<void(const InformerFailure&)> on_informer_failure{};
  /// A list, an event or a bookmark arrived: the local copy is as new as this moment.
  std::function<void(const Resource&)> on_informer_contact{};
  std::function<void(const ReconcileRecord&)> on_reconciled{};
  std::function<void(const LostEvent&)> on_event_lost{};
};

}  // namespace strake::kube
