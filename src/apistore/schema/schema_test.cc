#include "apistore/schema/schema.h"

#include <gtest/gtest.h>

#include "apistore/testing/test_service.h"
#include "codec/json_patch.h"

namespace strake::apistore::schema_test {

using testkit::parse;

Schema compiled(std::string_view text) {
  auto schema = Schema::compile(parse(text));
  EXPECT_TRUE(schema.ok()) << schema.error().to_string();
  return *std::move(schema);
}

struct ProblemCase {
  const char* name;
  const char* schema;  ///< of spec.x
  const char* value;
  const char* expected;  ///< "" = valid
};

class SchemaProblems : public ::testing::TestWithParam<ProblemCase> {};

TEST_P(SchemaProblems, AreWordedAsOnARealServer) {
  const ProblemCase& one = GetParam();
  const Schema schema = compiled(fmt::format(
      R"({{"type":"object","properties":{{"spec":{{"type":"object","properties":{{"x":{}}}}}}}}})", one.schema));
  const json::Value object = parse(fmt::format(R"({{"spec":{{"x":{}}}}})", one.value));
  std::string found;
  for (const FieldProblem& problem : schema.validate(object, nullptr)) {
    found += (found.empty() ? "" : " | ") + problem.to_string();
  }
  EXPECT_EQ(found, one.expected);
}

INSTANTIATE_TEST_SUITE_P(
    Table, SchemaProblems,
    ::testing::Values(
        ProblemCase{"TypeInteger", R"({"type":"integer"})", R"("a")",
                    R"(spec.x: Invalid value: "string": spec.x in body must be of type integer: "string")"},
        ProblemCase{"IntegralDoubleIsAnInteger", R"({"type":"integer"})", "3.0", ""},
        ProblemCase{"FractionIsNoInteger", R"({"type":"integer"})", "3.5",
                    R"(spec.x: Invalid value: "number": spec.x in body must be of type integer: "number")"},
        ProblemCase{"Null", R"({"type":"string"})", "null",
                    R"(spec.x: Invalid value: "null": spec.x in body must be of type string: "null")"},
        ProblemCase{"Nullable", R"({"type":"string","nullable":true,"minLength":3})", "null", ""},
        ProblemCase{"Enum", R"({"type":"string","enum":["a","b"]})", R"("c")",
                    R"(spec.x: Unsupported value: "c": supported values: "a", "b")"},
        ProblemCase{"Pattern", R"({"type":"string","pattern":"^a+$"})", R"("b")",
                    R"(spec.x: Invalid value: "b": spec.x in body should match '^a+$')"},
        ProblemCase{"PatternIsUnanchored", R"({"type":"string","pattern":"b"})", R"("abc")", ""},
        ProblemCase{"TooLong", R"({"type":"string","maxLength":2})", R"("abc")",
                    "spec.x: Too long: may not be more than 2 bytes"},
        ProblemCase{"LengthCountsCharacters", R"({"type":"string","maxLength":2})", R"("öö")", ""},
        ProblemCase{"TooShort", R"({"type":"string","minLength":1})", R"("")",
                    R"(spec.x: Invalid value: "": spec.x in body should be at least 1 chars long)"},
        ProblemCase{"Minimum", R"({"type":"integer","minimum":0})", "-1",
                    "spec.x: Invalid value: -1: spec.x in body should be greater than or equal to 0"},
        ProblemCase{"ExclusiveMaximum", R"({"type":"integer","maximum":5,"exclusiveMaximum":true})", "5",
                    "spec.x: Invalid value: 5: spec.x in body should be less than 5"},
        ProblemCase{"Int32", R"({"type":"integer","format":"int32"})", "3000000000",
                    R"(spec.x: Invalid value: 3000000000: spec.x in body must be of type int32: "int64")"},
        ProblemCase{"DateTime", R"({"type":"string","format":"date-time"})", R"("yesterday")",
                    R"(spec.x: Invalid value: "yesterday": spec.x in body must be of type date-time: "yesterday")"},
        ProblemCase{"Byte", R"({"type":"string","format":"byte"})", R"("%%")",
                    R"(spec.x: Invalid value: "%%": spec.x in body must be of type byte: "%%")"},
        ProblemCase{"TooManyItems", R"({"type":"array","maxItems":1,"items":{"type":"string"}})", R"(["a","b"])",
                    "spec.x: Too many: 2: must have at most 1 items"},
        ProblemCase{"TooFewItems", R"({"type":"array","minItems":1,"items":{"type":"string"}})", "[]",
                    "spec.x: Invalid value: 0: spec.x in body should have at least 1 items"},
        ProblemCase{"ItemPath", R"({"type":"array","items":{"type":"object","required":["n"]}})", R"([{"n":1},{}])",
                    "spec.x[1].n: Required value"},
        ProblemCase{"Set", R"({"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}})",
                    R"(["a","b","a"])", R"(spec.x[2]: Duplicate value: "a")"},
        ProblemCase{
            "Map",
            R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object"}})",
            R"([{"k":"a","v":1},{"k":"a","v":2}])", R"(spec.x[1]: Duplicate value: {"k":"a"})"},
        ProblemCase{"MapValues", R"({"type":"object","additionalProperties":{"type":"boolean"}})",
                    R"({"a":true,"b":"no"})",
                    R"(spec.x.b: Invalid value: "string": spec.x.b in body must be of type boolean: "string")"},
        ProblemCase{"TooFewProperties", R"({"type":"object","minProperties":1})", "{}",
                    "spec.x: Invalid value: 0: spec.x in body should have at least 1 properties"},
        ProblemCase{"IntOrStringTakesInt", R"({"x-kubernetes-int-or-string":true})", "3", ""},
        ProblemCase{"IntOrStringTakesString", R"({"x-kubernetes-int-or-string":true})", R"("50%")", ""},
        ProblemCase{"IntOrStringRefusesTheRest", R"({"x-kubernetes-int-or-string":true})", "true",
                    R"(spec.x: Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean")"},
        ProblemCase{
            "AnyOf", R"({"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]})", R"({"c":1})",
            R"(spec.x.a: Required value | <nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf))"},
        ProblemCase{
            "AnyOfTellsOfTheNearest", R"({"type":"object","anyOf":[{"required":["a","b"]},{"required":["c"]}]})", "{}",
            R"(spec.x.c: Required value | <nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf))"},
        ProblemCase{"AnyOfTwoTypes",
                    R"({"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]})", "true",
                    R"(spec.x: Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean" | )"
                    R"(spec.x: Invalid value: "boolean": spec.x in body must be of type integer: "boolean" | )"
                    R"(<nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf))"},
        ProblemCase{"WrongTypeIsNotInTheEnumEither", R"({"type":"string","enum":["a"]})", "1",
                    R"(spec.x: Invalid value: "integer": spec.x in body must be of type string: "integer" | )"
                    R"(spec.x: Unsupported value: 1: supported values: "a")"},
        ProblemCase{
            "AllOf", R"({"type":"object","allOf":[{"required":["a"]},{"required":["b"]}]})", R"({"a":1})",
            R"(spec.x.b: Required value | <nil>: Invalid value: "": "spec.x" must validate all the schemas (allOf))"},
        ProblemCase{
            "AllOfNone", R"({"type":"object","allOf":[{"required":["a"]}]})", "{}",
            R"(spec.x.a: Required value | <nil>: Invalid value: "": "spec.x" must validate all the schemas (allOf). None validated)"},
        ProblemCase{
            "OneOfFindsNone", R"({"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]})", "{}",
            R"(spec.x.a: Required value | <nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found none valid)"},
        ProblemCase{
            "OneOfFindsTwo", R"({"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]})", R"({"a":1,"b":2})",
            R"(<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives)"},
        ProblemCase{"Not", R"({"type":"object","not":{"required":["a"]}})", R"({"a":1})",
                    R"(<nil>: Invalid value: "": "spec.x" must not validate the schema (not))"}),
    [](const auto& which) { return which.param.name; });

