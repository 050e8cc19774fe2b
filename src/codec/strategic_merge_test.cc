#include "codec/strategic_merge.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/json_patch.h"
#include "codec/testing/merge_schemas.h"

namespace strake::json::strategic_merge_test {

Value object_from(std::string_view text) {
  auto value = parse(text);
  EXPECT_TRUE(value.ok()) << text << ": " << (value.ok() ? "" : value.error().to_string());
  return value.ok() ? *std::move(value) : Value();
}

struct MergeCase {
  const char* name;
  const char* original;
  const char* patch;
  const char* result;  ///< JSON, or "error: " and a part of the message
};

void expect_merge(const MergeSchema& schema, const MergeCase& c) {
  const auto result = apply_strategic_merge(object_from(c.original), object_from(c.patch), schema);
  const std::string_view expected = c.result;
  if (expected.starts_with("error: ")) {
    ASSERT_FALSE(result.ok()) << c.name << ": got " << write(*result);
    EXPECT_NE(result.error().to_string().find(expected.substr(7)), std::string::npos)
        << c.name << ": " << result.error().to_string();
    EXPECT_EQ(result.error().code(), Code::kInvalidArgument) << c.name;
    return;
  }
  ASSERT_TRUE(result.ok()) << c.name << ": " << result.error().to_string();
  EXPECT_EQ(write_canonical(*result), write_canonical(object_from(expected))) << c.name;
}

TEST(StrategicMerge, ObjectsMergeAndOtherListsAreReplaced) {
  const MergeCase cases[] = {
      {"objects merge, null deletes", R"({"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"unschedulable":true}})",
       R"({"metadata":{"labels":{"a":null,"c":"3"}},"spec":{"unschedulable":null}})",
       R"({"metadata":{"labels":{"b":"2","c":"3"}},"spec":{}})"},
      {"taints are atomic", R"({"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}})",
       R"({"spec":{"taints":[{"key":"b","effect":"NoExecute"}]}})",
       R"({"spec":{"taints":[{"key":"b","effect":"NoExecute"}]}})"},
      {"images are atomic", R"({"status":{"images":[{"names":["a"]}]}})", R"({"status":{"images":[]}})",
       R"({"status":{"images":[]}})"},
      {"new content loses its nulls", R"({})", R"({"spec":{"a":null,"b":{"c":null,"d":[{"e":null,"f":1}]}}})",
       R"({"spec":{"b":{"d":[{"f":1}]}}})"},
      {"replaced lists lose their nulls", R"({"spec":{"taints":[{"key":"a"}]}})",
       R"({"spec":{"taints":[{"key":"b","value":null}]}})", R"({"spec":{"taints":[{"key":"b"}]}})"},
      {"another type replaces", R"({"spec":{"x":[1],"y":{"a":1},"z":1}})",
       R"({"spec":{"x":{"b":null,"c":1},"y":[1],"z":"s"}})", R"({"spec":{"x":{"c":1},"y":[1],"z":"s"}})"},
      {"a key with dots is no path", R"({"spec.podCIDRs":["a"]})", R"({"spec.podCIDRs":["b"]})",
       R"({"spec.podCIDRs":["b"]})"},
      {"empty patch", R"({"a":1})", "{}", R"({"a":1})"},
  };
  for (const MergeCase& c : cases) expect_merge(testing::node_merge_schema(), c);
}

