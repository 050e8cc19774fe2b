// Conformance: deletion, finalizers, garbage collection, the end of a namespace.
#include "api/kinds.h"
#include "conformance.h"

namespace strake::conformance {
namespace {

using kube::PatchType;
using kube::core::kConfigMap;
using kube::core::kNamespace;
using kube::core::kPod;
using kube::core::kSecret;

class DeleteConformance : public ConformanceTest {
 protected:
  static std::string owned_by(std::initializer_list<const kube::Object*> owners, bool blocking = false) {
    json::Array references;
    for (const kube::Object* owner : owners) {
      references.push_back(json::Object{{"apiVersion", owner->api_version()},
                                        {"kind", owner->kind()},
                                        {"name", owner->name()},
                                        {"uid", owner->uid()},
                                        {"blockOwnerDeletion", blocking}});
    }
    return json::write(json::Object{{"metadata", json::Object{{"ownerReferences", std::move(references)}}}});
  }
};
INSTANTIATE_TEST_SUITE_P(On, DeleteConformance, kAllBackends, backend_name);

constexpr std::string_view kHeld = R"({"metadata": {"finalizers": ["example.com/hold"]}})";

TEST_P(DeleteConformance, AnObjectIsGone) {
  create(kConfigMap, "a");
  const kube::Object removed = expect_ok(try_remove(kConfigMap, "a"));
  EXPECT_EQ(removed.name(), "a");
  EXPECT_FALSE(exists(kConfigMap, "a"));
  expect_refused(try_remove(kConfigMap, "a"), Code::kNotFound, "NotFound", {"configmaps \"a\" not found"});
}

TEST_P(DeleteConformance, Preconditions) {
  const kube::Object first = create(kConfigMap, "a");
  expect_refused(try_remove(kConfigMap, "a", {.uid = "11111111-2222-3333-4444-555555555555"}), Code::kConflict,
                 "Conflict", {"the UID in the precondition (11111111-2222-3333-4444-555555555555) does not match"});
  const kube::Object second = expect_ok(try_patch(kConfigMap, "a", PatchType::kMerge, R"({"data": {"k": "v"}})"));
  expect_refused(
      try_remove(kConfigMap, "a", {.resource_version = first.resource_version()}), Code::kConflict, "Conflict",
      {fmt::format("the ResourceVersion in the precondition ({}) does not match", first.resource_version())});
  ASSERT_TRUE(exists(kConfigMap, "a"));
  expect_ok(try_remove(kConfigMap, "a", {.uid = first.uid(), .resource_version = second.resource_version()}));
  EXPECT_FALSE(exists(kConfigMap, "a"));
}

TEST_P(DeleteConformance, BadOptionsAreRefused) {
  create(kConfigMap, "a");
  const auto refused = try_remove(kConfigMap, "a", {.propagation = "Sideways"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument) << outcome(refused);
  EXPECT_TRUE(exists(kConfigMap, "a"));
}

TEST_P(DeleteConformance, FinalizersHoldAnObject) {
  const kube::Object made =
      create(api::kMachineConfigPool, own("p"), R"({"metadata": {"finalizers": ["example.com/hold",
                                   "example.com/other"]}, "spec": {}})");
  const kube::Object waiting = expect_ok(try_remove(api::kMachineConfigPool, own("p")));
  EXPECT_TRUE(waiting.deleting());
  EXPECT_EQ(waiting.generation(), made.generation() + 1) << "its controllers must look again";
  EXPECT_EQ(waiting.uid(), made.uid());
  const kube::Object again = expect_ok(try_remove(api::kMachineConfigPool, own("p")));
  EXPECT_EQ(again.resource_version(), waiting.resource_version()) << "a second deletion changes nothing";

