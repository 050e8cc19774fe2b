#include <algorithm>

#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/output/format.h"
#include "cmd/output/plan_text.h"

namespace strake::cmd {

namespace {

constexpr OptionSpec kPlanOptions[] = {
    {"pool", "NAME", "only this pool"}, kOutputOption, kKubeconfigOption, kContextOption, kTimeoutOption};

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
  as_json ? invocation.out().document(json::write_pretty(render_plan_json(plan)))
          : invocation.out().text(render_plan(plan));
  return kExitOk;
}

constexpr ExitMeaning kPlanExits[] = {{kExitOk, "the plan was made, whatever it says"}, kServerUnreachable};

}  // namespace

const CommandSpec kPlanCommand{
    "plan",
    "Show what will happen to every node, and why, before it happens.",
    "Per node: what the rollout does next (target, wait, updating, current, failing), what the change costs (none, "
    "reload, restart or reboot), the reasons, and what a waiting node waits for; per pool: what keeps it from getting "
    "on; and the nodes "
    "that no pool manages. It is the function the rollout itself acts on.\n\n"
    "  strake plan --pool worker",
    {},
    kPlanOptions,
    run_plan,
    kPlanExits};

}  // namespace strake::cmd
