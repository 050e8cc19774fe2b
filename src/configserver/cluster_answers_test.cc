// The answers of a cluster, in simulation: they follow the objects, and stay when the API goes.
#include "configserver/cluster_answers.h"

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "configserver/testing/objects.h"
#include "configserver/testing/simulated_cluster.h"

namespace strake::configserver::cluster_answers_test {

using namespace std::chrono_literals;
using objects::file_in;
using objects::from_text;

std::string file_config(std::string_view contents) {
  return fmt::format(
      R"({{"ignition":{{"version":"3.2.0"}},"storage":{{"files":[{{"path":"/etc/a","contents":{{"source":"data:,{}"}}}}]}}}})",
      contents);
}

struct World : testing::SimulatedCluster {
  explicit World(std::uint64_t seed = 1) : SimulatedCluster(seed) {
    put(api::kControllerConfig, objects::controller_config("API CA"));
    put(kube::core::kSecret, objects::bootstrap_token("TOKEN", "API CA"));
  }

  ClusterAnswersOptions options() {
    ClusterAnswersOptions options;
    options.api_server_url = "https://api.example:6443";
    options.on_pool = [this](const PoolServing& serving) { told.push_back(serving); };
    options.on_identity = [this](const std::string& certificate, const std::string& key) {
      identities.push_back(certificate + "/" + key);
    };
    return options;
  }

  /// What a machine of the pool would find in /etc/a, or why it gets nothing.
  std::string served(const std::string& pool = "worker", ignition::SpecVersion version = {3, 2}) {
    const auto book = shelf.current();
    if (!book) return "no book";
    const Answer& answer = book->find(pool, version);
    if (!answer.body) return std::string(to_string(answer.outcome));
    return file_in(from_text(*answer.body), "/etc/a");
  }

