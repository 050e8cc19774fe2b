// create, update, patch, get and list.
#include "apistore/service/service.h"

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "apistore/service/continue_token.h"
#include "apistore/testing/test_service.h"
#include "codec/json_patch.h"

namespace strake::apistore::service_test {

using kube::core::kConfigMap;
using kube::core::kEvent;
using kube::core::kLease;
using kube::core::kNamespace;
using kube::core::kNode;
using kube::core::kPod;
using kube::core::kSecret;
using testkit::object;
using testkit::parse;

class ServiceTest : public ::testing::Test {
 protected:
  Result<ObjectAnswer> create(const kube::Resource& resource, const json::Value& value,
                              const kube::WriteOptions& options = {}) {
    return service_->create(request_, resource, "", value, options);
  }
  Result<ObjectAnswer> patch(const kube::Resource& resource, const kube::ObjectKey& key, std::string_view merge,
                             const kube::WriteOptions& options = {}) {
    return service_->patch(request_, resource, key, kube::PatchType::kMerge, parse(merge), options);
  }
  json::Value must_create(const kube::Resource& resource, const json::Value& value) {
    auto created = create(resource, value);
    EXPECT_TRUE(created.ok()) << created.error().to_string();
    return created.ok() ? created->object : json::Value();
  }
  std::string text(const json::Value& value, std::initializer_list<std::string_view> path) {
    return json::find_string(value, path).value_or("");
  }

