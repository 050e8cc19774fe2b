// Deletion, garbage collection, namespaces, Event lifetime: in simulation, where "later" is decided by the scheduler.
#include <gtest/gtest.h>

#include "api/kinds.h"
#include "apistore/service/service.h"
#include "apistore/testing/test_service.h"
#include "base/simulation.h"

namespace strake::apistore::service_remove_test {

using kube::core::kConfigMap;
using kube::core::kEvent;
using kube::core::kNamespace;
using kube::core::kNode;
using kube::core::kPod;
using testkit::object;
using testkit::parse;
using namespace std::chrono_literals;

class RemoveTest : public ::testing::Test {
 protected:
  json::Value create(const kube::Resource& resource, std::string_view ns, std::string_view name,
                     std::string_view more = "{}") {
    auto created = service_->create(request_, resource, "", object(resource, ns, name, more), {});
    EXPECT_TRUE(created.ok()) << created.error().to_string();
    return created.ok() ? created->object : json::Value();
  }
  Result<DeleteAnswer> remove(const kube::Resource& resource, const kube::ObjectKey& key,
                              const kube::DeleteOptions& options = {}) {
    return service_->remove(request_, resource, key, options);
  }
  bool exists(const kube::Resource& resource, const kube::ObjectKey& key) {
    return service_->get(request_, resource, key).ok();
  }
  json::Value read(const kube::Resource& resource, const kube::ObjectKey& key) {
    auto found = service_->get(request_, resource, key);
    EXPECT_TRUE(found.ok()) << found.error().to_string();
    return found.ok() ? found->object : json::Value();
  }
  static std::string owned_by(const json::Value& owner, bool blocks = false) {
    return fmt::format(
        R"({{"metadata":{{"ownerReferences":[{{"apiVersion":"{}","kind":"{}","name":"{}","uid":"{}","blockOwnerDeletion":{}}}]}}}})",
        *json::find_string(owner, {"apiVersion"}), *json::find_string(owner, {"kind"}),
        *json::find_string(owner, {"metadata", "name"}), *json::find_string(owner, {"metadata", "uid"}), blocks);
  }
  /// Lets the service's tasks do what there is to do.
  void settle() {
    service_->start();
    sim::RunLimits limits;
    limits.virtual_time = 10s;
    simulation_.run(limits);
  }

