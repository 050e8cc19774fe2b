#include "rollout/pool_members.h"

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "codec/json.h"

namespace strake::rollout::pool_members_test {

kube::ObjectPtr pool(const std::string& name, std::string_view selector) {
  auto object = std::make_shared<kube::Object>(api::kMachineConfigPool, kube::ObjectKey{"", name});
  if (!selector.empty()) json::ensure(object->json(), {"spec", "nodeSelector"}) = *json::parse(selector);
  return object;
}

api::NodePtr node(const std::string& name, const std::vector<std::string>& labels, const std::string& desired = "") {
  api::NodeView view;
  view.name = name;
  for (const std::string& label : labels) view.labels[label] = "";
  view.desired_config = desired;
  return std::make_shared<const api::NodeView>(view);
}

std::string label_selector(std::string_view label) { return fmt::format(R"({{"matchLabels":{{"{}":""}}}})", label); }

const std::vector<kube::ObjectPtr> kPools{pool("master", label_selector("m")), pool("worker", label_selector("w")),
                                          pool("infra", label_selector("i")), pool("gpu", label_selector("g"))};

TEST(PoolMembers, MasterOverCustomOverWorker) {
  const PoolSelectors selectors(kPools);
  const auto pool_of = [&](const std::vector<std::string>& labels) {
    return selectors.pool_of(*node("n", labels)).pool.value_or("none");
  };
  EXPECT_EQ(pool_of({"w"}), "worker");
  EXPECT_EQ(pool_of({"w", "i"}), "infra");
  EXPECT_EQ(pool_of({"m", "w", "i"}), "master");
  EXPECT_EQ(pool_of({}), "none");
  EXPECT_EQ(pool_of({"i", "g"}), "none");
}

TEST(PoolMembers, NodesOfNoPoolAndOfTwoAreNamedAndThoseOfTheOthersStay) {
  const auto members =
      sort_out(PoolSelectors(kPools), {node("lost", {}), node("both", {"i", "g"}), node("fine", {"w"})});
  EXPECT_EQ(members.strays, (std::vector<StrayNode>{{"lost", {}}, {"both", {"gpu", "infra"}}}));
  ASSERT_EQ(members.of("worker").size(), 1u);
  EXPECT_EQ(members.contested("gpu").size(), 1u);
  EXPECT_EQ(members.contested("infra").size(), 1u);
  EXPECT_TRUE(members.contested("worker").empty());
  EXPECT_EQ(members.strays[0].why(), "matches the nodeSelector of no pool; give it the label of one");
  EXPECT_EQ(members.strays[1].why(),
            "belongs to 2 custom pools (gpu, infra) and is left alone; remove the labels of all but one");
}

TEST(PoolMembers, ABrokenSelectorTakesNothingFromTheOtherPools) {
  std::vector<kube::ObjectPtr> pools = kPools;
  pools[2] = pool("infra", R"({"matchExpressions":[{"key":"i","operator":"Near","values":["x"]}]})");
  const PoolSelectors selectors(pools);
  EXPECT_EQ(selectors.trouble_of("worker"), "");
  EXPECT_TRUE(selectors.trouble_of("infra").starts_with("spec.nodeSelector cannot be evaluated: "))
      << selectors.trouble_of("infra");
  const std::vector<api::NodePtr> nodes{node("a", {"w"}), node("b", {"g", "w"}),
                                        node("c", {"w", "i"}, "rendered-infra-0123456789abcdef0123456789abcdef"),
                                        node("d", {"m", "i"})};
  const auto members = sort_out(selectors, nodes);
  EXPECT_TRUE(members.strays.empty());
  EXPECT_EQ(members.of("worker").size(), 1u);
  EXPECT_EQ(members.of("gpu").size(), 1u);
  EXPECT_EQ(members.of("master").size(), 1u);
  ASSERT_EQ(members.of("infra").size(), 1u) << "what runs the pool's config is not sent to another's";
  EXPECT_EQ(members.of("infra")[0]->name, "c");
}

TEST(PoolMembers, ASelectorOfEverythingIsRefusedAndAnAbsentOneMatchesNothing) {
  const PoolSelectors selectors({pool("all", "{}"), pool("none", "")});
  EXPECT_NE(selectors.trouble_of("all"), "");
  EXPECT_EQ(selectors.trouble_of("none"), "");
  EXPECT_FALSE(selectors.pool_of(*node("n", {"w"})).pool.has_value());
}

TEST(PoolMembers, WindowsNodesBelongNowhereAndAreNotAskedAbout) {
  api::NodeView windows;
  windows.name = "win";
  windows.labels = {{"kubernetes.io/os", "windows"}, {"w", ""}};
  const auto members = sort_out(PoolSelectors(kPools), {std::make_shared<const api::NodeView>(windows)});
  EXPECT_TRUE(members.by_pool.empty());
  EXPECT_TRUE(members.strays.empty());
}

TEST(PoolMembers, TheNameOfARenderedConfigSaysWhoseItIs) {
  EXPECT_EQ(pool_of_rendered("rendered-worker-0123456789abcdef0123456789abcdef"), "worker");
  EXPECT_EQ(pool_of_rendered("rendered-a-b-0123456789abcdef0123456789abcdef"), "a-b");
  for (const char* other :
       {"", "rendered-", "rendered-worker-short", "00-worker", "rendered--0123456789abcdef0123456789abcdef",
        "rendered-0123456789abcdef0123456789abcdef", "rendered-worker-0123456789abcdef0123456789abcdeX"}) {
    EXPECT_FALSE(pool_of_rendered(other).has_value()) << other;
  }
}

TEST(PoolMembers, ABookMatchesOnlyWhatChanged) {
  MemberBook book;
  std::vector<api::NodePtr> nodes;
  for (int i = 100; i < 300; ++i) nodes.push_back(node(fmt::format("n{}", i), {i % 2 == 0 ? "m" : "w"}));
  EXPECT_EQ(book.sort_out(kPools, nodes).of("master").size(), 100u);
  EXPECT_EQ(book.nodes_matched(), 200u);
  EXPECT_EQ(book.sort_out(kPools, nodes).of("worker").size(), 100u);
  EXPECT_EQ(book.nodes_matched(), 200u);

  nodes[3] = node("n103", {"w", "i"});
  nodes.erase(nodes.begin() + 10);
  nodes.insert(nodes.begin(), node("n0", {}));
  const PoolMembers later = book.sort_out(kPools, nodes);
  EXPECT_EQ(book.nodes_matched(), 202u) << "one changed, one came, one left";
  EXPECT_EQ(later.of("infra").size(), 1u);
  EXPECT_EQ(later.of("master").size(), 99u);
  ASSERT_EQ(later.strays.size(), 1u);
  EXPECT_EQ(later.strays[0].name, "n0");

  // Another selector, and everybody is asked again; a pool's status is nobody's business.
  std::vector<kube::ObjectPtr> pools = kPools;
  pools[0] = pool("master", label_selector("nobody"));
  EXPECT_TRUE(book.sort_out(pools, nodes).of("master").empty());
  EXPECT_EQ(book.nodes_matched(), 402u);
  auto told = std::make_shared<kube::Object>(*pools[0]);
  json::ensure(told->json(), {"status", "machineCount"}) = 0;
  pools[0] = told;
  (void)book.sort_out(pools, nodes);
  EXPECT_EQ(book.nodes_matched(), 402u);
}

}  // namespace strake::rollout::pool_members_test
