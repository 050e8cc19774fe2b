#include "apistore/service/watch.h"

#include <gtest/gtest.h>

#include "apistore/service/service.h"
#include "apistore/testing/test_service.h"
#include "base/simulation.h"

namespace strake::apistore::watch_test {

using kube::WatchType;
using kube::core::kConfigMap;
using kube::core::kNode;
using testkit::object;
using testkit::parse;
using namespace std::chrono_literals;

class WatchTest : public ::testing::Test {
 protected:
  json::Value create(const std::string& name, std::string_view more = "{}") {
    auto created = service_->create(request_, kNode, "", object(kNode, "", name, more), {});
    EXPECT_TRUE(created.ok()) << created.error().to_string();
    return created.ok() ? created->object : json::Value();
  }
  void label(const std::string& name, std::string_view labels) {
    const json::Value patch = parse(fmt::format(R"({{"metadata":{{"labels":{}}}}})", labels));
    ASSERT_TRUE(service_->patch(request_, kNode, {"", name}, kube::PatchType::kMerge, patch, {}).ok());
  }
  std::unique_ptr<Watch> watch(const WatchQuery& query) {
    auto opened = service_->watch(request_, kNode, "", query);
    EXPECT_TRUE(opened.ok()) << opened.error().to_string();
    return opened.ok() ? *std::move(opened) : nullptr;
  }
  /// "ADDED a@5", "" when there is nothing.
  static std::string next(Watch& watch) {
    auto poll = watch.try_next();
    EXPECT_TRUE(poll.ok()) << poll.error().to_string();
    if (!poll.ok() || !poll->event) return "";
    const json::Value seen = parse(*poll->event->text);
    return fmt::format("{} {}@{}", to_string(poll->event->type),
                       json::find_string(seen, {"metadata", "name"}).value_or("-"),
                       json::find_string(seen, {"metadata", "resourceVersion"}).value_or("-"));
  }
  Revision now() { return service_->store().revision(); }