TEST(StrategicMerge, ListsMergeByKey) {
  const MergeCase cases[] = {
      {"conditions by type",
       R"({"status":{"conditions":[{"type":"Ready","status":"True","reason":"R"},{"type":"DiskPressure","status":"False"}]}})",
       R"({"status":{"conditions":[{"type":"Ready","status":"False","reason":null},{"type":"New","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"Ready","status":"False"},{"type":"New","status":"True"},{"type":"DiskPressure","status":"False"}]}})"},
      {"addresses by type",
       R"({"status":{"addresses":[{"type":"InternalIP","address":"1"},{"type":"Hostname","address":"h"}]}})",
       R"({"status":{"addresses":[{"type":"InternalIP","address":"2"}]}})",
       R"({"status":{"addresses":[{"type":"InternalIP","address":"2"},{"type":"Hostname","address":"h"}]}})"},
      {"duplicates in the original: the first is merged into",
       R"({"status":{"addresses":[{"type":"InternalIP","address":"1"},{"type":"InternalIP","address":"2"}]}})",
       R"({"status":{"addresses":[{"type":"InternalIP","address":"3"}]}})",
       R"({"status":{"addresses":[{"type":"InternalIP","address":"3"},{"type":"InternalIP","address":"2"}]}})"},
      {"podCIDRs are a set", R"({"spec":{"podCIDRs":["a","b"]}})", R"({"spec":{"podCIDRs":["c","a"]}})",
       R"({"spec":{"podCIDRs":["c","a","b"]}})"},
      {"finalizers are a set", R"({"metadata":{"finalizers":["x"]}})", R"({"metadata":{"finalizers":["x","y"]}})",
       R"({"metadata":{"finalizers":["x","y"]}})"},
      {"owners by uid", R"({"metadata":{"ownerReferences":[{"uid":"1","name":"a"}]}})",
       R"({"metadata":{"ownerReferences":[{"uid":"2","name":"b"},{"uid":"1","controller":true}]}})",
       R"({"metadata":{"ownerReferences":[{"uid":"2","name":"b"},{"uid":"1","name":"a","controller":true}]}})"},
      {"missing merge key in the patch", R"({"status":{"conditions":[{"type":"Ready"}]}})",
       R"({"status":{"conditions":[{"status":"True"}]}})", "error: status.conditions: an element has no \"type\""},
      {"missing merge key in the original", R"({"status":{"conditions":[{"status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"Ready"}]}})", "error: has no \"type\""},
      {"element is no object", R"({"status":{"conditions":[{"type":"Ready"}]}})", R"({"status":{"conditions":["x"]}})",
       "error: an element must be an object, not string"},
      {"element is no plain value", R"({"spec":{"podCIDRs":["a"]}})", R"({"spec":{"podCIDRs":[{"a":1}]}})",
       "error: spec.podCIDRs: an element must be a plain value, not object"},
  };
  for (const MergeCase& c : cases) expect_merge(testing::node_merge_schema(), c);
}

TEST(StrategicMerge, PodTables) {
  const MergeCase cases[] = {
      {"containers and what is in them",
       R"({"spec":{"containers":[
            {"name":"a","image":"i1","env":[{"name":"X","value":"1"},{"name":"Y","value":"2"}],
             "ports":[{"containerPort":80,"name":"http"}],"args":["p"],
             "volumeMounts":[{"mountPath":"/m","name":"v"}]},
            {"name":"b","image":"i2"}]}})",
       R"({"spec":{"containers":[
            {"name":"a","env":[{"name":"Y","value":"3"}],"ports":[{"containerPort":443}],"args":["q"],
             "volumeMounts":[{"mountPath":"/m","readOnly":true}],"volumeDevices":[{"devicePath":"/d","name":"n"}]}]}})",
       R"({"spec":{"containers":[
            {"name":"a","image":"i1","env":[{"name":"X","value":"1"},{"name":"Y","value":"3"}],
             "ports":[{"containerPort":443},{"containerPort":80,"name":"http"}],"args":["q"],
             "volumeMounts":[{"mountPath":"/m","name":"v","readOnly":true}],
             "volumeDevices":[{"devicePath":"/d","name":"n"}]},
            {"name":"b","image":"i2"}]}})"},
      {"tolerations are atomic", R"({"spec":{"tolerations":[{"key":"a"},{"key":"b"}]}})",
       R"({"spec":{"tolerations":[{"key":"c"}]}})", R"({"spec":{"tolerations":[{"key":"c"}]}})"},
      {"status lists",
       R"({"status":{"podIPs":[{"ip":"1"}],"hostIPs":[{"ip":"1"}],"containerStatuses":[{"name":"a"}]}})",
       R"({"status":{"podIPs":[{"ip":"2"}],"hostIPs":[{"ip":"2"}],"containerStatuses":[{"name":"b"}]}})",
       R"({"status":{"podIPs":[{"ip":"2"},{"ip":"1"}],"hostIPs":[{"ip":"2"},{"ip":"1"}],"containerStatuses":[{"name":"b"}]}})"},
      {"deep inside a volume",
       R"({"spec":{"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"metadata":{"finalizers":["a"]}}}}]}})",
       R"({"spec":{"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"metadata":{"finalizers":["b"]}}}}]}})",
       R"({"spec":{"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"metadata":{"finalizers":["b","a"]}}}}]}})"},
      {"other lists by their keys",
       R"({"spec":{"imagePullSecrets":[{"name":"a"}],"hostAliases":[{"ip":"1","hostnames":["x"]}],
            "topologySpreadConstraints":[{"topologyKey":"z","maxSkew":1}],"resourceClaims":[{"name":"r"}],
            "schedulingGates":[{"name":"g"}],"initContainers":[{"name":"i","env":[{"name":"A"}]}],
            "ephemeralContainers":[{"name":"e","env":[{"name":"A"}]}]}})",
       R"({"spec":{"imagePullSecrets":[{"name":"b"}],"hostAliases":[{"ip":"1","hostnames":["y"]}],
            "topologySpreadConstraints":[{"topologyKey":"z","minDomains":2}],"resourceClaims":[{"name":"s"}],
            "schedulingGates":[{"name":"h"}],"initContainers":[{"name":"i","env":[{"name":"B"}]}],
            "ephemeralContainers":[{"name":"e","env":[{"name":"B"}]}]}})",
       R"({"spec":{"imagePullSecrets":[{"name":"b"},{"name":"a"}],"hostAliases":[{"ip":"1","hostnames":["y"]}],
            "topologySpreadConstraints":[{"topologyKey":"z","maxSkew":1,"minDomains":2}],
            "resourceClaims":[{"name":"s"},{"name":"r"}],"schedulingGates":[{"name":"h"},{"name":"g"}],
            "initContainers":[{"name":"i","env":[{"name":"B"},{"name":"A"}]}],
            "ephemeralContainers":[{"name":"e","env":[{"name":"B"},{"name":"A"}]}]}})"},
  };
  for (const MergeCase& c : cases) expect_merge(testing::pod_merge_schema(), c);
}