  runtime::ThreadRuntime runtime_;
  std::unique_ptr<Service> service_ = testkit::open_service(runtime_);
  Request request_ = testkit::as_admin();
};

TEST_F(ServiceTest, CreatingSetsWhatOnlyTheServerKnows) {
  const json::Value pool = must_create(api::kMachineConfigPool, object(api::kMachineConfigPool, "", "worker", R"({
      "metadata":{"uid":"mine","generation":7,"managedFields":[{"manager":"x"}],"creationTimestamp":null},
      "spec":{"paused":true},"status":{"machineCount":3}})"));
  EXPECT_EQ(text(pool, {"metadata", "uid"}).size(), 36u);
  EXPECT_NE(text(pool, {"metadata", "creationTimestamp"}), "");
  EXPECT_EQ(json::find_int(pool, {"metadata", "generation"}), 1);
  EXPECT_EQ(json::find(pool, {"metadata", "managedFields"}), nullptr);
  EXPECT_EQ(json::find(pool, {"status"}), nullptr) << "status is written through its subresource";
  const auto read = service_->get(request_, api::kMachineConfigPool, {"", "worker"});
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(json::same_value(read->object, pool)) << json::write(pool) << "\n" << read->text;
  EXPECT_EQ(text(pool, {"metadata", "resourceVersion"}), std::to_string(service_->store().revision()));
}

TEST_F(ServiceTest, RefusalsAreThoseOfARealServer) {
  must_create(kNode, object(kNode, "", "a"));
  const auto exists = create(kNode, object(kNode, "", "a"));
  EXPECT_EQ(exists.error().code(), Code::kExists);
  EXPECT_EQ(exists.error().to_string(), R"(nodes "a" already exists)");
  EXPECT_EQ(request_.details.kind, "nodes");
  EXPECT_EQ(request_.details.name, "a");

  const auto missing = service_->get(request_, api::kMachineConfig, {"", "x"});
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
  EXPECT_EQ(missing.error().to_string(), R"(machineconfigs.machineconfiguration.openshift.io "x" not found)");

  const auto bad_name = create(kNode, object(kNode, "", "Bad_Name"));
  EXPECT_EQ(bad_name.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(bad_name.error().reason(), "Invalid");
  EXPECT_NE(bad_name.error().to_string().find(
                R"(Node "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123)"),
            std::string::npos)
      << bad_name.error().to_string();

  const auto no_namespace = create(kPod, object(kPod, "nowhere", "p", R"({"spec":{"containers":[{"name":"c"}]}})"));
  EXPECT_EQ(no_namespace.error().code(), Code::kNotFound);
  EXPECT_EQ(no_namespace.error().to_string(), R"(namespaces "nowhere" not found)");

  EXPECT_EQ(create(kNode, object(kPod, "", "x")).error().reason(), "BadRequest");
  EXPECT_EQ(create(kNode, parse(R"({"apiVersion":"v1","kind":"Node","metadata":{"labels":{"a":1},"name":"n"}})"))
                .error()
                .reason(),
            "BadRequest");
  EXPECT_EQ(create(kNode, parse(R"({"apiVersion":"v1","kind":"Node","metadata":{"labels":{"a":"%"},"name":"n"}})"))
                .error()
                .reason(),
            "Invalid");
  EXPECT_EQ(create(kNode, parse(R"({"apiVersion":"v1","kind":"Node","metadata":{}})")).error().to_string(),
            R"(Node "" is invalid: metadata.name: Required value: name or generateName is required)");
  EXPECT_EQ(service_->get(request_, {"", "v1", "Unicorn", "unicorns", false}, {"", "x"}).error().code(),
            Code::kNotFound);
}

TEST_F(ServiceTest, SchemaProblemsBecomeCauses) {
  const auto invalid =
      create(api::kMachineConfigPool, object(api::kMachineConfigPool, "", "p", R"({"spec":{"paused":"yes"}})"));
  EXPECT_EQ(invalid.error().to_string(),
            R"(MachineConfigPool.machineconfiguration.openshift.io "p" is invalid: spec.paused: Invalid )"
            R"(value: "string": spec.paused in body must be of type boolean: "string")");
  ASSERT_EQ(request_.details.causes.size(), 1u);
  EXPECT_EQ(request_.details.causes[0].field, "spec.paused");
  EXPECT_EQ(request_.details.causes[0].reason, "FieldValueTypeInvalid");
  const auto singleton = create(api::kStrakeConfig, object(api::kStrakeConfig, "", "second", R"({"spec":{}})"));
  EXPECT_EQ(singleton.error().reason(), "Invalid") << "native rules of names are kept";
}

TEST_F(ServiceTest, UnknownFieldsArePrunedWarnedAboutOrRefused) {
  const json::Value value = object(api::kMachineConfigPool, "", "p", R"({"spec":{"paused":true,"pausd":true}})");
  kube::WriteOptions options;
  options.field_validation = "Strict";
  const auto strict = create(api::kMachineConfigPool, value, options);
  EXPECT_EQ(strict.error().reason(), "BadRequest");
  EXPECT_NE(strict.error().to_string().find(R"(strict decoding error: unknown field "spec.pausd")"), std::string::npos);
  options.field_validation = "Warn";
  const auto warned = create(api::kMachineConfigPool, value, options);
  ASSERT_TRUE(warned.ok());
  EXPECT_EQ(request_.warnings, std::vector<std::string>{R"(unknown field "spec.pausd")"});
  EXPECT_EQ(json::find(warned->object, {"spec", "pausd"}), nullptr);
}

TEST_F(ServiceTest, GeneratedNamesAreTriedUntilOneIsFree) {
  const json::Value value =
      parse(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"c-","namespace":"default"}})");
  std::set<std::string> names;
  for (int i = 0; i < 20; ++i) names.insert(text(must_create(kConfigMap, value), {"metadata", "name"}));
  EXPECT_EQ(names.size(), 20u);
  EXPECT_TRUE(names.begin()->starts_with("c-"));
  EXPECT_EQ(names.begin()->size(), 7u);
}

