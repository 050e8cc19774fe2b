// Conformance: what Kubernetes' own kinds do beyond their schemas: evictions, leases, events, immutable data.
#include "conformance.h"
#include "kube/events.h"

namespace strake::conformance {
namespace {

using kube::PatchType;
using kube::core::kConfigMap;
using kube::core::kEvent;
using kube::core::kLease;
using kube::core::kNode;
using kube::core::kPod;
using kube::core::kPodDisruptionBudget;
using kube::core::kSecret;

class BuiltinConformance : public ConformanceTest {
 protected:
  void create_ready_pod(const std::string& name) {
    create_pod(name, R"({"metadata": {"labels": {"app": "guarded"}}})");
    expect_ok(try_patch(kPod, name, PatchType::kStrategic, R"({"status": {"phase": "Running", "conditions": [
        {"type": "Ready", "status": "True"}]}})",
                        {.subresource = "status"}));
  }
  /// The budget's controller has counted: so many more may go.
  bool budget_allows(std::int64_t pods) {
    return eventually([&] {
      const kube::Object budget = get(kPodDisruptionBudget, "budget");
      return json::find_int(budget.json(), {"status", "disruptionsAllowed"}) == pods &&
             json::find_int(budget.json(), {"status", "observedGeneration"}) == budget.generation();
    });
  }
  Status evict(const std::string& pod, const kube::DeleteOptions& options = {}) {
    return api().evict({ns(), pod}, options, call());
  }
};
INSTANTIATE_TEST_SUITE_P(On, BuiltinConformance, kAllBackends, backend_name);

TEST_P(BuiltinConformance, EvictionsKeepToTheBudget) {
  create_ready_pod("a");
  create_ready_pod("b");
  create(kPodDisruptionBudget, "budget",
         R"({"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}})");
  ASSERT_TRUE(budget_allows(1));
  expect_ok(evict("a", {.dry_run = true}));
  EXPECT_TRUE(exists(kPod, "a"));
  expect_ok(evict("a"));
  EXPECT_FALSE(exists(kPod, "a"));
  ASSERT_TRUE(budget_allows(0));
  expect_refused(evict("b"), Code::kExhausted, "TooManyRequests",
                 {"Cannot evict pod as it would violate the pod's disruption budget.",
                  "The disruption budget budget needs 1 healthy pods and has 1 currently"});
  EXPECT_TRUE(exists(kPod, "b"));

  expect_ok(try_patch(kPodDisruptionBudget, "budget", PatchType::kMerge, R"({"spec": {"minAvailable": 0}})"));
  ASSERT_TRUE(budget_allows(1));
  expect_ok(evict("b"));
  EXPECT_FALSE(exists(kPod, "b"));
}

TEST_P(BuiltinConformance, EvictionsOfOtherPods) {
  expect_refused(evict("none"), Code::kNotFound, "NotFound", {"pods \"none\" not found"});
  create_pod("free");
  expect_ok(evict("free"));
  EXPECT_FALSE(exists(kPod, "free"));
  create(kPodDisruptionBudget, "budget",
         R"({"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}})");
  create_pod("pending", R"({"metadata": {"labels": {"app": "guarded"}}})");
  expect_ok(evict("pending"));
  EXPECT_FALSE(exists(kPod, "pending")) << "a pod that does not run yet is no disruption";
}

TEST_P(BuiltinConformance, BudgetsAreChecked) {
  expect_refused(try_create(kPodDisruptionBudget, make(kPodDisruptionBudget, "both",
                                                       R"({"spec": {"minAvailable": 1, "maxUnavailable": 1}})")),
                 Code::kInvalidArgument, "Invalid", {"minAvailable and maxUnavailable cannot be both set"});
  expect_refused(
      try_create(kPodDisruptionBudget, make(kPodDisruptionBudget, "negative", R"({"spec": {"minAvailable": -1}})")),
      Code::kInvalidArgument, "Invalid", {"spec.minAvailable: Invalid value"});
}

TEST_P(BuiltinConformance, ALeaseHasOneWinner) {
  const kube::Object lease = create(kLease, "l", R"({"spec": {"holderIdentity": "nobody", "leaseDurationSeconds": 15,
      "renewTime": "2026-01-02T03:04:05.123456Z", "leaseTransitions": 1}})");
  EXPECT_EQ(lease.text({"spec", "renewTime"}), "2026-01-02T03:04:05.123456Z");
  constexpr int kCandidates = 5;
  std::vector<Result<kube::Object>> answers(kCandidates, error(Code::kInternal, "not asked"));
  std::vector<runtime::Task> candidates;
  for (int i = 0; i < kCandidates; ++i) {
    candidates.push_back(runtime().spawn("candidate", [&, i](const std::stop_token&) {
      kube::Object mine = lease;
      json::ensure(mine.json(), {"spec", "holderIdentity"}) = fmt::format("candidate-{}", i);
      answers[static_cast<std::size_t>(i)] = try_update(kLease, mine);
    }));
  }
  for (runtime::Task& candidate : candidates) candidate.join();
  const std::string holder = get(kLease, "l").text({"spec", "holderIdentity"});
  int winners = 0;
  for (const auto& answer : answers) {
    if (answer.ok()) {
      ++winners;
      EXPECT_EQ(answer->text({"spec", "holderIdentity"}), holder);
    } else {
      expect_refused(answer, Code::kConflict, "Conflict", {"the object has been modified"});
    }
  }
  EXPECT_EQ(winners, 1);
}

TEST_P(BuiltinConformance, LeasesAreChecked) {
  expect_refused(try_create(kLease, make(kLease, "l", R"({"spec": {"leaseDurationSeconds": 0}})")),
                 Code::kInvalidArgument, "Invalid", {"spec.leaseDurationSeconds: Invalid value: 0"});
  expect_refused(try_create(kLease, make(kLease, "l", R"({"spec": {"leaseTransitions": -1}})")), Code::kInvalidArgument,
                 "Invalid", {"spec.leaseTransitions: Invalid value: -1"});
}