TEST(StrategicMerge, PatchDirective) {
  const MergeCase cases[] = {
      {"replace an object", R"({"metadata":{"labels":{"a":"1","b":"2"}}})",
       R"({"metadata":{"labels":{"$patch":"replace","c":"3","d":null}}})", R"({"metadata":{"labels":{"c":"3"}}})"},
      {"delete the content of an object", R"({"spec":{"nodeSelector":{"a":"1"},"x":1}})",
       R"({"spec":{"nodeSelector":{"$patch":"delete"}}})", R"({"spec":{"nodeSelector":{},"x":1}})"},
      {"a marked object is not added", R"({"spec":{}})", R"({"spec":{"nodeSelector":{"$patch":"delete"}}})",
       R"({"spec":{}})"},
      {"replace a merged list", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"c","image":"i"},{"$patch":"replace"}]}})",
       R"({"spec":{"containers":[{"name":"c","image":"i"}]}})"},
      {"the new elements of a replaced list need the key", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"$patch":"replace"},{"image":"i"}]}})", "error: an element has no \"name\""},
      {"delete an element", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"$patch":"delete","name":"a"}]}})", R"({"spec":{"containers":[{"name":"b"}]}})"},
      {"delete all elements with that key",
       R"({"spec":{"containers":[{"name":"x","ports":[{"containerPort":1,"protocol":"TCP"},{"containerPort":1,"protocol":"UDP"},{"containerPort":2}]}]}})",
       R"({"spec":{"containers":[{"name":"x","ports":[{"$patch":"delete","containerPort":1}]}]}})",
       R"({"spec":{"containers":[{"name":"x","ports":[{"containerPort":2}]}]}})"},
      {"delete what is absent", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"$patch":"delete","name":"z"}]}})", R"({"spec":{"containers":[{"name":"a"}]}})"},
      {"delete and add at once", R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"$patch":"delete","name":"a"},{"name":"a","image":"2"}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"2"},{"name":"b"}]}})"},
      {"replace one element", R"({"spec":{"volumes":[{"name":"v","emptyDir":{"medium":"Memory"}}]}})",
       R"({"spec":{"volumes":[{"name":"v","emptyDir":{"$patch":"replace","sizeLimit":"1"}}]}})",
       R"({"spec":{"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1"}}]}})"},
      {"delete without the key", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"$patch":"delete"}]}})", "error: spec.containers: an element has no \"name\""},
      {"merge is no directive of an object", R"({"metadata":{"labels":{"a":"1"}}})",
       R"({"metadata":{"labels":{"$patch":"merge"}}})",
       "error: metadata.labels: $patch must be \"replace\" or \"delete\", not \"merge\""},
      {"merge is no directive of an element", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"$patch":"merge","name":"a"}]}})", "error: not \"merge\""},
      {"unknown value", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"$patch":7,"name":"a"}]}})", "error: not 7"},
      {"unknown directive", R"({"spec":{}})", R"({"spec":{"$sort":["a"]}})",
       "error: spec: unknown directive \"$sort\""},
      {"the place of an error", R"({"spec":{"containers":[{"name":"a","env":[{"name":"X"}]}]}})",
       R"({"spec":{"containers":[{"name":"a","env":[{"value":"1"}]}]}})",
       "error: spec.containers[\"a\"].env: an element has no \"name\""},
  };
  for (const MergeCase& c : cases) expect_merge(testing::pod_merge_schema(), c);
}