TEST_F(ServiceTest, UpdatesNeedTheLatestVersion) {
  json::Value node = must_create(kNode, object(kNode, "", "x"));
  json::ensure(node, {"metadata", "labels", "a"}) = "1";
  const auto updated = service_->update(request_, kNode, {"", "x"}, node, {});
  ASSERT_TRUE(updated.ok()) << updated.error().to_string();
  json::ensure(node, {"metadata", "labels", "a"}) = "2";
  const auto stale = service_->update(request_, kNode, {"", "x"}, node, {});
  EXPECT_EQ(stale.error().code(), Code::kConflict);
  EXPECT_EQ(stale.error().to_string(),
            R"(Operation cannot be fulfilled on nodes "x": the object has been modified; please apply )"
            R"(your changes to the latest version and try again)");
  json::find(node, {"metadata"})->get_object().erase("resourceVersion");
  EXPECT_TRUE(service_->update(request_, kNode, {"", "x"}, node, {}).ok())
      << "built-in kinds may be replaced unconditionally";

  json::Value pool = must_create(api::kMachineConfigPool, object(api::kMachineConfigPool, "", "w", R"({"spec":{}})"));
  json::find(pool, {"metadata"})->get_object().erase("resourceVersion");
  EXPECT_EQ(service_->update(request_, api::kMachineConfigPool, {"", "w"}, pool, {}).error().to_string(),
            R"(machineconfigpools.machineconfiguration.openshift.io "w" is invalid: metadata.resourceVersion: Invalid )"
            "value: 0: must be specified for an update");
  EXPECT_EQ(request_.details.kind, "machineconfigpools");
  EXPECT_EQ(service_->update(request_, kNode, {"", "none"}, object(kNode, "", "none"), {}).error().code(),
            Code::kNotFound);
  EXPECT_EQ(service_->update(request_, kNode, {"", "x"}, object(kNode, "", "y"), {}).error().to_string(),
            "the name of the object (y) does not match the name on the URL (x)");
  json::Value other_uid = object(kNode, "", "x", R"({"metadata":{"uid":"other"}})");
  EXPECT_EQ(service_->update(request_, kNode, {"", "x"}, other_uid, {}).error().code(), Code::kConflict);
  EXPECT_EQ(patch(kNode, {"", "x"}, R"({"metadata":{"uid":"other"}})").error().to_string(),
            R"(Node "x" is invalid: metadata.uid: Invalid value: "other": field is immutable)");
}

TEST_F(ServiceTest, TheTimeOfCreationStays) {
  const json::Value node = must_create(kNode, object(kNode, "", "x"));
  const std::string created = text(node, {"metadata", "creationTimestamp"});
  json::Value older = node;
  json::ensure(older, {"metadata", "creationTimestamp"}) = "2001-01-01T00:00:00Z";
  const auto updated = service_->update(request_, kNode, {"", "x"}, older, {});
  ASSERT_TRUE(updated.ok()) << updated.error().to_string();
  EXPECT_EQ(text(updated->object, {"metadata", "creationTimestamp"}), created);
  const auto patched = patch(kNode, {"", "x"}, R"({"metadata":{"creationTimestamp":"2001-01-01T00:00:00Z"}})");
  ASSERT_TRUE(patched.ok()) << patched.error().to_string();
  EXPECT_EQ(text(patched->object, {"metadata", "creationTimestamp"}), created);
}

TEST_F(ServiceTest, OwnersAreNamedCompletely) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"({"kind":"Secret","name":"x","uid":"u"})",
       R"(metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty)"},
      {R"({"apiVersion":"v1","name":"x","uid":"u"})",
       R"(metadata.ownerReferences.kind: Invalid value: "": must not be empty)"},
      {R"({"apiVersion":"v1","kind":"Secret","uid":"u"})",
       R"(metadata.ownerReferences.name: Invalid value: "": must not be empty)"},
      {R"({"apiVersion":"v1","kind":"Secret","name":"x"})",
       R"(metadata.ownerReferences.uid: Invalid value: "": must not be empty)"},
  };
  for (const auto& [owner, problem] : cases) {
    const auto refused =
        create(kNode, object(kNode, "", "owned", fmt::format(R"({{"metadata":{{"ownerReferences":[{}]}}}})", owner)));
    ASSERT_FALSE(refused.ok()) << owner;
    EXPECT_EQ(refused.error().to_string(), fmt::format(R"(Node "owned" is invalid: {})", problem));
  }
}

