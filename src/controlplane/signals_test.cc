#include "controlplane/signals.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/simulation.h"
#include "controlplane/advice.h"
#include "controlplane/metrics_server.h"
#include "net/http_client.h"

namespace strake::controlplane::signals_test {

using namespace std::chrono_literals;

struct Stage {
  std::string take() { return std::exchange(said, ""); }
  bool has(std::string_view line) {
    return ("\n" + signals.metrics_text()).find("\n" + std::string(line)) != std::string::npos;
  }

  sim::Simulation simulation{1};
  std::string said;
  log::Log log{simulation, {}, [this](std::string_view line) {
                 said += line;
                 return true;
               }};
  Signals signals{simulation, log};
  kube::Hooks hooks = signals.hooks();
};

TEST(Signals, AServerThatIsAwayIsSaidAtTheFirstFailureWithWhatToDo) {
  Stage stage;
  EXPECT_EQ(stage.signals.not_ready_because(), "the API server was not reached yet\n");
  const Error refused(Code::kUnavailable, "connection refused");
  for (unsigned i = 1; i <= 5; ++i) stage.hooks.on_informer_failure({kube::core::kNode, refused, i, 1s});
  const std::string said = stage.take();
  EXPECT_NE(
      said.find(
          R"(WARNING cannot read the API; what is known grows old resource=nodes error="connection refused" advice="check that the API server runs)"),
      std::string::npos)
      << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << "repeats are held back";
  EXPECT_TRUE(stage.has("strake_informer_failures_total{resource=\"nodes\"} 5"));
  EXPECT_TRUE(stage.has("strake_informers_failing 1"));
  EXPECT_NE(stage.signals.not_ready_because().find("cannot read nodes (5 failures in a row)"), std::string::npos);

  stage.hooks.on_informer_contact(kube::core::kNode);
  EXPECT_NE(stage.take().find("reading the API again resource=nodes after_failures=5"), std::string::npos);
  EXPECT_EQ(stage.signals.not_ready_because(), "");
  EXPECT_TRUE(stage.has("strake_informers_failing 0"));
  EXPECT_TRUE(stage.has("strake_informer_last_contact_timestamp_seconds{resource=\"nodes\"} 1767225600"));
  stage.hooks.on_informer_contact(kube::core::kNode);
  EXPECT_EQ(stage.take(), "") << "all is well: nothing to say";
}

TEST(Signals, AReconcileThatFailsIsALineAndANumberUntilItIsWell) {
  Stage stage;
  const std::string controller = "render";
  const kube::ObjectKey pool{"", "worker"};
  const Error refused(Code::kInvalidArgument, "unknown operator");
  stage.hooks.on_reconciled({controller, pool, 10ms, &refused, 1, 2});
  EXPECT_NE(stage.take().find("controller=render object=worker error=\"unknown operator\" failures=1"),
            std::string::npos);
  EXPECT_TRUE(stage.has("strake_reconciles_total{controller=\"render\",result=\"error\"} 1"));
  EXPECT_TRUE(stage.has("strake_failing_objects{controller=\"render\"} 1"));
  EXPECT_TRUE(stage.has("strake_queue_depth{controller=\"render\"} 2"));
  stage.hooks.on_reconciled({controller, pool, 10ms, nullptr, 0, 0});
  EXPECT_NE(stage.take().find("the object is well again controller=render object=worker"), std::string::npos);
  EXPECT_TRUE(stage.has("strake_failing_objects{controller=\"render\"} 0"));
  stage.hooks.on_reconciled({controller, pool, 10ms, nullptr, 0, 0});
  EXPECT_EQ(stage.take(), "");
}

TEST(Signals, LeaseAndStartAndPools) {
  Stage stage;
  ControllersOptions options;
  options.identity = "me";
  stage.signals.listen_to(options);
  stage.hooks.on_informer_contact(kube::core::kNode);
  options.on_failure(Error(Code::kDenied, "403").with_reason("Forbidden"), 1s);
  EXPECT_NE(stage.take().find("ERROR   the controllers cannot run error=403 advice=\"this identity lacks rights"),
            std::string::npos);
  EXPECT_EQ(stage.signals.not_ready_because(), "403\n");
  options.on_modes({});
  EXPECT_EQ(stage.signals.not_ready_because(), "");
  EXPECT_NE(stage.take().find("how far Strake may act render=observe rollout=observe"), std::string::npos);

  options.on_leader("me");
  EXPECT_TRUE(stage.has("strake_lease_held 1"));
  const kube::ObjectKey lease{"strake-system", "strake-controller"};
  options.on_lease_failure({lease, Error(Code::kConflict, "409"), 1, true});
  EXPECT_NE(stage.signals.not_ready_because().find("lease strake-system/strake-controller: 409"), std::string::npos);
  options.on_lease_recovered();
  EXPECT_EQ(stage.signals.not_ready_because(), "");
  options.on_pool({.pool = "worker", .degraded = true, .nodes = {{rollout::NodeAction::kFailing, 2}}});
  options.on_pool({.pool = "infra", .nodes = {{rollout::NodeAction::kFailing, 1}, {rollout::NodeAction::kCurrent, 4}}});
  EXPECT_TRUE(stage.has("strake_pools_degraded 1"));
  EXPECT_TRUE(stage.has("strake_nodes{action=\"failing\"} 3"));
  options.on_pool({.pool = "worker", .gone = true});
  EXPECT_TRUE(stage.has("strake_pools_degraded 0"));
  EXPECT_TRUE(stage.has("strake_nodes{action=\"failing\"} 1"));
  options.on_stopped_leading();
  EXPECT_TRUE(stage.has("strake_lease_held 0"));
  EXPECT_TRUE(stage.has("strake_nodes{action=\"current\"} 0")) << "who does not lead knows nothing of the nodes";
  stage.hooks.on_event_lost({kube::EventLoss::kQueueFull, "Node", "n1", "R", "m", nullptr});
  EXPECT_TRUE(stage.has("strake_events_lost_total{why=\"queue full\"} 1"));
  EXPECT_TRUE(stage.has("strake_log_lines_total{level=\"error\"} 1"));
}

TEST(Signals, TroubleOfTheStoreNamesFileAndPage) {
  Stage stage;
  const apistore::ProblemHook hook = stage.signals.store_hook();
  hook({"store sweeper", Error(Code::kIo, "disk full"), std::nullopt});
  EXPECT_NE(stage.take().find("ERROR   the API server is in trouble part=\"store sweeper\" error=\"disk full\""),
            std::string::npos);
  hook({"store", Error(Code::kCorrupt, "damaged"), apistore::StoreDamage{"/s/db/state.db", 7, "wrong bytes"}});
  const std::string said = stage.take();
  EXPECT_NE(said.find("/s/db/state.db"), std::string::npos) << said;
  EXPECT_TRUE(stage.has("strake_store_problems_total{part=\"store\"} 1"));
}

TEST(Signals, WhatKeepsAPoolIsALineAndANumberWhileItLasts) {
  Stage stage;
  ControllersOptions options;
  options.identity = "us";
  stage.signals.listen_to(options);
  rollout::PoolReport report{.pool = "worker", .degraded = true};
  report.troubles = {{rollout::TroubleKind::kInvalidMaxUnavailable, "spec.maxUnavailable is \"40 %\""}};
  options.on_pool(report);
  options.on_pool(report);
  EXPECT_TRUE(stage.has("strake_pool_troubles{reason=\"InvalidMaxUnavailable\"} 1"));
  EXPECT_TRUE(stage.has("strake_log_lines_total{level=\"warning\"} 1")) << "said once";
  report.troubles.clear();
  options.on_pool(report);
  EXPECT_TRUE(stage.has("strake_pool_troubles{reason=\"InvalidMaxUnavailable\"} 0"));
  options.on_render({"worker", machineconfig::RenderReport::Outcome::kRefused, "RenderRefused", "60-bad: no path"});
  EXPECT_TRUE(stage.has("strake_render_troubles_total{outcome=\"refused\"} 1"));
  EXPECT_TRUE(stage.has("strake_log_lines_total{level=\"warning\"} 2"));
  options.on_generate({"KubeletConfig small", "spec.kubeletConfig.maxPods: 2.5 is not a whole number"});
  EXPECT_TRUE(stage.has("strake_generate_refusals_total 1"));
  EXPECT_TRUE(stage.has("strake_log_lines_total{level=\"warning\"} 3"));
}

TEST(Signals, AnAgentThatFailsIsALineAndANumberUntilItIsWell) {
  Stage stage;
  MachineOptions machine;
  machine.identity.name = "worker-1";
  stage.signals.listen_to(machine);
  const Error broken(Code::kCorrupt, "the OS record is damaged");
  for (unsigned i = 1; i <= 3; ++i) machine.on_broken(broken, i, 1s);
  const std::string said = stage.take();
  EXPECT_NE(said.find(R"(node=worker-1 doing=starting error="the OS record is damaged")"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_TRUE(stage.has(R"(strake_agent_failures_in_a_row{node="worker-1"} 3)")) << stage.signals.metrics_text();
  machine.agent.hooks.on_failure({agent::Doing::kApplying, Error(Code::kDenied, "Read-only file system"), 4, 1s});
  EXPECT_NE(stage.take().find("doing=applying error=\"Read-only file system\""), std::string::npos);
  machine.on_report_failure({Error(Code::kUnavailable, "connection refused"), 1, 1s});
  EXPECT_NE(stage.take().find("check that the API server runs"), std::string::npos);
  machine.agent.hooks.on_well();
  EXPECT_NE(stage.take().find("is well again"), std::string::npos);
  EXPECT_TRUE(stage.has(R"(strake_agent_failures_in_a_row{node="worker-1"} 0)"));
}

TEST(Signals, EveryWayAServerRefusesHasItsOwnAdvice) {
  std::set<std::string_view> advice;
  for (const Code code : {Code::kUnavailable, Code::kTimeout, Code::kUnauthenticated, Code::kDenied, Code::kNotFound,
                          Code::kExhausted, Code::kInternal}) {
    EXPECT_TRUE(advice.insert(advice_for(Error(code, "x"))).second) << to_string(code);
  }
  EXPECT_TRUE(advice.insert(advice_for(Error(Code::kDenied, "x").with_reason("Forbidden"))).second);
  EXPECT_FALSE(advice.contains(""));
}

TEST(MetricsServer, ServesMetricsHealthAndReadinessOnTheLoopbackOnly) {
  Stage stage;
  const auto server = MetricsServer::start("127.0.0.1", 0, stage.signals);
  ASSERT_TRUE(server.ok()) << server.error().to_string();
  net::ClientOptions client_options;
  client_options.proxy = net::ProxySettings{};
  const auto client = net::HttpClient::create(client_options);
  ASSERT_TRUE(client.ok());
  const auto get = [&](std::string_view path) {
    const auto response = client->send({"GET", fmt::format("http://127.0.0.1:{}{}", (*server)->port(), path), {}, {}});
    return response.ok() ? fmt::format("{} {}", response->status, response->body) : response.error().to_string();
  };
  EXPECT_EQ(get("/healthz"), "200 ok\n");
  EXPECT_EQ(get("/readyz"), "503 the API server was not reached yet\n");
  stage.hooks.on_informer_contact(kube::core::kNode);
  EXPECT_EQ(get("/readyz"), "200 ok\n");
  EXPECT_NE(get("/metrics").find("strake_log_lines_total{level=\"info\"} 0\n"), std::string::npos);
  EXPECT_TRUE(get("/secrets").starts_with("404 "));
  EXPECT_FALSE(MetricsServer::start("0.0.0.0", 0, stage.signals).ok());
}

}  // namespace strake::controlplane::signals_test
