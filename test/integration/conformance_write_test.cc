// Conformance: create and update, versions, generations, the status subresource, names.
#include "api/kinds.h"
#include "conformance.h"

namespace strake::conformance {
namespace {

using api::kMachineConfigPool;
using kube::core::kConfigMap;
using kube::core::kLease;
using kube::core::kNamespace;
using kube::core::kNode;
using kube::core::kPodDisruptionBudget;
using kube::core::kSecret;

const kube::WriteOptions kDryRun{.dry_run = true};

class WriteConformance : public ConformanceTest {
 protected:
  static void set(kube::Object& object, std::initializer_list<std::string_view> path, std::string_view json_text) {
    json::ensure(object.json(), path) = parsed(json_text);
  }
  static void drop_version(kube::Object& object) {
    json::find(object.json(), {"metadata"})->get_object().erase("resourceVersion");
  }
};
INSTANTIATE_TEST_SUITE_P(On, WriteConformance, kAllBackends, backend_name);

TEST_P(WriteConformance, TheServerGivesIdentity) {
  const kube::Object made = create(kConfigMap, "a", R"({"metadata": {
      "uid": "11111111-2222-3333-4444-555555555555", "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 7,
      "deletionTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/somewhere"}})");
  EXPECT_NE(made.uid(), "11111111-2222-3333-4444-555555555555");
  EXPECT_NE(made.creation_timestamp(), "2001-01-01T00:00:00Z");
  EXPECT_FALSE(made.deleting());
  EXPECT_EQ(made.text({"metadata", "selfLink"}), "");
}

TEST_P(WriteConformance, ANameIsTakenOnce) {
  create(kConfigMap, "a");
  expect_refused(try_create(kConfigMap, make(kConfigMap, "a")), Code::kExists, "AlreadyExists",
                 {"configmaps \"a\" already exists"});
  create(kSecret, "a");
}

TEST_P(WriteConformance, ACreationBringsNoVersion) {
  const auto created = try_create(kConfigMap, make(kConfigMap, "a", R"({"metadata": {"resourceVersion": "5"}})"));
  const std::string words = "resourceVersion should not be set on objects to be created";
  if (on_kubernetes()) {  // docs/api-differences.md: status 500 for a mistake of the client
    expect_refused(created, Code::kUnavailable, "", {words});
  } else {
    expect_refused(created, Code::kInvalidArgument, "BadRequest", {words});
  }
}

TEST_P(WriteConformance, GeneratedNames) {
  kube::Object object = make(kConfigMap, "", R"({"metadata": {"generateName": "made-"}})");
  json::find(object.json(), {"metadata"})->get_object().erase("name");
  const kube::Object one = expect_ok(try_create(kConfigMap, object));
  const kube::Object two = expect_ok(try_create(kConfigMap, object));
  EXPECT_TRUE(one.name().starts_with("made-"));
  EXPECT_EQ(one.name().size(), std::string_view("made-12345").size());
  EXPECT_NE(one.name(), two.name());
  const kube::Object named = create(kConfigMap, "named", R"({"metadata": {"generateName": "made-"}})");
  EXPECT_EQ(named.name(), "named");
  const std::string prefix(80, 'x');
  set(object, {"metadata", "generateName"}, '"' + prefix + '"');
  const kube::Object cut = expect_ok(try_create(kConfigMap, object));
  EXPECT_EQ(cut.name().substr(0, 58), prefix.substr(0, 58));
  EXPECT_EQ(cut.name().size(), 63u);
}