TEST_F(ServiceTest, AJsonPatchIsAList) {
  must_create(kNode, object(kNode, "", "x"));
  const auto refused = service_->patch(request_, kNode, {"", "x"}, kube::PatchType::kJson, parse(R"({"spec":{}})"), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason(), "BadRequest");
  EXPECT_EQ(refused.error().to_string(),
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp");
}

TEST_F(ServiceTest, WhatChangesNothingTakesNoRevision) {
  must_create(kNode, object(kNode, "", "x", R"({"metadata":{"labels":{"a":"1"}}})"));
  const Revision before = service_->store().revision();
  const auto same = patch(kNode, {"", "x"}, R"({"metadata":{"labels":{"a":"1"}}})");
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(text(same->object, {"metadata", "resourceVersion"}), std::to_string(before));
  EXPECT_EQ(service_->store().revision(), before);
}

TEST_F(ServiceTest, GenerationCountsChangesOfWhatIsWanted) {
  must_create(api::kMachineConfigPool, object(api::kMachineConfigPool, "", "w", R"({"spec":{"paused":false}})"));
  const auto generation = [&](const Result<ObjectAnswer>& answer) {
    EXPECT_TRUE(answer.ok());
    return json::find_int(answer->object, {"metadata", "generation"}).value_or(-1);
  };
  const kube::ObjectKey key{"", "w"};
  kube::WriteOptions status;
  status.subresource = "status";
  EXPECT_EQ(generation(patch(api::kMachineConfigPool, key, R"({"metadata":{"labels":{"a":"b"}}})")), 1);
  EXPECT_EQ(generation(patch(api::kMachineConfigPool, key, R"({"status":{"machineCount":3}})", status)), 1);
  EXPECT_EQ(generation(patch(api::kMachineConfigPool, key, R"({"spec":{"paused":true}})")), 2);
  EXPECT_EQ(generation(patch(api::kMachineConfigPool, key, R"({"metadata":{"generation":99}})")), 2);
  must_create(kNode, object(kNode, "", "n"));
  EXPECT_EQ(generation(patch(kNode, {"", "n"}, R"({"spec":{"unschedulable":true}})")), -1) << "nodes have none";
}

TEST_F(ServiceTest, SpecAndStatusAreWrittenApart) {
  must_create(api::kMachineConfigPool, object(api::kMachineConfigPool, "", "w", R"({"spec":{"paused":false}})"));
  kube::WriteOptions status;
  status.subresource = "status";
  const auto reported =
      patch(api::kMachineConfigPool, {"", "w"},
            R"({"spec":{"paused":true},"status":{"machineCount":3},"metadata":{"labels":{"a":"b"}}})", status);
  ASSERT_TRUE(reported.ok());
  EXPECT_EQ(json::find_bool(reported->object, {"spec", "paused"}), false);
  EXPECT_EQ(json::find_int(reported->object, {"status", "machineCount"}), 3);
  EXPECT_EQ(json::find(reported->object, {"metadata", "labels"}), nullptr)
      << "custom resources: status writes nothing else";
  const auto wanted =
      patch(api::kMachineConfigPool, {"", "w"}, R"({"spec":{"paused":true},"status":{"machineCount":9}})");
  EXPECT_EQ(json::find_int(wanted->object, {"status", "machineCount"}), 3);

  must_create(kNode, object(kNode, "", "n", R"({"status":{"phase":"x"}})"));
  const auto node =
      patch(kNode, {"", "n"},
            R"({"spec":{"unschedulable":true},"status":{"phase":"y"},"metadata":{"annotations":{"a":"b"}}})", status);
  ASSERT_TRUE(node.ok());
  EXPECT_EQ(json::find(node->object, {"spec", "unschedulable"}), nullptr);
  EXPECT_EQ(text(node->object, {"status", "phase"}), "y");
  EXPECT_EQ(text(node->object, {"metadata", "annotations", "a"}), "b")
      << "agents report annotations through the status of nodes";
  EXPECT_EQ(patch(kConfigMap, {"default", "x"}, "{}", status).error().code(), Code::kNotFound) << "no such subresource";
}

TEST_F(ServiceTest, PatchesOfEveryKind) {
  must_create(kNode, object(kNode, "", "n", R"({"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}})"));
  const auto json_patch = service_->patch(request_, kNode, {"", "n"}, kube::PatchType::kJson,
                                          parse(R"([{"op":"test","path":"/spec/taints/0/key","value":"a"},
                                                    {"op":"add","path":"/metadata/labels","value":{"x":"y"}}])"),
                                          {});
  ASSERT_TRUE(json_patch.ok()) << json_patch.error().to_string();
  kube::WriteOptions status;
  status.subresource = "status";
  for (const char* type : {"Ready", "DiskPressure", "Ready"}) {
    const json::Value change =
        parse(fmt::format(R"({{"status":{{"conditions":[{{"type":"{}","status":"True"}}]}}}})", type));
    const auto strategic = service_->patch(request_, kNode, {"", "n"}, kube::PatchType::kStrategic, change, status);
    ASSERT_TRUE(strategic.ok()) << strategic.error().to_string();
  }
  const auto node = service_->get(request_, kNode, {"", "n"});
  EXPECT_EQ(json::find(node->object, {"status", "conditions"})->get_array().size(), 2u) << "merged by key";

  const auto failed_test = service_->patch(request_, kNode, {"", "n"}, kube::PatchType::kJson,
                                           parse(R"([{"op":"test","path":"/spec/taints/0/key","value":"zzz"}])"), {});
  EXPECT_EQ(failed_test.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(failed_test.error().reason(), "Invalid");
  must_create(api::kMachineConfigPool, object(api::kMachineConfigPool, "", "w", R"({"spec":{}})"));
  for (const kube::PatchType type : {kube::PatchType::kStrategic, kube::PatchType::kApply}) {
    const auto refused = service_->patch(request_, api::kMachineConfigPool, {"", "w"}, type, parse("{}"), {});
    EXPECT_EQ(refused.error().code(), Code::kUnsupported);
    EXPECT_EQ(refused.error().reason(), "UnsupportedMediaType");
  }
  EXPECT_EQ(patch(kNode, {"", "n"}, R"({"metadata":{"resourceVersion":"1"}})").error().code(), Code::kConflict);
  EXPECT_EQ(patch(kNode, {"", "n"}, R"({"metadata":{"name":"m"}})").error().reason(), "BadRequest");
  EXPECT_EQ(patch(kNode, {"", "n"}, R"({"metadata":null})").ok(), true) << "metadata is the server's to keep";
  EXPECT_EQ(patch(kNode, {"", "n"}, R"({"kind":"Pod"})").error().reason(), "BadRequest");
}

