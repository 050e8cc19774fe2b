#include "controlplane/sandbox_machine.h"

#include <algorithm>

#include "controlplane/first_config.h"

namespace strake::controlplane {

namespace {

constexpr runtime::Duration kFirstStartRetry = std::chrono::seconds(1);
constexpr runtime::Duration kLongestStartRetry = std::chrono::minutes(1);
constexpr runtime::Duration kFirstConfigRetry = std::chrono::milliseconds(200);
constexpr runtime::Duration kLongestConfigRetry = std::chrono::seconds(10);

}  // namespace

SandboxMachine::SandboxMachine(runtime::Runtime& runtime, kube::KubeApi& kubelet_api, kube::KubeApi& agent_api,
                               FileTree& tree, MachineOptions options)
    : runtime_(runtime),
      agent_api_(agent_api),
      tree_(tree),
      options_(std::move(options)),
      os_(tree),
      recorded_services_(tree),
      shim_(runtime, kubelet_api, {options_.identity, options_.on_report_failure, options_.report_unchanged}) {}

/// A machine that has run before and did not ask for a reboot goes on with the boot it had: only its process was
/// restarted.
Status SandboxMachine::boot_if_needed(bool rebooting, std::stop_token stop) {
  STRAKE_TRY(const std::uint64_t boots, os_.boot_count());
  if (boots > 0 && !rebooting) return {};
  if (boots == 0 && options_.first_config) STRAKE_CHECK_OK(get_first_config(stop));
  STRAKE_CHECK_OK(os_.boot(rebooting && options_.boot_end ? options_.boot_end() : osbackend::BootEnd::kAsStaged));
  return recorded_services_.boot();
}

/// Asked for until it is given, as Ignition does: the release may not be there yet. Killed before the boot is counted,
/// a machine begins anew.
Status SandboxMachine::get_first_config(std::stop_token stop) {
  runtime::Duration pause = kFirstConfigRetry;
  while (true) {
    const auto config = options_.first_config(stop);
    if (config.ok()) {
      STRAKE_CHECK_OK(write_first_config(tree_, *config).context("writing the first config"));
      if (options_.on_first_config) options_.on_first_config(nullptr, {});
      return {};
    }
    if (options_.on_first_config && !stop.stop_requested()) options_.on_first_config(&config.error(), pause);
    STRAKE_CHECK_OK(runtime_.sleep(pause, stop));
    pause = std::min(pause * 2, kLongestConfigRetry);
  }
}

Result<osbackend::OsStatus> SandboxMachine::come_up(bool rebooting, std::stop_token stop) {
  Status booted = boot_if_needed(rebooting, stop);
  auto os = booted.ok() ? os_.status({stop, {}}) : Result<osbackend::OsStatus>(std::move(booted).error());
  if (os.ok()) return os;
  Error why = std::move(os).error().context(fmt::format("starting machine {}", options_.identity.name));
  shim_.machine_broken(why, stop);
  return why;
}

agent::Agent SandboxMachine::make_agent() {
  agent::AgentOptions agent_options = options_.agent;
  agent_options.node = options_.identity.name;
  osbackend::ServiceManager& services = options_.services != nullptr ? *options_.services : recorded_services_;
  return {runtime_, agent_api_, tree_, os_, services, std::move(agent_options)};
}

Result<std::string> SandboxMachine::dry_run(std::stop_token stop) {
  auto preview = make_agent().preview(stop);
  if (preview.ok()) return to_text(*preview);
  Error failure = std::move(preview).error();
  if (failure.code() == Code::kNotFound) return std::move(failure).with_verdict(Verdict::kAbsent);
  if (failure.reason() == agent::kUnreconcilableReason) return std::move(failure).with_verdict(Verdict::kBlocked);
  return failure;
}

agent::Outcome SandboxMachine::live(std::stop_token stop) {
  runtime::Task heartbeat = runtime_.spawn("kubelet-" + options_.identity.name, [this](std::stop_token beat_stop) {
    shim_.heartbeat(
        [&]() -> Status {
          const auto os = os_.status({beat_stop, {}});
          return os.ok() ? Status() : Status(os.error());
        },
        beat_stop);
  });
  return make_agent().run(stop);
}

Status SandboxMachine::run(std::stop_token stop) {
  bool rebooting = false;
  while (!stop.stop_requested()) {
    STRAKE_TRY(const osbackend::OsStatus os, come_up(rebooting, stop));
    const std::string image = os.booted.image ? os.booted.image->to_string() : "";
    if (!shim_.machine_up(os.boot_id, image, stop).ok() || live(stop) != agent::Outcome::kRebooting) return {};
    shim_.machine_down("rebooting", stop);
    if (!runtime_.sleep(options_.boot_time, stop).ok()) return {};
    rebooting = true;
  }
  return {};
}

void SandboxMachine::keep_running(std::stop_token stop) {
  runtime::Duration pause = kFirstStartRetry;
  for (unsigned failures = 1; !stop.stop_requested(); ++failures) {
    const Status ended = run(stop);
    if (ended.ok()) return;
    if (options_.on_broken && !stop.stop_requested()) options_.on_broken(ended.error(), failures, pause);
    if (!runtime_.sleep(pause, stop).ok()) return;
    pause = std::min(pause * 2, kLongestStartRetry);
  }
}

}  // namespace strake::controlplane