TEST_P(WriteConformance, NamesAreChecked) {
  for (const std::string& name : {std::string("Upper"), std::string("under_score"), std::string("-dash"),
                                  std::string("dot."), std::string("sp ace"), std::string(254, 'a')}) {
    // Checked before the name would be part of a path.
    expect_refused(try_create(kConfigMap, make(kConfigMap, name)), Code::kInvalidArgument, "Invalid",
                   {"metadata.name: Invalid value"});
    expect_refused(try_create(kMachineConfigPool, make(kMachineConfigPool, name, R"({"spec": {}})")),
                   Code::kInvalidArgument, "Invalid", {"metadata.name: Invalid value"});
  }
  create(kConfigMap, "dots.are.fine");
  expect_refused(try_create(kNamespace, make(kNamespace, "not.here")), Code::kInvalidArgument, "Invalid",
                 {"metadata.name: Invalid value"});
  expect_refused(try_create(kNamespace, make(kNamespace, std::string(64, 'a'))), Code::kInvalidArgument, "Invalid",
                 {"metadata.name: Invalid value"});
  kube::Object nameless = make(kConfigMap, "");
  json::find(nameless.json(), {"metadata"})->get_object().erase("name");
  expect_refused(try_create(kConfigMap, nameless), Code::kInvalidArgument, "Invalid",
                 {"name or generateName is required"});
}

TEST_P(WriteConformance, LabelsAndAnnotationsAreChecked) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"metadata": {"labels": {"a": "not valid"}}})", "metadata.labels: Invalid value"},
      {R"({"metadata": {"labels": {"not valid": "a"}}})", "metadata.labels: Invalid value"},
      {R"({"metadata": {"labels": {"UPPER.example.com/x": "a"}}})", "metadata.labels: Invalid value"},
      {fmt::format(R"({{"metadata": {{"labels": {{"a": "{}"}}}}}})", std::string(64, 'v')),
       "metadata.labels: Invalid value"},
      {R"({"metadata": {"annotations": {"not valid": "a"}}})", "metadata.annotations: Invalid value"},
      {fmt::format(R"({{"metadata": {{"annotations": {{"a": "{}"}}}}}})", std::string(262145, 'v')),
       "metadata.annotations: Too long"},
      {R"({"metadata": {"finalizers": ["not valid"]}})", "metadata.finalizers"},
      {R"({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Secret", "name": "x"}]}})",
       "metadata.ownerReferences.uid: Invalid value"},
  };
  for (const auto& [more, words] : cases) {
    expect_refused(try_create(kConfigMap, make(kConfigMap, "a", more)), Code::kInvalidArgument, "Invalid", {words});
  }
}

TEST_P(WriteConformance, ANamespaceMustBeThere) {
  kube::Object object = make(kConfigMap, "a");
  set(object, {"metadata", "namespace"}, "\"no-such-namespace\"");
  expect_refused(try_create(kConfigMap, object), Code::kNotFound, "NotFound",
                 {"namespaces \"no-such-namespace\" not found"});
  set(object, {"metadata", "namespace"}, "\"\"");
  const auto without = try_create(kConfigMap, object);
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().code(), Code::kInvalidArgument) << outcome(without);
}

TEST_P(WriteConformance, AnUpdateOfAnOldVersionIsAConflict) {
  kube::Object mine = create(kConfigMap, "a", R"({"data": {"k": "1"}})");
  kube::Object theirs = mine;
  set(theirs, {"data", "k"}, "\"2\"");
  const kube::Object second = expect_ok(try_update(kConfigMap, theirs));
  EXPECT_NE(second.resource_version(), mine.resource_version());
  EXPECT_EQ(second.uid(), mine.uid());
  set(mine, {"data", "k"}, "\"3\"");
  expect_refused(try_update(kConfigMap, mine), Code::kConflict, "Conflict",
                 {"Operation cannot be fulfilled on configmaps \"a\"", "the object has been modified"});
  EXPECT_EQ(get(kConfigMap, "a").text({"data", "k"}), "2");
}

