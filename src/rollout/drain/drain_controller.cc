#include "rollout/drain/drain_controller.h"

namespace strake::rollout {

namespace {

using namespace std::chrono_literals;

constexpr unsigned kDrainWorkers = 4;
constexpr std::uint32_t kPodsInOnePage = 500;
constexpr std::size_t kPodsInMessage = 5;

kube::InformerOptions drain_informer_options(const kube::Hooks& hooks) {
  kube::InformerOptions options;
  options.resync = 5min;
  options.reduce = api::slim_drain_node;
  options.hooks = hooks;
  return options;
}

kube::ControllerOptions drain_controller_options(const DrainOptions& options) {
  kube::ControllerOptions controller;
  controller.name = "drain";
  controller.workers = kDrainWorkers;
  controller.rate_limits.longest_retry = 1min;
  controller.hooks = options.hooks;
  return controller;
}

kube::EventRecorderOptions drain_event_options(const kube::Hooks& hooks) {
  kube::EventRecorderOptions options;
  options.component = "strake-drain";
  options.hooks = hooks;
  return options;
}

std::string names_of(const std::vector<api::PodView>& pods) {
  std::vector<std::string> names;
  for (const api::PodView& pod : pods) {
    if (names.size() == kPodsInMessage)
      return fmt::format("{} and {} more", fmt::join(names, ", "), pods.size() - kPodsInMessage);
    names.push_back(pod.key.to_string());
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// There is no time for the next pod either. All else may be about this pod alone: a server says "internal error" where
/// two budgets speak of one pod.
bool ends_the_round(Code code) { return code == Code::kCancelled || code == Code::kTimeout; }

}  // namespace

DrainController::DrainController(runtime::Runtime& runtime, kube::KubeApi& api, DrainOptions options)
    : runtime_(runtime),
      api_(api),
      options_(std::move(options)),
      nodes_(runtime, api, kube::core::kNode, drain_informer_options(options_.hooks)),
      events_(runtime, api, drain_event_options(options_.hooks)),
      controller_(runtime, drain_controller_options(options_),
                  [this](const kube::ObjectKey& key, const kube::Call& call) { return reconcile(key, call); }) {
  const auto same = [](const kube::Object& before, const kube::Object& now) {
    return api::drain_view(before) == api::drain_view(now);
  };
  const auto asked_anew = [](const kube::Object& before, const kube::Object& now) {
    return api::drain_view(before).asked != api::drain_view(now).asked;
  };
  const auto itself = [](const kube::Object& node) { return std::vector<kube::ObjectKey>{node.key()}; };
  controller_.watch(nodes_, itself, asked_anew, same);
}

void DrainController::start() {
  events_.start();
  nodes_.start();
  controller_.start();
}

void DrainController::stop() {
  controller_.stop();
  nodes_.stop();
  events_.stop();
}

Result<kube::Reconciled> DrainController::reconcile(const kube::ObjectKey& key, const kube::Call& call) {
  const kube::ObjectPtr known = nodes_.get(key);
  if (!known || api::drain_view(*known).request() == api::DrainRequest::kNone) {
    tell(key.name, {});
    return kube::Reconciled{};
  }
  // The copy may be old, and what is decided here kills pods.
  const auto node = api_.get(kube::core::kNode, key, call);
  if (!node.ok() && node.error().code() == Code::kNotFound) return kube::Reconciled{};
  if (!node.ok()) return Error(node.error()).context(fmt::format("reading node {}", key.name));
  const api::DrainView view = api::drain_view(*node);
  std::vector<api::PodView> pods;
  if (view.request() == api::DrainRequest::kDrain && !view.schedulable) {
    STRAKE_TRY(pods, pods_of(key.name, call));
  }
  const DrainPlan plan = plan_drain(view, pods);
  switch (plan.step) {
    case DrainStep::kNothing: tell(key.name, {}); return kube::Reconciled{};
    case DrainStep::kRefuse:
      events_.record(*node, kube::EventType::kWarning, "DrainRequestUnknown", plan.note);
      tell(key.name, {.node = key.name, .step = plan.step, .why = plan.note});
      return kube::Reconciled{};
    case DrainStep::kCordon:
      STRAKE_CHECK_OK(patch(*node, api::cordon_patch(), call));
      events_.record(*node, kube::EventType::kNormal, "Cordon",
                     fmt::format("Cordoned node to apply update: {}", view.asked));
      return go_on(*node, plan, "");
    case DrainStep::kEvict: {
      STRAKE_TRY(const std::string blocked, evict(plan.evict, call));
      return go_on(*node, plan, blocked);
    }
    case DrainStep::kWait: return go_on(*node, plan, "");
    case DrainStep::kUncordon:
      STRAKE_CHECK_OK(patch(*node, api::uncordon_patch(), call));
      events_.record(*node, kube::EventType::kNormal, "Uncordon", "Update completed, node is open to pods again");
      return go_on(*node, plan, "");
    case DrainStep::kEcho: break;
  }
  STRAKE_CHECK_OK(patch(*node, api::drain_applied_patch(view.asked), call));
  if (view.request() == api::DrainRequest::kDrain)
    events_.record(*node, kube::EventType::kNormal, "Drain", "Drained node: all pods that had to leave have left");
  if (!plan.note.empty()) events_.record(*node, kube::EventType::kNormal, "UncordonSkipped", plan.note);
  tell(key.name, {.node = key.name, .step = plan.step, .why = plan.note});
  return kube::Reconciled{};
}

Result<std::vector<api::PodView>> DrainController::pods_of(const std::string& node, const kube::Call& call) {
  kube::ListOptions options;
  options.field_selector = fmt::format("spec.nodeName={}", node);
  options.limit = kPodsInOnePage;
  std::vector<api::PodView> pods;
  do {
    const auto page = api_.list(kube::core::kPod, "", options, call);
    if (!page.ok()) return Error(page.error()).context(fmt::format("listing the pods of node {}", node));
    for (const kube::Object& pod : page->items) pods.push_back(api::pod_view(pod));
    options.continue_token = page->continue_token;
  } while (!options.continue_token.empty());
  return pods;
}

/// Why some cannot leave now; "" when all were asked. A budget is no failure, and one pod that nobody can evict (two
/// budgets speak of it) keeps no other: both are looked at again, and named to who looks at the node.
Result<std::string> DrainController::evict(const std::vector<api::PodView>& pods, const kube::Call& call) {
  std::string blocked;
  for (const api::PodView& pod : pods) {
    kube::DeleteOptions options;
    options.uid = pod.uid;  // not another of the same name that came meanwhile
    const Status evicted = api_.evict(pod.key, options, call);
    if (evicted.ok() || evicted.error().code() == Code::kNotFound || evicted.error().code() == Code::kConflict)
      continue;
    if (ends_the_round(evicted.error().code()))
      return Error(evicted.error()).context(fmt::format("evicting pod {}", pod.key.to_string()));
    if (blocked.empty()) blocked = fmt::format("pod {}: {}", pod.key.to_string(), evicted.error().to_string());
  }
  return blocked;
}

Status DrainController::patch(const kube::Object& node, const json::Value& change, const kube::Call& call) {
  json::Value guarded = change;
  // Whoever closed, opened or asked in this moment is looked at first.
  json::ensure(guarded, {"metadata", "resourceVersion"}) = node.resource_version();
  const auto patched = api_.patch(kube::core::kNode, node.key(), kube::PatchType::kMerge, guarded, {}, call);
  if (patched.ok()) return {};
  return Error(patched.error()).context(fmt::format("writing node {}", node.name()));
}

DrainController::Going& DrainController::going(const std::string& node, const std::string& asked) {
  Going& now = going_[node];
  if (now.asked != asked) now = Going{asked, runtime_.now(), false, false, now.report};
  return now;
}

Result<kube::Reconciled> DrainController::go_on(const kube::Object& node, const DrainPlan& plan,
                                                const std::string& blocked) {
  std::vector<api::PodView> left = plan.evict;
  left.insert(left.end(), plan.leaving.begin(), plan.leaving.end());
  runtime::Duration since{};
  bool slow = false, failed = false;
  {
    const std::lock_guard lock(mutex_);
    Going& now = going(node.name(), api::drain_view(node).asked);
    since = runtime_.now() - now.since;
    slow = !left.empty() && since >= kDrainSlowAfter && !std::exchange(now.said_slow, true);
    failed = !left.empty() && since >= kDrainFailedAfter && !std::exchange(now.said_failed, true);
  }
  const std::string why = !blocked.empty() ? blocked : left.empty() ? "" : "waits for " + names_of(left);
  if (slow) {
    events_.record(node, kube::EventType::kWarning, "DrainThresholdExceeded",
                   fmt::format("the drain has taken more than 10 minutes and goes on; {}", why));
  }
  if (failed) {
    events_.record(node, kube::EventType::kWarning, "DrainFailed",
                   fmt::format("the drain has taken more than an hour and goes on; look at what keeps it: {}", why));
  }
  tell(node.name(), {.node = node.name(),
                     .step = plan.step,
                     .pods_left = left.size(),
                     .why = why,
                     .overdue = !left.empty() && since >= kDrainFailedAfter});
  return kube::Reconciled{drain_pause(since)};
}

/// A report without a node: there is nothing to tell of it any more.
void DrainController::tell(const std::string& node, DrainReport report) {
  const bool over = report.node.empty();
  report.node = node;
  {
    const std::lock_guard lock(mutex_);
    const auto known = going_.find(node);
    if (over && known == going_.end()) return;
    if (!over && known != going_.end() && known->second.report == report) return;
    if (over) {
      going_.erase(known);
    } else {
      going_[node].report = report;
    }
  }
  if (options_.on_drain) options_.on_drain(report);
}

}  // namespace strake::rollout
