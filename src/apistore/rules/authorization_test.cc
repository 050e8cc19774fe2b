#include "apistore/rules/authorization.h"

#include <gtest/gtest.h>

#include "apistore/testing/test_service.h"

namespace strake::apistore::authorization_test {

const Caller kAdmin{"root", {"system:masters"}};
const Caller kViewer{"eve", {"strake:viewers"}};
const Caller kAgent{"strake:agent:a", {"strake:agents"}};
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
  EXPECT_EQ(authorize(*one.caller, one.access).ok(), one.allowed);
}

INSTANTIATE_TEST_SUITE_P(
    Roles, Authorization,
    ::testing::Values(
        AccessCase{"AdminWritesSecrets", &kAdmin, {"delete", "", "secrets", "", "ns", "s"}, true},
        AccessCase{"ViewerLists", &kViewer, {"list", "", "nodes", "", "", ""}, true},
        AccessCase{"ViewerSeesNoSecrets", &kViewer, {"get", "", "secrets", "", "ns", "s"}, false},
        AccessCase{"ViewerWritesNothing", &kViewer, {"patch", "", "nodes", "", "", "a"}, false},
        AccessCase{"NobodyReadsNothing", &kNobody, {"get", "", "nodes", "", "", "a"}, false},
        AccessCase{"AgentReadsItsNode", &kAgent, {"get", "", "nodes", "", "", "a"}, true},
        AccessCase{"AgentWatchesItsNodeByName", &kAgent, {"watch", "", "nodes", "", "", "a"}, true},
        AccessCase{"AgentListsNotAllNodes", &kAgent, {"list", "", "nodes", "", "", ""}, false},
        AccessCase{"AgentReadsNoOtherNode", &kAgent, {"get", "", "nodes", "", "", "b"}, false},
        AccessCase{"AgentPatchesItsNode", &kAgent, {"patch", "", "nodes", "", "", "a"}, true},
        AccessCase{"AgentPatchesItsStatus", &kAgent, {"patch", "", "nodes", "status", "", "a"}, true},
        AccessCase{"AgentPatchesNoOtherNode", &kAgent, {"patch", "", "nodes", "status", "", "b"}, false},
        AccessCase{"AgentDeletesNotItsNode", &kAgent, {"delete", "", "nodes", "", "", "a"}, false},
        AccessCase{
            "AgentGetsConfigsByName", &kAgent, {"get", kConfigGroup, "machineconfigs", "", "", "rendered-x"}, true},
        AccessCase{"AgentListsNoConfigs", &kAgent, {"list", kConfigGroup, "machineconfigs", "", "", ""}, false},
        AccessCase{"AgentReadsPools", &kAgent, {"watch", kConfigGroup, "machineconfigpools", "", "", ""}, true},
        AccessCase{
            "AgentWritesNoPools", &kAgent, {"update", kConfigGroup, "machineconfigpools", "", "", "worker"}, false},
        AccessCase{"AgentWritesItsMachineConfigNode",
                   &kAgent,
                   {"update", kConfigGroup, "machineconfignodes", "status", "", "a"},
                   true},
        AccessCase{
            "AgentWritesNoOther", &kAgent, {"update", kConfigGroup, "machineconfignodes", "status", "", "b"}, false},
        AccessCase{"AgentRenewsItsLease",
                   &kAgent,
                   {"update", "coordination.k8s.io", "leases", "", "kube-node-lease", "a"},
                   true},
        AccessCase{"AgentRenewsNoOtherLease",
                   &kAgent,
                   {"update", "coordination.k8s.io", "leases", "", "kube-node-lease", "b"},
                   false},
        AccessCase{"AgentTakesNoLeaderLease",
                   &kAgent,
                   {"create", "coordination.k8s.io", "leases", "", "kube-system", "a"},
                   false},
        AccessCase{"AgentReportsEvents", &kAgent, {"create", "", "events", "", "default", ""}, true},
        AccessCase{
            "AgentTrustsNoReleases", &kAgent, {"patch", "strake.dev", "strakeconfigs", "", "", "cluster"}, false},
        AccessCase{
            "ViewerTrustsNoReleases", &kViewer, {"patch", "strake.dev", "strakeconfigs", "", "", "cluster"}, false},
        AccessCase{"AgentReadsNoSecrets", &kAgent, {"get", "", "secrets", "", "default", "s"}, false},
        AccessCase{"AgentEvictsNobody", &kAgent, {"create", "", "pods", "eviction", "default", "p"}, false}),
    [](const auto& which) { return which.param.name; });

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

TEST(AuthorizationOfAgents, ChangesOnlyItsOwnKeysAndStatus) {
  const Access access{"patch", "", "nodes", "", "", "a"};
  const json::Value before = testkit::parse(R"({"metadata":{"name":"a","labels":{"role":"w"},
      "annotations":{"x":"1","machineconfiguration.openshift.io/state":"Done"}},"spec":{"taints":[]},"status":{}})");
  const auto allowed = [&](std::string_view after) {
    const json::Value value = testkit::parse(after);
    return authorize(kAgent, access, &before, &value).ok();
  };
  EXPECT_TRUE(allowed(R"({"metadata":{"name":"a","labels":{"role":"w","machineconfiguration.openshift.io/x":"1"},
      "annotations":{"x":"1"}},"spec":{"taints":[]},"status":{"phase":"x"}})"));
  EXPECT_FALSE(
      allowed(R"({"metadata":{"name":"a","labels":{"role":"master"},"annotations":{"x":"1"}},"spec":{"taints":[]}})"));
  EXPECT_FALSE(allowed(R"({"metadata":{"name":"a","labels":{"role":"w"},"annotations":{}},"spec":{"taints":[]}})"));
  EXPECT_FALSE(allowed(
      R"({"metadata":{"name":"a","labels":{"role":"w"},"annotations":{"x":"1"}},"spec":{"unschedulable":true}})"));
  EXPECT_FALSE(allowed(
      R"({"metadata":{"name":"a","labels":{"role":"w"},"annotations":{"x":"1"},"finalizers":["f"]},"spec":{"taints":[]}})"));
}

TEST(AuthorizationOfAgents, SpeaksOfItsOwnNodeOnly) {
  const Access access{"create", "", "events", "", "default", "e"};
  const json::Value own = testkit::parse(R"({"involvedObject":{"kind":"Node","name":"a"}})");
  const json::Value other = testkit::parse(R"({"involvedObject":{"kind":"Node","name":"b"}})");
  EXPECT_TRUE(authorize(kAgent, access, nullptr, &own).ok());
  EXPECT_FALSE(authorize(kAgent, access, nullptr, &other).ok());
}

}  // namespace strake::apistore::authorization_test
