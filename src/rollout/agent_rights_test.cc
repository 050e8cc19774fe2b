#include "rollout/agent_rights.h"

#include <gtest/gtest.h>

namespace strake::rollout::agent_rights_test {

api::NodeView node_named(const std::string& name) {
  api::NodeView node;
  node.name = name;
  node.uid = "u-" + name;
  return node;
}

/// verbs, resource and names of each rule.
std::string rules_of(const kube::Object& role) {
  std::string text;
  for (const json::Value& rule : json::find(role.json(), {"rules"})->get_array()) {
    text += json::write(rule.at("verbs")) + json::write(rule.at("resources")) + json::write(rule.at("resourceNames"));
  }
  return text;
}

TEST(AgentRights, AreAboutOneNodeAndItsConfigs) {
  const kube::Object role = agent_role(node_named("a"), {"c2", "c1"});
  EXPECT_EQ(role.name(), "strake:agent:a");
  EXPECT_EQ(rules_of(role), R"(["get","list","watch"]["nodes"]["a"]["patch"]["nodes/status"]["a"])"
                            R"(["get"]["machineconfigs"]["c1","c2"])");
  ASSERT_EQ(role.owners().size(), 1u);
  EXPECT_EQ(role.owners().front().uid, "u-a");
  const kube::Object binding = agent_binding(node_named("a"));
  EXPECT_EQ(binding.text({"roleRef", "name"}), "strake:agent:a");
  EXPECT_EQ(json::write(*json::find(binding.json(), {"subjects"})),
            R"([{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"strake:agent:a"}])");
}

TEST(AgentRights, WithoutAConfigThereIsNoRuleAboutConfigs) {
  // RBAC reads a rule without names as one about every name.
  const kube::Object role = agent_role(node_named("a"), {});
  EXPECT_EQ(rules_of(role), R"(["get","list","watch"]["nodes"]["a"]["patch"]["nodes/status"]["a"])");
}

TEST(AgentRights, OnlyWhatDiffersIsWritten) {
  const kube::Object now = agent_role(node_named("a"), {"c1"});
  EXPECT_EQ(json::write(rights_patch(now, now)), "{}");
  const json::Value patch = rights_patch(now, agent_role(node_named("a"), {"c1", "c2"}));
  EXPECT_EQ(patch.get_object().size(), 1u);
  EXPECT_NE(json::find(patch, {"rules"}), nullptr);
  api::NodeView reborn = node_named("a");
  reborn.uid = "another";
  EXPECT_NE(json::find(rights_patch(now, agent_role(reborn, {"c1"})), {"metadata", "ownerReferences"}), nullptr);
}

TEST(AgentRights, WhatSomebodyTookOverIsLeftAlone) {
  kube::Object taken = agent_binding(node_named("a"));
  taken.json().get_object().erase("subjects");
  EXPECT_NE(json::write(rights_patch(taken, agent_binding(node_named("a")))), "{}");
  taken.set_annotation(kAutoUpdateAnnotation, "false");
  EXPECT_EQ(json::write(rights_patch(taken, agent_binding(node_named("a")))), "{}");
}

}  // namespace strake::rollout::agent_rights_test
