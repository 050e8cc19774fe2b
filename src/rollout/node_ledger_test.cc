#include "rollout/node_ledger.h"

#include <gtest/gtest.h>

namespace strake::rollout::node_ledger_test {

kube::ObjectPtr node(const std::string& name, int version, const std::string& desired) {
  auto object = std::make_shared<kube::Object>(kube::core::kNode, kube::ObjectKey{"", name});
  json::ensure(object->json(), {"metadata", "resourceVersion"}) = std::to_string(version);
  object->set_annotation(api::node_annotation::kDesiredConfig, desired);
  return object;
}

std::string desired_of(const std::vector<api::NodePtr>& nodes) {
  std::string text;
  for (const auto& node : nodes) text += fmt::format("{}={} ", node->name, node->desired_config);
  return text;
}

TEST(NodeLedger, OurWriteCountsUntilTheCacheShowsItOrSomethingNewer) {
  NodeLedger ledger;
  EXPECT_EQ(desired_of(ledger.update({node("a", 9, "old"), node("b", 8, "old")})), "a=old b=old ");
  ledger.wrote(*node("a", 12, "new"));
  EXPECT_EQ(desired_of(ledger.update({node("a", 9, "old"), node("b", 8, "old")})), "a=new b=old ");
  EXPECT_EQ(desired_of(ledger.update({node("a", 11, "old"), node("b", 8, "old")})), "a=new b=old ")
      << "a change before ours, seen late";
  EXPECT_EQ(desired_of(ledger.update({node("a", 12, "new"), node("b", 8, "old")})), "a=new b=old ");
  EXPECT_EQ(ledger.unseen_writes(), 0u);
  ledger.wrote(*node("b", 100, "new"));
  EXPECT_EQ(desired_of(ledger.update({node("a", 12, "new"), node("b", 101, "other")})), "a=new b=other ")
      << "compared as numbers: 101 is newer than 100, and 9 was older than 12";
}

TEST(NodeLedger, ANodeThatLeavesTakesItsWriteAlong) {
  NodeLedger ledger;
  (void)ledger.update({node("a", 1, "old")});
  ledger.wrote(*node("a", 5, "new"));
  EXPECT_TRUE(ledger.update({}).empty());
  EXPECT_EQ(ledger.unseen_writes(), 0u);
  EXPECT_EQ(desired_of(ledger.update({node("a", 7, "")})), "a= ") << "another node of that name";
}

TEST(NodeLedger, OnlyWhatChangedIsReadAndAHeartbeatKeepsTheView) {
  NodeLedger ledger;
  std::vector<kube::ObjectPtr> cached;
  for (int i = 100; i < 300; ++i) cached.push_back(node(fmt::format("n{}", i), 1, "old"));
  const auto first = ledger.update(cached);
  EXPECT_EQ(ledger.views_read(), 200u);
  EXPECT_EQ(ledger.update(cached), first);
  EXPECT_EQ(ledger.views_read(), 200u) << "nothing changed, nothing is read";

  cached[7] = node("n107", 2, "old");
  EXPECT_EQ(ledger.update(cached), first) << "the same view of a newer object";
  EXPECT_EQ(ledger.views_read(), 201u);

  cached[8] = node("n108", 3, "new");
  cached.erase(cached.begin() + 20);
  cached.insert(cached.begin(), node("n0", 4, ""));
  const auto later = ledger.update(cached);
  EXPECT_EQ(ledger.views_read(), 203u) << "one changed, one came, one left";
  ASSERT_EQ(later.size(), 200u);
  EXPECT_EQ(later[0]->name, "n0");
  EXPECT_EQ(later[8], first[7]);
  EXPECT_EQ(later[9]->desired_config, "new");
  EXPECT_EQ(later[21], first[21]) << "those behind the one that left are the same";
  cached.clear();
  EXPECT_TRUE(ledger.update(cached).empty());
}

}  // namespace strake::rollout::node_ledger_test
