#include <algorithm>

#include "api/kinds.h"
#include "api/machine_config_pool.h"
#include "api/strake_config.h"
#include "cmd/cli/commands.h"
#include "cmd/input/config_input.h"
#include "cmd/input/connection.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "cmd/output/plan_text.h"
#include "controlplane/cluster_modes.h"
#include "kube/patch.h"
#include "rollout/cluster_plan.h"
#include "stub/identity/identity_controller.h"
#include "stub/identity/identity_effects.h"

namespace strake::cmd {

namespace {

using controlplane::ClusterModes;
using controlplane::kJoiningCapability;
using controlplane::kRenderCapability;
using controlplane::kRolloutCapability;

constexpr OptionSpec kModeShowOptions[] = {kOutputOption, kKubeconfigOption, kContextOption, kTimeoutOption};
constexpr OptionSpec kModeSetOptions[] = {
    {"dry-run", "", "only say what would change"}, kKubeconfigOption, kContextOption, kTimeoutOption};
constexpr std::string_view kCapabilityWords[] = {kRenderCapability, kRolloutCapability, kJoiningCapability};
constexpr std::string_view kModeWords[] = {"observe", "assist", "own", "default"};
constexpr ArgumentSpec kModeSetArguments[] = {
    {"CAPABILITY", "render, rollout or joining", true, false, one_of(kCapabilityWords)},
    {"MODE", "observe, assist, own, or default for the cluster's default", true, false, one_of(kModeWords)}};
constexpr std::string_view kDefaultMode = "default";

struct CapabilityModes {
  std::string_view name;
  api::Mode ClusterModes::* mode;
};
constexpr CapabilityModes kCapabilities[] = {{kRenderCapability, &ClusterModes::render},
                                             {kRolloutCapability, &ClusterModes::rollout},
                                             {kJoiningCapability, &ClusterModes::joining}};

/// What decides, read once.
struct ModeSources {
  std::optional<kube::Object> config;
  bool beside_other_manager = false;
};

Result<ModeSources> read_mode_sources(runtime::Runtime& runtime, kube::KubeApi& api, const kube::Call& call) {
  ModeSources sources;
  auto config = api.get(api::kStrakeConfig, {"", std::string(api::kStrakeConfigName)}, call);
  if (!config.ok() && config.error().code() != Code::kNotFound) {
    return Error(config.error()).context("reading StrakeConfig cluster");
  }
  if (config.ok()) sources.config = *std::move(config);
  controlplane::ClusterModesWatch watch(runtime, api);
  watch.start();
  const auto beside = watch.beside_other_manager(call);
  watch.stop();
  STRAKE_TRY(sources.beside_other_manager, beside);
  return sources;
}

std::string_view why_default(const ModeSources& sources) {
  return sources.beside_other_manager ? "default: a Machine Config Operator runs here"
                                      : "default: no Machine Config Operator runs here";
}

Result<int> run_mode_show(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const ModeSources sources, read_mode_sources(runtime, *api, call));
  const kube::Object* config = sources.config ? &*sources.config : nullptr;
  STRAKE_TRY(const ClusterModes modes, controlplane::decide_modes(config, sources.beside_other_manager));
  json::Object result;
  for (const CapabilityModes& capability : kCapabilities) {
    const std::string_view mode = api::to_string(modes.*capability.mode);
    bool is_set = false;
    if (config != nullptr) {
      STRAKE_TRY(const auto wished, api::StrakeConfigView(config->json()).mode(capability.name));
      is_set = wished.has_value();
    }
    if (as_json) {
      result[capability.name] = json::Object{{"mode", mode}, {"set", is_set}};
    } else {
      invocation.out().text(fmt::format("{:<8} {:<8} {}\n", capability.name, mode,
                                        is_set ? "set in StrakeConfig cluster" : why_default(sources)));
    }
  }
  if (as_json) invocation.out().document(json::write_pretty(result));
  return kExitOk;
}

/// What owning the render means for each pool: where both agree, nothing changes at all.
Status print_render_change(kube::KubeApi& api, const kube::Call& call, Output& out) {
  STRAKE_TRY(const machineconfig::ConfigSet set, read_config_cluster(api, call));
  for (const kube::ObjectPtr& pool : set.pools) {
    const std::string target = api::MachineConfigPoolView(pool->json()).target();
    const auto plan = machineconfig::render_pool(machineconfig::render_input(set, pool));
    if (!plan.ok()) {
      out.text(fmt::format("  pool {}: stays at {}; Strake refuses to render it: {}\n", pool->name(), target,
                           plan.error().to_string()));
    } else if (plan->rendered.name() == target) {
      out.text(fmt::format("  pool {}: stays at {}; both agree\n", pool->name(), target));
    } else {
      out.text(fmt::format("  pool {}: from {} to {}\n", pool->name(), target.empty() ? "nothing" : target,
                           plan->rendered.name()));
    }
  }
  return {};
}

Status print_rollout_change(kube::KubeApi& api, const kube::Call& call, Output& out) {
  STRAKE_TRY(const auto plan, rollout::read_cluster_plan(api, call));
  out.text(render_plan(plan));
  return {};
}

/// The next writes; what follows from them is not known before.
Status print_joining_change(kube::KubeApi& api, const kube::Call& call, Output& out) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  STRAKE_TRY(const stub::IdentityInput input, stub::read_identity(api, std::nullopt, now, call));
  const stub::IdentityPlan plan = stub::plan_identity(input);
  if (!plan.configured && plan.problems.empty()) out.text(fmt::format("  nothing: {}\n", stub::kNotConfiguredWords));
  for (const stub::IdentityProblem& problem : plan.problems) out.text(fmt::format("  {}\n", problem.to_string()));
  for (const stub::IdentityAction& action : plan.actions) out.text(fmt::format("  {}\n", action.what));
  return {};
}