  sim::Simulation simulation_{1};
  std::unique_ptr<Service> service_ = testkit::open_service(simulation_);
  Request request_ = testkit::as_admin();
};

TEST_F(WatchTest, BeginsWithThePresentStateThenTellsChanges) {
  for (int i = 0; i < 1100; ++i) create(fmt::format("n{:04}", i));
  const Revision first = now() - 1100 + 1;
  auto stream = watch({});
  create("late");
  for (int i = 0; i < 1100; ++i) ASSERT_EQ(next(*stream), fmt::format("ADDED n{:04}@{}", i, first + i));
  EXPECT_EQ(next(*stream), fmt::format("ADDED late@{}", now()));
  EXPECT_EQ(next(*stream), "");
  label("late", R"({"a":"b"})");
  EXPECT_EQ(next(*stream), fmt::format("MODIFIED late@{}", now()));
  ASSERT_TRUE(service_->remove(request_, kNode, {"", "late"}, {}).ok());
  EXPECT_EQ(next(*stream), fmt::format("DELETED late@{}", now()));
}

TEST_F(WatchTest, FromAVersionTellsOnlyWhatCameAfter) {
  create("a");
  WatchQuery query;
  query.resource_version = std::to_string(now());
  create("b");
  auto stream = watch(query);
  EXPECT_EQ(next(*stream), fmt::format("ADDED b@{}", now()));
  EXPECT_EQ(next(*stream), "");
  query.resource_version = "1x";
  EXPECT_EQ(service_->watch(request_, kNode, "", query).error().reason(), "BadRequest");
  query.resource_version = "99999";
  EXPECT_EQ(service_->watch(request_, kNode, "", query).error().code(), Code::kExpired);
}

TEST_F(WatchTest, SelectorsTurnChangesIntoComingAndGoing) {
  WatchQuery query;
  query.label_selector = "role=worker";
  auto stream = watch(query);
  create("a", R"({"metadata":{"labels":{"role":"worker"}}})");
  create("b");
  EXPECT_EQ(next(*stream), fmt::format("ADDED a@{}", now() - 1));
  EXPECT_EQ(next(*stream), "");
  label("b", R"({"role":"worker"})");
  EXPECT_EQ(next(*stream), fmt::format("ADDED b@{}", now()));
  label("b", R"({"role":"worker","x":"y"})");
  EXPECT_EQ(next(*stream), fmt::format("MODIFIED b@{}", now()));
  label("b", R"({"role":"infra"})");
  auto gone = stream->try_next();
  ASSERT_TRUE(gone.ok() && gone->event);
  EXPECT_EQ(gone->event->type, WatchType::kDeleted);
  const json::Value last = parse(*gone->event->text);
  EXPECT_EQ(json::find_string(last, {"metadata", "resourceVersion"}), std::to_string(now()))
      << "the version that took it away";
  EXPECT_EQ(json::find_string(last, {"metadata", "labels", "role"}), "worker") << "as it was while it matched";
  label("b", R"({"role":"other"})");
  ASSERT_TRUE(service_->remove(request_, kNode, {"", "b"}, {}).ok());
  EXPECT_EQ(next(*stream), "");
  ASSERT_TRUE(service_->remove(request_, kNode, {"", "a"}, {}).ok());
  EXPECT_EQ(next(*stream), fmt::format("DELETED a@{}", now()));
}

TEST_F(WatchTest, FieldSelectorsWorkToo) {
  WatchQuery query;
  query.field_selector = "metadata.name=a,spec.unschedulable=false";
  auto stream = watch(query);
  create("b");
  create("a");
  EXPECT_EQ(next(*stream), fmt::format("ADDED a@{}", now()));
  ASSERT_TRUE(
      service_
          ->patch(request_, kNode, {"", "a"}, kube::PatchType::kMerge, parse(R"({"spec":{"unschedulable":true}})"), {})
          .ok());
  EXPECT_EQ(next(*stream), fmt::format("DELETED a@{}", now()));
}

TEST_F(WatchTest, AWatchOfOneNameSleepsThroughTheChangesOfOthers) {
  create("a");
  create("b");
  int woken = 0;
  WatchQuery query;
  query.field_selector = "metadata.name=a";
  query.resource_version = std::to_string(now());
  query.ready = [&] { ++woken; };
  auto stream = watch(query);
  EXPECT_EQ(next(*stream), "");
  for (int i = 0; i < 10; ++i) label("b", fmt::format(R"({{"i":"{}"}})", i));
  EXPECT_EQ(woken, 0);
  label("a", R"({"i":"1"})");
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(next(*stream), fmt::format("MODIFIED a@{}", now()));
  // One that starts behind reads history, and through the same sieve.
  query.ready = nullptr;
  auto late = watch(query);
  EXPECT_EQ(next(*late), fmt::format("MODIFIED a@{}", now()));
  EXPECT_EQ(next(*late), "");
}

TEST_F(WatchTest, BookmarksTellHowFarTheWatchIsAtLeastEachMinute) {
  create("a");
  WatchQuery query;
  query.resource_version = std::to_string(now());
  query.bookmarks = true;
  auto stream = watch(query);
  std::vector<std::string> seen;
  runtime::Task reader = simulation_.spawn("reader", [&](std::stop_token stop) {
    while (true) {
      auto event = stream->next({stop, std::nullopt});
      if (!event.ok()) return;
      ASSERT_TRUE(*event);
      const json::Value value = parse(*(*event)->text);
      seen.push_back(
          fmt::format("{} {}", to_string((*event)->type), *json::find_string(value, {"metadata", "resourceVersion"})));
    }
  });
  sim::RunLimits limits;
  limits.virtual_time = 100s;
  simulation_.run(limits);
  const Revision before = now();
  ASSERT_TRUE(service_->create(request_, kConfigMap, "", object(kConfigMap, "default", "c"), {}).ok());
  simulation_.run(limits);
  reader.stop_and_join();
  ASSERT_GE(seen.size(), 3u);
  EXPECT_EQ(seen.front(), fmt::format("BOOKMARK {}", before));
  EXPECT_EQ(seen.back(), fmt::format("BOOKMARK {}", before + 1)) << "what happened to other kinds counts as seen";
}

TEST_F(WatchTest, TheEndOfThePresentStateIsMarkedWhenAskedFor) {
  create("a");
  WatchQuery query;
  query.bookmarks = true;
  query.initial_events = true;
  auto stream = watch(query);
  EXPECT_EQ(next(*stream), fmt::format("ADDED a@{}", now()));
  auto mark = stream->try_next();
  ASSERT_TRUE(mark.ok() && mark->event);
  EXPECT_EQ(mark->event->type, WatchType::kBookmark);
  const json::Value value = parse(*mark->event->text);
  EXPECT_EQ(json::find_string(value, {"metadata", "annotations", "k8s.io/initial-events-end"}), "true");
  EXPECT_EQ(json::find_string(value, {"metadata", "resourceVersion"}), std::to_string(now()));
}

TEST_F(WatchTest, EndsInGoodOrderAfterItsTimeout) {
  WatchQuery query;
  query.timeout = 5s;
  query.bookmarks = true;
  auto stream = watch(query);
  bool ended = false;
  runtime::Task reader = simulation_.spawn("reader", [&](std::stop_token stop) {
    const auto early = stream->next(simulation_.call_within(1s, stop));
    EXPECT_EQ(early.error().code(), Code::kTimeout) << "the call's own deadline; the watch goes on";
    const auto event = stream->next({stop, std::nullopt});
    ended = event.ok() && !*event;
  });
  EXPECT_EQ(simulation_.run(), sim::RunEnd::kAllDone);
  EXPECT_TRUE(ended);
  EXPECT_EQ(simulation_.now().time_since_epoch(), 5s);
}

TEST_F(WatchTest, ReadyIsCalledOncePerSilence) {
  int calls = 0;
  WatchQuery query;
  query.ready = [&] { ++calls; };
  auto stream = watch(query);
  EXPECT_EQ(next(*stream), "");
  create("a");
  create("b");
  EXPECT_EQ(calls, 1);
  EXPECT_NE(next(*stream), "");
  EXPECT_NE(next(*stream), "");
  EXPECT_EQ(next(*stream), "");
  create("c");
  EXPECT_EQ(calls, 2);
}

TEST(WatchService, AThousandWatchersShareOneText) {
  runtime::ThreadRuntime runtime;
  auto service = testkit::open_service(runtime);
  Request request = testkit::as_admin();
  std::vector<std::unique_ptr<Watch>> streams;
  for (int i = 0; i < 1000; ++i) streams.push_back(*service->watch(request, kNode, "", {}));
  ASSERT_TRUE(service->create(request, kNode, "", object(kNode, "", "n"), {}).ok());
  std::set<const std::string*> texts;
  for (auto& stream : streams) {
    auto poll = stream->try_next();
    ASSERT_TRUE(poll.ok() && poll->event);
    texts.insert(poll->event->text.get());
  }
  EXPECT_EQ(texts.size(), 1u);
}

}  // namespace strake::apistore::watch_test
