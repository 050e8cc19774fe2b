#include "apistore/rules/builtin_validation.h"

#include <gtest/gtest.h>

#include "apistore/testing/test_service.h"

namespace strake::apistore::builtin_validation_test {

using testkit::parse;

std::string problems_of(const char* plural, const json::Value& object, const json::Value* old) {
  const Kind* kind = testkit::shared_registry()->find_qualified(plural);
  EXPECT_NE(kind, nullptr) << plural;
  if (kind == nullptr) return "no such kind";
  std::vector<FieldProblem> problems;
  check_builtin(*kind, object, old, problems);
  std::string all;
  for (const FieldProblem& problem : problems) all += (all.empty() ? "" : " | ") + problem.to_string();
  return all;
}

struct NewObject {
  const char* name;
  const char* kind;
  std::string object;
  const char* problems;  ///< "" = accepted
};
class NewBuiltinObject : public testing::TestWithParam<NewObject> {};

TEST_P(NewBuiltinObject, IsAcceptedOrRefused) {
  EXPECT_EQ(problems_of(GetParam().kind, parse(GetParam().object), nullptr), GetParam().problems);
}

constexpr const char* kKeyRule =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const std::string kBadKey = fmt::format(R"(data[a b]: Invalid value: "a b": {})", kKeyRule);
const std::string kBadBinaryKey = fmt::format(R"(binaryData[a/b]: Invalid value: "a/b": {})", kKeyRule);
const std::string kMebibyte(std::size_t{1} << 20, 'x');
/// 1 MiB and one byte, encoded.
const std::string kEncodedTooLong = std::string(((std::size_t{1} << 20) / 3 + 1) * 4, 'A');

INSTANTIATE_TEST_SUITE_P(
    Table, NewBuiltinObject,
    testing::Values(
        NewObject{"ConfigMap", "configmaps", R"({"data":{"a.b-C_1":"x",".hidden":"x"},"binaryData":{"k":"eA=="}})", ""},
        NewObject{"ConfigMapKey", "configmaps", R"({"data":{"a b":"x"}})", kBadKey.c_str()},
        NewObject{"ConfigMapParentFolder", "configmaps", R"({"data":{"..":"x"}})",
                  "data[..]: Invalid value: \"..\": must not be '..'"},
        NewObject{"ConfigMapBinaryKey", "configmaps", R"({"binaryData":{"a/b":"eA=="}})", kBadBinaryKey.c_str()},
        NewObject{"ConfigMapKeyTwice", "configmaps", R"({"data":{"k":"x"},"binaryData":{"k":"eA=="}})",
                  "data[k]: Invalid value: \"k\": duplicate of key present in binaryData"},
        NewObject{"ConfigMapFull", "configmaps", fmt::format(R"({{"data":{{"k":"{}"}}}})", kMebibyte), ""},
        NewObject{"ConfigMapTooLong", "configmaps",
                  fmt::format(R"({{"data":{{"k":"{}"}},"binaryData":{{"b":"eA=="}}}})", kMebibyte),
                  "[]: Too long: may not be more than 1048576 bytes"},
        NewObject{"SecretKey", "secrets", R"({"data":{"a b":"eA=="}})", kBadKey.c_str()},
        NewObject{"SecretTooLong", "secrets", fmt::format(R"({{"data":{{"k":"{}"}}}})", kEncodedTooLong),
                  "data: Too long: may not be more than 1048576 bytes"},
        NewObject{"SecretSizeIsOfTheDecodedValue", "secrets", fmt::format(R"({{"data":{{"k":"{}"}}}})", kMebibyte), ""},
        NewObject{"EventBesideItsObject", "events",
                  R"({"metadata":{"namespace":"a"},"involvedObject":{"namespace":"a"}})", ""},
        NewObject{"EventElsewhere", "events", R"({"metadata":{"namespace":"a"},"involvedObject":{"namespace":"b"}})",
                  "involvedObject.namespace: Invalid value: \"b\": does not match event.namespace"},
        NewObject{"EventOfANode", "events", R"({"metadata":{"namespace":"default"},"involvedObject":{}})", ""},
        NewObject{"EventOfANodeElsewhere", "events", R"({"metadata":{"namespace":"kube-system"},"involvedObject":{}})",
                  "involvedObject.namespace: Invalid value: \"\": does not match event.namespace"},
        NewObject{"NewerEventOfANode", "events",
                  R"({"metadata":{"namespace":"kube-system"},"involvedObject":{},
                      "eventTime":"2026-01-02T03:04:05.000000Z"})",
                  ""},
        NewObject{"BudgetNumber", "poddisruptionbudgets.policy", R"({"spec":{"minAvailable":0}})", ""},
        NewObject{"BudgetPercent", "poddisruptionbudgets.policy", R"({"spec":{"maxUnavailable":"100%"}})", ""},
        NewObject{"BudgetBoth", "poddisruptionbudgets.policy", R"({"spec":{"minAvailable":1,"maxUnavailable":1}})",
                  R"(spec: Invalid value: {"minAvailable":1,"maxUnavailable":1}: minAvailable and maxUnavailable )"
                  "cannot be both set"},
        NewObject{"BudgetNegative", "poddisruptionbudgets.policy", R"({"spec":{"minAvailable":-1}})",
                  "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"},
        NewObject{"BudgetNoPercent", "poddisruptionbudgets.policy", R"({"spec":{"maxUnavailable":"1"}})",
                  "spec.maxUnavailable: Invalid value: \"1\": a valid percent string must be a numeric string followed "
                  "by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"},
        NewObject{"BudgetTooMuch", "poddisruptionbudgets.policy", R"({"spec":{"maxUnavailable":"101%"}})",
                  "spec.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%"},
        NewObject{"BudgetFarTooMuch", "poddisruptionbudgets.policy",
                  R"({"spec":{"maxUnavailable":"99999999999999999999%"}})",
                  "spec.maxUnavailable: Invalid value: \"99999999999999999999%\": must not be greater than 100%"},
        NewObject{"PodWithoutContainers", "pods", R"({"spec":{"containers":[]}})", "spec.containers: Required value"},
        NewObject{"OtherKindsAreLeftAlone", "machineconfigpools.machineconfiguration.openshift.io",
                  R"({"data":{"a b":"x"},"spec":{"containers":[]}})", ""}),
    [](const auto& test) { return test.param.name; });

