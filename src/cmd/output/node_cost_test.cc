#include "cmd/output/node_cost.h"

#include <gtest/gtest.h>

namespace strake::cmd::node_cost_test {

rollout::NodePlan planned(const std::string& name, machineconfig::DisruptionClass disruption) {
  api::NodeView view;
  view.name = name;
  machineconfig::Consequence consequence;
  consequence.disruption = disruption;
  rollout::NodePlan plan;
  plan.node = std::make_shared<const api::NodeView>(std::move(view));
  plan.consequence = std::make_shared<const machineconfig::Consequence>(std::move(consequence));
  return plan;
}

rollout::PoolPlan pool_of(const std::string& name, const std::string& target, std::vector<rollout::NodePlan> nodes) {
  rollout::PoolPlan pool;
  pool.pool = name;
  pool.target = target;
  pool.max_unavailable = 2;
  pool.nodes = std::move(nodes);
  return pool;
}

using machineconfig::DisruptionClass;

TEST(NodeCost, CountsTheNodesThatAreBoundForSomethingElse) {
  rollout::ClusterPlan plan;
  plan.pools.push_back(pool_of("worker", "w2",
                               {planned("a", DisruptionClass::kReboot), planned("b", DisruptionClass::kReload),
                                planned("c", DisruptionClass::kReboot)}));
  plan.pools.push_back(
      pool_of("infra", "i1", {planned("moved", DisruptionClass::kReboot), planned("there", DisruptionClass::kReboot)}));
  plan.strays = {{"lost"}, {"never had one"}};
  const Destinations before{{"a", "worker w1"},     {"b", "worker w1"},    {"c", "worker w2"},
                            {"moved", "worker w1"}, {"there", "infra i1"}, {"lost", "worker w1"}};
  ClusterCost cost = cost_in_nodes(plan, before);
  EXPECT_EQ(to_text(cost),
            "pool infra: 1 of 2 nodes change (1 reboot), 1 at once: moved\n"
            "pool worker: 2 of 3 nodes change (1 reboot, 1 reload), 2 at once: a, b\n"
            "no pool takes lost any more: no update reaches it\n");
  EXPECT_EQ(json::write(to_json(cost.pools).at(0)),
            R"({"pool":"infra","paused":false,"nodes":2,"maxUnavailable":2,"atOnce":1,)"
            R"("changing":[{"name":"moved","class":"reboot","actions":[],"reasons":[]}]})");
  cost.pools.front().paused = true;
  EXPECT_NE(to_text(cost).find("pool infra: paused, so nothing happens until it is resumed; then 1 of 2 nodes"),
            std::string::npos);
}

TEST(NodeCost, NamesTheFirstFewInTextAndAllInJson) {
  std::vector<rollout::NodePlan> many;
  for (int i = 0; i < 1000; ++i) many.push_back(planned(fmt::format("n{:03}", i), DisruptionClass::kReboot));
  rollout::ClusterPlan plan;
  plan.pools.push_back(pool_of("worker", "w2", std::move(many)));
  const ClusterCost cost = cost_in_nodes(plan, {});
  EXPECT_NE(to_text(cost).find("n007 and 992 more\n"), std::string::npos) << to_text(cost);
  EXPECT_EQ(json::find(to_json(cost.pools).at(0), {"changing"})->get_array().size(), 1000u);
}

}  // namespace strake::cmd::node_cost_test