  std::vector<PoolServing> told;
  std::vector<std::string> identities;
  AnswerShelf shelf;
  ClusterAnswers answers{simulation, client, shelf, options()};
};

TEST(ClusterAnswers, FollowThePoolThroughARollout) {
  World world;
  world.answers.start();
  world.run_for(1s);
  EXPECT_EQ(world.served(), "no book");
  world.put(api::kMachineConfig, objects::rendered("rendered-worker-1", file_config("one")));
  world.put(api::kMachineConfigPool, objects::pool("worker", "", "", 0));
  world.run_for(1s);
  EXPECT_EQ(world.served(), "not-rendered");
  EXPECT_EQ(world.served("infra"), "no-pool");
  world.put(api::kMachineConfigPool, objects::pool("worker", "rendered-worker-1", "rendered-worker-1", 0));
  world.run_for(1s);
  EXPECT_EQ(world.served(), "one");
  world.put(api::kMachineConfigPool, objects::pool("worker", "rendered-worker-2", "rendered-worker-1", 1));
  world.run_for(1s);
  EXPECT_EQ(world.served(), "not-rendered") << "the new config is not there yet";
  world.put(api::kMachineConfig, objects::rendered("rendered-worker-2", file_config("two")));
  world.run_for(1s);
  EXPECT_EQ(world.served(), "two");
  world.remove(api::kMachineConfigPool, {"", "worker"});
  world.run_for(1s);
  EXPECT_EQ(world.served(), "no-pool");
  ASSERT_FALSE(world.told.empty());
  EXPECT_TRUE(world.told.back().gone);
  world.answers.stop();
}

TEST(ClusterAnswers, EverythingTheyAreMadeOfCounts) {
  World world;
  world.put(api::kMachineConfig, objects::rendered("rendered-worker-1", file_config("one")));
  world.put(api::kMachineConfigPool, objects::pool("worker", "rendered-worker-1", "rendered-worker-1", 1));
  world.answers.start();
  world.run_for(1s);
  const auto config = [&] { return from_text(*world.shelf.current()->find("worker", {3, 5}).body); };
  EXPECT_EQ(file_in(config(), machine_path::kApiServerCa), "API CA");
  EXPECT_NE(file_in(config(), machine_path::kKubeconfig).find("TOKEN"), std::string::npos);
  EXPECT_NE(file_in(config(), machine_path::kKubeconfig).find("https://api.example:6443"), std::string::npos);
  world.put(api::kControllerConfig, objects::controller_config("NEXT CA"));
  world.put(kube::core::kSecret, objects::bootstrap_token("LATER", "API CA"));
  world.put(api::kMachineConfig, objects::rendered("rendered-worker-1", file_config("edited")));
  world.run_for(1s);
  EXPECT_EQ(file_in(config(), machine_path::kApiServerCa), "NEXT CA");
  EXPECT_NE(file_in(config(), machine_path::kKubeconfig).find("LATER"), std::string::npos);
  EXPECT_EQ(world.served(), "edited");

  // What does not go into answers leaves them as they are, to the pointer.
  const auto before = world.shelf.current()->pools.at("worker");
  kube::Object busy = objects::controller_config("NEXT CA");
  json::ensure(busy.json(), {"status", "observedGeneration"}) = 7;
  world.put(api::kControllerConfig, busy);
  world.put(api::kMachineConfigPool, objects::pool("worker", "rendered-worker-1", "rendered-worker-1", 5));
  world.run_for(1s);
  EXPECT_EQ(world.shelf.current()->pools.at("worker"), before);
  world.answers.stop();
}

TEST(ClusterAnswers, WithoutATokenNobodyIsServedAndTheReasonSaysWhat) {
  World world;
  ASSERT_TRUE(
      world.direct
          .remove(kube::core::kSecret, {std::string(api::kMachineConfigNamespace), "node-bootstrapper-token"}, {}, {})
          .ok());
  world.put(api::kMachineConfig, objects::rendered("rendered-worker-1", file_config("one")));
  world.put(api::kMachineConfigPool, objects::pool("worker", "rendered-worker-1", "rendered-worker-1", 1));
  world.answers.start();
  world.run_for(2s);
  EXPECT_EQ(world.served(), "not-readable");
  ASSERT_EQ(world.told.size(), 1U);
  EXPECT_NE(world.told[0].problems.at("").find("node-bootstrapper-token"), std::string::npos);
  world.put(kube::core::kSecret, objects::bootstrap_token("TOKEN", "API CA"));
  world.run_for(2s);
  EXPECT_EQ(world.served(), "one");
  world.answers.stop();
}

TEST(ClusterAnswers, AVersionThatCannotBeWrittenIsToldAndTheOthersAreServed) {
  World world;
  world.put(
      api::kMachineConfig,
      objects::rendered(
          "rendered-worker-1",
          R"({"ignition":{"version":"3.2.0"},"storage":{"luks":[{"name":"root","device":"/dev/sda4"}],"files":[{"path":"/etc/a","contents":{"source":"data:,one"}}]}})"));
  world.put(api::kMachineConfigPool, objects::pool("worker", "rendered-worker-1", "rendered-worker-1", 1));
  world.answers.start();
  world.run_for(2s);
  EXPECT_EQ(world.served("worker", {2, 2}), "not-convertible");
  EXPECT_EQ(world.served("worker", {3, 2}), "one");
  ASSERT_EQ(world.told.size(), 1U);
  EXPECT_TRUE(world.told[0].problems.contains("2.2.0"));
  EXPECT_FALSE(world.told[0].problems.contains("3.2.0"));
  const auto events = world.direct.list(kube::core::kEvent, "", {}, {});
  ASSERT_TRUE(events.ok());
  ASSERT_FALSE(events->items.empty());
  EXPECT_EQ(events->items[0].text({"reason"}), "ConfigNotServed");
  world.answers.stop();
}

TEST(ClusterAnswers, WhileTheApiIsAwayTheLastAnswerStays) {
  World world;
  world.put(api::kMachineConfig, objects::rendered("rendered-worker-1", file_config("one")));
  world.put(api::kMachineConfigPool, objects::pool("worker", "rendered-worker-1", "rendered-worker-1", 1));
  world.answers.start();
  world.run_for(1s);
  EXPECT_EQ(world.answers.stale_for(), std::nullopt);
  world.client.set_link(kube::testing::Link::kRefused);
  world.server.end_streams();
  world.run_for(60s);
  EXPECT_EQ(world.served(), "one");
  ASSERT_TRUE(world.answers.stale_for().has_value());
  EXPECT_GE(*world.answers.stale_for(), 50s);
  world.put(api::kMachineConfig, objects::rendered("rendered-worker-1", file_config("two")));
  world.client.set_link(kube::testing::Link::kUp);
  world.run_for(60s);
  EXPECT_EQ(world.served(), "two");
  world.server.send_bookmarks();  // only now is it known that nothing else changed
  world.run_for(1s);
  EXPECT_EQ(world.answers.stale_for(), std::nullopt);
  world.answers.stop();
}

TEST(ClusterAnswers, LostAndRepeatedEventsEndInTheSameAnswer) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(seed);
    world.client.set_faults({.fail_call = 0.2, .drop_event = 0, .duplicate_event = 0.2, .end_stream = 0.3});
    world.answers.start();
    for (int i = 0; i < 10; ++i) {
      const std::string name = fmt::format("rendered-worker-{}", i % 3);
      world.put(api::kMachineConfig, objects::rendered(name, file_config(std::to_string(i))));
      world.put(api::kMachineConfigPool, objects::pool("worker", name, name, i % 2));
      world.run_for(300ms);
      if (i == 5) world.server.expire_history();
    }
    world.client.set_faults({});
    world.run_for(120s);
    EXPECT_EQ(world.served(), "9") << "seed " << seed;
    world.answers.stop();
  }
}