TEST_P(WriteConformance, WithoutAVersionOnlySomeKindsAreReplaced) {
  kube::Object map = create(kConfigMap, "a");
  drop_version(map);
  set(map, {"data"}, R"({"k": "v"})");
  EXPECT_EQ(expect_ok(try_update(kConfigMap, map)).text({"data", "k"}), "v");
  kube::Object node = create(kNode, own("n"));
  drop_version(node);
  expect_ok(try_update(kNode, node));

  kube::Object pool = create(kMachineConfigPool, own("p"), R"({"spec": {}})");
  drop_version(pool);
  expect_refused(try_update(kMachineConfigPool, pool), Code::kInvalidArgument, "Invalid",
                 {"metadata.resourceVersion", "must be specified for an update"});
  kube::Object lease = create(kLease, "l");
  drop_version(lease);
  expect_refused(try_update(kLease, lease), Code::kInvalidArgument, "Invalid", {"must be specified for an update"});
}

TEST_P(WriteConformance, AnUpdateOfNothing) {
  expect_refused(try_update(kConfigMap, make(kConfigMap, "none")), Code::kNotFound, "NotFound");
  expect_refused(try_update(kNode, make(kNode, own("none"))), Code::kNotFound, "NotFound");
  expect_refused(try_update(kMachineConfigPool, make(kMachineConfigPool, own("none"),
                                                     R"({"metadata": {"resourceVersion": "1"}, "spec": {}})")),
                 Code::kNotFound, "NotFound");
}

TEST_P(WriteConformance, AnUpdateThatChangesNothingIsNoWrite) {
  const kube::Object map = create(kConfigMap, "a", R"({"data": {"k": "v"}})");
  EXPECT_EQ(expect_ok(try_update(kConfigMap, map)).resource_version(), map.resource_version());
  const kube::Object pool = create(kMachineConfigPool, own("p"), R"({"spec": {"paused": true}})");
  EXPECT_EQ(expect_ok(try_update(kMachineConfigPool, pool)).resource_version(), pool.resource_version());
}

TEST_P(WriteConformance, IdentityCannotBeChanged) {
  const kube::Object made = create(kMachineConfigPool, own("p"), R"({"spec": {}})");
  kube::Object other_uid = made;
  set(other_uid, {"metadata", "uid"}, "\"11111111-2222-3333-4444-555555555555\"");
  expect_refused(try_update(kMachineConfigPool, other_uid), Code::kConflict, "Conflict",
                 {"Precondition failed: UID in precondition: 11111111-2222-3333-4444-555555555555"});
  kube::Object older = made;
  set(older, {"metadata", "creationTimestamp"}, "\"2001-01-01T00:00:00Z\"");
  EXPECT_EQ(expect_ok(try_update(kMachineConfigPool, older)).creation_timestamp(), made.creation_timestamp());
  kube::Object without = made;
  for (const char* field : {"uid", "creationTimestamp", "generation"}) {
    json::find(without.json(), {"metadata"})->get_object().erase(field);
  }
  const kube::Object kept = expect_ok(try_update(kMachineConfigPool, without));
  EXPECT_EQ(kept.uid(), made.uid());
  EXPECT_EQ(kept.creation_timestamp(), made.creation_timestamp());
  EXPECT_EQ(kept.generation(), made.generation());
}

TEST_P(WriteConformance, TheGenerationCountsChangesOfTheSpec) {
  kube::Object pool = create(kMachineConfigPool, own("p"), R"({"spec": {"paused": false}})");
  EXPECT_EQ(pool.generation(), 1);
  pool.set_label("a", "b");
  pool = expect_ok(try_update(kMachineConfigPool, pool));
  EXPECT_EQ(pool.generation(), 1) << "labels are not the spec";
  set(pool, {"status"}, R"({"machineCount": 3})");
  pool = expect_ok(try_update(kMachineConfigPool, pool, kStatus));
  EXPECT_EQ(pool.generation(), 1) << "nor is the status";
  set(pool, {"spec", "paused"}, "true");
  pool = expect_ok(try_update(kMachineConfigPool, pool));
  EXPECT_EQ(pool.generation(), 2);
  set(pool, {"metadata", "generation"}, "77");
  set(pool, {"spec", "paused"}, "false");
  pool = expect_ok(try_update(kMachineConfigPool, pool));
  EXPECT_EQ(pool.generation(), 3) << "what a client says of it does not matter";

  kube::Object budget = create(kPodDisruptionBudget, "b", R"({"spec": {"minAvailable": 1}})");
  EXPECT_EQ(budget.generation(), 1);
  budget = expect_ok(try_patch(kPodDisruptionBudget, "b", kube::PatchType::kMerge, R"({"spec": {"minAvailable": 2}})"));
  EXPECT_EQ(budget.generation(), 2);
  EXPECT_EQ(create(kConfigMap, "m").generation(), 0) << "some kinds have none";
  EXPECT_EQ(create(kNode, own("n")).generation(), 0);
}

