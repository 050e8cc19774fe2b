#include "machineconfig/control/controller_frame.h"

namespace strake::machineconfig {

namespace {

using namespace std::chrono_literals;

/// A watch may lose a change without anybody noticing.
constexpr auto kFrameResync = 5min;
constexpr auto kFrameLongestRetry = 30s;

kube::ControllerOptions frame_queue_options(std::string_view name, const kube::Hooks& hooks) {
  kube::ControllerOptions options;
  options.name = name;
  options.rate_limits.longest_retry = kFrameLongestRetry;
  options.hooks = hooks;
  return options;
}

kube::EventRecorderOptions frame_event_options(std::string_view name, const kube::Hooks& hooks) {
  kube::EventRecorderOptions options;
  options.hooks = hooks;
  options.component = fmt::format("strake-{}", name);
  return options;
}

}  // namespace

ControllerFrame::ControllerFrame(runtime::Runtime& runtime, kube::KubeApi& api, std::string_view name,
                                 const kube::Hooks& hooks, kube::Controller::Reconcile reconcile)
    : runtime_(runtime),
      api_(api),
      hooks_(hooks),
      events_(runtime, api, frame_event_options(name, hooks)),
      queue_(runtime, frame_queue_options(name, hooks), std::move(reconcile)) {}

kube::Informer& ControllerFrame::inform(const kube::Resource& resource) { return add(resource, {}); }

kube::Informer& ControllerFrame::inform(const kube::Resource& resource, std::string_view ns, std::string_view name) {
  kube::InformerOptions options;
  options.ns = ns;
  options.field_selector = fmt::format("metadata.name={}", name);
  return add(resource, std::move(options));
}

kube::Informer& ControllerFrame::add(const kube::Resource& resource, kube::InformerOptions options) {
  options.hooks = hooks_;
  options.resync = kFrameResync;
  return informers_.emplace_back(runtime_, api_, resource, std::move(options));
}

void ControllerFrame::start(Events events) {
  if (events == Events::kRecord) events_.start();
  for (kube::Informer& informer : informers_) informer.start();
  queue_.start();
}

void ControllerFrame::stop() {
  queue_.stop();
  for (kube::Informer& informer : informers_) informer.stop();
  events_.stop();
}

}  // namespace strake::machineconfig
