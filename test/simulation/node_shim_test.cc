// The kubelet's stand-in against the real store: how often it writes, and that nothing that changes waits for that.
#include "nodeshim/node_shim.h"

#include <gtest/gtest.h>

#include "api/conditions.h"
#include "simulation/counting_api.h"
#include "simulation/render_stage.h"

namespace strake::simulation::node_shim_test {

using namespace std::chrono_literals;

/// One node that is up, with a kubelet's stand-in that looks after it.
struct ShimStage : RenderStage {
  explicit ShimStage(runtime::Duration report_unchanged) : RenderStage(1) {
    start_process([this, report_unchanged](kube::KubeApi& inner, std::stop_token stop) {
      CountingApi api(inner);
      api.refuse = [this](std::string_view, const kube::Resource&) { return trouble; };
      counting = &api;
      nodeshim::NodeShimOptions options;
      options.identity = {"n", "worker", ""};
      options.report_unchanged = report_unchanged;
      options.on_failure = [this](const nodeshim::ReportFailure&) { ++failures; };
      nodeshim::NodeShim shim(simulation(), api, options);
      EXPECT_TRUE(shim.machine_up("boot-1", "", stop).ok());
      shim.heartbeat([this] { return health; }, stop);
      counting = nullptr;
    });
    EXPECT_TRUE(run_until([&] { return ready() == "True"; }));
  }

  std::string ready() {
    for (const kube::Object& node : list(kube::core::kNode)) {
      const auto condition = api::find_condition(node.json(), "Ready");
      return condition ? std::string(api::to_string(condition->status)) : "";
    }
    return "";
  }
  std::uint64_t writes_during(runtime::Duration time) {
    const std::uint64_t before = counting->writes();
    run_for(time);
    return counting->writes() - before;
  }

  CountingApi* counting = nullptr;
  Status health;
  std::optional<Error> trouble;
  int failures = 0;
};

TEST(NodeShim, SaysThatItLivesAsOftenAsItIsToldTo) {
  ShimStage often(10s), seldom(5min);
  EXPECT_NEAR(static_cast<double>(often.writes_during(20min)), 120, 2);
  EXPECT_NEAR(static_cast<double>(seldom.writes_during(20min)), 4, 1);
}

TEST(NodeShim, WhatChangesIsSaidAtTheNextLook) {
  ShimStage stage(5min);
  stage.health = error(Code::kCorrupt, "the record is damaged");
  stage.run_for(11s);
  EXPECT_EQ(stage.ready(), "False");
  EXPECT_LE(stage.writes_during(4min), 1u) << "and once";
  stage.health = error(Code::kCorrupt, "it is damaged in another way");
  EXPECT_EQ(stage.writes_during(11s), 1u);
  stage.health = {};
  stage.run_for(11s);
  EXPECT_EQ(stage.ready(), "True");
}

TEST(NodeShim, WhatDidNotReachTheServerIsSaidAgain) {
  ShimStage stage(5min);
  stage.trouble = error(Code::kUnavailable, "away");
  stage.health = error(Code::kCorrupt, "the record is damaged");
  stage.run_for(1min);
  EXPECT_GE(stage.failures, 5);
  EXPECT_EQ(stage.ready(), "True");
  stage.trouble.reset();
  stage.run_for(11s);
  EXPECT_EQ(stage.ready(), "False");
}

}  // namespace strake::simulation::node_shim_test