  expect_refused(try_create(api::kMachineConfigPool, make(api::kMachineConfigPool, own("p"), R"({"spec": {}})")),
                 Code::kExists, "AlreadyExists", {"object is being deleted: "});
  expect_refused(try_patch(api::kMachineConfigPool, own("p"), PatchType::kMerge,
                           R"({"metadata": {"finalizers": ["example.com/hold", "example.com/late"]}})"),
                 Code::kInvalidArgument, "Invalid", {"metadata.finalizers", "no new finalizers can be added"});
  const kube::Object changed = expect_ok(try_patch(api::kMachineConfigPool, own("p"), PatchType::kMerge,
                                                   R"({"metadata": {"labels": {"still": "changes"}}})"));
  EXPECT_EQ(changed.label("still"), "changes");
  const kube::Object kept = expect_ok(
      try_patch(api::kMachineConfigPool, own("p"), PatchType::kMerge, R"({"metadata": {"deletionTimestamp": null}})"));
  EXPECT_TRUE(kept.deleting()) << "a deletion is not taken back";

  expect_ok(try_patch(api::kMachineConfigPool, own("p"), PatchType::kMerge,
                      R"({"metadata": {"finalizers": ["example.com/other"]}})"));
  ASSERT_TRUE(exists(api::kMachineConfigPool, own("p")));
  expect_ok(try_patch(api::kMachineConfigPool, own("p"), PatchType::kMerge, R"({"metadata": {"finalizers": null}})"));
  EXPECT_FALSE(exists(api::kMachineConfigPool, own("p")));
}

TEST_P(DeleteConformance, AWatchSeesTheMarkAndThenTheEnd) {
  create(kSecret, "a", kHeld);
  const std::string version = expect_ok(api().list(kSecret, ns(), {}, call())).resource_version;
  const auto stream = expect_ok(api().watch(kSecret, ns(), {.resource_version = version, .bookmarks = false}, call()));
  ASSERT_TRUE(stream);
  expect_ok(try_remove(kSecret, "a"));
  expect_ok(try_patch(kSecret, "a", PatchType::kMerge, R"({"metadata": {"finalizers": null}})"));
  const auto marked = expect_ok(stream->next(call()));
  ASSERT_TRUE(marked);
  EXPECT_EQ(marked->type, kube::WatchType::kModified);
  EXPECT_TRUE(marked->object.deleting());
  const auto gone = expect_ok(stream->next(call()));
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->type, kube::WatchType::kDeleted);
}

TEST_P(DeleteConformance, DependentsFollowTheirOwner) {
  const kube::Object owner = create(kConfigMap, "owner");
  const kube::Object second = create(kConfigMap, "second");
  create(kSecret, "child", owned_by({&owner}));
  create(kSecret, "shared", owned_by({&owner, &second}));
  create(kSecret, "free");
  expect_ok(try_remove(kConfigMap, "owner", {.propagation = "Background"}));
  EXPECT_FALSE(exists(kConfigMap, "owner"));
  EXPECT_TRUE(eventually([&] { return !exists(kSecret, "child"); }));
  // The collector has looked at everything when it has taken the lost owner out of what has another.
  EXPECT_TRUE(eventually([&] { return get(kSecret, "shared").owners().size() == 1; }));
  EXPECT_TRUE(exists(kSecret, "free"));
  expect_ok(try_remove(kConfigMap, "second"));
  EXPECT_TRUE(eventually([&] { return !exists(kSecret, "shared"); }));
}

TEST_P(DeleteConformance, ADependentOfAnOwnerThatNeverWasIsCollected) {
  kube::Object ghost(kConfigMap, {ns(), "ghost"});
  json::ensure(ghost.json(), {"metadata", "uid"}) = "11111111-2222-3333-4444-555555555555";
  create(kSecret, "child", owned_by({&ghost}));
  EXPECT_TRUE(eventually([&] { return !exists(kSecret, "child"); }));
}

TEST_P(DeleteConformance, InTheForegroundTheOwnerGoesLast) {
  const kube::Object owner = create(kConfigMap, "owner");
  kube::Object child = make(kSecret, "child", owned_by({&owner}, true));
  json::ensure(child.json(), {"metadata", "finalizers"}) = json::Array{"example.com/hold"};
  expect_ok(try_create(kSecret, child));
  const kube::Object waiting = expect_ok(try_remove(kConfigMap, "owner", {.propagation = "Foreground"}));
  EXPECT_TRUE(waiting.deleting());
  EXPECT_EQ(waiting.finalizers(), (std::vector<std::string>{"foregroundDeletion"}));
  EXPECT_TRUE(eventually([&] { return get(kSecret, "child").deleting(); }));
  EXPECT_TRUE(exists(kConfigMap, "owner"));
  expect_ok(try_patch(kSecret, "child", PatchType::kMerge, R"({"metadata": {"finalizers": null}})"));
  EXPECT_TRUE(eventually([&] { return !exists(kConfigMap, "owner"); }));
}

