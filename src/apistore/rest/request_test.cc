#include "apistore/rest/request.h"

#include <gtest/gtest.h>

#include "apistore/rest/answers.h"

namespace strake::apistore::rest::request_test {

const Registry& registry() {
  static const Registry kRegistry = *Registry::standard();
  return kRegistry;
}

net::Target target(const std::string& text) {
  auto parsed = net::parse_target(text);
  STRAKE_INVARIANT(parsed.ok());
  return *std::move(parsed);
}

/// "VERB resource ns/name/subresource", or the code and reason of the refusal.
std::string understood(const std::string& method, const std::string& text) {
  const net::Target at = target(text);
  kube::StatusDetails details;
  const auto path = resolve_path(registry(), at.segments, details);
  if (!path.ok()) return fmt::format("{}{}{}", path.error().reason(), details.name.empty() ? "" : " ", details.name);
  std::vector<std::string> allowed;
  const auto verb = verb_for(*path, method, at.query, allowed);
  if (!verb.ok()) return fmt::format("{}: {}", verb.error().reason(), fmt::join(allowed, " "));
  return fmt::format("{} {} {}/{}/{}", to_string(*verb), path->kind->plural, path->ns, path->name, path->subresource);
}

struct PathCase {
  const char* method;
  const char* target;
  const char* expected;
};
class RequestPathTest : public testing::TestWithParam<PathCase> {};

TEST_P(RequestPathTest, IsUnderstood) {
  EXPECT_EQ(understood(GetParam().method, GetParam().target), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, RequestPathTest,
    testing::Values(
        PathCase{"GET", "/api/v1/nodes", "list nodes //"}, PathCase{"GET", "/api/v1/nodes?watch=1", "watch nodes //"},
        PathCase{"GET", "/api/v1/nodes?watch=true", "watch nodes //"},
        PathCase{"GET", "/api/v1/nodes?watch", "watch nodes //"},
        PathCase{"GET", "/api/v1/nodes?watch=False", "list nodes //"},
        PathCase{"GET", "/api/v1/nodes?watch=0", "list nodes //"},
        PathCase{"HEAD", "/api/v1/nodes?watch=1", "list nodes //"},
        PathCase{"GET", "/api/v1/nodes/n1?watch=1", "get nodes /n1/"},
        PathCase{"GET", "/api/v1/nodes/n1/status", "get nodes /n1/status"},
        PathCase{"PUT", "/api/v1/nodes/n1/status", "update nodes /n1/status"},
        PathCase{"PATCH", "/api/v1/nodes/n1/status", "patch nodes /n1/status"},
        PathCase{"DELETE", "/api/v1/nodes/n1/status", "MethodNotAllowed: GET PATCH PUT"},
        PathCase{"POST", "/api/v1/nodes", "create nodes //"},
        PathCase{"DELETE", "/api/v1/nodes", "deletecollection nodes //"},
        PathCase{"POST", "/api/v1/nodes/n1", "MethodNotAllowed: DELETE GET PATCH PUT"},
        PathCase{"GET", "/api/v1/nodes/n1/scale", "NotFound"},
        PathCase{"GET", "/apis/machineconfiguration.openshift.io/v1/machineconfigs/m/scale", "NotFound m"},
        PathCase{"GET", "/api/v1/pods", "list pods //"}, PathCase{"POST", "/api/v1/pods", "MethodNotAllowed: GET"},
        PathCase{"GET", "/api/v1/pods/p", "NotFound"}, PathCase{"POST", "/api/v1/namespaces/x/pods", "create pods x//"},
        PathCase{"DELETE", "/api/v1/namespaces/x/pods/p", "delete pods x/p/"},
        PathCase{"POST", "/api/v1/namespaces/x/pods/p/eviction", "create pods x/p/eviction"},
        PathCase{"GET", "/api/v1/namespaces/x/pods/p/eviction", "MethodNotAllowed: POST"},
        PathCase{"GET", "/api/v1/namespaces/x/pods/p/log", "NotFound"},
        PathCase{"GET", "/api/v1/namespaces/x/pods/p/status/more", "NotFound"},
        PathCase{"GET", "/api/v1/namespaces", "list namespaces //"},
        PathCase{"GET", "/api/v1/namespaces/x", "get namespaces /x/"},
        PathCase{"PUT", "/api/v1/namespaces/x/status", "update namespaces /x/status"},
        PathCase{"DELETE", "/api/v1/namespaces", "MethodNotAllowed: GET POST"},
        PathCase{"GET", "/api/v1/namespaces/x/nodes", "NotFound"},
        PathCase{"GET", "/api/v1/namespaces/x/nodes/n", "NotFound"},
        PathCase{"GET", "/apis/coordination.k8s.io/v1/namespaces/x/leases/l", "get leases x/l/"},
        PathCase{"GET", "/apis/machineconfiguration.openshift.io/v1/machineconfigs/a", "get machineconfigs /a/"},
        PathCase{"PATCH", "/apis/machineconfiguration.openshift.io/v1/machineconfigpools/a/status",
                 "patch machineconfigpools /a/status"},
        PathCase{"PATCH", "/apis/machineconfiguration.openshift.io/v1/machineconfigs/a/status", "NotFound a"},
        PathCase{"GET", "/apis/machineconfiguration.openshift.io/v9/machineconfigs", "NotFound"},
        PathCase{"GET", "/api/v1/watch/nodes", "NotFound"}, PathCase{"GET", "/api/v1/widgets", "NotFound"},
        PathCase{"GET", "/apis/nodes", "NotFound"}, PathCase{"GET", "/other", "NotFound"},
        PathCase{"OPTIONS", "/api/v1/nodes", "MethodNotAllowed: DELETE GET POST"}));

struct AcceptCase {
  const char* name;
  const char* accept;
  const char* expected;
};
class AcceptTest : public testing::TestWithParam<AcceptCase> {};

TEST_P(AcceptTest, IsNegotiated) {
  net::Headers headers;
  if (*GetParam().accept != '\0') headers.add("Accept", GetParam().accept);
  const auto output = negotiate_output(headers, {});
  std::string said = "NotAcceptable";
  if (output.ok()) {
    const char* shape = output->shape == Shape::kTable      ? "table"
                        : output->shape == Shape::kMetadata ? "metadata"
                                                            : "object";
    said = fmt::format("{} {}{}", shape, output->meta_version, output->pretty ? " pretty" : "");
  } else {
    EXPECT_EQ(output.error().reason(), "NotAcceptable");
  }
  EXPECT_EQ(said, GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, AcceptTest,
    testing::Values(
        AcceptCase{"Absent", "", "object v1"}, AcceptCase{"Json", "application/json", "object v1"},
        AcceptCase{"Anything", "*/*", "object v1"}, AcceptCase{"AnyApplication", "application/*", "object v1"},
        AcceptCase{"UpperCase", "Application/JSON", "object v1"},
        AcceptCase{"Kubectl",
                   "application/json;as=Table;v=v1;g=meta.k8s.io,application/"
                   "json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
                   "table v1"},
        AcceptCase{"OldTable", "application/json;as=Table;v=v1beta1;g=meta.k8s.io", "table v1beta1"},
        AcceptCase{"Metadata", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "metadata v1"},
        AcceptCase{"ProtobufFirst",
                   "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io, application/json;q=0.5",
                   "object v1"},
        AcceptCase{"Quality", "application/json;q=0.1, application/json;as=Table;v=v1;g=meta.k8s.io;q=0.9", "table v1"},
        AcceptCase{"Refused", "application/json;q=0", "NotAcceptable"},
        AcceptCase{"Protobuf", "application/vnd.kubernetes.protobuf", "NotAcceptable"},
        AcceptCase{"Cbor", "application/cbor", "NotAcceptable"},
        AcceptCase{"Yaml", "application/yaml", "NotAcceptable"},
        AcceptCase{"UnknownTarget", "application/json;as=Chart;v=v1;g=meta.k8s.io", "NotAcceptable"},
        AcceptCase{"UnknownTargetFallsBack", "application/json;as=Chart;v=v1;g=meta.k8s.io, */*;q=0.1", "object v1"},
        AcceptCase{"Stream", "application/json;stream=watch", "object v1"},
        AcceptCase{"OtherStream", "application/json;stream=other", "NotAcceptable"},
        AcceptCase{"Pretty", "application/json;pretty=1", "object v1 pretty"}),
    [](const auto& tested) { return tested.param.name; });

TEST(Accept, DiscoveryIsJsonWhateverFormWasAskedFor) {
  EXPECT_TRUE(accepts_json({{"Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}}).ok());
  EXPECT_FALSE(accepts_json({{"Accept", "application/vnd.kubernetes.protobuf"}}).ok());
}

TEST(Accept, AskingForPrettyInTheQuery) {
  EXPECT_TRUE(negotiate_output({}, {{"pretty", "true"}})->pretty);
  EXPECT_FALSE(negotiate_output({}, {{"pretty", "false"}})->pretty);
}

TEST(BodyType, JsonOrProtobuf) {
  EXPECT_TRUE(read_body({}, "{}").ok());
  EXPECT_TRUE(read_body({{"Content-Type", "application/json; charset=utf-8"}}, "{}").ok());
  for (const char* type : {"application/yaml", "text/plain", "application/cbor"}) {
    const auto body = read_body({{"Content-Type", type}}, "{}");
    ASSERT_FALSE(body.ok()) << type;
    EXPECT_EQ(error_response(body.error()).status, 415) << type;
  }
  const auto not_protobuf = read_body({{"Content-Type", "application/vnd.kubernetes.protobuf"}}, "{}");
  ASSERT_FALSE(not_protobuf.ok());
  EXPECT_EQ(error_response(not_protobuf.error()).status, 400);
}

TEST(PatchTypes, StrategicOnlyWhereKubernetesHasIt) {
  const Kind& node = *registry().find("", "nodes");
  const Kind& pool = *registry().find("machineconfiguration.openshift.io", "machineconfigpools");
  const auto type_of = [](const char* type, const Kind& kind) { return patch_type({{"Content-Type", type}}, kind); };
  EXPECT_EQ(*type_of("application/json-patch+json", pool), kube::PatchType::kJson);
  EXPECT_EQ(*type_of("application/merge-patch+json", pool), kube::PatchType::kMerge);
  EXPECT_EQ(*type_of("application/strategic-merge-patch+json", node), kube::PatchType::kStrategic);
  const auto strategic = type_of("application/strategic-merge-patch+json", pool);
  ASSERT_FALSE(strategic.ok());
  EXPECT_EQ(
      strategic.error().message(),
      "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, "
      "application/merge-patch+json");
  EXPECT_FALSE(type_of("application/json", node).ok());
}

TEST(PatchTypes, ServerSideApplySaysWhatToDoInstead) {
  const Kind& node = *registry().find("", "nodes");
  const auto type = patch_type({{"Content-Type", "application/apply-patch+yaml"}}, node);
  ASSERT_FALSE(type.ok());
  EXPECT_EQ(type.error().message(),
            "server-side apply is not supported by the embedded API server; use kubectl apply without --server-side");
  EXPECT_EQ(error_response(type.error()).status, 415);
}

TEST(ListOptions, AreRead) {
  kube::StatusDetails details;
  const auto options = parse_list_options({{"limit", "500"},
                                           {"continue", "abc"},
                                           {"labelSelector", "a=b"},
                                           {"fieldSelector", "metadata.name=x"},
                                           {"other", "1"}},
                                          details);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->limit, 500u);
  EXPECT_EQ(options->continue_token, "abc");
  EXPECT_EQ(options->label_selector, "a=b");
  EXPECT_EQ(options->field_selector, "metadata.name=x");
  EXPECT_EQ(parse_list_options({{"limit", "-1"}}, details)->limit, 0u);
  EXPECT_EQ(parse_list_options({{"limit", "99999999999"}}, details)->limit, 1'000'000u);
  EXPECT_EQ(parse_list_options({{"limit", "many"}}, details).error().reason(), "BadRequest");
}

TEST(ListOptions, OfAWatch) {
  kube::StatusDetails details;
  auto options = parse_watch_options(
      {{"watch", "1"}, {"resourceVersion", "5"}, {"allowWatchBookmarks", "true"}, {"timeoutSeconds", "30"}}, details);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->resource_version, "5");
  EXPECT_TRUE(options->bookmarks);
  EXPECT_FALSE(options->initial_events.has_value());
  EXPECT_EQ(options->timeout, std::chrono::seconds(30));
  options = parse_watch_options({{"sendInitialEvents", "true"}, {"resourceVersionMatch", "NotOlderThan"}}, details);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->initial_events, true);
  EXPECT_FALSE(parse_watch_options({}, details)->timeout.has_value());
}

struct RefusedOptions {
  const char* name;
  bool watch;
  net::Query query;
  const char* message;
};
class RefusedOptionsTest : public testing::TestWithParam<RefusedOptions> {};

TEST_P(RefusedOptionsTest, InTheWordsOfKubernetes) {
  kube::StatusDetails details;
  std::string message;
  if (GetParam().watch) {
    message = parse_watch_options(GetParam().query, details).error().message();
  } else {
    message = parse_list_options(GetParam().query, details).error().message();
  }
  EXPECT_EQ(message, GetParam().message);
  EXPECT_FALSE(details.causes.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedOptionsTest,
    testing::Values(RefusedOptions{"MatchWithoutVersion",
                                   false,
                                   {{"resourceVersionMatch", "Exact"}},
                                   "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                                   "resourceVersionMatch is forbidden "
                                   "unless resourceVersion is provided"},
                    RefusedOptions{"UnknownMatch",
                                   false,
                                   {{"resourceVersionMatch", "Newest"}, {"resourceVersion", "1"}},
                                   "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Unsupported value: "
                                   "\"Newest\": supported values: "
                                   "\"Exact\", \"NotOlderThan\""},
                    RefusedOptions{"InitialEventsOfAList",
                                   false,
                                   {{"sendInitialEvents", "true"}},
                                   "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: "
                                   "sendInitialEvents is forbidden for list"},
                    RefusedOptions{"InitialEventsWithoutMatch",
                                   true,
                                   {{"sendInitialEvents", "true"}},
                                   "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                                   "sendInitialEvents requires setting "
                                   "resourceVersionMatch to NotOlderThan"},
                    RefusedOptions{"MatchWithoutInitialEvents",
                                   true,
                                   {{"resourceVersionMatch", "NotOlderThan"}},
                                   "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                                   "resourceVersionMatch is forbidden for "
                                   "watch unless sendInitialEvents is provided"}),
    [](const auto& tested) { return tested.param.name; });

TEST(WriteOptions, AreReadAndChecked) {
  kube::StatusDetails details;
  const auto options = parse_write_options(
      {{"dryRun", "All"}, {"fieldManager", "kubectl"}, {"fieldValidation", "Strict"}}, "PatchOptions", details);
  ASSERT_TRUE(options.ok());
  EXPECT_TRUE(options->dry_run);
  EXPECT_EQ(options->field_manager, "kubectl");
  EXPECT_EQ(options->field_validation, "Strict");
  EXPECT_FALSE(parse_write_options({}, "PatchOptions", details)->dry_run);
  const auto said = [&](const net::Query& query) {
    const auto refused = parse_write_options(query, "PatchOptions", details);
    EXPECT_FALSE(refused.ok());
    if (refused.ok()) return std::string();
    EXPECT_EQ(error_response(refused.error()).status, 422);
    return refused.error().message();
  };
  const std::string start = "PatchOptions.meta.k8s.io \"\" is invalid: ";
  EXPECT_EQ(said({{"dryRun", "Some"}}), start + R"(dryRun: Unsupported value: ["Some"]: supported values: "All")");
  EXPECT_EQ(said({{"dryRun", "All"}, {"dryRun", "Some"}}),
            start + R"(dryRun: Unsupported value: ["All","Some"]: supported values: "All")");
  EXPECT_EQ(said({{"fieldValidation", "Maybe"}}),
            start + R"(fieldValidation: Unsupported value: "Maybe": supported values: "", "Ignore", "Strict", "Warn")");
  EXPECT_EQ(said({{"fieldManager", std::string(129, 'x')}}).substr(0, start.size() + 12), start + "fieldManager");
}

TEST(DeleteOptions, FromTheBodyOrTheQuery) {
  kube::StatusDetails details;
  auto options = parse_delete_options({{"propagationPolicy", "Orphan"}, {"gracePeriodSeconds", "0"}, {"dryRun", "All"}},
                                      {}, "", details);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->propagation, "Orphan");
  EXPECT_EQ(options->grace_period_seconds, 0);
  EXPECT_TRUE(options->dry_run);

  options = parse_delete_options(
      {{"propagationPolicy", "Orphan"}}, {},
      R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background","gracePeriodSeconds":30,
                                     "preconditions":{"uid":"u","resourceVersion":"7"}})",
      details);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->propagation, "Background");
  EXPECT_EQ(options->grace_period_seconds, 30);
  EXPECT_EQ(options->uid, "u");
  EXPECT_EQ(options->resource_version, "7");

  EXPECT_EQ(parse_delete_options({{"orphanDependents", "true"}}, {}, "", details)->propagation, "Orphan");
  EXPECT_EQ(parse_delete_options({}, {}, R"({"orphanDependents":false})", details)->propagation, "Background");
  EXPECT_FALSE(
      parse_delete_options({}, {}, R"({"orphanDependents":false,"propagationPolicy":"Orphan"})", details).ok());
  EXPECT_FALSE(parse_delete_options({}, {}, R"({"propagationPolicy":"Sideways"})", details).ok());
  EXPECT_FALSE(parse_delete_options({}, {}, R"({"kind":"Node"})", details).ok());
  EXPECT_FALSE(parse_delete_options({}, {}, "[]", details).ok());
  EXPECT_FALSE(parse_delete_options({}, {}, R"({"dryRun":[7]})", details).ok());
}

TEST(Body, MustBeJsonWithinLimits) {
  EXPECT_TRUE(parse_json_body("{}").ok());
  EXPECT_EQ(error_response(parse_json_body("{").error()).status, 400);
  EXPECT_FALSE(parse_json_body(std::string(200, '[') + std::string(200, ']')).ok());
  EXPECT_FALSE(parse_json_body("\"" + std::string(4u << 20, 'x') + "\"").ok());
}

TEST(Answers, WarningsCannotBreakTheHeader) {
  net::Headers headers;
  add_warnings(headers, {"unknown field \"spec.x\"", "two\r\nlines", std::string(1000, 'x')});
  const auto warnings = headers.all("Warning");
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_EQ(warnings[0], R"(299 - "unknown field \"spec.x\"")");
  EXPECT_EQ(warnings[1], R"(299 - "twolines")");
  EXPECT_LT(warnings[2].size(), 300u);
  net::Headers many;
  add_warnings(many, std::vector<std::string>(100, std::string(200, 'y')));
  EXPECT_LT(many.size(), 25u);
}

TEST(Answers, RetryAfterIsAHeaderToo) {
  const auto response =
      error_response(Error(Code::kExhausted, "slow down").with_retry_after(std::chrono::milliseconds(1500)));
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.headers.get("Retry-After"), "2");
}

}  // namespace strake::apistore::rest::request_test
