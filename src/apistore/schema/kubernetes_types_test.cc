#include "apistore/schema/kubernetes_types.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "apistore/schema/registry.h"
#include "codec/testing/merge_schemas.h"

namespace strake::apistore::kubernetes_types_test {

TEST(KubernetesTypes, EveryBuiltinKindIsThere) {
  const auto registry = Registry::standard();
  ASSERT_TRUE(registry.ok()) << registry.error().to_string();
  for (const Kind& kind : registry->kinds()) {
    EXPECT_EQ(kind.fields != nullptr, kind.builtin) << kind.qualified_name();
  }
}

TEST(KubernetesTypes, FieldsHaveTheNumbersOfGeneratedProto) {
  const MessageType* pod = KubernetesTypes::standard().find("Pod");
  ASSERT_NE(pod, nullptr);
  const MessageField* spec = pod->by_number(2);
  ASSERT_NE(spec, nullptr);
  EXPECT_EQ(spec->name, "spec");
  const MessageField* containers = spec->message->by_name("containers");
  ASSERT_NE(containers, nullptr);
  EXPECT_EQ(containers->number, 2u);
  EXPECT_EQ(containers->shape, FieldShape::kList);
  EXPECT_EQ(containers->message->name, "Container");
  const MessageField* volumes = spec->message->by_name("volumes");
  ASSERT_NE(volumes, nullptr);
  EXPECT_EQ(volumes->message->by_number(2)->name, "") << "its source has no name of its own";
  ASSERT_NE(volumes->message->by_name("emptyDir"), nullptr);
  EXPECT_EQ(volumes->message->by_name("emptyDir")->presence, FieldPresence::kWhenSet);
}

TEST(KubernetesTypes, NotationThatCannotBeRead) {
  const auto said = [](std::string_view text) { return KubernetesTypes::parse(text).error().to_string(); };
  EXPECT_EQ(said("# none\n  1 a string\n"), "line 2: fields without a type");
  EXPECT_EQ(said("A: x a string\n"), "line 1: A: 'x' is not a field number");
  EXPECT_EQ(said("A: 1 a Nothing\n"), "line 1: A field 1: there is no type 'Nothing'");
  EXPECT_EQ(said("A: 1 a string\nA: 2 b string\n"), "line 2: A is there twice");
}

struct Shaping {
  const char* name;
  const char* kind;
  const char* sent;
  const char* shaped;
  std::vector<std::string> unknown = {};
};
class ShapeAsTest : public testing::TestWithParam<Shaping> {};

TEST_P(ShapeAsTest, IsWhatTheGoTypeWrites) {
  const MessageType* type = KubernetesTypes::standard().find(GetParam().kind);
  ASSERT_NE(type, nullptr);
  json::Value object = *json::parse(GetParam().sent);
  const auto unknown = shape_as(*type, object);
  ASSERT_TRUE(unknown.ok()) << unknown.error().to_string();
  EXPECT_EQ(json::write_canonical(object), json::write_canonical(*json::parse(GetParam().shaped)));
  EXPECT_EQ(*unknown, GetParam().unknown);
}

INSTANTIATE_TEST_SUITE_P(
    All, ShapeAsTest,
    testing::Values(
        Shaping{"outer_members_stay", "ConfigMap", R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"x":1}})",
                R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"x":1}})"},
        Shaping{"unknown_members_go", "ConfigMap", R"({"dta":{},"data":{"a":"b"}})", R"({"data":{"a":"b"}})", {"dta"}},
        Shaping{"empty_maps_and_nulls_go", "ConfigMap", R"({"data":{},"binaryData":null,"immutable":null})", "{}"},
        Shaping{"nulls_in_maps_are_zero", "ConfigMap", R"({"data":{"a":null}})", R"({"data":{"a":""}})"},
        Shaping{"nulls_in_lists_are_zero", "Pod",
                R"({"spec":{"tolerations":[null],"containers":[null]},"status":null})",
                R"({"spec":{"tolerations":[{}],"containers":[{"name":"","resources":{}}]},"status":{}})"},
        Shaping{"a_null_of_what_is_never_absent", "Lease", R"({"spec":null})", R"({"spec":{}})"},
        Shaping{"a_false_that_was_set_stays", "ConfigMap", R"({"immutable":false})", R"({"immutable":false})"},
        Shaping{"empty_values_of_maps_stay", "ConfigMap", R"({"data":{"a":""}})", R"({"data":{"a":""}})"},
        Shaping{"times_stay", "Lease", R"({"spec":{"renewTime":"2026-01-02T03:04:05.123456+01:00"}})",
                R"({"spec":{"renewTime":"2026-01-02T03:04:05.123456+01:00"}})"},
        Shaping{"what_is_never_absent_comes", "PodDisruptionBudget", R"({"spec":{"minAvailable":0}})",
                R"({"spec":{"minAvailable":0},"status":{"currentHealthy":0,"desiredHealthy":0,"disruptionsAllowed":0,
                    "expectedPods":0}})"},
        Shaping{"inside_lists_and_unnamed_messages",
                "Pod",
                R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"c","imge":"i","env":[]}]}})",
                R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"c","resources":{}}]},
                    "status":{}})",
                {"spec.containers[0].imge"}}),
    [](const auto& test) { return std::string(test.param.name); });

