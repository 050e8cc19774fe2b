#include "apistore/rules/authorization.h"

#include <gtest/gtest.h>

#include "apistore/testing/test_service.h"

namespace strake::apistore::authorization_test {

const Caller kAdmin{"root", {"system:masters"}};
const Caller kViewer{"eve", {"strake:viewers"}};
const Caller kAuditor{"sue", {"strake:viewers", "strake:config-viewers"}};
const Caller kAgent = Caller::agent("a");
const Caller kKubelet = Caller::kubelet("a");
const Caller kNobody{"joe", {"users"}};
constexpr const char* kConfigGroup = "machineconfiguration.openshift.io";

struct AccessCase {
  const char* name;
  const Caller* caller;
  Access access;
  bool allowed;
};

class Authorization : public ::testing::TestWithParam<AccessCase> {};

TEST_P(Authorization, Table) {
  const AccessCase& one = GetParam();
  EXPECT_EQ(authorize(*one.caller, one.access, {nullptr, nullptr, {"rendered-a"}}).ok(), one.allowed);
}

// The whole table, run on both servers, is test/integration/rights_table_test.cc.
INSTANTIATE_TEST_SUITE_P(
    Roles, Authorization,
    ::testing::Values(
        AccessCase{"AdminWritesSecrets", &kAdmin, {"delete", "", "secrets", "", "ns", "s"}, true},
        AccessCase{"ViewerLists", &kViewer, {"list", "", "nodes", "", "", ""}, true},
        AccessCase{"ViewerSeesNoSecrets", &kViewer, {"get", "", "secrets", "", "ns", "s"}, false},
        AccessCase{"ViewerSeesNoConfigs", &kViewer, {"get", kConfigGroup, "machineconfigs", "", "", "c"}, false},
        AccessCase{"ViewerSeesNoUnknownKinds", &kViewer, {"get", "example.com", "widgets", "", "", "w"}, false},
        AccessCase{"AuditorSeesConfigs", &kAuditor, {"list", kConfigGroup, "machineconfigs", "", "", ""}, true},
        AccessCase{"AuditorSeesNoSecrets", &kAuditor, {"get", "", "secrets", "", "ns", "s"}, false},
        AccessCase{"ViewerWritesNothing", &kViewer, {"patch", "", "nodes", "", "", "a"}, false},
        AccessCase{"NobodyReadsNothing", &kNobody, {"get", "", "nodes", "", "", "a"}, false},
        AccessCase{"AgentReadsItsNode", &kAgent, {"get", "", "nodes", "", "", "a"}, true},
        AccessCase{"AgentWatchesItsNodeByName", &kAgent, {"watch", "", "nodes", "", "", "a"}, true},
        AccessCase{"AgentListsNotAllNodes", &kAgent, {"list", "", "nodes", "", "", ""}, false},
        AccessCase{"AgentReadsNoOtherNode", &kAgent, {"get", "", "nodes", "", "", "b"}, false},
        AccessCase{"AgentPatchesNotItsNode", &kAgent, {"patch", "", "nodes", "", "", "a"}, false},
        AccessCase{"AgentPatchesItsStatus", &kAgent, {"patch", "", "nodes", "status", "", "a"}, true},
        AccessCase{"AgentReplacesNotItsStatus", &kAgent, {"update", "", "nodes", "status", "", "a"}, false},
        AccessCase{"AgentPatchesNoOtherNode", &kAgent, {"patch", "", "nodes", "status", "", "b"}, false},
        AccessCase{"AgentMakesNoNode", &kAgent, {"create", "", "nodes", "", "", "a"}, false},
        AccessCase{"AgentGetsItsConfig", &kAgent, {"get", kConfigGroup, "machineconfigs", "", "", "rendered-a"}, true},
        AccessCase{"AgentGetsNoOther", &kAgent, {"get", kConfigGroup, "machineconfigs", "", "", "rendered-b"}, false},
        AccessCase{"AgentListsNoConfigs", &kAgent, {"list", kConfigGroup, "machineconfigs", "", "", ""}, false},
        AccessCase{"AgentReadsNoPools", &kAgent, {"watch", kConfigGroup, "machineconfigpools", "", "", ""}, false},
        AccessCase{"AgentReadsThePolicy",
                   &kAgent,
                   {"get", "operator.openshift.io", "machineconfigurations", "", "", "cluster"},
                   true},
        AccessCase{
            "AgentTakesNoLease", &kAgent, {"create", "coordination.k8s.io", "leases", "", "strake-system", "a"}, false},
        AccessCase{"AgentFillsNoEvents", &kAgent, {"create", "", "events", "", "default", ""}, false},
        AccessCase{
            "AgentTrustsNoReleases", &kAgent, {"patch", "strake.dev", "strakeconfigs", "", "", "cluster"}, false},
        AccessCase{
            "ViewerTrustsNoReleases", &kViewer, {"patch", "strake.dev", "strakeconfigs", "", "", "cluster"}, false},
        AccessCase{"AgentEvictsNobody", &kAgent, {"create", "", "pods", "eviction", "default", "p"}, false},
        AccessCase{"KubeletMakesItsNode", &kKubelet, {"create", "", "nodes", "", "", "a"}, true},
        AccessCase{"KubeletMakesNoOther", &kKubelet, {"create", "", "nodes", "", "", "b"}, false},
        AccessCase{
            "KubeletReadsNoConfig", &kKubelet, {"get", kConfigGroup, "machineconfigs", "", "", "rendered-a"}, false}),
    [](const auto& which) { return which.param.name; });

TEST(AuthorizationOfNames, APrefixIsNoName) {
  EXPECT_FALSE(authorize({"strake:agent:", {"strake:agents"}}, {"get", "", "nodes", "", "", ""}).ok());
  EXPECT_FALSE(authorize({"system:node:a", {"strake:agents"}}, {"create", "", "nodes", "", "", "a"}).ok());
}

TEST(AuthorizationWords, AreThoseOfARealServer) {
  const Status cluster = authorize(kAgent, {"patch", "", "nodes", "", "", "b"});
  EXPECT_EQ(cluster.error().code(), Code::kDenied);
  EXPECT_EQ(cluster.error().reason(), "Forbidden");
  EXPECT_EQ(
      cluster.error().to_string(),
      R"(nodes "b" is forbidden: User "strake:agent:a" cannot patch resource "nodes" in API group "" at the cluster scope)");
  const Status named = authorize(kNobody, {"list", "policy", "poddisruptionbudgets", "", "db", ""});
  EXPECT_EQ(named.error().to_string(), R"(poddisruptionbudgets.policy is forbidden: User "joe" cannot list resource )"
                                       R"("poddisruptionbudgets" in API group "policy" in the namespace "db")");
}

/// A Node with one thing changed in `now`, or as it is.
std::string node_with(std::string_view annotations, std::string_view more = "") {
  return fmt::format(R"({{"metadata":{{"name":"a","labels":{{"role":"w"}},"annotations":{{"x":"1",{}}}{}}}}})",
                     annotations, more);
}

TEST(AuthorizationOfAgents, ReportsAndNothingElse) {
  const std::string mco = "machineconfiguration.openshift.io/";
  const std::string given = fmt::format(R"("{0}currentConfig":"c1","{0}desiredConfig":"c2","{0}state":"Working")", mco);
  const json::Value before = testkit::parse(node_with(given));
  const auto allowed = [&](std::string_view after) {
    const json::Value value = testkit::parse(after);
    return authorize(kAgent, {"patch", "", "nodes", "status", "", "a"}, {&before, &value}).ok();
  };
  const auto annotations = [&](std::string_view key, std::string_view from, std::string_view to) {
    std::string text = given;
    const std::string old = fmt::format(R"("{}{}":"{}")", mco, key, from);
    const std::string now = fmt::format(R"("{}{}":"{}")", mco, key, to);
    if (const auto at = text.find(old); at == std::string::npos) {
      text += "," + now;
    } else {
      text.replace(at, old.size(), now);
    }
    return node_with(text);
  };
  EXPECT_TRUE(allowed(annotations("state", "Working", "Done")));
  EXPECT_TRUE(allowed(annotations("reason", "", "because")));
  EXPECT_TRUE(allowed(annotations("currentConfig", "c1", "c2")));
  EXPECT_TRUE(allowed(node_with(given + R"(,"strake.dev/executed-class":"none")")));
  EXPECT_FALSE(allowed(annotations("currentConfig", "c1", "rendered-master-1"))) << "it would be readable then";
  EXPECT_FALSE(allowed(annotations("reason", "", std::string(4001, 'x'))));
  EXPECT_FALSE(allowed(annotations("desiredConfig", "c2", "c3")));
  for (const char* foreign : {"desiredImage", "currentImage", "desiredDrain", "lastAppliedDrain", "firstPivotConfig",
                              "controlPlaneTopology", "customPoolLabelsApplied"}) {
    EXPECT_FALSE(allowed(annotations(foreign, "", "x"))) << foreign;
  }
  EXPECT_FALSE(allowed(node_with(given + R"(,"strake.dev/planned-class":"none")")));
  EXPECT_FALSE(allowed(node_with(given, R"(,"finalizers":["f"])")));
  EXPECT_FALSE(allowed(node_with(given, R"(,"ownerReferences":[{"uid":"u"}])")));
  std::string labelled = node_with(given);
  labelled.replace(labelled.find(R"("w")"), 3, R"("m")");
  EXPECT_FALSE(allowed(labelled));
  EXPECT_FALSE(allowed(R"({"metadata":{"name":"a","labels":{"role":"w"}}})")) << "nor may it take annotations away";
}

TEST(AuthorizationOfKubelets, ReportTheStatusOnly) {
  const json::Value bare = testkit::parse(R"({"metadata":{"name":"a"}})");
  const json::Value ready = testkit::parse(R"({"metadata":{"name":"a"},"status":{"phase":"x"}})");
  const json::Value marked = testkit::parse(
      R"({"metadata":{"name":"a","annotations":{"machineconfiguration.openshift.io/desiredConfig":"c"}}})");
  const Access make{"create", "", "nodes", "", "", "a"};
  const Access report{"patch", "", "nodes", "status", "", "a"};
  EXPECT_TRUE(authorize(kKubelet, make, {nullptr, &bare}).ok());
  EXPECT_FALSE(authorize(kKubelet, make, {nullptr, &marked}).ok());
  EXPECT_TRUE(authorize(kKubelet, report, {&bare, &ready}).ok());
  EXPECT_FALSE(authorize(kKubelet, report, {&bare, &marked}).ok());
}

}  // namespace strake::apistore::authorization_test