TEST(Schema, PrunesUnknownFieldsAndNamesThem) {
  const Schema schema = compiled(R"({"type":"object","properties":{
      "spec":{"type":"object","properties":{"known":{"type":"string"},
        "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"inner":{"type":"object"}}},
        "list":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}}},
        "template":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object"}}}}}}})");
  json::Value object = parse(R"({"apiVersion":"v1","kind":"K","metadata":{"name":"n"},"other":1,
      "spec":{"known":"k","x":1,"free":{"any":{"thing":1},"inner":{"gone":1}},"list":[{"a":"1","b":"2"}],
              "template":{"apiVersion":"v1","kind":"P","metadata":{},"status":{},"spec":{}}}})");
  auto removed = schema.prune(object);
  std::sort(removed.begin(), removed.end());
  EXPECT_EQ(removed, (std::vector<std::string>{"other", "spec.free.inner.gone", "spec.list[0].b",
                                               "spec.template.status", "spec.x"}));
  EXPECT_TRUE(json::same_value(object, parse(R"({"apiVersion":"v1","kind":"K","metadata":{"name":"n"},
      "spec":{"known":"k","free":{"any":{"thing":1},"inner":{}},"list":[{"a":"1"}],
              "template":{"apiVersion":"v1","kind":"P","metadata":{},"spec":{}}}})")));
}