Status write_mode(kube::KubeApi& api, const ModeSources& sources, std::string_view capability,
                  const std::optional<api::Mode>& mode, const kube::Call& call) {
  json::Value own = json::Object{};
  api::StrakeConfigEdit(own).set_mode(capability, mode);
  if (sources.config) {
    const auto patched = kube::merge_patch_own_fields(api, api::kStrakeConfig, *sources.config, own,
                                                      kube::IfChanged::kOverwrite, {}, call);
    return patched.ok() ? Status() : Status(patched.error());
  }
  if (!mode) return {};
  kube::Object config(api::kStrakeConfig, {"", std::string(api::kStrakeConfigName)});
  api::StrakeConfigEdit(config.json()).set_mode(capability, mode);
  const auto created = api.create(api::kStrakeConfig, config, {}, call);
  return created.ok() ? Status() : Status(created.error());
}

Result<int> run_mode_set(const Invocation& invocation) {
  const std::string& name = invocation.value("CAPABILITY");
  const auto* capability = std::ranges::find(kCapabilities, name, &CapabilityModes::name);
  if (capability == std::end(kCapabilities)) {
    return error(Code::kInvalidArgument, "'{}' is not a capability; known are render, rollout and joining", name);
  }
  std::optional<api::Mode> wished;
  if (const std::string& text = invocation.value("MODE"); text != kDefaultMode) {
    STRAKE_TRY(wished, api::parse_mode(text));
  }
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const ModeSources sources, read_mode_sources(runtime, *api, call));
  STRAKE_TRY(const ClusterModes before,
             controlplane::decide_modes(sources.config ? &*sources.config : nullptr, sources.beside_other_manager));
  const api::Mode fallback = sources.beside_other_manager ? api::Mode::kObserve : api::Mode::kOwn;
  const api::Mode from = before.*(capability->mode), to = wished.value_or(fallback);
  invocation.out().text(fmt::format("{}: {} -> {}\n", name, api::to_string(from), api::to_string(to)));
  if (from != to && to == api::Mode::kOwn) {
    if (sources.beside_other_manager) {
      invocation.out().warn(
          "a Machine Config Operator runs here; stop it first, or the two will write over each other");
    }
    if (name == kRenderCapability) STRAKE_CHECK_OK(print_render_change(*api, call, invocation.out()));
    if (name == kRolloutCapability) STRAKE_CHECK_OK(print_rollout_change(*api, call, invocation.out()));
    if (name == kJoiningCapability) STRAKE_CHECK_OK(print_joining_change(*api, call, invocation.out()));
  }
  if (invocation.is_set("dry-run")) return kExitOk;
  STRAKE_CHECK_OK(write_mode(*api, sources, name, wished, call));
  return kExitOk;
}

constexpr ExitMeaning kModeShowExits[] = {{kExitOk, "shown"}, kServerUnreachable};
constexpr ExitMeaning kModeSetExits[] = {{kExitOk, "set"}, kServerUnreachable};

}  // namespace

const CommandSpec kModeShowCommand{
    "mode show",
    "Show how far Strake may act in this cluster, for each capability.",
    "observe: not one write, only reports. assist: only what the platform leaves undone. own: all of it. Where nothing "
    "is set, the default is observe beside a Machine Config Operator and own without one.\n\n"
    "  strake mode show",
    {},
    kModeShowOptions,
    run_mode_show,
    kModeShowExits};

const CommandSpec kModeSetCommand{"mode set",
                                  "Say how far Strake may act, for one capability.",
                                  "Prints first what will change: for render the config each pool moves to (none, "
                                  "where Strake's render agrees with the platform's), for rollout what happens to "
                                  "every node, for joining what is written about certificates and stubs. Kept in "
                                  "StrakeConfig/cluster; running controllers follow.\n\n"
                                  "  strake mode set render own --dry-run",
                                  kModeSetArguments,
                                  kModeSetOptions,
                                  run_mode_set,
                                  kModeSetExits};

}  // namespace strake::cmd
