// Conformance: JSON, merge and strategic merge patches.
#include "api/kinds.h"
#include "conformance.h"

namespace strake::conformance {
namespace {

using api::kMachineConfigPool;
using kube::PatchType;
using kube::core::kConfigMap;
using kube::core::kNode;
using kube::core::kPod;
using kube::core::kSecret;

class PatchConformance : public ConformanceTest {
 protected:
  /// The canonical text of what is at a path, "absent" for nothing.
  static std::string at(const kube::Object& object, std::initializer_list<std::string_view> path) {
    const json::Value* value = json::find(object.json(), path);
    return value == nullptr ? "absent" : json::write_canonical(*value);
  }
};
INSTANTIATE_TEST_SUITE_P(On, PatchConformance, kAllBackends, backend_name);

TEST_P(PatchConformance, JsonPatch) {
  create(kConfigMap, "a",
         R"({"metadata": {"annotations": {"example.com/x": "1"}}, "data": {"keep": "k", "old": "o"}})");
  const kube::Object patched = expect_ok(try_patch(kConfigMap, "a", PatchType::kJson, R"([
      {"op": "test", "path": "/data/keep", "value": "k"},
      {"op": "remove", "path": "/data/old"},
      {"op": "add", "path": "/data/new", "value": "n"},
      {"op": "replace", "path": "/metadata/annotations/example.com~1x", "value": "2"},
      {"op": "copy", "from": "/data/keep", "path": "/data/copied"},
      {"op": "move", "from": "/data/new", "path": "/data/moved"}])"));
  EXPECT_EQ(at(patched, {"data"}), R"({"copied":"k","keep":"k","moved":"n"})");
  EXPECT_EQ(patched.annotation("example.com/x"), "2");
  EXPECT_EQ(get(kConfigMap, "a").resource_version(), patched.resource_version());
}

TEST_P(PatchConformance, AJsonPatchThatDoesNotApplyChangesNothing) {
  const kube::Object before = create(kConfigMap, "a", R"({"data": {"k": "1"}})");
  const char* const patches[] = {
      R"([{"op": "add", "path": "/data/x", "value": "y"}, {"op": "test", "path": "/data/k", "value": "2"}])",
      R"([{"op": "remove", "path": "/data/none"}])",
      R"([{"op": "add", "path": "/nothing/deep/x", "value": "x"}])",
  };
  for (const char* patch : patches) {
    expect_refused(try_patch(kConfigMap, "a", PatchType::kJson, patch), Code::kInvalidArgument, "Invalid");
  }
  expect_refused(try_patch(kConfigMap, "a", PatchType::kJson, R"({"data": {}})"), Code::kInvalidArgument, "BadRequest");
  EXPECT_EQ(get(kConfigMap, "a").resource_version(), before.resource_version());
  const auto replaced =
      try_patch(kConfigMap, "a", PatchType::kJson, R"([{"op": "replace", "path": "/data/none", "value": "x"}])");
  if (on_kubernetes()) {  // docs/api-differences.md: its library adds what RFC 6902 says must be there
    EXPECT_EQ(expect_ok(replaced).text({"data", "none"}), "x");
  } else {
    expect_refused(replaced, Code::kInvalidArgument, "Invalid");
  }
}

TEST_P(PatchConformance, MergePatch) {
  create(kMachineConfigPool, own("p"), R"({"metadata": {"labels": {"a": "1", "b": "2"}},
      "spec": {"paused": true, "pinnedImageSets": [{"name": "x"}, {"name": "y"}]}})");
  const kube::Object patched = expect_ok(try_patch(kMachineConfigPool, own("p"), PatchType::kMerge, R"({
      "metadata": {"labels": {"a": null, "c": "3"}}, "spec": {"paused": null, "pinnedImageSets": [{"name": "z"}]}})"));
  EXPECT_EQ(at(patched, {"metadata", "labels"}), R"({"b":"2","c":"3"})");
  EXPECT_EQ(at(patched, {"spec", "paused"}), "absent");
  EXPECT_EQ(at(patched, {"spec", "pinnedImageSets"}), R"([{"name":"z"}])") << "lists are replaced";
  const auto list = try_patch(kMachineConfigPool, own("p"), PatchType::kMerge, "[]");
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().code(), Code::kInvalidArgument) << outcome(list);
}

TEST_P(PatchConformance, APatchOfNothingAndAPatchThatChangesNothing) {
  expect_refused(try_patch(kConfigMap, "none", PatchType::kMerge, R"({"data": {}})"), Code::kNotFound, "NotFound");
  const kube::Object before = create(kConfigMap, "a", R"({"data": {"k": "1"}})");
  EXPECT_EQ(expect_ok(try_patch(kConfigMap, "a", PatchType::kMerge, R"({"data": {"k": "1"}})")).resource_version(),
            before.resource_version());
}