TEST(StrategicMerge, DeleteFromPrimitiveList) {
  const MergeCase cases[] = {
      {"removes values", R"({"metadata":{"finalizers":["a","b","c"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a","c","x"]}})", R"({"metadata":{"finalizers":["b"]}})"},
      {"with additions", R"({"metadata":{"finalizers":["a","b"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"],"finalizers":["c"]}})",
       R"({"metadata":{"finalizers":["c","b"]}})"},
      {"added and deleted is gone", R"({"metadata":{"finalizers":["b"]}})",
       R"({"metadata":{"finalizers":["a"],"$deleteFromPrimitiveList/finalizers":["a"]}})",
       R"({"metadata":{"finalizers":["b"]}})"},
      {"from an atomic list", R"({"spec":{"l":["a","b"]}})", R"({"spec":{"$deleteFromPrimitiveList/l":["a"]}})",
       R"({"spec":{"l":["b"]}})"},
      {"nothing there", R"({"metadata":{}})", R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}})",
       R"({"metadata":{}})"},
      {"in new content", "{}", R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"],"name":"n"}})",
       R"({"metadata":{"name":"n"}})"},
      {"not a list", R"({"metadata":{"finalizers":["a"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":"a"}})",
       "error: metadata.finalizers: $deleteFromPrimitiveList must be a list"},
      {"a list of objects", R"({"status":{"conditions":[{"type":"Ready"}]}})",
       R"({"status":{"$deleteFromPrimitiveList/conditions":["Ready"]}})", "error: must be a plain value, not object"},
      {"not for a list", R"({"spec":{"podCIDR":"a"}})", R"({"spec":{"$deleteFromPrimitiveList/podCIDR":["a"]}})",
       "error: this is no list"},
  };
  for (const MergeCase& c : cases) expect_merge(testing::node_merge_schema(), c);
}

TEST(StrategicMerge, SetElementOrder) {
  const MergeCase cases[] = {
      {"orders what is there", R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"c"},{"name":"a"},{"name":"b"}]}})"},
      {"orders what it merges", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"n"},{"name":"a"}],"containers":[{"name":"n","image":"i"}]}})",
       R"({"spec":{"containers":[{"name":"b"},{"name":"n","image":"i"},{"name":"a"}]}})"},
      {"server-only elements keep their place", R"({"metadata":{"finalizers":["s1","a","s2","b"]}})",
       R"({"metadata":{"$setElementOrder/finalizers":["a","b","c"],"finalizers":["c"]}})",
       R"({"metadata":{"finalizers":["s1","a","s2","b","c"]}})"},
      {"with a deletion", R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"a"}],"containers":[{"$patch":"delete","name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"c"},{"name":"a"}]}})"},
      {"with a new list", R"({"spec":{}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"a"},{"name":"b"}],"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})"},
      {"of a list that is nowhere", R"({"spec":{}})", R"({"spec":{"$setElementOrder/containers":[{"name":"a"}]}})",
       R"({"spec":{}})"},
      {"the patch must follow it", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"c"}],"containers":[{"name":"c"},{"name":"b"}]}})",
       "error: spec.containers: element \"b\" is not where $setElementOrder puts it"},
      {"the patch must be in it", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"x"}]}})",
       "error: element \"x\" is not where"},
      {"its elements need the key", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"image":"a"}]}})", "error: has no \"name\""},
      {"not a list", R"({"spec":{"containers":[{"name":"a"}]}})", R"({"spec":{"$setElementOrder/containers":"a"}})",
       "error: $setElementOrder must be a list"},
      {"not for an atomic list", R"({"spec":{"tolerations":[{"key":"a"}]}})",
       R"({"spec":{"$setElementOrder/tolerations":[{"key":"a"}]}})", "error: this list is replaced as a whole"},
  };
  for (const MergeCase& c : cases) expect_merge(testing::pod_merge_schema(), c);
}

