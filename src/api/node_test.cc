#include "api/node.h"

#include <gtest/gtest.h>

namespace strake::api::node_test {

kube::Object node_from(std::string_view text) {
  auto parsed = json::parse(text);
  EXPECT_TRUE(parsed.ok());
  return kube::Object(*std::move(parsed));
}

constexpr std::string_view kNode =
    R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"u","resourceVersion":"7",
  "creationTimestamp":"2026-01-01T00:00:00Z","labels":{"topology.kubernetes.io/zone":"z","role":"w"},
  "managedFields":[{"manager":"kubelet"}],
  "annotations":{"machineconfiguration.openshift.io/currentConfig":"a","machineconfiguration.openshift.io/desiredConfig":"b",
    "machineconfiguration.openshift.io/state":"Working","machineconfiguration.openshift.io/reason":"r",
    "strake.dev/planned-class":"reboot","strake.dev/executed-class":"none","example.com/other":"1"}},
  "spec":{"unschedulable":true,"podCIDR":"10.0.0.0/8"},
  "status":{"conditions":[{"type":"MemoryPressure","status":"False"},{"type":"DiskPressure","status":"False"},
    {"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-01T00:00:00Z"}],"images":[{"names":["x"]}]}})";

TEST(NodeState, KeepsWordsItDoesNotKnow) {
  for (const NodeState::Value state : {NodeState::kDone, NodeState::kWorking, NodeState::kDegraded,
                                       NodeState::kUnreconcilable, NodeState::kRebooting}) {
    EXPECT_EQ(NodeState::parse(to_string(state)), NodeState(state));
    EXPECT_EQ(NodeState(state).text(), to_string(state));
  }
  EXPECT_EQ(NodeState::parse(""), NodeState(NodeState::kAbsent));
  const NodeState other = NodeState::parse("Dreaming");
  EXPECT_EQ(other.value(), NodeState::kOther);
  EXPECT_EQ(other.text(), "Dreaming");
  EXPECT_NE(other, NodeState::parse("done"));
  EXPECT_FALSE(other.is_failure());
}

TEST(NodeView, ReadsWhatARolloutDecidesOn) {
  const NodeView view = node_view(node_from(kNode));
  EXPECT_EQ(view.name, "n");
  EXPECT_EQ(view.zone, "z");
  EXPECT_EQ(view.labels.at("role"), "w");
  EXPECT_FALSE(view.schedulable);
  EXPECT_TRUE(view.healthy);
  EXPECT_EQ(view.current_config, "a");
  EXPECT_EQ(view.desired_config, "b");
  EXPECT_EQ(view.state, NodeState(NodeState::kWorking));
  EXPECT_EQ(view.reason, "r");
  EXPECT_EQ(view.planned_class, "reboot");
  EXPECT_EQ(view.executed_class, "none");
}

TEST(NodeView, AHeartbeatChangesNothingThatIsRead) {
  const kube::Object before = node_from(kNode);
  kube::Object now = before;
  json::ensure(now.json(), {"metadata", "resourceVersion"}) = "8";
  json::find(now.json(), {"status", "conditions"})->get_array()[2].get_object()["lastHeartbeatTime"] =
      "2026-01-01T00:00:10Z";
  now.set_annotation("example.com/other", "2");
  EXPECT_EQ(node_view(before), node_view(now));
  json::find(now.json(), {"status", "conditions"})->get_array()[2].get_object()["status"] = "False";
  EXPECT_NE(node_view(before), node_view(now));
}

TEST(NodeView, ASlimNodeReadsTheSame) {
  const kube::Object node = node_from(kNode);
  const kube::Object slim = slim_node(node);
  EXPECT_EQ(node_view(slim), node_view(node));
  EXPECT_EQ(slim.resource_version(), "7");
  EXPECT_EQ(slim.key(), node.key());
  EXPECT_LT(json::write(slim.json()).size(), json::write(node.json()).size());
  EXPECT_FALSE(slim.annotation("example.com/other").has_value());
  kube::Object unready = node;
  unready.json().get_object().erase("status");
  EXPECT_EQ(node_view(slim_node(unready)), node_view(unready));
}

/// A node may write what it likes into its annotations: nothing of it may be taken for the name of a config, nor reach
/// a terminal or a log as it is.
TEST(NodeView, WhateverANodeWritesHarmsNobody) {
  const auto viewed = [](std::string_view annotation, std::string_view value) {
    kube::Object node(kube::core::kNode, {"", "n"});
    node.set_annotation(annotation, value);
    const NodeView view = node_view(node);
    EXPECT_EQ(node_view(slim_node(node)), view);
    return view;
  };
  for (const std::string& hostile :
       {std::string(".."), std::string("../secrets"), std::string("a/b"), std::string("a?watch=1"), std::string("A"),
        std::string("a..b"), std::string("-a"), std::string("a\nb"), std::string("\x1b[2J"), std::string(200'000, 'a'),
        std::string("a\0b", 3)}) {
    EXPECT_EQ(viewed(node_annotation::kCurrentConfig, hostile).current_config, "") << hostile.substr(0, 20);
    EXPECT_EQ(viewed(node_annotation::kDesiredConfig, hostile).desired_config, "") << hostile.substr(0, 20);
    const NodeView view = viewed(node_annotation::kReason, hostile);
    EXPECT_LE(view.reason.size(), kMaxReasonLength);
    EXPECT_EQ(view.reason.find('\x1b'), std::string::npos);
    EXPECT_LE(viewed(node_annotation::kState, hostile).state.text().size(), kMaxReasonLength);
  }
  EXPECT_EQ(viewed(node_annotation::kCurrentConfig, "rendered-worker-0a1b").current_config, "rendered-worker-0a1b");
}

TEST(NodePatch, CarriesOnlyAnnotationsOfOurs) {
  NodePatch patch;
  EXPECT_TRUE(patch.empty());
  patch.set_state(NodeState::kDone).set_reason(std::string(3000, 'x')).set_current_config("c");
  const json::Value value = patch.to_json();
  const json::Object& annotations = json::find(value, {"metadata", "annotations"})->get_object();
  EXPECT_EQ(annotations.size(), 3u);
  EXPECT_EQ(annotations.at(node_annotation::kState).get_string(), "Done");
  EXPECT_EQ(annotations.at(node_annotation::kReason).get_string().size(), kMaxReasonLength);
}

}  // namespace strake::api::node_test