TEST_F(ServiceTest, ConcurrentPatchesAreAllKept) {
  must_create(kConfigMap, object(kConfigMap, "default", "c"));
  {
    std::vector<runtime::Task> tasks;
    for (int w = 0; w < 4; ++w) {
      tasks.push_back(runtime_.spawn("patcher", [&, w](std::stop_token) {
        Request own = testkit::as_admin();
        for (int i = 0; i < 25; ++i) {
          const json::Value change = json::Object{{"data", json::Object{{fmt::format("k{}-{}", w, i), "v"}}}};
          const auto done = service_->patch(own, kConfigMap, {"default", "c"}, kube::PatchType::kMerge, change, {});
          ASSERT_TRUE(done.ok()) << done.error().to_string();
        }
      }));
    }
    for (auto& task : tasks) task.join();
  }
  const auto map = service_->get(request_, kConfigMap, {"default", "c"});
  EXPECT_EQ(json::find(map->object, {"data"})->get_object().size(), 100u);
}

TEST_F(ServiceTest, DryRunsAnswerAndStoreNothing) {
  kube::WriteOptions dry;
  dry.dry_run = true;
  const Revision before = service_->store().revision();
  const auto created = create(kNode, object(kNode, "", "n"), dry);
  ASSERT_TRUE(created.ok());
  EXPECT_NE(text(created->object, {"metadata", "uid"}), "");
  EXPECT_FALSE(service_->get(request_, kNode, {"", "n"}).ok());
  must_create(kNode, object(kNode, "", "n"));
  EXPECT_EQ(create(kNode, object(kNode, "", "n"), dry).error().code(), Code::kExists);
  const auto patched = patch(kNode, {"", "n"}, R"({"metadata":{"labels":{"a":"b"}}})", dry);
  EXPECT_EQ(text(patched->object, {"metadata", "labels", "a"}), "b");
  kube::DeleteOptions remove;
  remove.dry_run = true;
  EXPECT_TRUE(service_->remove(request_, kNode, {"", "n"}, remove)->gone);
  EXPECT_EQ(service_->store().revision(), before + 1);
}

TEST_F(ServiceTest, ObjectsHaveALimit) {
  const auto refused = create(api::kMachineConfig,
                              object(api::kMachineConfig, "", "big",
                                     fmt::format(R"({{"spec":{{"osImageURL":"{}"}}}})", std::string(1'600'000, 'x'))));
  EXPECT_EQ(refused.error().code(), Code::kExhausted);
  EXPECT_EQ(refused.error().reason(), "RequestEntityTooLarge");
}