TEST_P(BuiltinConformance, RecordedEventsAreFoundByTheirObject) {
  const kube::Object map = create(kConfigMap, "subject");
  kube::EventRecorder recorder(runtime(), api(), {.component = "conformance"});
  recorder.start();
  for (int i = 0; i < 3; ++i) recorder.record(map, kube::EventType::kWarning, "Tested", "it was tested");
  recorder.record(map, kube::EventType::kNormal, "Finished", "it is over");
  expect_ok(recorder.flush(call()));
  EXPECT_EQ(recorder.stats().dropped, 0u);
  const auto with = [&](const std::string& fields) {
    return expect_ok(api().list(kEvent, ns(), {.field_selector = fields}, call())).items;
  };
  const std::vector<kube::Object> tested = with("involvedObject.uid=" + map.uid() + ",reason=Tested");
  ASSERT_EQ(tested.size(), 1u) << "the same news is one event";
  EXPECT_EQ(json::find_int(tested[0].json(), {"count"}), 3);
  EXPECT_EQ(tested[0].text({"type"}), "Warning");
  EXPECT_EQ(with("involvedObject.kind=ConfigMap,involvedObject.name=subject").size(), 2u);
  EXPECT_EQ(with("type=Normal,involvedObject.name=subject").size(), 1u);
  EXPECT_EQ(with("involvedObject.name=another").size(), 0u);
}

TEST_P(BuiltinConformance, AnEventIsInTheNamespaceOfItsObject) {
  expect_refused(
      try_create(kEvent, make(kEvent, "e", R"({"involvedObject": {"kind": "ConfigMap", "namespace": "elsewhere",
                                     "name": "x"}, "reason": "R", "message": "m", "type": "Normal"})")),
      Code::kInvalidArgument, "Invalid", {"involvedObject.namespace: Invalid value"});
}

TEST_P(BuiltinConformance, ImmutableDataStays) {
  for (const kube::Resource& kind : {kConfigMap, kSecret}) {
    create(kind, "i", R"({"data": {"k": "djE="}, "immutable": true})");
    const auto merge = [&](std::string_view patch) { return try_patch(kind, "i", PatchType::kMerge, patch); };
    expect_refused(merge(R"({"data": {"k": "djI="}})"), Code::kInvalidArgument, "Invalid",
                   {"data: Forbidden: field is immutable when `immutable` is set"});
    expect_refused(merge(R"({"immutable": false})"), Code::kInvalidArgument, "Invalid",
                   {"immutable: Forbidden: field is immutable when `immutable` is set"});
    expect_refused(merge(R"({"immutable": null})"), Code::kInvalidArgument, "Invalid", {"immutable: Forbidden"});
    EXPECT_EQ(expect_ok(merge(R"({"metadata": {"labels": {"still": "yes"}}})")).label("still"), "yes");
    expect_ok(try_remove(kind, "i"));
    EXPECT_FALSE(exists(kind, "i"));
  }
}

TEST_P(BuiltinConformance, SecretsEncodeAndKeepTheirType) {
  const kube::Object secret =
      create(kSecret, "s", R"({"data": {"a": "b25l"}, "stringData": {"a": "two", "b": "three"}})");
  EXPECT_EQ(secret.text({"type"}), "Opaque");
  EXPECT_EQ(secret.text({"data", "a"}), "dHdv") << "stringData wins";
  EXPECT_EQ(secret.text({"data", "b"}), "dGhyZWU=");
  EXPECT_EQ(json::find(secret.json(), {"stringData"}), nullptr);
  expect_refused(try_patch(kSecret, "s", PatchType::kMerge, R"({"type": "example.com/other"})"), Code::kInvalidArgument,
                 "Invalid", {"type: Invalid value", "field is immutable"});
}

TEST_P(BuiltinConformance, KeysOfConfigMapsAreChecked) {
  for (const char* more :
       {R"({"data": {"not valid": "x"}})", R"({"data": {"..": "x"}})", R"({"binaryData": {"a/b": "eA=="}})"}) {
    expect_refused(try_create(kConfigMap, make(kConfigMap, "m", more)), Code::kInvalidArgument, "Invalid",
                   {"ata[", "Invalid value"});
  }
  expect_refused(try_create(kConfigMap, make(kConfigMap, "m", R"({"data": {"k": "x"}, "binaryData": {"k": "eA=="}})")),
                 Code::kInvalidArgument, "Invalid", {"k"});
}

TEST_P(BuiltinConformance, PodsAreCheckedAndMostlyImmutable) {
  wait_until_pods_are_admitted();
  expect_refused(try_create(kPod, make(kPod, "empty", R"({"spec": {"containers": []}})")), Code::kInvalidArgument,
                 "Invalid", {"spec.containers: Required value"});
  create_pod("p", R"({"spec": {"nodeName": "node-1"}})");
  expect_refused(try_patch(kPod, "p", PatchType::kMerge, R"({"spec": {"nodeName": "node-2"}})"), Code::kInvalidArgument,
                 "Invalid", {"spec: Forbidden: pod updates may not change fields other than"});
}

TEST_P(BuiltinConformance, TaintsOfNodesAreChecked) {
  expect_refused(
      try_create(kNode, make(kNode, own("n"), R"({"spec": {"taints": [{"key": "a", "effect": "Sometimes"}]}})")),
      Code::kInvalidArgument, "Invalid", {"taints[0].effect: Unsupported value: \"Sometimes\""});
}

}  // namespace
}  // namespace strake::conformance