TEST(Schema, FillsInDefaultsAndDropsNullsThatAreNotAllowed) {
  const Schema schema = compiled(R"({"type":"object","properties":{"spec":{"type":"object","default":{},"properties":{
      "mode":{"type":"string","default":"auto"},"gone":{"type":"string"},"kept":{"type":"string","nullable":true},
      "list":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer","default":1}}}},
      "map":{"type":"object","additionalProperties":{"type":"object","properties":{"m":{"type":"integer","default":2}}}}}}}})");
  json::Value object = parse(R"({"spec":{"mode":null,"gone":null,"kept":null,"list":[{},{"n":5}],"map":{"a":{}}}})");
  schema.apply_defaults(object);
  EXPECT_TRUE(json::same_value(
      object, parse(R"({"spec":{"mode":"auto","kept":null,"list":[{"n":1},{"n":5}],"map":{"a":{"m":2}}}})")))
      << json::write(object);
  json::Value empty = parse("{}");
  schema.apply_defaults(empty);
  EXPECT_TRUE(json::same_value(empty, parse(R"({"spec":{"mode":"auto"}})"))) << json::write(empty);
}

TEST(Schema, KnowsTheRulesOfNamesAndOfFieldsThatMayNotChange) {
  const Schema schema = compiled(R"({"type":"object",
      "x-kubernetes-validations":[{"rule":"self.metadata.name == 'cluster'","message":"one only"},
                                  {"rule":"self.metadata.name == self.spec.node.name","message":"named after its node"},
                                  {"rule":"self.spec.x.size() > 1","message":"needs an interpreter"}],
      "properties":{
  "spec" : {
    "type" : "object", "properties" : {
      "fixed" : {
        "type" : "string", "x-kubernetes-validations" : [ {"rule" : "self == oldSelf", "message" : "may not change"} ]
      }
    }
  }
}
})");
  const json::Value good = parse(R"({"metadata":{"name":"cluster"},"spec":{"fixed":"a","node":{"name":"cluster"}}})");
  EXPECT_TRUE(schema.validate(good, nullptr).empty());
  const json::Value bad = parse(R"({"metadata":{"name":"x"},"spec":{"fixed":"b","node":{"name":"y"}}})");
  std::vector<std::string> found;
  for (const FieldProblem& problem : schema.validate(bad, &good)) found.push_back(problem.to_string());
  EXPECT_EQ(found, (std::vector<std::string>{R"(spec.fixed: Invalid value: "string": may not change)",
                                             R"(<nil>: Invalid value: "object": one only)",
                                             R"(<nil>: Invalid value: "object": named after its node)"}));
}

struct MatchCase {
  const char* name;
  const char* rule;
  const char* value;
  bool holds;
};
class SchemaMatchRules : public ::testing::TestWithParam<MatchCase> {};

TEST_P(SchemaMatchRules, AreEvaluated) {
  const Schema schema = compiled(fmt::format(R"({{"type":"object","properties":{{"x":{{
      "x-kubernetes-preserve-unknown-fields":true,
      "x-kubernetes-validations":[{{"rule":{},"message":"no match"}}]}}}}}})",
                                             json::write(json::Value(GetParam().rule))));
  const json::Value object = parse(fmt::format(R"({{"x":{}}})", GetParam().value));
  const std::vector<FieldProblem> problems = schema.validate(object, nullptr);
  EXPECT_EQ(problems.empty(), GetParam().holds);
  if (!problems.empty()) {
    EXPECT_EQ(problems[0].to_string(),
              fmt::format("x: Invalid value: \"{}\": no match", json::type_name(object.at("x"))));
    EXPECT_EQ(problems[0].reason, "FieldValueInvalid");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, SchemaMatchRules,
    ::testing::Values(MatchCase{"Keys", "self.all(key, key.matches('^[a-z]+$'))", R"({"ab":1,"c":2})", true},
                      MatchCase{"WrongKey", "self.all(key, key.matches('^[a-z]+$'))", R"({"ab":1,"C":2})", false},
                      MatchCase{"NoKeys", "self.all(key, key.matches('^[a-z]+$'))", "{}", true},
                      MatchCase{"Unanchored", "self.all(key, key.matches('b'))", R"({"abc":1})", true},
                      MatchCase{"Items", "self.all(x, x.matches('^a'))", R"(["a","ab"])", true},
                      MatchCase{"WrongItem", "self.all(x, x.matches('^a'))", R"(["a","b"])", false},
                      MatchCase{"SpaceAround", " self.all(x,  x.matches('^a'))\n", R"(["b"])", false},
                      MatchCase{"AnotherVariableNeedsAnInterpreter", "self.all(x, y.matches('^a'))", R"(["b"])", true},
                      MatchCase{"EscapesNeedAnInterpreter", R"(self.all(x, x.matches('^\\d')))", R"(["b"])", true},
                      MatchCase{"MoreThanOneMatchNeedsAnInterpreter", "self.all(x, x.matches('^a') || x.matches('^c'))",
                                R"(["b"])", true}),
    [](const auto& which) { return which.param.name; });