TEST_F(ServiceTest, SecretsAreEncodedAndImmutableOnesStay) {
  const json::Value secret =
      must_create(kSecret, object(kSecret, "default", "s", R"({"stringData":{"a":"hello"},"immutable":true})"));
  EXPECT_EQ(text(secret, {"data", "a"}), "aGVsbG8=");
  EXPECT_EQ(text(secret, {"type"}), "Opaque");
  EXPECT_EQ(json::find(secret, {"stringData"}), nullptr);
  const auto refused = patch(kSecret, {"default", "s"}, R"({"stringData":{"a":"bye"}})");
  EXPECT_NE(refused.error().to_string().find("data: Forbidden: field is immutable"), std::string::npos);
}

TEST_F(ServiceTest, ListsSelectAndPageAtOneRevision) {
  for (int i = 0; i < 25; ++i) {
    must_create(
        kPod,
        object(
            kPod, "default", fmt::format("p{:02}", i),
            fmt::format(
                R"({{"metadata":{{"labels":{{"odd":"{}"}}}},"spec":{{"nodeName":"n{}","containers":[{{"name":"c"}}]}}}})",
                i % 2, i % 5)));
  }
  kube::ListOptions options;
  options.limit = 4;
  options.label_selector = "odd=1";
  std::vector<std::string> seen;
  std::string version;
  while (true) {
    const auto page = service_->list(request_, kPod, "default", options);
    ASSERT_TRUE(page.ok()) << page.error().to_string();
    EXPECT_LE(page->items.size(), 4u);
    for (const std::string& item : page->items) seen.push_back(text(parse(item), {"metadata", "name"}));
    if (version.empty()) version = page->resource_version;
    EXPECT_EQ(page->resource_version, version);
    if (page->continue_token.empty()) break;
    options.continue_token = page->continue_token;
    // What happens between pages is not seen.
    must_create(kPod, object(kPod, "default", fmt::format("z{}", seen.size()),
                             R"({"metadata":{"labels":{"odd":"1"}},"spec":{"containers":[{"name":"c"}]}})"));
  }
  ASSERT_EQ(seen.size(), 12u);
  EXPECT_EQ(seen.front(), "p01");
  EXPECT_EQ(seen.back(), "p23");

  const auto count = [&](const std::string& label, const std::string& field) {
    kube::ListOptions which;
    which.label_selector = label;
    which.field_selector = field;
    const auto list = service_->list(request_, kPod, "", which);
    EXPECT_TRUE(list.ok()) << list.error().to_string();
    return list.ok() ? list->items.size() : 0;
  };
  EXPECT_EQ(count("", "spec.nodeName=n3"), 5u);
  EXPECT_EQ(count("", "spec.nodeName=n3,metadata.name=p08"), 1u);
  EXPECT_EQ(count("odd in (0,1),!x", "spec.nodeName!=n3,spec.nodeName!="), 20u);
  EXPECT_EQ(count("", "status.phase=Pending,metadata.namespace=default"), count("", ""));
  kube::ListOptions wrong;
  wrong.field_selector = "spec.containers=x";
  EXPECT_EQ(service_->list(request_, kPod, "", wrong).error().to_string(),
            "field label not supported: spec.containers");
  wrong.field_selector = "data.a=b";
  EXPECT_EQ(service_->list(request_, kConfigMap, "default", wrong).error().to_string(),
            R"("data.a" is not a known field selector: only "metadata.name", "metadata.namespace")");
  wrong = {};
  wrong.continue_token = "garbage!";
  EXPECT_EQ(service_->list(request_, kPod, "", wrong).error().reason(), "BadRequest");
}

TEST_F(ServiceTest, ListsWithoutSelectorsTellWhatRemains) {
  for (int i = 0; i < 5; ++i) must_create(kNode, object(kNode, "", fmt::format("n{}", i)));
  kube::ListOptions options;
  options.limit = 2;
  const auto page = service_->list(request_, kNode, "", options);
  EXPECT_EQ(page->items.size(), 2u);
  EXPECT_EQ(page->remaining_items, 3);
  // The list stays at its moment, and so does what remains of it.
  must_create(kNode, object(kNode, "", "n9"));
  ASSERT_TRUE(service_->remove(request_, kNode, {"", "n3"}, {}).ok());
  ASSERT_TRUE(service_->remove(request_, kNode, {"", "n4"}, {}).ok());
  options.continue_token = page->continue_token;
  const auto next = service_->list(request_, kNode, "", options);
  EXPECT_EQ(next->items.size(), 2u);
  EXPECT_EQ(next->remaining_items, 1);
  ASSERT_TRUE(service_->remove(request_, kNode, {"", "n9"}, {}).ok());
  for (const char* name : {"n3", "n4"}) must_create(kNode, object(kNode, "", name));
  options = {};
  options.resource_version = std::to_string(service_->store().revision() - 1);
  options.resource_version_match = "Exact";
  EXPECT_EQ(service_->list(request_, kNode, "", options)->items.size(), 4u);
  options.resource_version_match = "NotOlderThan";
  EXPECT_EQ(service_->list(request_, kNode, "", options)->items.size(), 5u);
  options.resource_version = "999999";
  EXPECT_EQ(service_->list(request_, kNode, "", options).error().code(), Code::kTimeout);
}

