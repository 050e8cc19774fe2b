// What the controllers of this module have in common: informers that live as long as they do, a queue with one worker,
// Events, and patience with changes that come in a burst.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "base/runtime.h"
#include "kube/controller.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/kube_api.h"
#include "machineconfig/render/burst.h"

namespace strake::machineconfig {

class ControllerFrame {
 public:
  /// `name`: in metrics; Events come from "strake-<name>".
  ControllerFrame(runtime::Runtime& runtime, kube::KubeApi& api, std::string_view name, const kube::Hooks& hooks,
                  kube::Controller::Reconcile reconcile);

  /// Before start(). Watched by nobody yet: the owner says which objects a change concerns (`queue().watch`).
  kube::Informer& inform(const kube::Resource& resource);
  /// One object alone, so that no right to the others is needed.
  kube::Informer& inform(const kube::Resource& resource, std::string_view ns, std::string_view name);
  std::deque<kube::Informer>& informers() { return informers_; }

  kube::Controller& queue() { return queue_; }
  const kube::Controller& queue() const { return queue_; }
  kube::EventRecorder& events() { return events_; }
  Burst& burst() { return burst_; }

  enum class Events { kRecord, kNone };
  void start(Events events = Events::kRecord);
  void stop();

 private:
  kube::Informer& add(const kube::Resource& resource, kube::InformerOptions options);

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  const kube::Hooks hooks_;
  std::deque<kube::Informer> informers_;
  kube::EventRecorder events_;
  Burst burst_;
  kube::Controller queue_;  // last: its workers end before what they use
};

}  // namespace strake::machineconfig