TEST_P(DeleteConformance, OrphansStay) {
  const kube::Object owner = create(kConfigMap, "owner");
  create(kSecret, "child", owned_by({&owner}));
  expect_ok(try_remove(kConfigMap, "owner", {.propagation = "Orphan"}));
  EXPECT_TRUE(eventually([&] { return !exists(kConfigMap, "owner"); }));
  EXPECT_TRUE(get(kSecret, "child").owners().empty());
}

TEST_P(DeleteConformance, ACollectionThroughASelector) {
  create(kSecret, "a", R"({"metadata": {"labels": {"which": "these"}}})");
  create(kSecret, "b", R"({"metadata": {"labels": {"which": "these"}, "finalizers": ["example.com/hold"]}})");
  create(kSecret, "c", R"({"metadata": {"labels": {"which": "not-these"}}})");
  expect_ok(api().remove_collection(kSecret, ns(), {.label_selector = "which=these"}, {.dry_run = true}, call()));
  EXPECT_EQ(list_names(kSecret, {}), (std::vector<std::string>{"a", "b", "c"}));
  expect_ok(api().remove_collection(kSecret, ns(), {.label_selector = "which=these"}, {}, call()));
  EXPECT_EQ(list_names(kSecret, {}), (std::vector<std::string>{"b", "c"}));
  EXPECT_TRUE(get(kSecret, "b").deleting());
  expect_ok(try_patch(kSecret, "b", PatchType::kMerge, R"({"metadata": {"finalizers": null}})"));
  expect_ok(api().remove_collection(kSecret, ns(), {.field_selector = "metadata.name=nothing"}, {}, call()));
  EXPECT_EQ(list_names(kSecret, {}), (std::vector<std::string>{"c"}));
  expect_ok(api().remove_collection(kSecret, ns(), {}, {}, call()));
  EXPECT_EQ(list_names(kSecret, {}), std::vector<std::string>{});
}

TEST_P(DeleteConformance, PodsWithoutANodeGoAtOnce) {
  create_pod("p");
  expect_ok(try_remove(kPod, "p", {.grace_period_seconds = 30}));
  EXPECT_FALSE(exists(kPod, "p"));
  create_pod("bound", R"({"spec": {"nodeName": "node-1"}})");
  expect_ok(try_remove(kPod, "bound", {.grace_period_seconds = 0}));
  EXPECT_FALSE(exists(kPod, "bound"));
}

TEST_P(DeleteConformance, ANamespaceEndsWithEverythingInIt) {
  create(kConfigMap, "a");
  create(kSecret, "b");
  const auto find_namespace = [&] { return api().get(kNamespace, {"", ns()}, call()); };
  const auto hold_namespace = [&](std::string_view finalizers) {
    return try_patch(kNamespace, ns(), PatchType::kMerge,
                     fmt::format(R"({{"metadata": {{"finalizers": {}}}}})", finalizers));
  };
  expect_ok(hold_namespace(R"(["example.com/hold"])"));
  expect_ok(try_remove(kNamespace, ns()));
  const kube::Object ending = expect_ok(find_namespace());
  EXPECT_TRUE(ending.deleting());
  EXPECT_EQ(ending.text({"status", "phase"}), "Terminating");
  expect_refused(try_create(kConfigMap, make(kConfigMap, "late")), Code::kDenied, "Forbidden",
                 {"because it is being terminated"});
  EXPECT_TRUE(eventually([&] { return !exists(kConfigMap, "a") && !exists(kSecret, "b"); }));
  expect_ok(hold_namespace("null"));
  EXPECT_TRUE(eventually([&] {
    const auto found = find_namespace();
    return !found.ok() && found.error().code() == Code::kNotFound;
  }));
}

}  // namespace
}  // namespace strake::conformance
