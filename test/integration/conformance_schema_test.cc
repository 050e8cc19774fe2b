// Conformance: what schemas do to objects: types, unknown fields, defaults, rules.
#include "api/kinds.h"
#include "conformance.h"

namespace strake::conformance {
namespace {

using api::kMachineConfig;
using api::kMachineConfigPool;
using api::kMachineSet;
using api::kStrakeConfig;
using kube::core::kConfigMap;
using kube::core::kNode;
using kube::core::kSecret;

class SchemaConformance : public ConformanceTest {
 protected:
  static std::string at(const kube::Object& object, std::initializer_list<std::string_view> path) {
    const json::Value* value = json::find(object.json(), path);
    return value == nullptr ? "absent" : json::write_canonical(*value);
  }
};
INSTANTIATE_TEST_SUITE_P(On, SchemaConformance, kAllBackends, backend_name);

TEST_P(SchemaConformance, UnknownFieldsAsAskedFor) {
  const std::string pool = R"({"spec": {"paused": true, "nothing": 1, "nodeSelector": {"sideways": "x"}}})";
  expect_refused(
      try_create(kMachineConfigPool, make(kMachineConfigPool, own("strict"), pool), {.field_validation = "Strict"}),
      Code::kInvalidArgument, "BadRequest",
      {"strict decoding error", "unknown field \"spec.nothing\"", "unknown field \"spec.nodeSelector.sideways\""});
  EXPECT_FALSE(exists(kMachineConfigPool, own("strict")));
  for (const char* validation : {"Warn", "Ignore", ""}) {
    const std::string name = own(fmt::format("pool-{}", std::string_view(validation).size()));
    const kube::Object made = expect_ok(
        try_create(kMachineConfigPool, make(kMachineConfigPool, name, pool), {.field_validation = validation}));
    EXPECT_EQ(at(made, {"spec"}), R"({"nodeSelector":{},"paused":true})") << validation;
  }
  if (!server().wire()) return;  // in process nobody misspells an option
  expect_refused(
      try_create(kMachineConfigPool, make(kMachineConfigPool, own("odd"), pool), {.field_validation = "Maybe"}),
      Code::kInvalidArgument, "Invalid", {"fieldValidation"});
}

TEST_P(SchemaConformance, UnknownFieldsInUpdatesAndPatches) {
  kube::Object pool = create(kMachineConfigPool, own("p"), R"({"spec": {}})");
  json::ensure(pool.json(), {"spec", "nothing"}) = 1;
  expect_refused(try_update(kMachineConfigPool, pool, {.field_validation = "Strict"}), Code::kInvalidArgument,
                 "BadRequest", {"unknown field \"spec.nothing\""});
  EXPECT_EQ(expect_ok(try_update(kMachineConfigPool, pool)).resource_version(), pool.resource_version())
      << "what is dropped is no change";
  const auto patched = try_patch(kMachineConfigPool, own("p"), kube::PatchType::kMerge, R"({"spec": {"nothing": 1}})",
                                 {.field_validation = "Strict"});
  ASSERT_FALSE(patched.ok());
  EXPECT_EQ(patched.error().code(), Code::kInvalidArgument) << outcome(patched);
  EXPECT_NE(outcome(patched).find("unknown field \"spec.nothing\""), std::string::npos) << outcome(patched);
}

TEST_P(SchemaConformance, UnknownMetadataIsDropped) {
  const kube::Object map = create(kConfigMap, "a", R"({"metadata": {"mood": "fine"}})");
  EXPECT_EQ(at(map, {"metadata", "mood"}), "absent");
  const kube::Object pool = create(kMachineConfigPool, own("p"), R"({"metadata": {"mood": "fine"}, "spec": {}})");
  EXPECT_EQ(at(pool, {"metadata", "mood"}), "absent");
  expect_refused(try_create(kMachineConfigPool,
                            make(kMachineConfigPool, own("s"), R"({"metadata": {"mood": "fine"}, "spec": {}})"),
                            {.field_validation = "Strict"}),
                 Code::kInvalidArgument, "BadRequest", {"unknown field \"metadata.mood\""});
}

TEST_P(SchemaConformance, WhereASchemaSaysSoUnknownFieldsStay) {
  const kube::Object config = create(kMachineConfig, own("c"), R"({"spec": {"nothing": 1, "config": {
      "ignition": {"version": "3.4.0"}, "future": {"deep": [1, {"x": null}]}}}})");
  EXPECT_EQ(at(config, {"spec", "config"}), R"({"future":{"deep":[1,{"x":null}]},"ignition":{"version":"3.4.0"}})");
  EXPECT_EQ(at(config, {"spec", "nothing"}), "absent");
  const kube::Object set = create(kMachineSet, "s", R"({"spec": {"future": [1.5, 10000000000],
      "template": {"spec": {"providerSpec": {"dropped": 1, "value": {"ami": {"id": "x"}}}}}}})");
  EXPECT_EQ(at(set, {"spec", "future"}), "[1.5,10000000000]");
  EXPECT_EQ(at(set, {"spec", "template", "spec", "providerSpec"}), R"({"value":{"ami":{"id":"x"}}})");
}