  sim::Simulation simulation_{1};
  std::unique_ptr<Service> service_ = testkit::open_service(simulation_);
  Request request_ = testkit::as_admin();
};

TEST_F(RemoveTest, RemovesAtOnceWhatNobodyHolds) {
  create(kNode, "", "n");
  const auto gone = remove(kNode, {"", "n"});
  ASSERT_TRUE(gone.ok());
  EXPECT_TRUE(gone->gone);
  EXPECT_EQ(json::find_string(parse(gone->text), {"metadata", "name"}), "n");
  EXPECT_FALSE(exists(kNode, {"", "n"}));
  EXPECT_EQ(remove(kNode, {"", "n"}).error().code(), Code::kNotFound);
}

TEST_F(RemoveTest, PreconditionsMustHold) {
  const json::Value node = create(kNode, "", "n");
  kube::DeleteOptions options;
  options.uid = "other";
  const auto other = remove(kNode, {"", "n"}, options);
  EXPECT_EQ(other.error().code(), Code::kConflict);
  EXPECT_EQ(
      other.error().to_string(),
      fmt::format("Operation cannot be fulfilled on Node \"n\": the UID in the precondition (other) does not match "
                  "the UID in record ({}). The object might have been deleted and then recreated",
                  *json::find_string(node, {"metadata", "uid"})));
  EXPECT_EQ(request_.details.kind, "Node");
  options = {};
  options.resource_version = "1";
  EXPECT_EQ(remove(kNode, {"", "n"}, options).error().code(), Code::kConflict);
  options.uid = *json::find_string(node, {"metadata", "uid"});
  options.resource_version = *json::find_string(node, {"metadata", "resourceVersion"});
  EXPECT_TRUE(remove(kNode, {"", "n"}, options).ok());
}

TEST_F(RemoveTest, FinalizersHoldAnObjectUntilTheLastIsTakenAway) {
  create(api::kMachineConfigPool, "", "w", R"({"metadata":{"finalizers":["a/b","c/d"]},"spec":{}})");
  const auto waits = remove(api::kMachineConfigPool, {"", "w"});
  ASSERT_TRUE(waits.ok());
  EXPECT_FALSE(waits->gone);
  const json::Value marked = parse(waits->text);
  EXPECT_NE(json::find(marked, {"metadata", "deletionTimestamp"}), nullptr);
  EXPECT_EQ(json::find_int(marked, {"metadata", "deletionGracePeriodSeconds"}), 0);
  EXPECT_EQ(json::find_int(marked, {"metadata", "generation"}), 2);
  const Revision before = service_->store().revision();
  EXPECT_FALSE(remove(api::kMachineConfigPool, {"", "w"})->gone);
  EXPECT_EQ(service_->store().revision(), before) << "asking twice changes nothing";
  EXPECT_EQ(service_
                ->create(request_, api::kMachineConfigPool, "",
                         object(api::kMachineConfigPool, "", "w", R"({"spec":{}})"), {})
                .error()
                .to_string(),
            R"(object is being deleted: machineconfigpools.machineconfiguration.openshift.io "w" already exists)");

  const auto patch = [&](std::string_view change) {
    return service_->patch(request_, api::kMachineConfigPool, {"", "w"}, kube::PatchType::kMerge, parse(change), {});
  };
  EXPECT_NE(
      patch(R"({"metadata":{"finalizers":["a/b","c/d","e/f"]}})")
          .error()
          .to_string()
          .find(
              R"(metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"e/f"})"),
      std::string::npos);
  EXPECT_TRUE(patch(R"({"metadata":{"deletionTimestamp":null,"finalizers":["c/d"]}})").ok());
  EXPECT_NE(json::find(read(api::kMachineConfigPool, {"", "w"}), {"metadata", "deletionTimestamp"}), nullptr)
      << "no way back";
  EXPECT_TRUE(patch(R"({"metadata":{"finalizers":null}})").ok());
  EXPECT_FALSE(exists(api::kMachineConfigPool, {"", "w"}));
}

TEST_F(RemoveTest, CollectionsGoBySelector) {
  for (int i = 0; i < 450; ++i)
    create(kConfigMap, "default", fmt::format("c{}", i), i % 3 == 0 ? R"({"metadata":{"labels":{"x":"y"}}})" : "{}");
  kube::ListOptions which;
  which.label_selector = "x=y";
  const auto removed = service_->remove_collection(request_, kConfigMap, "default", which, {});
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(removed->items.size(), 150u);
  EXPECT_EQ(service_->list(request_, kConfigMap, "default", {})->items.size(), 300u);
}

TEST_F(RemoveTest, PodsWaitForTheirKubeletWhenAsked) {
  ServiceOptions options;
  options.graceful_pod_deletion = true;
  service_ = testkit::open_service(simulation_, options);
  create(kPod, "default", "bound", R"({"spec":{"nodeName":"n","containers":[{"name":"c"}]}})");
  create(kPod, "default", "unbound", R"({"spec":{"containers":[{"name":"c"}]}})");
  EXPECT_TRUE(remove(kPod, {"default", "unbound"})->gone);
  EXPECT_FALSE(remove(kPod, {"default", "bound"})->gone);
  EXPECT_EQ(json::find_int(read(kPod, {"default", "bound"}), {"metadata", "deletionGracePeriodSeconds"}), 30);
  kube::DeleteOptions now;
  now.grace_period_seconds = 0;
  EXPECT_TRUE(remove(kPod, {"default", "bound"}, now)->gone);
}

TEST_F(RemoveTest, DependentsFollowTheirOwner) {
  const json::Value owner = create(kConfigMap, "default", "owner");
  const json::Value child = create(kConfigMap, "default", "child", owned_by(owner));
  create(kConfigMap, "default", "grandchild", owned_by(child));
  create(kConfigMap, "default", "stranger");
  settle();
  EXPECT_TRUE(exists(kConfigMap, {"default", "child"}));
  ASSERT_TRUE(remove(kConfigMap, {"default", "owner"}).ok());
  settle();
  EXPECT_FALSE(exists(kConfigMap, {"default", "child"}));
  EXPECT_FALSE(exists(kConfigMap, {"default", "grandchild"}));
  EXPECT_TRUE(exists(kConfigMap, {"default", "stranger"}));
}

TEST_F(RemoveTest, ADependentStaysWhileOneOwnerLives) {
  const json::Value first = create(kConfigMap, "default", "first");
  const json::Value second = create(kConfigMap, "default", "second");
  const auto reference = [](const json::Value& owner) {
    return fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","name":"{}","uid":"{}"}})",
                       *json::find_string(owner, {"metadata", "name"}), *json::find_string(owner, {"metadata", "uid"}));
  };
  create(kConfigMap, "default", "child",
         fmt::format(R"({{"metadata":{{"ownerReferences":[{},{}]}}}})", reference(first), reference(second)));
  settle();
  ASSERT_TRUE(remove(kConfigMap, {"default", "first"}).ok());
  settle();
  const json::Value child = read(kConfigMap, {"default", "child"});
  EXPECT_EQ(json::find(child, {"metadata", "ownerReferences"})->get_array().size(), 1u)
      << "the dead reference is dropped";
  ASSERT_TRUE(remove(kConfigMap, {"default", "second"}).ok());
  settle();
  EXPECT_FALSE(exists(kConfigMap, {"default", "child"}));
}