TEST(Schema, RulesCountWhenTheFieldsAreInOrder) {
  const Schema schema = compiled(R"({"type":"object",
      "x-kubernetes-validations":[{"rule":"self.metadata.name == 'one'","message":"one only"}],
      "properties":{"spec":{"type":"object","properties":{"n":{"type":"integer","minimum":1}}}}})");
  const auto said = [&](std::string_view object) {
    std::vector<std::string> found;
    for (const FieldProblem& problem : schema.validate(parse(object), nullptr)) found.push_back(problem.to_string());
    return found;
  };
  EXPECT_EQ(said(R"({"metadata":{"name":"two"},"spec":{"n":0}})"),
            (std::vector<std::string>{"spec.n: Invalid value: 0: spec.n in body should be greater than or equal to 1",
                                      R"(<nil>: Invalid value: "object": one only)"}));
  EXPECT_EQ(said(R"({"metadata":{"name":"two"},"spec":{"n":"a"}})"),
            (std::vector<std::string>{
                R"(spec.n: Invalid value: "string": spec.n in body must be of type integer: "string")",
                R"(<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; )"
                "correct the existing errors to complete validation"}));
}

TEST(Schema, ASchemaThatCannotBeUnderstoodNamesItsPlace) {
  const auto schema =
      Schema::compile(parse(R"({"type":"object","properties":{"spec":{"properties":{"x":{"pattern":"("}}}}})"));
  ASSERT_FALSE(schema.ok());
  EXPECT_NE(schema.error().to_string().find("openAPIV3Schema.spec.x.pattern"), std::string::npos)
      << schema.error().to_string();
}

TEST(Registry, ServesEveryKindTheProgramCarries) {
  const Registry& registry = *testkit::shared_registry();
  for (const char* plural : {"nodes", "pods", "namespaces", "secrets", "configmaps", "events"}) {
    const Kind* kind = registry.find("", plural);
    ASSERT_NE(kind, nullptr) << plural;
    EXPECT_TRUE(kind->builtin);
    EXPECT_EQ(kind->storage().name, "v1");
  }
  const Kind* pool = registry.find_kind("machineconfiguration.openshift.io", "MachineConfigPool");
  ASSERT_NE(pool, nullptr);
  EXPECT_EQ(pool->plural, "machineconfigpools");
  EXPECT_FALSE(pool->namespaced);
  EXPECT_FALSE(pool->builtin);
  EXPECT_TRUE(pool->storage().has_status);
  EXPECT_FALSE(pool->storage().columns.empty());
  EXPECT_EQ(registry.find_qualified("machineconfigpools.machineconfiguration.openshift.io"), pool);
  EXPECT_EQ(registry.find("", "nodes")->table, "node");
  EXPECT_EQ(registry.find("", "unicorns"), nullptr);
}

TEST(Registry, RefusesDefinitionsThatContradictThemselves) {
  constexpr std::string_view kText =
      "spec: {group: g, scope: Cluster, names: {kind: K, plural: ks}, versions: [{name: v1, served: true, storage: "
      "true}]}\n";
  const api::EmbeddedFile once{"k.yaml", kText};
  ASSERT_TRUE(Registry::load({}, std::array{once}).ok());
  EXPECT_FALSE(Registry::load({}, std::array{once, once}).ok());
  const api::EmbeddedFile no_storage{
      "n.yaml", "spec: {group: g, scope: Cluster, names: {kind: K, plural: ks}, versions: [{name: v1}]}"};
  const auto refused = Registry::load({}, std::array{no_storage});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().to_string().find("n.yaml"), std::string::npos);
}

}  // namespace strake::apistore::schema_test