TEST_P(SchemaConformance, DefaultsFillWhatIsAbsent) {
  kube::Object set = create(kMachineSet, "s", R"({"spec": {"template": {"spec": {}}}})");
  EXPECT_EQ(at(set, {"spec", "replicas"}), "1");
  EXPECT_EQ(at(set, {"spec", "authoritativeAPI"}), "\"MachineAPI\"");
  EXPECT_EQ(at(set, {"spec", "template", "spec", "authoritativeAPI"}), "\"MachineAPI\"");
  set = create(kMachineSet, "none", "{}");
  EXPECT_EQ(at(set, {"spec"}), "absent") << "a default does not make its parent";
  set = create(kMachineSet, "zero", R"({"spec": {"replicas": 0}})");
  EXPECT_EQ(at(set, {"spec", "replicas"}), "0");
  set = expect_ok(try_patch(kMachineSet, "zero", kube::PatchType::kMerge, R"({"spec": {"replicas": null}})"));
  EXPECT_EQ(at(set, {"spec", "replicas"}), "1") << "what is taken away comes back as the default";
  set = create(kMachineSet, "nulled", R"({"spec": {"replicas": null, "minReadySeconds": 3}})");
  EXPECT_EQ(at(set, {"spec", "replicas"}), "1");
}

TEST_P(SchemaConformance, WrongTypesNameTheField) {
  struct Case {
    const kube::Resource& resource;
    std::string more;
    std::vector<std::string> words;
  };
  const Case cases[] = {
      {kMachineConfigPool, R"({"spec": {"paused": "yes"}})", {"spec.paused: Invalid value", "must be of type boolean"}},
      {kMachineConfigPool, R"({"spec": "all"})", {"spec: Invalid value", "must be of type object"}},
      {kMachineConfigPool,
       R"({"spec": {"nodeSelector": {"matchLabels": {"a": 1}}}})",
       {"spec.nodeSelector.matchLabels.a: Invalid value", "must be of type string"}},
      {kMachineConfigPool, R"({"spec": {"maxUnavailable": true}})", {"spec.maxUnavailable: Invalid value"}},
      {kMachineConfigPool,
       R"({"spec": {"nodeSelector": {"matchExpressions": [{"key": "a"}]}}})",
       {"spec.nodeSelector.matchExpressions[0].operator: Required value"}},
      {kMachineConfigPool, R"({})", {"spec: Required value"}},
      {kMachineConfig,
       R"({"spec": {"kernelArguments": ["a", 2]}})",
       {"spec.kernelArguments[1]: Invalid value", "must be of type string"}},
      {kMachineConfig,
       R"({"spec": {"kernelArguments": "a"}})",
       {"spec.kernelArguments: Invalid value", "must be of type array"}},
      {kMachineConfig, R"({"spec": {"fips": 1}})", {"spec.fips: Invalid value", "must be of type boolean"}},
      {kMachineSet,
       R"({"spec": {"deletePolicy": "Sometimes"}})",
       {"spec.deletePolicy: Unsupported value: \"Sometimes\"", "supported values: \"Random\", \"Newest\", \"Oldest\""}},
      {kMachineConfigPool,
       R"({"spec": {"nodeSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}})",
       {"spec.nodeSelector.matchExpressions[0].operator: Unsupported value: \"Near\""}},
      {kMachineConfigPool,
       R"({"spec": {"machineConfigSelector": {"matchExpressions": [{"key": "a", "operator": "in"}]}}})",
       {"spec.machineConfigSelector.matchExpressions[0].operator: Unsupported value: \"in\""}},
      {kMachineSet, R"({"spec": {"replicas": 1.5}})", {"spec.replicas: Invalid value", "must be of type integer"}},
      {kMachineSet, R"({"spec": {"replicas": "3"}})", {"spec.replicas: Invalid value", "must be of type integer"}},
      {kMachineSet,
       R"({"spec": {"deletePolicy": "a", "minReadySeconds": "b"}})",
       {"spec.deletePolicy", "spec.minReadySeconds"}},
  };
  for (const Case& wrong : cases) {
    const std::string name = wrong.resource.namespaced ? "wrong" : own("wrong");
    const testing::ScopedTrace trace(__FILE__, __LINE__, wrong.more);
    expect_refused(try_create(wrong.resource, make(wrong.resource, name, wrong.more)), Code::kInvalidArgument,
                   "Invalid", wrong.words);
  }
  create(kMachineConfigPool, own("number"), R"({"spec": {"maxUnavailable": 3}})");
  create(kMachineConfigPool, own("percent"), R"({"spec": {"maxUnavailable": "30%"}})");
  create(kMachineConfig, own("null"), R"({"spec": {"kernelArguments": null}})");
}

