#include "rollout/drain/drain_plan.h"

#include <gtest/gtest.h>

#include "api/node_annotations.h"
#include "kube/resource.h"

namespace strake::rollout::drain_plan_test {

api::DrainView node(std::string asked, bool schedulable, bool ours = false, std::string applied = "") {
  return {"n", std::move(asked), std::move(applied), schedulable, ours};
}
api::PodView pod(const std::string& name) {
  api::PodView view;
  view.key = {"default", name};
  return view;
}

TEST(DrainPlan, OneStepAtATime) {
  api::PodView leaving = pod("leaving"), mirror = pod("mirror"), daemon = pod("daemon");
  leaving.leaving = mirror.of_node = daemon.of_daemon = true;
  struct Case {
    api::DrainView node;
    std::vector<api::PodView> pods;
    DrainStep step;
    std::size_t evict = 0, left = 0;
  };
  const Case cases[] = {
      {node("", true), {}, DrainStep::kNothing},
      {node("drain-r", false, true, "drain-r"), {pod("a")}, DrainStep::kNothing},
      {node("drain-r", true), {}, DrainStep::kCordon},
      {node("drain-r", true, true), {}, DrainStep::kCordon},  // somebody opened it meanwhile
      {node("drain-r", false), {}, DrainStep::kEcho},
      {node("drain-r", false), {mirror, daemon}, DrainStep::kEcho},
      {node("drain-r", false), {pod("a"), mirror, daemon, leaving}, DrainStep::kEvict, 1, 1},
      {node("drain-r", false), {leaving, mirror}, DrainStep::kWait, 0, 1},
      {node("uncordon-r", false, true, "drain-r"), {}, DrainStep::kUncordon},
      {node("uncordon-r", false, false, "drain-r"), {}, DrainStep::kEcho},  // closed by somebody else
      {node("uncordon-r", true, false, "drain-r"), {}, DrainStep::kEcho},
      {node("explode-r", true), {}, DrainStep::kRefuse},
  };
  for (const Case& each : cases) {
    const DrainPlan plan = plan_drain(each.node, each.pods);
    EXPECT_EQ(to_string(plan.step), to_string(each.step)) << each.node.asked;
    EXPECT_EQ(plan.evict.size(), each.evict);
    EXPECT_EQ(plan.leaving.size(), each.left);
  }
  EXPECT_NE(plan_drain(node("uncordon-r", false), {}).note.find("somebody else"), std::string::npos);
}

TEST(DrainPlan, WhatIsReadOfANodeSurvivesTheReduction) {
  kube::Object full(kube::core::kNode, {"", "n"});
  json::ensure(full.json(), {"spec", "unschedulable"}) = true;
  full.set_annotation(api::node_annotation::kDesiredDrain, "drain-r");
  full.set_annotation(api::node_annotation::kLastAppliedDrain, "uncordon-q");
  full.set_annotation(api::node_annotation::kCordonedByStrake, "");
  full.set_annotation("other", "x");
  EXPECT_EQ(api::drain_view(api::slim_drain_node(full)), api::drain_view(full));
  EXPECT_EQ(api::drain_view(full), node("drain-r", false, true, "uncordon-q"));
  full.set_annotation(api::node_annotation::kDesiredDrain, "drain-" + std::string(2000, 'x'));
  EXPECT_EQ(api::drain_view(full).request(), api::DrainRequest::kNone);
}

}  // namespace strake::rollout::drain_plan_test