TEST(ClusterAnswers, WhoLooksAtThePoolLearnsThatMachinesAreRefusedAndWhy) {
  World world;
  world.put(api::kMachineConfig, objects::rendered("rendered-worker-1", file_config("one")));
  world.put(api::kMachineConfigPool, objects::pool("worker", "rendered-worker-1", "rendered-worker-1", 1));
  world.answers.start();
  world.run_for(1s);
  const auto count = [&](std::string_view part) {
    std::vector<int> counts;
    const auto events = world.direct.list(kube::core::kEvent, "", {}, {});
    for (const kube::Object& event : events->items) {
      EXPECT_EQ(event.text({"reason"}), "MachineRefused");
      EXPECT_EQ(event.text({"involvedObject", "name"}), "worker");
      if (event.text({"message"}).find(part) != std::string::npos) {
        counts.push_back(static_cast<int>(json::find(event.json(), {"count"})->as_int64()));
      }
    }
    return counts;
  };
  // A flood is one Event, and the next one comes after minutes: the same, counted.
  for (int i = 0; i < 10'000; ++i) world.answers.note_refused("worker", Outcome::kNoToken);
  for (int i = 0; i < 1'000; ++i) world.answers.note_refused(fmt::format("guess-{}", i), Outcome::kNoToken);
  world.answers.note_refused("worker", Outcome::kWrongPool);
  world.answers.note_refused("worker", Outcome::kServed);
  world.answers.note_refused("worker", Outcome::kNotRendered);
  world.run_for(5s);
  EXPECT_EQ(count("strake stub token create --pool worker"), std::vector{1});
  EXPECT_EQ(count("(wrong-pool)"), std::vector{1});
  EXPECT_EQ(count("").size(), 2U);
  world.run_for(290s);
  world.answers.note_refused("worker", Outcome::kNoToken);
  world.run_for(10s);
  EXPECT_EQ(count("(no-token)"), std::vector{1});
  world.answers.note_refused("worker", Outcome::kNoToken);
  world.run_for(5s);
  EXPECT_EQ(count("(no-token)"), std::vector{2});
  world.answers.stop();
}

TEST(ClusterAnswers, TheServingCertificateIsHandedOn) {
  World world;
  world.answers.start();
  world.run_for(1s);
  EXPECT_TRUE(world.identities.empty());
  world.put(kube::core::kSecret, objects::serving_secret("CERT", "KEY"));
  world.run_for(1s);
  world.put(kube::core::kSecret, objects::serving_secret("CERT2", "KEY2"));
  world.run_for(1s);
  EXPECT_EQ(world.identities, (std::vector<std::string>{"CERT/KEY", "CERT2/KEY2"}));
  world.answers.stop();
}

}  // namespace strake::configserver::cluster_answers_test