TEST_P(SchemaConformance, WrongTypesInKubernetesOwnKinds) {
  struct Case {
    const kube::Resource& resource;
    std::string more;
  };
  const Case cases[] = {
      {kNode, R"({"spec": {"unschedulable": "yes"}})"},
      {kNode, R"({"spec": {"taints": {"key": "a"}}})"},
      {kNode, R"({"metadata": {"labels": {"a": 1}}})"},
      {kConfigMap, R"({"data": {"k": 1}})"},
      {kConfigMap, R"({"data": ["k"]})"},
      {kConfigMap, R"({"immutable": "yes"})"},
      {kConfigMap, R"({"metadata": {"finalizers": "one"}})"},
      {kSecret, R"({"data": {"k": "not base64!"}})"},
      {kube::core::kLease, R"({"spec": {"leaseDurationSeconds": "10"}})"},
      {kube::core::kLease, R"({"spec": {"renewTime": "yesterday"}})"},
      {kMachineConfigPool, R"({"metadata": {"labels": {"a": 1}}, "spec": {}})"},
  };
  for (const Case& wrong : cases) {
    const std::string name = wrong.resource.namespaced ? "wrong" : own("wrong");
    const testing::ScopedTrace trace(__FILE__, __LINE__, wrong.more);
    expect_refused(try_create(wrong.resource, make(wrong.resource, name, wrong.more)), Code::kInvalidArgument,
                   "BadRequest");
  }
}

TEST_P(SchemaConformance, RulesOfAnObject) {
  expect_refused(try_create(kStrakeConfig, make(kStrakeConfig, own("other"), R"({"spec": {}})")),
                 Code::kInvalidArgument, "Invalid", {"there is only one StrakeConfig, and its name is cluster"});
  const auto with_modes = [&](std::string_view modes) {
    return try_create(kStrakeConfig,
                      make(kStrakeConfig, "cluster", fmt::format(R"({{"spec": {{"modes": {}}}}})", modes)),
                      {.dry_run = true});
  };
  expect_ok(with_modes(R"({"drain": "own", "boot-images": "observe"})"));
  expect_refused(with_modes(R"({"Drain": "own"})"), Code::kInvalidArgument, "Invalid",
                 {"spec.modes: Invalid value", "a capability is lower-case letters, digits and dashes"});
  expect_refused(with_modes(R"({"drain": "sometimes"})"), Code::kInvalidArgument, "Invalid",
                 {"spec.modes.drain: Unsupported value: \"sometimes\""});
}

TEST_P(SchemaConformance, StatusIsCheckedToo) {
  create(kMachineConfigPool, own("p"), R"({"spec": {}})");
  const kube::WriteOptions status{.subresource = "status"};
  expect_refused(
      try_patch(kMachineConfigPool, own("p"), kube::PatchType::kMerge, R"({"status": {"machineCount": "3"}})", status),
      Code::kInvalidArgument, "Invalid", {"status.machineCount: Invalid value"});
  const kube::Object pruned = expect_ok(try_patch(kMachineConfigPool, own("p"), kube::PatchType::kMerge,
                                                  R"({"status": {"machineCount": 3, "nothing": 1}})", status));
  EXPECT_EQ(at(pruned, {"status"}), R"({"machineCount":3})");
}

}  // namespace
}  // namespace strake::conformance
