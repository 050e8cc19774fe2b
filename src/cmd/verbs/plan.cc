#include <algorithm>
#include <cstdio>

#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/output/plan_text.h"

namespace strake::cmd {

namespace {

using namespace std::chrono_literals;

constexpr OptionSpec kPlanOptions[] = {
    {"pool", "NAME", "only this pool"}, kOutputOption, kKubeconfigOption, kContextOption};

Result<int> run_plan(const Invocation& invocation) {
  STRAKE_TRY(const bool as_json, wants_json(invocation));
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  STRAKE_TRY(auto plan, rollout::read_cluster_plan(*api, runtime.call_within(1min, invocation.stop)));
  if (const std::string& only = invocation.value("pool"); !only.empty()) {
    std::erase_if(plan.pools, [&](const rollout::PoolPlan& pool) { return pool.pool != only; });
    if (plan.pools.empty())
      return error(Code::kNotFound, "there is no pool '{}'; see `kubectl get machineconfigpools`", only);
  }
  const std::string text = as_json ? json::write_pretty(render_plan_json(plan)) : render_plan(plan);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitOk;
}

}  // namespace

const CommandSpec kPlanCommand{
    "plan",
    "Show what will happen to every node, and why, before it happens.",
    "Per node: what the rollout does next (target, wait, updating, current, failing), what the change costs (none or "
    "reboot), the\n"
    "reasons, and what a waiting node waits for; per pool: what keeps it from getting on; and the nodes that no pool "
    "manages. "
    "It is the function the rollout itself acts on.\n\n"
    "Exit codes: 0 always when the plan could be made, 1 error.",
    {},
    kPlanOptions,
    run_plan};

}  // namespace strake::cmd
