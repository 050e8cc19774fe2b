#include "machineconfig/render/prune.h"

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "api/machine_config_node.h"
#include "api/node_annotations.h"

namespace strake::machineconfig::prune_test {

struct PruneTest : testing::Test {
  PruneTest() { json::ensure(pool.json(), {"metadata", "uid"}) = "uid-1"; }

  kube::Object rendered(const std::string& name, int age_minutes) const {
    kube::Object config(api::kMachineConfig, {"", name});
    config.set_annotation(api::config_annotation::kGeneratedByController, "1.0");
    config.add_owner({pool.api_version(), pool.kind(), pool.name(), pool.uid(), true, true});
    json::ensure(config.json(), {"metadata", "creationTimestamp"}) =
        fmt::format("2026-01-01T10:{:02}:00Z", 59 - age_minutes);
    return config;
  }
  void add(kube::Object config) { configs.push_back(std::make_shared<const kube::Object>(std::move(config))); }

  std::vector<std::string> doomed(std::size_t keep, const RenderedUsers& users = {}) const {
    std::vector<std::string> names;
    for (const kube::Object* config : plan_prune(pool, configs, rendered_configs_in_use(users), keep)) {
      names.push_back(config->name());
    }
    return names;
  }

  kube::Object pool{api::kMachineConfigPool, {"", "worker"}};
  std::vector<kube::ObjectPtr> configs;
};

using Names = std::vector<std::string>;

TEST_F(PruneTest, TheNewestAreKeptAndTheOldestGoFirst) {
  for (int age = 0; age < 5; ++age) add(rendered(fmt::format("rendered-worker-{}", age), age));
  EXPECT_EQ(doomed(3), (Names{"rendered-worker-4", "rendered-worker-3"}));
  EXPECT_EQ(doomed(5), Names{});
  EXPECT_EQ(doomed(9), Names{});
}

TEST_F(PruneTest, OnlyRenderedConfigsOfThisVeryPoolAreLookedAt) {
  kube::Object fragment(api::kMachineConfig, {"", "00-worker"});
  fragment.set_annotation(api::config_annotation::kGeneratedByController, "1.0");
  add(fragment);
  kube::Object by_hand = rendered("rendered-worker-by-hand", 1);
  by_hand.set_annotation(api::config_annotation::kGeneratedByController, "");
  add(by_hand);
  kube::Object of_an_earlier_pool(api::kMachineConfig, {"", "rendered-worker-old"});
  of_an_earlier_pool.set_annotation(api::config_annotation::kGeneratedByController, "1.0");
  of_an_earlier_pool.add_owner({pool.api_version(), pool.kind(), pool.name(), "uid-0", true, true});
  add(of_an_earlier_pool);
  EXPECT_EQ(doomed(0), Names{});
  add(rendered("rendered-worker-1", 2));
  EXPECT_EQ(doomed(0), Names{"rendered-worker-1"});
}

TEST_F(PruneTest, WhateverNamesAConfigKeepsIt) {
  const std::vector<std::string> referred{"target", "reached", "current",     "desired",     "first",
                                          "drain",  "drained", "mcn-desired", "mcn-current", "build"};
  for (const std::string& name : referred) add(rendered("rendered-worker-" + name, 1));
  add(rendered("rendered-worker-unused", 1));

  RenderedUsers users;
  users.pools = {pool};
  json::ensure(users.pools[0].json(), {"spec", "configuration", "name"}) = "rendered-worker-target";
  json::ensure(users.pools[0].json(), {"status", "configuration", "name"}) = "rendered-worker-reached";
  kube::Object node(kube::core::kNode, {"", "n1"});
  node.set_annotation(api::node_annotation::kCurrentConfig, "rendered-worker-current");
  node.set_annotation(api::node_annotation::kDesiredConfig, "rendered-worker-desired");
  node.set_annotation(api::node_annotation::kFirstPivotConfig, "rendered-worker-first");
  node.set_annotation(api::node_annotation::kDesiredDrain, "drain-rendered-worker-drain");
  node.set_annotation(api::node_annotation::kLastAppliedDrain, "uncordon-rendered-worker-drained");
  users.nodes = {node};
  kube::Object reported(api::kMachineConfigNode, {"", "n1"});
  json::ensure(reported.json(), {"spec", "configVersion", "desired"}) = "rendered-worker-mcn-desired";
  json::ensure(reported.json(), {"status", "configVersion"}) =
      json::Object{{"current", "rendered-worker-mcn-current"}, {"desired", "rendered-worker-desired"}};
  users.machine_config_nodes = {reported};
  kube::Object build(api::kMachineOsBuild, {"", "b"});
  json::ensure(build.json(), {"spec", "machineConfig", "name"}) = "rendered-worker-build";
  users.os_builds = {build};

  EXPECT_EQ(doomed(0, users), Names{"rendered-worker-unused"});
  EXPECT_EQ(doomed(0).size(), referred.size() + 1) << "without those references each of them would go";
}

}  // namespace strake::machineconfig::prune_test