TEST_P(PatchConformance, VersionAndUidInAPatchAreConditions) {
  const kube::Object first = create(kConfigMap, "a");
  expect_ok(try_patch(
      kConfigMap, "a", PatchType::kMerge,
      fmt::format(R"({{"metadata": {{"resourceVersion": "{}"}}, "data": {{"k": "v"}}}})", first.resource_version())));
  expect_refused(try_patch(kConfigMap, "a", PatchType::kMerge,
                           fmt::format(R"({{"metadata": {{"resourceVersion": "{}"}}, "data": {{"k": "new"}}}})",
                                       first.resource_version())),
                 Code::kConflict, "Conflict", {"the object has been modified"});
  const auto another =
      try_patch(kConfigMap, "a", PatchType::kMerge,
                R"({"metadata": {"uid": "11111111-2222-3333-4444-555555555555"}, "data": {"k": "new"}})");
  expect_refused(another, Code::kInvalidArgument, "Invalid", {"metadata.uid: Invalid value", "field is immutable"});
  expect_ok(try_patch(kConfigMap, "a", PatchType::kMerge,
                      fmt::format(R"({{"metadata": {{"uid": "{}"}}, "data": {{"k": "new"}}}})", first.uid())));
}

TEST_P(PatchConformance, IdentityIsNotPatched) {
  create(kConfigMap, "a");
  const auto renamed = try_patch(kConfigMap, "a", PatchType::kMerge, R"({"metadata": {"name": "b"}})");
  expect_refused(renamed, Code::kInvalidArgument, "BadRequest",
                 {"the name of the object (b) does not match the name on the URL (a)"});
  expect_refused(try_patch(kConfigMap, "a", PatchType::kMerge, R"({"metadata": {"namespace": "default"}})"),
                 Code::kInvalidArgument, "BadRequest", {"does not match the namespace"});
  const auto other_kind = try_patch(kConfigMap, "a", PatchType::kMerge, R"({"kind": "Secret"})");
  ASSERT_FALSE(other_kind.ok());
  EXPECT_EQ(other_kind.error().code(), Code::kInvalidArgument) << outcome(other_kind);
}

TEST_P(PatchConformance, ThePatchedObjectIsChecked) {
  create(kMachineConfigPool, own("p"), R"({"spec": {}})");
  expect_refused(try_patch(kMachineConfigPool, own("p"), PatchType::kMerge, R"({"spec": {"paused": "yes"}})"),
                 Code::kInvalidArgument, "Invalid", {"spec.paused"});
  expect_refused(try_patch(kMachineConfigPool, own("p"), PatchType::kMerge, R"({"spec": null})"),
                 Code::kInvalidArgument, "Invalid", {"spec: Required value"});
  expect_refused(try_patch(kMachineConfigPool, own("p"), PatchType::kJson,
                           R"([{"op": "add", "path": "/metadata/labels", "value": {"a": "not valid"}}])"),
                 Code::kInvalidArgument, "Invalid", {"metadata.labels"});
}

TEST_P(PatchConformance, StatusAndSpecArePatchedApart) {
  create(kMachineConfigPool, own("p"), R"({"spec": {"paused": false}})");
  const std::string both = R"({"spec": {"paused": true}, "status": {"machineCount": 4}})";
  const kube::Object status = expect_ok(try_patch(kMachineConfigPool, own("p"), PatchType::kMerge, both, kStatus));
  EXPECT_EQ(at(status, {"spec", "paused"}), "false");
  EXPECT_EQ(at(status, {"status", "machineCount"}), "4");
  EXPECT_EQ(status.generation(), 1);
  const kube::Object spec = expect_ok(try_patch(kMachineConfigPool, own("p"), PatchType::kMerge,
                                                R"({"spec": {"paused": true}, "status": {"machineCount": 5}})"));
  EXPECT_EQ(at(spec, {"spec", "paused"}), "true");
  EXPECT_EQ(at(spec, {"status", "machineCount"}), "4");
  EXPECT_EQ(spec.generation(), 2);
}