using MergeRow = std::tuple<std::string, json::MergeRule, std::string>;

std::set<MergeRow> merge_rows(const json::MergeSchema& schema) {
  std::set<MergeRow> rows;
  for (const json::MergeField& field : schema.fields) rows.emplace(field.path, field.rule, field.key);
  return rows;
}

/// What the tests of the algorithm assume about these kinds is what the Go types say.
TEST(MergeSchemas, AreThoseOfTheTypes) {
  const auto of = [](const char* kind) { return merge_rows(merge_schema_of(*KubernetesTypes::standard().find(kind))); };
  EXPECT_EQ(of("Pod"), merge_rows(json::testing::pod_merge_schema()));
  EXPECT_EQ(of("Node"), merge_rows(json::testing::node_merge_schema()));
  EXPECT_EQ(of("PodDisruptionBudget"), merge_rows(json::testing::disruption_budget_merge_schema()));
  using enum json::MergeRule;
  const std::set<MergeRow> metadata = {{"metadata.ownerReferences", kMergeByKey, "uid"},
                                       {"metadata.finalizers", kMergeValues, ""}};
  for (const char* kind : {"ConfigMap", "Secret", "Event", "Lease"}) EXPECT_EQ(of(kind), metadata) << kind;
}

TEST(MergeSchemas, WrongRulesAreNamed) {
  for (const char* text : {"A: 1 x string by name", "A: 1 x []string by name", "A: 1 x string as set",
                           "A: 1 x []string as whole", "A: 1 x []string as is", "A: 1 x []string by"}) {
    const auto parsed = KubernetesTypes::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().to_string().find("line 1"), std::string::npos) << parsed.error().to_string();
  }
}

TEST(ShapeAs, AnotherTypeIsRefusedInTheWordsOfGo) {
  const auto said = [](const char* kind, const char* sent) {
    json::Value object = *json::parse(sent);
    return shape_as(*KubernetesTypes::standard().find(kind), object).error().message();
  };
  EXPECT_EQ(said("ConfigMap", R"({"data":{"a":1}})"),
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string");
  EXPECT_EQ(said("ConfigMap", R"({"data":["a"]})"),
            "json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string");
  EXPECT_EQ(said("Pod", R"({"spec":{"containers":[{"ports":[{"hostPort":"80"}]}]}})"),
            "json: cannot unmarshal string into Go struct field Pod.spec.containers.ports.hostPort of type int32");
  EXPECT_EQ(said("Pod", R"({"spec":{"hostNetwork":"yes"}})"),
            "json: cannot unmarshal string into Go struct field Pod.spec.hostNetwork of type bool");
  EXPECT_EQ(said("Secret", R"({"data":{"a":"***"}})"), "illegal base64 data at input byte 0");
  EXPECT_EQ(said("Event", R"({"lastTimestamp":"yesterday"})"),
            R"(parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": it has another form)");
  for (const char* time : {"yesterday", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123Z"}) {
    EXPECT_EQ(said("Lease", fmt::format(R"({{"spec":{{"renewTime":"{}"}}}})", time).c_str()),
              fmt::format(R"(parsing time "{}" as "2006-01-02T15:04:05.000000Z07:00": it has another form)", time));
  }
}

}  // namespace strake::apistore::kubernetes_types_test
