#include "kube/informer.h"

#include <gtest/gtest.h>

#include "base/simulation.h"
#include "kube/testing/fake_api.h"
#include "kube/testing/run_for.h"

namespace strake::kube::informer_test {

using namespace std::chrono_literals;
using testing::FakeClient;
using testing::FakeServer;
using testing::Link;
using testing::LinkFaults;

Object node(std::string_view name, std::string_view zone) {
  Object object(core::kNode, {"", std::string(name)});
  object.set_label("zone", zone);
  return object;
}

/// A server, a healthy client for the test and one for the informer, and what the informer said so far.
struct World {
  explicit World(std::uint64_t seed = 1, InformerOptions options = {})
      : simulation(seed),
        server(simulation),
        direct(server),
        client(server),
        informer(simulation, client, core::kNode, std::move(options)) {
    informer.add_index("zone", [](const Object& object) -> std::vector<std::string> {
      const auto zone = object.label("zone");
      return zone ? std::vector<std::string>{*zone} : std::vector<std::string>{};
    });
    informer.add_handlers({[this](const ObjectPtr& added) { said.push_back("+" + added->name()); },
                           [this](const ObjectPtr& before, const ObjectPtr& now) {
                             EXPECT_NE(before->resource_version(), now->resource_version());
                             said.push_back("~" + now->name());
                           },
                           [this](const ObjectPtr& last) { said.push_back("-" + last->name()); }});
  }

  // Called between runs: the server acts at once.
  void create(std::string_view name, std::string_view zone = "a") {
    ASSERT_TRUE(direct.create(core::kNode, node(name, zone), {}, {}).ok());
  }
  void set_zone(std::string_view name, std::string_view zone) {
    json::Value patch = json::Object{};
    json::ensure(patch, {"metadata", "labels", "zone"}) = zone;
    ASSERT_TRUE(direct.patch(core::kNode, {"", std::string(name)}, PatchType::kMerge, patch, {}, {}).ok());
  }
  void remove(std::string_view name) { ASSERT_TRUE(direct.remove(core::kNode, {"", std::string(name)}, {}, {}).ok()); }

  void run_for(runtime::Duration duration) { testing::run_for(simulation, duration); }
  std::vector<std::string> take() { return std::exchange(said, {}); }

  /// What the server has and what the informer has, as text.
  std::map<std::string, std::string> server_state() {
    std::map<std::string, std::string> state;
    const Result<ListPage> page = direct.list(core::kNode, "", {}, {});
    for (const Object& object : page->items) state[object.name()] = json::write(object.json());
    return state;
  }
  std::map<std::string, std::string> informer_state() {
    std::map<std::string, std::string> state;
    for (const ObjectPtr& object : informer.list()) state[object->name()] = json::write(object->json());
    return state;
  }