TEST_F(RemoveTest, ADependentOfAnOwnerThatWasNeverThereGoes) {
  settle();
  create(kConfigMap, "default", "late",
         R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"u-1"}]}})");
  create(kConfigMap, "default", "unknown-kind",
         R"({"metadata":{"ownerReferences":[{"apiVersion":"zoo/v1","kind":"Unicorn","name":"x","uid":"u-2"}]}})");
  create(kNode, "", "cluster-scoped",
         R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"u-3"}]}})");
  settle();
  EXPECT_FALSE(exists(kConfigMap, {"default", "late"}));
  EXPECT_TRUE(exists(kConfigMap, {"default", "unknown-kind"})) << "what we do not know we do not delete";
  EXPECT_TRUE(exists(kNode, {"", "cluster-scoped"})) << "a namespaced owner cannot be resolved for it";
}

TEST_F(RemoveTest, OwnersInAnotherNamespaceDoNotCount) {
  const json::Value owner = create(kConfigMap, "default", "owner");
  settle();
  create(kConfigMap, "kube-system", "child", owned_by(owner));
  settle();
  EXPECT_FALSE(exists(kConfigMap, {"kube-system", "child"}));
  EXPECT_TRUE(exists(kConfigMap, {"default", "owner"}));
}

TEST_F(RemoveTest, OrphaningFreesTheDependents) {
  const json::Value owner = create(kConfigMap, "default", "owner");
  create(kConfigMap, "default", "child", owned_by(owner));
  settle();
  kube::DeleteOptions options;
  options.propagation = "Orphan";
  EXPECT_FALSE(remove(kConfigMap, {"default", "owner"}, options)->gone);
  settle();
  EXPECT_FALSE(exists(kConfigMap, {"default", "owner"}));
  EXPECT_EQ(json::find(read(kConfigMap, {"default", "child"}), {"metadata", "ownerReferences"}), nullptr);
}