TEST_P(PatchConformance, StrategicOnNodes) {
  create(kNode, own("n"), R"({"metadata": {"finalizers": ["example.com/a"]},
      "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}})");
  expect_ok(try_patch(kNode, own("n"), PatchType::kStrategic, R"({"status": {"conditions": [
      {"type": "Ready", "status": "True", "reason": "first"}, {"type": "DiskPressure", "status": "False"}]}})",
                      kStatus));
  const kube::Object node = expect_ok(try_patch(kNode, own("n"), PatchType::kStrategic, R"({"status": {"conditions": [
      {"type": "Ready", "status": "False"}, {"type": "DiskPressure", "$patch": "delete"},
      {"type": "PIDPressure", "status": "False"}]}})",
                                                kStatus));
  std::vector<std::string> conditions;
  for (const json::Value& condition : json::find(node.json(), {"status", "conditions"})->get_array()) {
    conditions.push_back(fmt::format("{} {} {}", json::find_string(condition, {"type"}).value_or(""),
                                     json::find_string(condition, {"status"}).value_or(""),
                                     json::find_string(condition, {"reason"}).value_or("-")));
  }
  std::ranges::sort(conditions);
  EXPECT_EQ(conditions, (std::vector<std::string>{"PIDPressure False -", "Ready False first"})) << "merged by type";

  const kube::Object patched = expect_ok(try_patch(kNode, own("n"), PatchType::kStrategic, R"({
      "metadata": {"finalizers": ["example.com/b"], "labels": {"x": "y"}},
      "spec": {"taints": [{"key": "b", "effect": "NoExecute"}], "unschedulable": true}})"));
  EXPECT_EQ(at(patched, {"spec", "taints"}), R"([{"effect":"NoExecute","key":"b"}])") << "taints are replaced";
  EXPECT_EQ(patched.finalizers(), (std::vector<std::string>{"example.com/b", "example.com/a"}))
      << "finalizers are added";
  const kube::Object removed = expect_ok(try_patch(kNode, own("n"), PatchType::kStrategic, R"({
      "metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a", "example.com/b"]},
      "spec": {"unschedulable": null}})"));
  EXPECT_TRUE(removed.finalizers().empty());
  EXPECT_EQ(at(removed, {"spec", "unschedulable"}), "absent");
}

TEST_P(PatchConformance, StrategicOnPods) {
  create_pod("p", R"({"metadata": {"labels": {"a": "1"}}})");
  const kube::Object patched = expect_ok(try_patch(kPod, "p", PatchType::kStrategic, R"({
      "metadata": {"labels": {"b": "2"}}, "spec": {"containers": [{"name": "main", "image": "example.com/main:2"}]}})"));
  EXPECT_EQ(at(patched, {"metadata", "labels"}), R"({"a":"1","b":"2"})");
  const json::Array& containers = json::find(patched.json(), {"spec", "containers"})->get_array();
  ASSERT_EQ(containers.size(), 1u) << "containers are merged by name";
  EXPECT_EQ(json::find_string(containers[0], {"image"}), "example.com/main:2");
}

TEST_P(PatchConformance, StrategicOnConfigMapsAndSecrets) {
  create(kConfigMap, "m", R"({"data": {"a": "1", "b": "2"}})");
  EXPECT_EQ(
      at(expect_ok(try_patch(kConfigMap, "m", PatchType::kStrategic, R"({"data": {"a": null, "c": "3"}})")), {"data"}),
      R"({"b":"2","c":"3"})");
  EXPECT_EQ(
      at(expect_ok(try_patch(kConfigMap, "m", PatchType::kStrategic, R"({"data": {"$patch": "replace", "x": "y"}})")),
         {"data"}),
      R"({"x":"y"})");
  create(kSecret, "s", R"({"stringData": {"a": "one"}})");
  EXPECT_EQ(at(expect_ok(try_patch(kSecret, "s", PatchType::kStrategic, R"({"stringData": {"b": "two"}})")), {"data"}),
            R"({"a":"b25l","b":"dHdv"})");
}

TEST_P(PatchConformance, StrategicOnOurKindsIsNoMediaType) {
  create(kMachineConfigPool, own("p"), R"({"spec": {}})");
  expect_refused(try_patch(kMachineConfigPool, own("p"), PatchType::kStrategic, R"({"spec": {"paused": true}})"),
                 Code::kUnsupported, "UnsupportedMediaType", {"accepted media types include"});
}

TEST_P(PatchConformance, ServerSideApplyIsForKubernetes) {
  create(kConfigMap, "a");
  const kube::Object map = make(kConfigMap, "a", R"({"data": {"k": "v"}})");
  const auto applied = api().patch(kConfigMap, map.key(), PatchType::kApply, map.json(), {}, call());
  if (on_kubernetes()) {
    EXPECT_EQ(expect_ok(applied).text({"data", "k"}), "v");
  } else {  // docs/api-differences.md: server-side-apply
    expect_refused(applied, Code::kUnsupported, "UnsupportedMediaType");
  }
}

TEST_P(PatchConformance, PatchesOfManyWritersAreAllKept) {
  create(kConfigMap, "shared", R"({"data": {}})");
  constexpr int kWriters = 6, kEach = 5;
  std::atomic<int> refused = 0;
  std::vector<runtime::Task> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.push_back(runtime().spawn("writer", [this, writer, &refused](const std::stop_token&) {
      for (int i = 0; i < kEach; ++i) {
        const auto patched = try_patch(kConfigMap, "shared", PatchType::kMerge,
                                       fmt::format(R"({{"data": {{"w{}-{}": "x"}}}})", writer, i));
        if (!patched.ok()) ++refused;
      }
    }));
  }
  for (runtime::Task& writer : writers) writer.join();
  EXPECT_EQ(refused, 0) << "a patch without a version is never a conflict";
  EXPECT_EQ(json::find(get(kConfigMap, "shared").json(), {"data"})->get_object().size(), std::size_t{kWriters * kEach});
}

}  // namespace
}  // namespace strake::conformance
