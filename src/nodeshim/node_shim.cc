#include "nodeshim/node_shim.h"

#include <algorithm>

#include "api/node.h"
#include "base/time.h"

namespace strake::nodeshim {

namespace {

using namespace std::chrono_literals;

constexpr auto kHeartbeatInterval = 10s;
constexpr auto kShimCallTimeout = 10s;
constexpr auto kFirstShimRetry = 1s;
constexpr const char* kUpReason = "SandboxReady";
constexpr const char* kUpMessage = "the sandboxed machine is up";

}  // namespace

Status NodeShim::ensure_node(std::stop_token stop) {
  const kube::ObjectKey key{"", options_.identity.name};
  const auto found = api_.get(kube::core::kNode, key, runtime_.call_within(kShimCallTimeout, stop));
  if (found.ok()) return {};
  if (found.error().code() != Code::kNotFound)
    return Error(found.error()).context(fmt::format("reading node {}", options_.identity.name));
  const kube::Object node = api::new_node(options_.identity.name, options_.identity.role, options_.identity.zone);
  const auto created = api_.create(kube::core::kNode, node, {}, runtime_.call_within(kShimCallTimeout, stop));
  if (created.ok() || created.error().code() == Code::kExists) return {};
  if (created.error().code() == Code::kDenied) {
    return Error(created.error())
        .context(fmt::format("node {} does not exist, and an agent may not make it; let its kubelet register it, let "
                             "the machine join (`strake agent join`), or an administrator create it",
                             options_.identity.name));
  }
  return Error(created.error()).context(fmt::format("creating node {}", options_.identity.name));
}

Status NodeShim::write_ready(bool ready, const std::string& reason, const std::string& message, std::stop_token stop) {
  if (kubelet_reports_) return {};
  const std::string now = format_rfc3339(runtime_.wall_now());
  if (ready_since_.empty() || ready != ready_) {
    ready_ = ready;
    ready_since_ = now;
  }
  const json::Value patch = api::node_status_patch({.ready = ready,
                                                    .reason = reason,
                                                    .message = message,
                                                    .now = now,
                                                    .ready_since = ready_since_,
                                                    .boot_id = boot_id_,
                                                    .os_image = os_image_,
                                                    .kubelet_version = "sandbox"});
  kube::WriteOptions options;
  options.subresource = "status";
  const auto patched = api_.patch(kube::core::kNode, {"", options_.identity.name}, kube::PatchType::kStrategic, patch,
                                  options, runtime_.call_within(kShimCallTimeout, stop));
  if (patched.ok()) {
    said_ = message;
    said_at_ = runtime_.now();
    return {};
  }
  // Where only a kubelet may write this, there is one.
  if (patched.error().code() == Code::kDenied) {
    kubelet_reports_ = true;
    return {};
  }
  return Error(patched.error()).context(fmt::format("reporting node {}", options_.identity.name));
}

Status NodeShim::machine_up(const std::string& boot_id, const std::string& os_image, std::stop_token stop) {
  boot_id_ = boot_id;
  os_image_ = os_image;
  runtime::Duration pause = kFirstShimRetry;
  for (unsigned failures = 1;; ++failures) {
    Status joined = ensure_node(stop);
    if (joined.ok()) joined = write_ready(true, kUpReason, kUpMessage, stop);
    if (joined.ok()) return {};
    if (options_.on_failure && !stop.stop_requested()) options_.on_failure({joined.error(), failures, pause});
    STRAKE_CHECK_OK(runtime_.sleep(pause, stop));
    pause = std::min<runtime::Duration>(pause * 2, kHeartbeatInterval);
  }
}

void NodeShim::machine_down(const std::string& why, std::stop_token stop) {
  (void)write_ready(false, "SandboxDown", why, stop);
}

Status NodeShim::write_broken(const Error& why, std::stop_token stop) {
  return write_ready(false, "SandboxBroken", why.to_string(), stop);
}

void NodeShim::machine_broken(const Error& why, std::stop_token stop) {
  if (ensure_node(stop).ok()) (void)write_broken(why, stop);
}

bool NodeShim::is_news(bool ready, const std::string& message) {
  return !said_at_ || ready != ready_ || message != said_ || runtime_.now() - *said_at_ >= options_.report_unchanged;
}

void NodeShim::heartbeat(const std::function<Status()>& health, std::stop_token stop) {
  unsigned failures = 0;
  while (runtime_.sleep(kHeartbeatInterval, stop).ok()) {
    const Status well = health();
    if (failures == 0 && !is_news(well.ok(), well.ok() ? kUpMessage : well.error().to_string())) continue;
    const Status written =
        well.ok() ? write_ready(true, kUpReason, kUpMessage, stop) : write_broken(well.error(), stop);
    failures = written.ok() ? 0 : failures + 1;
    // A lost heartbeat is made good by the next.
    if (failures > 0 && options_.on_failure && !stop.stop_requested())
      options_.on_failure({written.error(), failures, kHeartbeatInterval});
  }
}

}  // namespace strake::nodeshim