TEST_F(RemoveTest, ForegroundDeletionTakesDependentsFirst) {
  const json::Value owner = create(kConfigMap, "default", "owner");
  create(kConfigMap, "default", "child", owned_by(owner, true));
  ASSERT_TRUE(service_
                  ->patch(request_, kConfigMap, {"default", "child"}, kube::PatchType::kMerge,
                          parse(R"({"metadata":{"finalizers":["x/hold"]}})"), {})
                  .ok());
  settle();
  kube::DeleteOptions options;
  options.propagation = "Foreground";
  EXPECT_FALSE(remove(kConfigMap, {"default", "owner"}, options)->gone);
  settle();
  EXPECT_TRUE(exists(kConfigMap, {"default", "owner"})) << "the child is held by its finalizer";
  EXPECT_NE(json::find(read(kConfigMap, {"default", "child"}), {"metadata", "deletionTimestamp"}), nullptr);
  ASSERT_TRUE(service_
                  ->patch(request_, kConfigMap, {"default", "child"}, kube::PatchType::kMerge,
                          parse(R"({"metadata":{"finalizers":null}})"), {})
                  .ok());
  settle();
  EXPECT_FALSE(exists(kConfigMap, {"default", "owner"}));
}

TEST_F(RemoveTest, NamespacesGoWithTheirContents) {
  create(kNamespace, "", "team");
  create(kConfigMap, "team", "a");
  create(kConfigMap, "team", "held", R"({"metadata":{"finalizers":["x/hold"]}})");
  create(kPod, "team", "p", R"({"spec":{"containers":[{"name":"c"}]}})");
  EXPECT_FALSE(remove(kNamespace, {"", "team"})->gone);
  EXPECT_EQ(json::find_string(read(kNamespace, {"", "team"}), {"status", "phase"}), "Terminating");
  const auto refused = service_->create(request_, kConfigMap, "", object(kConfigMap, "team", "new"), {});
  EXPECT_EQ(refused.error().code(), Code::kDenied);
  EXPECT_EQ(
      refused.error().to_string(),
      R"(configmaps "new" is forbidden: unable to create new content in namespace team because it is being terminated)");
  settle();
  EXPECT_FALSE(exists(kConfigMap, {"team", "a"}));
  EXPECT_FALSE(exists(kPod, {"team", "p"}));
  EXPECT_TRUE(exists(kNamespace, {"", "team"}));
  ASSERT_TRUE(service_
                  ->patch(request_, kConfigMap, {"team", "held"}, kube::PatchType::kMerge,
                          parse(R"({"metadata":{"finalizers":null}})"), {})
                  .ok());
  settle();
  EXPECT_FALSE(exists(kNamespace, {"", "team"}));
  EXPECT_EQ(remove(kNamespace, {"", "default"}).error().code(), Code::kDenied);
}

TEST_F(RemoveTest, EventsAreForgottenAnHourAfterTheyWereLastSeen) {
  create(kEvent, "default", "once", R"({"involvedObject":{"kind":"Node","name":"n"},"reason":"R"})");
  create(kEvent, "default", "again", R"({"involvedObject":{"kind":"Node","name":"n"},"reason":"R"})");
  service_->start();
  sim::RunLimits limits;
  limits.virtual_time = 50min;
  simulation_.run(limits);
  EXPECT_TRUE(exists(kEvent, {"default", "once"}));
  ASSERT_TRUE(service_
                  ->patch(request_, kEvent, {"default", "again"}, kube::PatchType::kMerge,
                          parse(R"({"lastTimestamp":"2026-01-01T00:50:00Z","count":2})"), {})
                  .ok());
  limits.virtual_time = 15min;
  simulation_.run(limits);
  EXPECT_FALSE(exists(kEvent, {"default", "once"}));
  EXPECT_TRUE(exists(kEvent, {"default", "again"}));
}

TEST_F(RemoveTest, RestartedTasksFinishWhatWasLeft) {
  const json::Value owner = create(kConfigMap, "default", "owner");
  create(kConfigMap, "default", "child", owned_by(owner));
  create(kNamespace, "", "team");
  create(kConfigMap, "team", "a");
  ASSERT_TRUE(remove(kConfigMap, {"default", "owner"}).ok());
  ASSERT_TRUE(remove(kNamespace, {"", "team"}).ok());
  settle();  // the tasks start only now
  EXPECT_FALSE(exists(kConfigMap, {"default", "child"}));
  EXPECT_FALSE(exists(kNamespace, {"", "team"}));
}

}  // namespace strake::apistore::service_remove_test