TEST(StrategicMerge, RetainKeys) {
  const MergeCase cases[] = {
      {"changes the kind of a volume", R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})",
       R"({"spec":{"volumes":[{"$retainKeys":["name","hostPath"],"name":"v","hostPath":{"path":"/p"}}]}})",
       R"({"spec":{"volumes":[{"name":"v","hostPath":{"path":"/p"}}]}})"},
      {"nulls need not be listed", R"({"spec":{"volumes":[{"name":"v","emptyDir":{},"x":1}]}})",
       R"({"spec":{"volumes":[{"$retainKeys":["name","x"],"name":"v","emptyDir":null}]}})",
       R"({"spec":{"volumes":[{"name":"v","x":1}]}})"},
      {"in a new element", R"({"spec":{"volumes":[{"name":"v"}]}})",
       R"({"spec":{"volumes":[{"$retainKeys":["name"],"name":"w"}]}})",
       R"({"spec":{"volumes":[{"name":"w"},{"name":"v"}]}})"},
      {"everything set must be listed", R"({"spec":{"volumes":[{"name":"v"}]}})",
       R"({"spec":{"volumes":[{"$retainKeys":["name"],"name":"v","hostPath":{}}]}})",
       "error: spec.volumes[\"v\"]: the patch sets \"hostPath\", which $retainKeys does not list"},
      {"not a list", R"({"spec":{"volumes":[{"name":"v"}]}})",
       R"({"spec":{"volumes":[{"$retainKeys":"name","name":"v"}]}})", "error: $retainKeys must be a list"},
      {"not names", R"({"spec":{"volumes":[{"name":"v"}]}})",
       R"({"spec":{"volumes":[{"$retainKeys":[1],"name":"v"}]}})", "error: $retainKeys must be a list"},
  };
  for (const MergeCase& c : cases) expect_merge(testing::pod_merge_schema(), c);
}

TEST(StrategicMerge, SelectorOfADisruptionBudgetIsReplaced) {
  expect_merge(testing::disruption_budget_merge_schema(),
               {"selector", R"({"spec":{"selector":{"matchLabels":{"a":"1"}},"minAvailable":1}})",
                R"({"spec":{"selector":{"matchLabels":{"b":"2"},"matchExpressions":null}}})",
                R"({"spec":{"selector":{"matchLabels":{"b":"2"}},"minAvailable":1}})"});
}

TEST(StrategicMerge, LongNamesAndManyDeletionsCostNoMoreThanTheirText) {
  // The text of the place, made for each member, would be a hundred gigabytes.
  const std::string long_name(1'000'000, 'n');
  Object members, deletions;
  for (int i = 0; i < 100'000; ++i) members.emplace(std::to_string(i), 1);
  for (int i = 0; i < 100'000; ++i) deletions.emplace(std::to_string(i), i == 7 ? Value(2) : Value(nullptr));
  const Value before = Object{{long_name, members}}, patch = Object{{long_name, deletions}};
  const auto merged = apply_strategic_merge(before, patch, testing::pod_merge_schema());
  ASSERT_TRUE(merged.ok()) << merged.error().to_string();
  EXPECT_EQ(write(merged->get_object().at(long_name)), R"({"7":2})");
  const auto refused =
      apply_strategic_merge(before, Object{{long_name, Object{{"$patch", "no"}}}}, testing::pod_merge_schema());
  ASSERT_FALSE(refused.ok());
  EXPECT_LT(refused.error().to_string().size(), 2000u);
}

TEST(StrategicMerge, NeedsObjects) {
  const MergeSchema schema = testing::pod_merge_schema();
  EXPECT_FALSE(apply_strategic_merge(object_from("[]"), object_from("{}"), schema).ok());
  EXPECT_FALSE(apply_strategic_merge(object_from("{}"), object_from("null"), schema).ok());
}

}  // namespace strake::json::strategic_merge_test
