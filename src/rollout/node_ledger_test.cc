#include "rollout/node_ledger.h"

#include <gtest/gtest.h>

namespace strake::rollout::node_ledger_test {

kube::ObjectPtr node(const std::string& name, int version, const std::string& desired) {
  auto object = std::make_shared<kube::Object>(kube::core::kNode, kube::ObjectKey{"", name});
  json::ensure(object->json(), {"metadata", "resourceVersion"}) = std::to_string(version);
  object->set_annotation(api::node_annotation::kDesiredConfig, desired);
  return object;
}

std::string desired_of(const std::vector<NodeLedger::NodePtr>& nodes) {
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

TEST(NodeLedger, ViewsAreReadOncePerVersion) {
  NodeLedger ledger;
  const auto first = ledger.update({node("a", 1, "old")});
  const auto again = ledger.update({node("a", 1, "old")});
  EXPECT_EQ(first[0], again[0]);
  EXPECT_NE(ledger.update({node("a", 2, "old")})[0], again[0]);
}

}  // namespace strake::rollout::node_ledger_test
