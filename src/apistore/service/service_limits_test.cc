// What one user may store, and work that ends when nobody waits for it. Counted, not timed.
#include <gtest/gtest.h>

#include "apistore/testing/test_service.h"
#include "base/simulation.h"
#include "support/temp_dir.h"

namespace strake::apistore::service_limits_test {

using namespace std::chrono_literals;
using kube::core::kConfigMap;
using kube::core::kNode;
using testkit::as_admin;
using testkit::object;

/// The one who may create something without being an administrator: its own Node.
Request as_kubelet(const std::string& node) { return {{"system:node:" + node, {"system:nodes"}}, {}, {}}; }

std::unique_ptr<Service> service_with(runtime::Runtime& runtime, StorageQuota quota) {
  ServiceOptions options;
  options.quota = quota;
  return testkit::open_service(runtime, options);
}

Result<ObjectAnswer> new_node(Service& service, Request request, const std::string& name) {
  return service.create(request, kNode, "", object(kNode, "", name), {});
}

TEST(StorageQuota, ObjectsOfOneUserButNotOfAdministrators) {
  runtime::ThreadRuntime runtime;
  const auto service = service_with(runtime, {.objects = 0});
  const auto refused = new_node(*service, as_kubelet("a"), "a");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason(), "Forbidden");
  EXPECT_NE(refused.error().message().find("exceeded quota"), std::string::npos) << refused.error().message();
  EXPECT_NE(refused.error().message().find("limited: objects=0"), std::string::npos) << refused.error().message();
  EXPECT_TRUE(new_node(*service, as_admin(), "a").ok());
  const auto roomy = service_with(runtime, {});
  const auto allowed = new_node(*roomy, as_kubelet("a"), "a");
  EXPECT_TRUE(allowed.ok()) << allowed.error().to_string();
}

TEST(StorageQuota, NobodyButAnAdministratorMakesALargeObject) {
  runtime::ThreadRuntime runtime;
  const auto service = service_with(runtime, {.object_bytes = 10'000});
  ASSERT_TRUE(new_node(*service, as_kubelet("a"), "a").ok());
  const auto report = [&](Request request, std::size_t bytes) {
    const json::Object patch{
        {"status", json::Object{{"nodeInfo", json::Object{{"osImage", std::string(bytes, 'x')}}}}}};
    kube::WriteOptions options;
    options.subresource = "status";
    return service->patch(request, kNode, {"", "a"}, kube::PatchType::kMerge, patch, options).ok();
  };
  EXPECT_FALSE(report(as_kubelet("a"), 10'000));
  EXPECT_TRUE(report(as_kubelet("a"), 5'000));
  EXPECT_TRUE(report(as_admin(), 20'000));
  EXPECT_TRUE(report(as_kubelet("a"), 19'000)) << "smaller than it was";
}

TEST(StorageQuota, TheStoreKnowsWhatIsWhoseAlsoAfterARestart) {
  runtime::ThreadRuntime runtime;
  test::TempDir dir;
  const auto text = [](std::size_t bytes) {
    return RevisionedText{R"({"metadata":{"resourceVersion":")", "\"}}" + std::string(bytes, ' ')};
  };
  const auto stored = [](Store& store, const std::string& owner) {
    Txn::Stored found;
    EXPECT_TRUE(store
                    .write([&](Txn& txn) -> Status {
                      STRAKE_TRY(found, txn.stored_by(owner));
                      return {};
                    })
                    .ok());
    return found;
  };
  StoreOptions options;
  options.directory = dir.path();
  {
    const auto store = *Store::open(runtime, options);
    ASSERT_TRUE(store
                    ->write([&](Txn& txn) -> Status {
                      STRAKE_CHECK_OK(txn.put({"things", "", "a"}, "uid-a", text(100), "ann"));
                      STRAKE_CHECK_OK(txn.put({"things", "", "b"}, "uid-b", text(100), "ann"));
                      STRAKE_CHECK_OK(txn.put({"things", "", "c"}, "uid-c", text(100)));
                      return {};
                    })
                    .ok());
    EXPECT_EQ(stored(*store, "ann").objects, 2);
    EXPECT_EQ(stored(*store, "bob").objects, 0);
  }
  const auto store = *Store::open(runtime, options);
  const auto before = stored(*store, "ann");
  EXPECT_EQ(before.objects, 2);
  ASSERT_TRUE(store
                  ->write([&](Txn& txn) -> Status {
                    STRAKE_CHECK_OK(txn.put({"things", "", "a"}, "uid-a", text(1'100), "bob"));
                    STRAKE_TRY(const std::string owner, txn.owner_of("uid-a"));
                    EXPECT_EQ(owner, "ann") << "who changes it does not own it";
                    return {};
                  })
                  .ok());
  EXPECT_EQ(stored(*store, "ann").bytes, before.bytes + 1'000);
  ASSERT_TRUE(store
                  ->write([&](Txn& txn) -> Status {
                    STRAKE_CHECK_OK(txn.remove({"things", "", "a"}, text(0)));
                    return {};
                  })
                  .ok());
  EXPECT_EQ(stored(*store, "ann").objects, 1);
}

TEST(Cancelled, AListStopsWhenNobodyWaits) {
  sim::Simulation simulation{1};
  const auto service = testkit::open_service(simulation);
  Request admin = as_admin();
  for (int i = 0; i < 2'500; ++i) {
    ASSERT_TRUE(
        service->create(admin, kConfigMap, "default", object(kConfigMap, "default", fmt::format("m{:04}", i)), {})
            .ok());
  }
  const auto rows = [&] { return service->store().stats().rows_listed; };
  const auto list = [&](const std::string& selector, std::stop_token stop) {
    Request request = as_admin();
    request.stop = std::move(stop);
    const auto before = rows();
    const auto answer = service->list(request, kConfigMap, "default", {.label_selector = selector});
    EXPECT_EQ(answer.ok(), !request.stop.stop_requested());
    EXPECT_TRUE(answer.ok() || answer.error().code() == Code::kCancelled);
    return rows() - before;
  };
  std::stop_source gone;
  EXPECT_EQ(list("", gone.get_token()), 2'500U);
  EXPECT_GE(list("a=b", gone.get_token()), 2'500U);
  gone.request_stop();
  EXPECT_LE(list("", gone.get_token()), 64U);
  EXPECT_LE(list("a=b", gone.get_token()), 64U);
}

TEST(Cancelled, AWriteOfAClientThatLeftChangesNothing) {
  sim::Simulation simulation{1};
  const auto service = testkit::open_service(simulation);
  Request admin = as_admin();
  ASSERT_TRUE(service->create(admin, kConfigMap, "default", object(kConfigMap, "default", "m"), {}).ok());
  const Revision before = service->store().revision();
  std::stop_source gone;
  gone.request_stop();
  admin.stop = gone.get_token();
  const auto patched = service->patch(admin, kConfigMap, {"default", "m"}, kube::PatchType::kMerge,
                                      json::Object{{"data", json::Object{{"a", "b"}}}}, {});
  ASSERT_FALSE(patched.ok());
  EXPECT_EQ(patched.error().code(), Code::kCancelled);
  EXPECT_EQ(service->store().revision(), before);
}

}  // namespace strake::apistore::service_limits_test