TEST_P(WriteConformance, SpecAndStatusAreWrittenApart) {
  kube::Object pool =
      create(kMachineConfigPool, own("p"), R"({"spec": {"paused": false}, "status": {"machineCount": 9}})");
  EXPECT_EQ(json::find(pool.json(), {"status"}), nullptr) << "a creation has no status";

  kube::Object both = pool;
  set(both, {"spec", "paused"}, "true");
  set(both, {"status"}, R"({"machineCount": 5})");
  both.set_label("written-by", "status");
  pool = expect_ok(try_update(kMachineConfigPool, both, kStatus));
  EXPECT_EQ(json::find_int(pool.json(), {"status", "machineCount"}), 5);
  EXPECT_EQ(json::find_bool(pool.json(), {"spec", "paused"}), false);
  EXPECT_EQ(pool.label("written-by"), std::nullopt);

  both = pool;
  set(both, {"spec", "paused"}, "true");
  set(both, {"status"}, R"({"machineCount": 6})");
  pool = expect_ok(try_update(kMachineConfigPool, both));
  EXPECT_EQ(json::find_int(pool.json(), {"status", "machineCount"}), 5);
  EXPECT_EQ(json::find_bool(pool.json(), {"spec", "paused"}), true);
  json::find(both.json(), {"metadata"})->get_object().erase("resourceVersion");
  both.json().get_object().erase("status");
  set(both, {"metadata", "resourceVersion"}, '"' + pool.resource_version() + '"');
  pool = expect_ok(try_update(kMachineConfigPool, both));
  EXPECT_EQ(json::find_int(pool.json(), {"status", "machineCount"}), 5) << "nor does leaving it out remove it";
}

TEST_P(WriteConformance, NodesKeepSpecAndStatusApartToo) {
  kube::Object node = create(kNode, own("n"), R"({"status": {"phase": "Running"}})");
  EXPECT_EQ(node.text({"status", "phase"}), "Running") << "a kubelet may create its Node with a status";
  kube::Object both = node;
  set(both, {"spec", "unschedulable"}, "true");
  set(both, {"status", "phase"}, "\"Pending\"");
  node = expect_ok(try_update(kNode, both, kStatus));
  EXPECT_EQ(node.text({"status", "phase"}), "Pending");
  EXPECT_EQ(json::find_bool(node.json(), {"spec", "unschedulable"}), std::nullopt);
  both = node;
  set(both, {"spec", "unschedulable"}, "true");
  set(both, {"status", "phase"}, "\"Terminated\"");
  node = expect_ok(try_update(kNode, both));
  EXPECT_EQ(node.text({"status", "phase"}), "Pending");
  EXPECT_EQ(json::find_bool(node.json(), {"spec", "unschedulable"}), true);
}

TEST_P(WriteConformance, StatusWritesMeetConflictsToo) {
  const kube::Object first = create(kMachineConfigPool, own("p"), R"({"spec": {}})");
  kube::Object status = first;
  set(status, {"status"}, R"({"machineCount": 1})");
  expect_ok(try_update(kMachineConfigPool, status, kStatus));
  set(status, {"status"}, R"({"machineCount": 2})");
  expect_refused(try_update(kMachineConfigPool, status, kStatus), Code::kConflict, "Conflict");
}