TEST_F(ServiceTest, CallersAreHeldToTheirRole) {
  must_create(kNode, object(kNode, "", "a"));
  Request agent{Caller::agent("a"), {}, {}};
  kube::WriteOptions status;
  status.subresource = "status";
  const auto report = [&](std::string_view change) {
    return service_->patch(agent, kNode, {"", "a"}, kube::PatchType::kMerge, parse(change), status).ok();
  };
  EXPECT_TRUE(report(R"({"metadata":{"annotations":{"machineconfiguration.openshift.io/state":"Working"}}})"));
  EXPECT_FALSE(report(R"({"metadata":{"annotations":{"other":"x"}}})"));
  EXPECT_EQ(service_->patch(agent, kNode, {"", "a"}, kube::PatchType::kMerge, parse("{}"), {}).error().code(),
            Code::kDenied);
  kube::ListOptions own;
  own.field_selector = "metadata.name=a";
  EXPECT_TRUE(service_->list(agent, kNode, "", own).ok());
  EXPECT_EQ(service_->list(agent, kNode, "", {}).error().code(), Code::kDenied);
}

TEST_F(ServiceTest, AnAgentReadsTheConfigsItsNodeNames) {
  const kube::Resource& config = api::kMachineConfig;
  for (const char* name : {"c1", "c2", "c3"}) must_create(config, object(config, "", name));
  must_create(kNode, object(kNode, "", "a"));
  Request agent{Caller::agent("a"), {}, {}};
  const auto readable = [&] {
    std::string names;
    for (const char* name : {"c1", "c2", "c3"}) {
      const auto got = service_->get(agent, config, {"", name});
      EXPECT_TRUE(got.ok() || got.error().code() == Code::kDenied);
      if (got.ok()) names += name;
    }
    return names;
  };
  const auto annotate = [&](Request& by, std::string_view key, std::string_view value) {
    kube::WriteOptions status;
    status.subresource = "status";
    const std::string change =
        fmt::format(R"({{"metadata":{{"annotations":{{"machineconfiguration.openshift.io/{}":"{}"}}}}}})", key, value);
    return service_->patch(by, kNode, {"", "a"}, kube::PatchType::kMerge, parse(change), status).ok();
  };
  EXPECT_EQ(readable(), "");
  EXPECT_FALSE(annotate(agent, "currentConfig", "c3"));
  EXPECT_FALSE(annotate(agent, "desiredConfig", "c3"));
  ASSERT_TRUE(annotate(request_, "desiredConfig", "c1"));
  EXPECT_EQ(readable(), "c1");
  EXPECT_TRUE(annotate(agent, "currentConfig", "c1"));
  ASSERT_TRUE(annotate(request_, "desiredConfig", "c2"));
  EXPECT_EQ(readable(), "c1c2");
  EXPECT_FALSE(annotate(agent, "currentConfig", "c3"));
  EXPECT_TRUE(annotate(agent, "currentConfig", "c2"));
  EXPECT_EQ(readable(), "c2");
  EXPECT_EQ(service_->list(agent, config, "", {}).error().code(), Code::kDenied);
}

TEST(ContinueTokens, RoundTrip) {
  const ContinueToken token{42, "ns", "name"};
  EXPECT_EQ(*ContinueToken::decode(token.encode()), token);
  for (const char* bad : {"", "e30", "bnVsbA", "eyJydiI6MX0"}) EXPECT_FALSE(ContinueToken::decode(bad).ok()) << bad;
}

}  // namespace strake::apistore::service_test