  sim::Simulation simulation;
  FakeServer server;
  FakeClient direct;
  FakeClient client;
  std::vector<std::string> said;
  Informer informer;
};

using Said = std::vector<std::string>;

TEST(Informer, ListsInPagesThenFollowsTheWatch) {
  InformerOptions options;
  options.page_size = 2;
  World world(1, options);
  for (const char* name : {"a", "b", "c", "d", "e"}) world.create(name);
  EXPECT_FALSE(world.informer.synced());
  world.informer.start();
  world.run_for(1s);
  EXPECT_TRUE(world.informer.synced());
  EXPECT_EQ(world.take(), (Said{"+a", "+b", "+c", "+d", "+e"}));
  EXPECT_EQ(world.client.counts().list, 3);

  world.create("f");
  world.set_zone("a", "b");
  world.remove("c");
  world.run_for(1s);
  EXPECT_EQ(world.take(), (Said{"+f", "~a", "-c"}));
  EXPECT_EQ(world.informer_state(), world.server_state());
  EXPECT_EQ(world.client.counts().list, 3);
  EXPECT_EQ(world.informer.get({"", "c"}), nullptr);
  EXPECT_EQ(world.informer.get({"", "f"})->name(), "f");
}

TEST(Informer, IndexesFollowTheObjects) {
  World world;
  world.create("a", "east");
  world.create("b", "west");
  world.informer.start();
  world.run_for(1s);
  EXPECT_EQ(world.informer.by_index("zone", "east").size(), 1u);
  world.set_zone("a", "west");
  world.run_for(1s);
  EXPECT_TRUE(world.informer.by_index("zone", "east").empty());
  ASSERT_EQ(world.informer.by_index("zone", "west").size(), 2u);
  world.remove("b");
  world.run_for(1s);
  ASSERT_EQ(world.informer.by_index("zone", "west").size(), 1u);
  EXPECT_EQ(world.informer.by_index("zone", "west")[0]->name(), "a");
}

TEST(Informer, AnExpiredVersionLeadsToANewListThatFindsWhatWasMissed) {
  World world;
  world.create("stays");
  world.create("goes");
  world.create("changes");
  world.create("is-replaced");
  world.informer.start();
  world.run_for(1s);
  world.take();
  world.client.set_link(Link::kRefused);
  world.run_for(1s);
  world.remove("goes");
  world.set_zone("changes", "z");
  world.create("comes");
  world.remove("is-replaced");
  world.create("is-replaced");
  world.server.expire_history();
  world.client.set_link(Link::kUp);
  world.run_for(2min);
  EXPECT_EQ(world.take(), (Said{"-goes", "~changes", "+comes", "-is-replaced", "+is-replaced"}));
  EXPECT_EQ(world.informer_state(), world.server_state());
}

TEST(Informer, AnExpiredContinueTokenStartsTheListOver) {
  InformerOptions options;
  options.page_size = 1;
  World world(1, options);
  world.create("a");
  world.create("b");
  world.informer.start();
  ASSERT_EQ(world.simulation.run({}, [&] { return world.client.counts().list == 1; }), sim::RunEnd::kConditionMet);
  world.server.expire_history();
  world.run_for(1s);
  EXPECT_TRUE(world.informer.synced());
  EXPECT_EQ(world.informer.size(), 2u);
  EXPECT_EQ(world.client.counts().list, 3);
}

TEST(Informer, ResumesAfterAnEndedStreamWithoutListing) {
  World world;
  world.informer.start();
  world.run_for(5s);
  world.server.end_streams();
  world.run_for(5s);
  world.create("a");
  world.run_for(1h);  // streams end by their own timeout, too
  world.create("b");
  world.run_for(1s);
  EXPECT_EQ(world.take(), (Said{"+a", "+b"}));
  EXPECT_EQ(world.client.counts().list, 1);
  EXPECT_GE(world.client.counts().watch, 6);
}

TEST(Informer, BookmarksMoveTheVersionToResumeFrom) {
  World world;
  world.informer.start();
  world.run_for(1s);
  ASSERT_TRUE(world.direct.create(core::kPod, Object(core::kPod, {"x", "unrelated"}), {}, {}).ok());
  world.server.send_bookmarks();
  world.run_for(1s);
  world.server.end_streams();
  world.run_for(5s);
  EXPECT_EQ(world.client.counts().list, 1);
  EXPECT_EQ(world.informer.last_error(), std::nullopt);
  EXPECT_TRUE(world.take().empty());
}

TEST(Informer, BacksOffWhileTheServerIsAwayAndSaysWhy) {
  World world;
  world.client.set_link(Link::kRefused);
  world.informer.start();
  Code waited = Code::kInternal;
  std::string message;
  auto waiter = world.simulation.spawn("waiter", [&](std::stop_token stop) {
    const Status synced = world.informer.wait_synced(world.simulation.call_within(10min, stop));
    ASSERT_FALSE(synced.ok());
    waited = synced.error().code();
    message = synced.error().to_string();
  });
  world.run_for(11min);
  EXPECT_EQ(waited, Code::kTimeout);
  EXPECT_NE(message.find("connection refused"), std::string::npos) << message;
  ASSERT_TRUE(world.informer.last_error().has_value());
  EXPECT_EQ(world.informer.last_error()->code(), Code::kUnavailable);
  world.client.set_link(Link::kUp);
  world.run_for(1min);
  EXPECT_TRUE(world.informer.synced());
  EXPECT_EQ(world.informer.last_error(), std::nullopt);
}

TEST(Informer, ASilentServerIsGivenUpOn) {
  World world;
  world.informer.start();
  world.run_for(1s);
  world.client.set_link(Link::kSilent);
  world.run_for(10min);
  world.create("a");
  world.client.set_link(Link::kUp);
  world.run_for(5min);
  EXPECT_EQ(world.take(), (Said{"+a"}));
}

TEST(Informer, ResyncFindsEventsThatWereDropped) {
  InformerOptions options;
  options.resync = 60s;
  World world(1, options);
  world.create("a");
  world.informer.start();
  world.run_for(1s);
  world.client.set_faults({.drop_event = 1.0});
  world.set_zone("a", "z");
  world.create("b");
  world.run_for(10s);
  EXPECT_EQ(world.take(), (Said{"+a"}));
  world.run_for(60s);
  EXPECT_EQ(world.take(), (Said{"~a", "+b"}));
}

TEST(Informer, RepeatedEventsAreDropped) {
  World world;
  world.client.set_faults({.duplicate_event = 1.0});
  world.informer.start();
  world.run_for(1s);
  world.create("a");
  world.set_zone("a", "z");
  world.remove("a");
  world.run_for(1s);
  EXPECT_EQ(world.take(), (Said{"+a", "~a", "-a"}));
  EXPECT_EQ(world.informer.size(), 0u);
}

TEST(Informer, KeepsOnlyWhatIsAskedFor) {
  InformerOptions options;
  options.page_size = 1;
  options.reduce = [](const Object& object) {
    json::Object metadata{
        {"name", object.name()}, {"uid", object.uid()}, {"resourceVersion", object.resource_version()}};
    return Object(json::Object{{"metadata", std::move(metadata)}});
  };
  World world(1, std::move(options));
  world.create("n1", "a");
  world.create("n2", "a");
  world.informer.start();
  world.run_for(1s);
  EXPECT_EQ(world.take(), (Said{"+n1", "+n2"}));

  // A change of what is not kept is still told.
  world.set_zone("n1", "b");
  world.run_for(1s);
  EXPECT_EQ(world.take(), Said{"~n1"});
  const ObjectPtr kept = world.informer.get({"", "n1"});
  ASSERT_NE(kept, nullptr);
  const Result<Object> full = world.direct.get(core::kNode, {"", "n1"}, {});
  ASSERT_TRUE(full.ok());
  EXPECT_EQ(kept->resource_version(), full->resource_version());
  EXPECT_EQ(kept->uid(), full->uid());
  EXPECT_EQ(kept->label("zone"), std::nullopt);
}

TEST(Informer, SelectorsReachTheServer) {
  InformerOptions options;
  options.label_selector = "zone=a";
  options.field_selector = "metadata.name!=hidden";
  World world(1, options);
  world.create("seen", "a");
  world.create("other", "b");
  world.create("hidden", "a");
  world.informer.start();
  world.run_for(1s);
  EXPECT_EQ(world.take(), (Said{"+seen"}));
}

TEST(Informer, EndsWhereTheServerEndsWhateverTheLinkDoes) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    InformerOptions options;
    options.resync = 30s;
    options.page_size = 3;
    World world(seed, options);
    world.client.set_faults({.fail_call = 0.2, .drop_event = 0.1, .duplicate_event = 0.2, .end_stream = 0.1});
    world.informer.start();
    auto writer = world.simulation.spawn("writer", [&](std::stop_token stop) {
      Random& random = world.simulation.random();
      for (int i = 0; i < 60; ++i) {
        const std::string name = fmt::format("n{}", random.below(8));
        switch (random.below(4)) {
          case 0: (void)world.direct.remove(core::kNode, {"", name}, {}, {stop, {}}); break;
          case 1: world.server.expire_history(); break;
          default:
            if (world.direct.get(core::kNode, {"", name}, {stop, {}}).ok()) {
              world.set_zone(name, std::to_string(i));
            } else {
              world.create(name);
            }
        }
        if (!world.simulation.sleep(std::chrono::milliseconds(random.below(3000)), stop).ok()) return;
      }
    });
    world.run_for(10min);
    EXPECT_EQ(world.informer_state(), world.server_state()) << "seed " << seed;
    // What was said adds up to what is there.
    std::map<std::string, int> present;
    for (const std::string& line : world.said) {
      int& count = present[line.substr(1)];
      const int expected = line[0] == '-' ? 0 : 1;
      count += line[0] == '+' ? 1 : line[0] == '-' ? -1 : 0;
      EXPECT_EQ(count, expected) << "seed " << seed << ": " << line;
    }
  }
}

TEST(Informer, WorksOnThreads) {
  runtime::ThreadRuntime threads;
  FakeServer server(threads);
  FakeClient client(server);
  ASSERT_TRUE(client.create(core::kNode, node("a", "z"), {}, {}).ok());
  Informer informer(threads, client, core::kNode);
  runtime::Queue<ObjectKey> changed(threads);
  informer.on_change([&](const ObjectKey& key) { changed.push(key); });
  informer.start();
  ASSERT_TRUE(informer.wait_synced(threads.call_within(30s)).ok());
  EXPECT_EQ(changed.pop(threads.call_within(30s))->name, "a");
  ASSERT_TRUE(client.create(core::kNode, node("b", "z"), {}, {}).ok());
  EXPECT_EQ(changed.pop(threads.call_within(30s))->name, "b");
  EXPECT_EQ(informer.list().size(), 2u);
  informer.stop();
}

}  // namespace strake::kube::informer_test