TEST_P(WriteConformance, AKindWithoutStatusHasNoSuchPath) {
  const kube::Object map = create(kConfigMap, "a");
  expect_refused(try_update(kConfigMap, map, kStatus), Code::kNotFound, "NotFound");
  expect_refused(try_patch(kConfigMap, "a", kube::PatchType::kMerge, R"({"status": {}})", kStatus), Code::kNotFound,
                 "NotFound");
}

TEST_P(WriteConformance, ADryRunLeavesNoTrace) {
  const kube::Object would = expect_ok(try_create(kConfigMap, make(kConfigMap, "new"), kDryRun));
  EXPECT_NE(would.uid(), "");
  EXPECT_FALSE(exists(kConfigMap, "new"));
  kube::Object map = create(kConfigMap, "a", R"({"data": {"k": "1"}})");
  set(map, {"data", "k"}, "\"2\"");
  EXPECT_EQ(expect_ok(try_update(kConfigMap, map, kDryRun)).text({"data", "k"}), "2");
  EXPECT_EQ(expect_ok(try_patch(kConfigMap, "a", kube::PatchType::kMerge, R"({"data": {"k": "3"}})", kDryRun))
                .text({"data", "k"}),
            "3");
  expect_ok(try_remove(kConfigMap, "a", {.dry_run = true}));
  const kube::Object still = get(kConfigMap, "a");
  EXPECT_EQ(still.text({"data", "k"}), "1");
  EXPECT_EQ(still.resource_version(), map.resource_version());

  expect_refused(try_create(kConfigMap, make(kConfigMap, "a"), kDryRun), Code::kExists, "AlreadyExists");
  expect_refused(try_create(kConfigMap, make(kConfigMap, "Bad"), kDryRun), Code::kInvalidArgument, "Invalid");
  expect_refused(try_remove(kConfigMap, "none", {.dry_run = true}), Code::kNotFound, "NotFound");
}

TEST_P(WriteConformance, TheBodyMustBeOfTheKind) {
  kube::Object object = make(kConfigMap, "a");
  set(object, {"kind"}, "\"Secret\"");
  expect_refused(try_create(kConfigMap, object), Code::kInvalidArgument, "BadRequest");
  object = make(kMachineConfigPool, own("p"), R"({"spec": {}, "apiVersion": "machineconfiguration.openshift.io/v2"})");
  expect_refused(try_create(kMachineConfigPool, object), Code::kInvalidArgument, "BadRequest");
}

TEST_P(WriteConformance, ObjectsAreBounded) {
  const std::string mebibyte(std::size_t{1} << 20, 'x');
  // ConfigMaps and Secrets: a limit of their own on the sum of what they hold.
  expect_refused(try_create(kConfigMap, make(kConfigMap, "a", fmt::format(R"({{"data": {{"k": "{}y"}}}})", mebibyte))),
                 Code::kInvalidArgument, "Invalid", {"Too long"});
  create(kConfigMap, "b", fmt::format(R"({{"data": {{"k": "{}"}}}})", mebibyte));
  // Above 1.5 MiB the servers only agree that it is refused: etcd's refusal has no reason word.
  const auto large = try_create(
      api::kMachineConfig,
      make(api::kMachineConfig, own("large"), fmt::format(R"({{"spec": {{"osImageURL": "{0}{0}"}}}})", mebibyte)));
  ASSERT_FALSE(large.ok());
  EXPECT_FALSE(exists(api::kMachineConfig, own("large"))) << outcome(large);
  expect_refused(
      try_create(api::kMachineConfig, make(api::kMachineConfig, own("huge"),
                                           fmt::format(R"({{"spec": {{"osImageURL": "{0}{0}{0}"}}}})", mebibyte))),
      Code::kExhausted, "RequestEntityTooLarge");
}

}  // namespace
}  // namespace strake::conformance