struct Change {
  const char* name;
  const char* kind;
  const char* before;
  const char* after;
  const char* problems;  ///< "" = accepted
};
class ChangedBuiltinObject : public testing::TestWithParam<Change> {};

TEST_P(ChangedBuiltinObject, IsAcceptedOrRefused) {
  const json::Value before = parse(GetParam().before);
  EXPECT_EQ(problems_of(GetParam().kind, parse(GetParam().after), &before), GetParam().problems);
}

const std::string kFixed =
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n";
const std::string kNodeChanged = kFixed + "changed: nodeName";
const std::string kMuchChanged = kFixed + "changed: containers, hostNetwork";

INSTANTIATE_TEST_SUITE_P(
    Table, ChangedBuiltinObject,
    testing::Values(
        Change{"SecretType", "secrets", R"({"type":"Opaque"})", R"({"type":"a/b"})",
               "type: Invalid value: \"a/b\": field is immutable"},
        Change{"ImmutableData", "configmaps", R"({"immutable":true,"data":{"a":"1"}})",
               R"({"immutable":true,"data":{"a":"2"}})", "data: Forbidden: field is immutable when `immutable` is set"},
        Change{"MutableAgain", "secrets", R"({"immutable":true})", "{}",
               "immutable: Forbidden: field is immutable when `immutable` is set"},
        Change{"MutableData", "configmaps", R"({"data":{"a":"1"}})", R"({"data":{"a":"2"},"immutable":true})", ""},
        Change{"PodImages", "pods", R"({"spec":{"containers":[{"image":"a"}],"initContainers":[{"image":"b"}]}})",
               R"({"spec":{"containers":[{"image":"c"}],"initContainers":[{"image":"d"}]}})", ""},
        Change{"PodContainerAdded", "pods", R"({"spec":{"containers":[{"name":"a"}]}})",
               R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
               "spec.containers: Forbidden: pod updates may not add or remove containers"},
        Change{"PodNode", "pods", R"({"spec":{"containers":[{}],"nodeName":"a"}})",
               R"({"spec":{"containers":[{}],"nodeName":"b"}})", kNodeChanged.c_str()},
        Change{"PodBoundByHand", "pods", R"({"spec":{"containers":[{}]}})",
               R"({"spec":{"containers":[{}],"nodeName":"b"}})", kNodeChanged.c_str()},
        Change{"PodContainer", "pods", R"({"spec":{"containers":[{"name":"a"}],"hostNetwork":true}})",
               R"({"spec":{"containers":[{"name":"b"}]}})", kMuchChanged.c_str()},
        Change{"PodDeadlineSet", "pods", R"({"spec":{"containers":[{}]}})",
               R"({"spec":{"containers":[{}],"activeDeadlineSeconds":5}})", ""},
        Change{"PodDeadlineNearer", "pods", R"({"spec":{"containers":[{}],"activeDeadlineSeconds":5}})",
               R"({"spec":{"containers":[{}],"activeDeadlineSeconds":4}})", ""},
        Change{"PodDeadlineLater", "pods", R"({"spec":{"containers":[{}],"activeDeadlineSeconds":5}})",
               R"({"spec":{"containers":[{}],"activeDeadlineSeconds":6}})",
               "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value"},
        Change{"PodDeadlineNegative", "pods", R"({"spec":{"containers":[{}]}})",
               R"({"spec":{"containers":[{}],"activeDeadlineSeconds":-1}})",
               "spec.activeDeadlineSeconds: Invalid value: -1: must be between 0 and 2147483647, inclusive"},
        Change{"PodDeadlineGone", "pods", R"({"spec":{"containers":[{}],"activeDeadlineSeconds":5}})",
               R"({"spec":{"containers":[{}]}})",
               "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil "
               "value"},
        Change{"PodTolerationAdded", "pods", R"({"spec":{"containers":[{}],"tolerations":[{"key":"a"}]}})",
               R"({"spec":{"containers":[{}],"tolerations":[{"key":"a","tolerationSeconds":5},{"key":"b"}]}})", ""},
        Change{"PodTolerationGone", "pods", R"({"spec":{"containers":[{}],"tolerations":[{"key":"a"}]}})",
               R"({"spec":{"containers":[{}],"tolerations":[{"key":"b"}]}})",
               "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"},
        Change{"PodGateGone", "pods", R"({"spec":{"containers":[{}],"schedulingGates":[{"name":"a"},{"name":"b"}]}})",
               R"({"spec":{"containers":[{}],"schedulingGates":[{"name":"b"}]}})", ""},
        Change{"PodGateAdded", "pods", R"({"spec":{"containers":[{}],"schedulingGates":[{"name":"a"}]}})",
               R"({"spec":{"containers":[{}],"schedulingGates":[{"name":"a"},{"name":"b"}]}})",
               "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'b'"},
        Change{"PodNegativeGraceBecomesOne", "pods",
               R"({"spec":{"containers":[{}],"terminationGracePeriodSeconds":-1}})",
               R"({"spec":{"containers":[{}],"terminationGracePeriodSeconds":1}})", ""},
        Change{"PodLabels", "pods", R"({"spec":{"containers":[{}],"nodeName":"a"}})",
               R"({"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{}],"nodeName":"a"}})", ""}),
    [](const auto& test) { return test.param.name; });

}  // namespace strake::apistore::builtin_validation_test
