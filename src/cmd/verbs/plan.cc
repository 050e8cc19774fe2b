#include <algorithm>

#include "api/controller_config.h"
#include "api/kinds.h"
#include "api/node_annotations.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/output/format.h"
#include "cmd/output/plan_text.h"

namespace strake::cmd {

namespace {

constexpr OptionSpec kPlanOptions[] = {
    {"pool", "NAME", "only this pool"}, kOutputOption, kKubeconfigOption, kContextOption, kTimeoutOption};

/// The release the cluster is on and who signed it; nullopt where nothing was published, or who asks may not see it.
Result<std::optional<json::Object>> present_release(kube::KubeApi& api, const kube::Call& call) {
  const auto config = api.get(api::kControllerConfig, {"", std::string(api::kControllerConfigName)}, call);
  const Code code = config.ok() ? Code::kInternal : config.error().code();
  if (code == Code::kNotFound || code == Code::kDenied) return std::optional<json::Object>();
  if (!config.ok()) return config.error();
  namespace annotation = api::config_annotation;
  const std::string version = config->annotation(annotation::kReleaseImageVersion).value_or("");
  if (version.empty()) return std::optional<json::Object>();
  return std::optional(
      json::Object{{"version", version},
                   {"image", api::ControllerConfigView(config->json()).release_image()},
                   {"signature", config->annotation(annotation::kReleaseSignature).value_or("not recorded")},
                   {"installedVersion", config->annotation(annotation::kInstalledVersion).value_or("")}});
}

std::string release_line(const json::Object& release) {
  const auto text = [&](std::string_view name) { return json::as_view(release.at(name).get_string()); };
  return fmt::format("release {}: {}\n", text("version"),
                     text("signature") == "not recorded" ? "who signed it was not recorded" : text("signature"));
}

Result<int> run_plan(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  STRAKE_TRY(auto plan, rollout::read_cluster_plan(*api, cluster_call(runtime, invocation)));
  if (const std::string& only = invocation.value("pool"); !only.empty()) {
    std::erase_if(plan.pools, [&](const rollout::PoolPlan& pool) { return pool.pool != only; });
    if (plan.pools.empty())
      return error(Code::kNotFound, "there is no pool '{}'; see `kubectl get machineconfigpools`", only);
  }
  STRAKE_TRY(const std::optional<json::Object> release, present_release(*api, cluster_call(runtime, invocation)));
  if (as_json) {
    json::Value document = render_plan_json(plan);
    document.get_object()["release"] = release ? json::Value(*release) : json::Value(nullptr);
    invocation.out().report(std::move(document));
    return kExitOk;
  }
  invocation.out().text((release ? release_line(*release) : "") + render_plan(plan));
  return kExitOk;
}

constexpr ExitMeaning kPlanExits[] = {{kExitOk, "the plan was made, whatever it says"}, kServerUnreachable};

}  // namespace

const CommandSpec kPlanCommand{
    "plan",
    "Show what will happen to every node, and why, before it happens.",
    "First the release the cluster is on, and who signed it. Per node: what the rollout does next (target, wait, "
    "updating, current, failing), what the change costs (none, "
    "reload, restart or reboot), the reasons, and what a waiting node waits for; per pool: what keeps it from getting "
    "on; and the nodes "
    "that no pool manages. It is the function the rollout itself acts on.\n\n"
    "  strake plan --pool worker",
    {},
    kPlanOptions,
    run_plan,
    kPlanExits};

}  // namespace strake::cmd
