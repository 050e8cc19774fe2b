#include "apistore/store/store.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/simulation.h"
#include "support/temp_dir.h"

namespace strake::apistore::store_test {

using runtime::Call;
using namespace std::chrono_literals;

RevisionedText text_of(std::string_view value) { return {fmt::format(R"({{"value":"{}","rv":")", value), "\"}"}; }

std::unique_ptr<Store> open_store(runtime::Runtime& runtime, StoreOptions options = {}) {
  auto store = Store::open(runtime, std::move(options));
  EXPECT_TRUE(store.ok()) << store.error().to_string();
  return *std::move(store);
}

Status put(Store& store, const StoreKey& key, std::string_view value) {
  return store.write([&](Txn& txn) -> Status {
    STRAKE_TRY(const Row written, txn.put(key, "uid-" + key.name, text_of(value)));
    EXPECT_EQ(written.text, text_of(value).with(written.revision));
    return {};
  });
}

/// Many revisions for one fsync.
Status put_times(Store& store, const StoreKey& key, int times) {
  return store.write([&](Txn& txn) -> Status {
    for (int i = 0; i < times; ++i) {
      STRAKE_TRY(const Row written, txn.put(key, "uid", text_of(std::to_string(i))));
      EXPECT_GT(written.revision, 1);
    }
    return {};
  });
}

Status erase(Store& store, const StoreKey& key) {
  return store.write([&](Txn& txn) -> Status {
    STRAKE_TRY(const Row gone, txn.remove(key, text_of("gone")));
    EXPECT_GT(gone.revision, 0);
    return {};
  });
}

std::vector<std::string> names(const ListResult& list) {
  std::vector<std::string> found;
  for (const Row& row : list.rows) found.push_back(row.ns.empty() ? row.name : row.ns + "/" + row.name);
  return found;
}

/// Every test of behaviour holds in memory and on disk.
class StoreTest : public testing::TestWithParam<bool> {
 protected:
  StoreOptions options() {
    StoreOptions options;
    if (GetParam()) options.directory = dir_ / "store";
    return options;
  }
  test::TempDir dir_;
  runtime::ThreadRuntime runtime_;
};
INSTANTIATE_TEST_SUITE_P(Both, StoreTest, testing::Bool(),
                         [](const auto& which) { return which.param ? "OnDisk" : "InMemory"; });

TEST_P(StoreTest, OneRevisionForEveryChangeAcrossResources) {
  auto store = open_store(runtime_, options());
  ASSERT_TRUE(put(*store, {"nodes", "", "a"}, "1").ok());
  ASSERT_TRUE(put(*store, {"pods", "x", "a"}, "2").ok());
  ASSERT_TRUE(put(*store, {"nodes", "", "a"}, "3").ok());
  EXPECT_EQ(store->revision(), 4);
  const auto row = store->get({"nodes", "", "a"});
  ASSERT_TRUE(row.ok() && row->has_value());
  EXPECT_EQ((*row)->revision, 4);
  EXPECT_EQ((*row)->text, R"({"value":"3","rv":"4"})");
  EXPECT_EQ((*row)->uid, "uid-a");
  EXPECT_FALSE(store->get({"nodes", "", "b"})->has_value());
}

TEST_P(StoreTest, AFunctionThatFailsAfterItsFirstWriteLeavesNothing) {
  auto store = open_store(runtime_, options());
  const Status failed = store->write([&](Txn& txn) -> Status {
    STRAKE_TRY(const Row written, txn.put({"nodes", "", "a"}, "u", text_of("1")));
    EXPECT_EQ(written.revision, 2);
    return error(Code::kConflict, "changed my mind");
  });
  EXPECT_EQ(failed.error().code(), Code::kConflict);
  EXPECT_FALSE(store->get({"nodes", "", "a"})->has_value());
  EXPECT_EQ(store->revision(), 1);
  ASSERT_TRUE(put(*store, {"nodes", "", "b"}, "1").ok());
  EXPECT_EQ(store->revision(), 2) << "the revision of the failed function is used again";
}

TEST_P(StoreTest, ListsPageByPageInKeyOrder) {
  auto store = open_store(runtime_, options());
  for (const char* name : {"c", "a", "b"}) {
    for (const char* ns : {"y", "x"}) ASSERT_TRUE(put(*store, {"pods", ns, name}, "1").ok());
  }
  ASSERT_TRUE(put(*store, {"podsother", "x", "zz"}, "1").ok());
  ListQuery query{.resource = "pods", .ns = "", .after = {}, .limit = 4, .at = {}};
  auto page = store->list(query);
  EXPECT_EQ(names(*page), (std::vector<std::string>{"x/a", "x/b", "x/c", "y/a"}));
  EXPECT_TRUE(page->more);
  query.after = {"y", "a"};
  page = store->list(query);
  EXPECT_EQ(names(*page), (std::vector<std::string>{"y/b", "y/c"}));
  EXPECT_FALSE(page->more);
  EXPECT_EQ(*store->count({.resource = "pods", .ns = "", .after = query.after, .limit = 0, .at = {}}), 2);
  EXPECT_EQ(*store->count({.resource = "pods", .ns = "x", .after = {}, .limit = 0, .at = {}}), 3);
  // As of a moment: what was removed since counts, what was added since does not, what was changed counts once.
  const Revision moment = store->revision();
  ASSERT_TRUE(put(*store, {"pods", "x", "d"}, "1").ok());
  ASSERT_TRUE(put(*store, {"pods", "x", "d"}, "2").ok());
  ASSERT_TRUE(put(*store, {"pods", "x", "a"}, "2").ok());
  ASSERT_TRUE(put(*store, {"pods", "x", "a"}, "3").ok());
  EXPECT_EQ(*store->count({.resource = "pods", .ns = "x", .after = {}, .limit = 0, .at = moment}), 3);
  EXPECT_EQ(*store->count({.resource = "pods", .ns = "x", .after = {{"x", "a"}}, .limit = 0, .at = moment}), 2);
  EXPECT_EQ(*store->count({.resource = "pods", .ns = "x", .after = {}, .limit = 0, .at = {}}), 4);
  query = {.resource = "pods", .ns = "y", .after = {{"y", "a"}}, .limit = 2, .at = {}};
  page = store->list(query);
  EXPECT_EQ(names(*page), (std::vector<std::string>{"y/b", "y/c"}));
  EXPECT_FALSE(page->more) << "a full last page is the last page";
}

TEST_P(StoreTest, AListOfOneNameHoldsThatObjectAsItWas) {
  auto store = open_store(runtime_, options());
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(put(*store, {"nodes", "", name}, "1").ok());
  ASSERT_TRUE(put(*store, {"pods", "x", "b"}, "1").ok());
  ASSERT_TRUE(put(*store, {"pods", "y", "b"}, "1").ok());
  ListQuery query{.resource = "nodes", .ns = "", .after = {}, .limit = 0, .at = {}, .only = "b"};
  EXPECT_EQ(names(*store->list(query)), (std::vector<std::string>{"b"}));
  const Revision moment = store->revision();
  ASSERT_TRUE(put(*store, {"nodes", "", "b"}, "2").ok());
  ASSERT_TRUE(put(*store, {"nodes", "", "c"}, "2").ok());
  const auto now = store->list(query);
  ASSERT_EQ(now->rows.size(), 1u);
  EXPECT_EQ(now->rows[0].text, text_of("2").with(now->rows[0].revision));
  query.at = moment;
  const auto then = store->list(query);
  ASSERT_EQ(names(*then), (std::vector<std::string>{"b"}));
  EXPECT_EQ(then->rows[0].text, text_of("1").with(then->rows[0].revision));
  query = {.resource = "nodes", .ns = "", .after = {}, .limit = 1, .at = {}, .only = "nobody"};
  EXPECT_TRUE(store->list(query)->rows.empty());
  query = {.resource = "pods", .ns = "y", .after = {}, .limit = 1, .at = {}, .only = "b"};
  EXPECT_EQ(names(*store->list(query)), (std::vector<std::string>{"y/b"}));
  EXPECT_FALSE(store->list(query)->more);
}

TEST_P(StoreTest, AListAtARevisionIsTheStateAtThatRevision) {
  auto store = open_store(runtime_, options());
  using State = std::map<std::string, std::string>;
  std::map<Revision, State> states;
  State state;
  SeededRandom random(7);
  for (int i = 0; i < 120; ++i) {
    const std::string name(1, static_cast<char>('a' + random.below(12)));
    const StoreKey key{"nodes", "", name};
    if (state.contains(name) && random.chance(0.3)) {
      ASSERT_TRUE(erase(*store, key).ok());
      state.erase(name);
    } else {
      ASSERT_TRUE(put(*store, key, std::to_string(i)).ok());
      state[name] = text_of(std::to_string(i)).with(store->revision());
    }
    states[store->revision()] = state;
  }
  for (const auto& [revision, expected] : states) {
    State seen;
    ListQuery query{.resource = "nodes", .ns = "", .after = {}, .limit = 1 + random.below(5), .at = revision};
    while (true) {
      const auto page = store->list(query);
      ASSERT_TRUE(page.ok()) << page.error().to_string();
      EXPECT_EQ(page->revision, revision);
      for (const Row& row : page->rows) seen[row.name] = row.text;
      if (!page->more) break;
      query.after = {page->rows.back().ns, page->rows.back().name};
    }
    EXPECT_EQ(seen, expected) << "at revision " << revision;
  }
}

TEST_P(StoreTest, CompactionExpiresOldListsAndWatchesAndKeepsNewOnes) {
  StoreOptions kept = options();
  kept.keep_time = 0s;
  kept.keep_revisions = 10;
  kept.events.ring_events = 1;
  auto store = open_store(runtime_, kept);
  ASSERT_TRUE(put_times(*store, {"nodes", "", "a"}, 1200).ok());
  ASSERT_TRUE(store->compact().ok());
  EXPECT_EQ(store->compacted(), 1201 - 10);
  ListQuery query{.resource = "nodes", .ns = "", .after = {}, .limit = 0, .at = store->compacted() - 1};
  EXPECT_EQ(store->list(query).error().code(), Code::kExpired);
  query.at = store->compacted();
  EXPECT_EQ(store->list(query)->rows.at(0).revision, store->compacted());
  query.at = store->revision() + 1;
  EXPECT_EQ(store->list(query).error().code(), Code::kTimeout);

  EXPECT_EQ(
      store->subscribe({.resource = "nodes", .ns = "", .after = store->compacted() - 1, .ready = {}}).error().code(),
      Code::kExpired);
  EXPECT_EQ(
      store->subscribe({.resource = "nodes", .ns = "", .after = store->revision() + 1, .ready = {}}).error().code(),
      Code::kExpired);
  const auto oldest = store->subscribe({.resource = "nodes", .ns = "", .after = store->compacted(), .ready = {}});
  ASSERT_TRUE(oldest.ok());
  EXPECT_EQ((*(*oldest)->try_next())->revision, store->compacted() + 1);
}

TEST_P(StoreTest, CompactionKeepsWhatIsYoung) {
  StoreOptions kept = options();
  kept.keep_time = 1h;
  kept.keep_revisions = 1;
  auto store = open_store(runtime_, kept);
  ASSERT_TRUE(put_times(*store, {"nodes", "", "a"}, 20).ok());
  ASSERT_TRUE(store->compact().ok());
  EXPECT_EQ(store->compacted(), 1);
}

TEST_P(StoreTest, SubscribersGetTheirResourceAndNamespaceOnlyWithWhatWasBefore) {
  auto store = open_store(runtime_, options());
  int woken = 0;
  auto watch = store->subscribe({.resource = "pods", .ns = "x", .after = 1, .ready = [&] { ++woken; }});
  ASSERT_TRUE(watch.ok());
  EXPECT_EQ(*(*watch)->try_next(), nullptr);
  ASSERT_TRUE(put(*store, {"nodes", "", "a"}, "1").ok());
  ASSERT_TRUE(put(*store, {"pods", "y", "a"}, "1").ok());
  EXPECT_EQ(woken, 0);
  EXPECT_EQ((*watch)->caught_up_to(), 3) << "what does not match counts as seen";
  ASSERT_TRUE(put(*store, {"pods", "x", "a"}, "1").ok());
  ASSERT_TRUE(put(*store, {"pods", "x", "a"}, "2").ok());
  ASSERT_TRUE(erase(*store, {"pods", "x", "a"}).ok());
  EXPECT_EQ(woken, 1) << "once, until the queue was emptied";
  EXPECT_EQ((*watch)->caught_up_to(), 3);

  const StoreEventPtr created = *(*watch)->try_next();
  EXPECT_EQ(created->type, ChangeType::kCreated);
  EXPECT_FALSE(created->previous.has_value());
  const StoreEventPtr updated = *(*watch)->try_next();
  EXPECT_EQ(updated->type, ChangeType::kUpdated);
  EXPECT_EQ(updated->previous, created->object);
  const StoreEventPtr deleted = *(*watch)->next({});
  EXPECT_EQ(deleted->type, ChangeType::kDeleted);
  EXPECT_EQ(deleted->object, text_of("gone").with(deleted->revision));
  EXPECT_EQ(deleted->previous, updated->object);
  EXPECT_EQ(*(*watch)->try_next(), nullptr);
  EXPECT_EQ(json::find_string(**updated->parsed_object(), {"value"}), "2");
  EXPECT_EQ(json::find_string(**updated->parsed_previous(), {"value"}), "1");
}

TEST_P(StoreTest, ASubscriberSleepsThroughWhatItsFilterRefuses) {
  StoreOptions small = options();
  small.events.ring_events = 2;
  auto store = open_store(runtime_, small);
  int woken = 0;
  const auto subscribe = [&] {
    return store->subscribe({.resource = "",
                             .ns = "",
                             .after = 1,
                             .filter = [](const StoreEvent& event) { return event.key.name == "wanted"; },
                             .ready = [&] { ++woken; }});
  };
  auto present = subscribe();
  ASSERT_TRUE(present.ok());
  for (const char* name : {"a", "wanted", "b", "c"}) ASSERT_TRUE(put(*store, {"nodes", "", name}, "1").ok());
  EXPECT_EQ(woken, 1);
  auto late = subscribe();  // its event has left the ring: it comes from history
  ASSERT_TRUE(late.ok());
  for (Subscription* const subscription : {present->get(), late->get()}) {
    const auto event = subscription->try_next();
    ASSERT_TRUE(event.ok() && *event != nullptr);
    EXPECT_EQ((*event)->key.name, "wanted");
    EXPECT_EQ(*subscription->try_next(), nullptr);
    EXPECT_EQ(subscription->caught_up_to(), 5);
  }
}

TEST_P(StoreTest, ASlowSubscriberLosesItsQueueButNoEvent) {
  StoreOptions small = options();
  small.events.queue_events = 5;
  small.events.ring_events = 7;
  auto store = open_store(runtime_, small);
  const auto watch = store->subscribe({.resource = "nodes", .ns = "", .after = 1, .ready = {}});
  for (int i = 0; i < 70; ++i) ASSERT_TRUE(put_times(*store, {"nodes", "", "a"}, 10).ok());
  for (Revision expected = 2; expected <= 701; ++expected) {
    const auto event = (*watch)->try_next();
    ASSERT_TRUE(event.ok() && *event) << "at revision " << expected;
    ASSERT_EQ((*event)->revision, expected);
  }
  EXPECT_EQ(*(*watch)->try_next(), nullptr);
}

TEST_P(StoreTest, ClosingEndsWaits) {
  auto store = open_store(runtime_, options());
  auto watch = *store->subscribe({.resource = "", .ns = "", .after = 1, .ready = {}});
  std::optional<Code> ended;
  runtime::Task task = runtime_.spawn("watcher", [&](std::stop_token) { ended = watch->next({}).error().code(); });
  store->close();
  task.join();
  EXPECT_EQ(ended, Code::kCancelled);
}

TEST_P(StoreTest, WritersInContentionShareCommitsAndEveryWatcherSeesEachRevisionOnce) {
  StoreOptions small = options();
  small.events.queue_events = 20;
  small.events.ring_events = 50;
  auto store = open_store(runtime_, small);
  constexpr int kWriters = 8;
  constexpr int kEach = 40;
  constexpr Revision kLast = 1 + kWriters * kEach;
  {
    std::vector<runtime::Task> tasks;
    for (int w = 0; w < 3; ++w) {
      tasks.push_back(runtime_.spawn("watcher", [&](std::stop_token) {
        auto watch = *store->subscribe({.resource = "nodes", .ns = "", .after = 1, .ready = {}});
        for (Revision expected = 2; expected <= kLast; ++expected) {
          const auto event = watch->next(runtime_.call_within(60s));
          ASSERT_TRUE(event.ok()) << event.error().to_string();
          ASSERT_EQ((*event)->revision, expected);
        }
      }));
    }
    for (int w = 0; w < kWriters; ++w) {
      tasks.push_back(runtime_.spawn("writer", [&, w](std::stop_token) {
        for (int i = 0; i < kEach; ++i) {
          ASSERT_TRUE(put(*store, {"nodes", "", fmt::format("n{}", w)}, std::to_string(i)).ok());
          const auto row = store->get({"nodes", "", fmt::format("n{}", w)});
          ASSERT_TRUE(row.ok() && row->has_value()) << "a writer reads what it wrote";
          ASSERT_EQ((*row)->text, text_of(std::to_string(i)).with((*row)->revision));
        }
      }));
    }
    for (auto& task : tasks) task.join();
  }
  EXPECT_EQ(store->revision(), kLast);
  EXPECT_EQ(store->stats().functions, static_cast<std::uint64_t>(kLast - 1));
  if (GetParam()) {
    EXPECT_LT(store->stats().commits, store->stats().functions);
  }
}

TEST(StoreSimulation, WatchersThatDropAndResumeSeeEachRevisionOnceInOrder) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    sim::Simulation simulation(seed);
    StoreOptions options;
    options.events = {.ring_events = 10, .ring_bytes = 1u << 20, .queue_events = 4};
    auto store = open_store(simulation, options);
    constexpr int kWriters = 4;
    constexpr int kEach = 40;
    constexpr Revision kLast = 1 + kWriters * kEach;
    std::vector<std::vector<Revision>> seen(3);
    {
      std::vector<runtime::Task> tasks;
      for (int w = 0; w < kWriters; ++w) {
        tasks.push_back(simulation.spawn(fmt::format("writer-{}", w), [&, w](std::stop_token stop) {
          for (int i = 0; i < kEach; ++i) {
            simulation.yield("write");
            ASSERT_TRUE(put(*store, {"nodes", "", fmt::format("n{}", w)}, std::to_string(i)).ok());
            if (simulation.random().chance(0.2)) {
              ASSERT_TRUE(simulation.sleep(10ms, stop).ok());
            }
          }
        }));
      }
      for (auto& mine : seen) {
        tasks.push_back(simulation.spawn("watcher", [&](std::stop_token) {
          Revision last = 1;
          while (last < kLast) {
            auto watch = *store->subscribe({.resource = "nodes", .ns = "", .after = last, .ready = {}});
            while (last < kLast && !simulation.random().chance(0.1)) {
              simulation.yield("next");
              const auto event = watch->next({});
              ASSERT_TRUE(event.ok()) << event.error().to_string();
              last = (*event)->revision;
              mine.push_back(last);
            }
          }
        }));
      }
      ASSERT_EQ(simulation.run(), sim::RunEnd::kAllDone) << "seed " << seed;
    }
    for (const auto& mine : seen) {
      ASSERT_EQ(mine.size(), static_cast<std::size_t>(kLast - 1)) << "seed " << seed;
      for (std::size_t i = 0; i < mine.size(); ++i) ASSERT_EQ(mine[i], static_cast<Revision>(i) + 2) << "seed " << seed;
    }
  }
}

}  // namespace strake::apistore::store_test
