// Conformance below KubeApi: the same HTTP requests to the embedded server and to kube-apiserver, the same status
// codes, Status objects and warnings.
#include <gtest/gtest.h>

#include <regex>

#include "conformance.h"
#include "kube/api_error.h"
#include "net/url.h"

namespace strake::conformance {
namespace {

using namespace std::chrono_literals;

struct Exchange {
  std::string method;
  std::string target;  ///< path and query
  std::string body{};
  std::string content_type = "application/json";
  /// Messages are compared too, unless a library of Go speaks in kube-apiserver's (docs/api-differences.md: messages).
  bool same_message = true;
};

const std::string kMaps = "/api/v1/namespaces/wire/configmaps";
const std::string kPools = "/apis/machineconfiguration.openshift.io/v1/machineconfigpools";

std::string map_named(std::string_view name, std::string_view metadata = "", std::string_view more = "") {
  return fmt::format(R"({{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "{}"{}}}{}}})", name, metadata,
                     more);
}

std::string pool_named(std::string_view name, std::string_view spec) {
  return fmt::format(
      R"({{"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "metadata": {{"name": "{}"}}{}}})",
      name, spec);
}

class WireConformance : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    expect_same(
        {{"POST", "/api/v1/namespaces", R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "wire"}})"}});
  }

  static net::Response send(Backend backend, const Exchange& exchange) {
    const auto server = shared_server(backend);
    if (!server.ok()) return {0, {}, server.error().to_string()};
    const auto prepared = (*server)->wire()->prepare({}, {});
    if (!prepared.ok()) return {0, {}, prepared.error().to_string()};
    net::Request request = prepared->request;
    request.method = exchange.method;
    while (request.url.ends_with('/')) request.url.pop_back();
    request.url += exchange.target;
    request.body = exchange.body;
    request.headers.set("Content-Type", exchange.content_type);
    const auto response = prepared->client->send(request, {.timeout = 30s, .idle_timeout = {}, .stop = {}});
    return response.ok() ? *response : net::Response{0, {}, response.error().to_string()};
  }

  /// What clients look at, one item a line.
  static std::string essence(const net::Response& response, bool with_message) {
    std::string text = fmt::format("HTTP {}\n", response.status);
    for (const std::string_view warning : response.headers.all("Warning")) text += fmt::format("warning {}\n", warning);
    const auto body = json::parse(response.body);
    if (!body.ok()) return text + (response.status == 0 ? response.body : "no JSON\n");
    const auto field = [&](std::initializer_list<std::string_view> path) {
      return json::find_string(*body, path).value_or("-");
    };
    text += fmt::format("{} {}\n", field({"apiVersion"}), field({"kind"}));
    if (field({"kind"}) != "Status") return text;
    text += fmt::format("{} {} code {}\n", field({"status"}), field({"reason"}),
                        json::find_int(*body, {"code"}).value_or(0));
    text += fmt::format("about {} {} {}\n", field({"details", "kind"}), field({"details", "group"}),
                        field({"details", "name"}));
    std::vector<std::string> causes;
    for (const kube::StatusCause& cause : kube::causes_of_status(*body)) {
      causes.push_back(
          fmt::format("cause {} {}{}\n", cause.reason, cause.field, with_message ? " " + cause.message : ""));
    }
    std::ranges::sort(causes);
    for (const std::string& cause : causes) text += cause;
    if (with_message && causes.size() < 2) text += field({"message"});  // several causes come in any order
    static const std::regex uid("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
    return std::regex_replace(text, uid, "UID");
  }

  static void expect_same(const std::vector<Exchange>& exchanges,
                          std::source_location where = std::source_location::current()) {
    for (const Exchange& exchange : exchanges) {
      const testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()),
                                       fmt::format("{} {} {}", exchange.method, exchange.target, exchange.body));
      const net::Response real = send(Backend::kKubernetes, exchange);
      const net::Response embedded = send(Backend::kEmbeddedHttps, exchange);
      ASSERT_NE(real.status, 0) << real.body;
      ASSERT_NE(embedded.status, 0) << embedded.body;
      EXPECT_EQ(essence(embedded, exchange.same_message), essence(real, exchange.same_message));
    }
  }
};

TEST_F(WireConformance, LifeOfAnObject) {
  expect_same({
      {"GET", kMaps + "/a"},
      {"POST", kMaps, map_named("a")},
      {"POST", kMaps, map_named("a")},
      {"GET", kMaps + "/a"},
      {"GET", kMaps + "?limit=1"},
      {"PUT", kMaps + "/a", map_named("a", R"(, "resourceVersion": "1")")},
      {"PUT", kMaps + "/a", map_named("b")},
      {"PUT", kMaps + "/none", map_named("none")},
      {"POST", kMaps, map_named("c", R"(, "namespace": "elsewhere")")},
      {"POST", "/api/v1/namespaces/no-such/configmaps", map_named("a")},
      {"DELETE", kMaps + "/a", R"({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "x"}})"},
      {"DELETE", kMaps + "/a"},
      {"DELETE", kMaps + "/a"},
      {"POST", kPools, pool_named("wire", R"(, "spec": {})")},
      {"POST", kPools, pool_named("wire", R"(, "spec": {})")},
      {"PUT", kPools + "/wire", pool_named("wire", R"(, "spec": {})")},
      {"DELETE", kPools + "/wire"},
      {"DELETE", kPools + "/wire"},
      {"DELETE", kMaps + "?labelSelector=no%3Dsuch"},
  });
}

TEST_F(WireConformance, WhatIsWrongWithAnObject) {
  expect_same({
      {"POST", kMaps, map_named("Bad")},
      {"POST", kMaps, map_named("a", R"(, "labels": {"k": "not valid"})")},
      {"POST", kMaps, R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})"},
      {"POST", kMaps, R"({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})", "application/json",
       false},
      {"POST", kPools, pool_named("a", "")},
      {"POST", kPools, pool_named("a", R"(, "spec": {"paused": "yes"})")},
      {"POST", kPools, pool_named("a", R"(, "spec": {"paused": 1, "machineConfigSelector": 1, "nodeSelector": []})")},
      {"POST", kPools, pool_named("a", R"(, "spec": {"maxUnavailable": true})")},
      {"POST", kPools, pool_named("a", R"(, "spec": {"nodeSelector": {"matchExpressions": [{"key": "a"}, {}]}})")},
      {"POST", "/apis/machine.openshift.io/v1beta1/namespaces/wire/machinesets",
       R"({"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": {"name": "a"},
           "spec": {"deletePolicy": 1}})"},
      {"POST", "/apis/strake.dev/v1alpha1/strakeconfigs?dryRun=All",
       R"({"apiVersion": "strake.dev/v1alpha1", "kind": "StrakeConfig", "metadata": {"name": "cluster"},
           "spec": {"modes": {"Drain": "own"}}})"},
      {"POST", "/apis/strake.dev/v1alpha1/strakeconfigs?dryRun=All",
       R"({"apiVersion": "strake.dev/v1alpha1", "kind": "StrakeConfig", "metadata": {"name": "other"}, "spec": {}})"},
      {"POST", "/apis/strake.dev/v1alpha1/strakeconfigs?dryRun=All",
       R"({"apiVersion": "strake.dev/v1alpha1", "kind": "StrakeConfig", "metadata": {"name": "other"}, "spec": {"modes": 1}})"},
      {"POST", kPools + "?fieldValidation=Strict", pool_named("a", R"(, "spec": {"nothing": 1})")},
      {"POST", kPools + "?fieldValidation=Warn&dryRun=All", pool_named("a", R"(, "spec": {"nothing": 1})")},
      {"POST", kPools + "?dryRun=All", pool_named("a", R"(, "spec": {"nothing": 1, "other": {"x": 1}})")},
      {"POST", kPools + "?fieldValidation=Ignore&dryRun=All", pool_named("a", R"(, "spec": {"nothing": 1})")},
  });
}

TEST_F(WireConformance, WhatTheKindsOfKubernetesRefuse) {
  const auto object = [](std::string_view kind, std::string_view more, std::string_view api_version = "v1") {
    return fmt::format(R"({{"apiVersion": "{}", "kind": "{}", "metadata": {{"name": "refused"}}, {}}})", api_version,
                       kind, more);
  };
  const std::string ns = "/api/v1/namespaces/wire";
  const std::string budgets = "/apis/policy/v1/namespaces/wire/poddisruptionbudgets";
  const auto budget = [&](std::string_view spec) {
    return object("PodDisruptionBudget", fmt::format(R"("spec": {})", spec), "policy/v1");
  };
  const std::string mebibyte(std::size_t{1} << 20, 'x');
  const std::string merge = "application/merge-patch+json";
  expect_same({
      {"POST", kMaps, object("ConfigMap", R"("data": {"not valid": "x"})")},
      {"POST", kMaps, object("ConfigMap", R"("data": {"..": "x"})")},
      {"POST", kMaps, object("ConfigMap", R"("data": {"..x": "x"})")},
      {"POST", kMaps, object("ConfigMap", R"("data": {".": "x"})")},
      {"POST", kMaps, object("ConfigMap", R"("data": {"": "x"})")},
      {"POST", kMaps, object("ConfigMap", fmt::format(R"("data": {{"{}": "x"}})", std::string(254, 'k')))},
      {"POST", kMaps, object("ConfigMap", R"("binaryData": {"a/b": "eA=="})")},
      {"POST", kMaps, object("ConfigMap", R"("data": {"k": "x"}, "binaryData": {"k": "eA=="})")},
      {"POST", kMaps, object("ConfigMap", fmt::format(R"("data": {{"k": "{}y"}})", mebibyte))},
      {"POST", kMaps,
       object("ConfigMap", fmt::format(R"("data": {{"k": "{}"}}, "binaryData": {{"b": "eA=="}})", mebibyte))},
      {"POST", ns + "/secrets", object("Secret", R"("stringData": {"a/b": "x"})")},
      {"POST", ns + "/secrets", object("Secret", fmt::format(R"("stringData": {{"k": "{}y"}})", mebibyte))},
      {"POST", ns + "/secrets", object("Secret", R"("data": {})")},
      {"PATCH", ns + "/secrets/refused", R"({"type": "example.com/other"})", merge},
      {"DELETE", ns + "/secrets/refused"},
      {"POST", ns + "/events", object("Event", R"("involvedObject": {"namespace": "elsewhere"})")},
      {"POST", ns + "/events", object("Event", R"("involvedObject": {"kind": "Node", "name": "n"})")},
      {"POST", ns + "/events", object("Event", R"("involvedObject": {}, "eventTime": "2026-01-02T03:04:05.000000Z",
          "reportingComponent": "c", "reportingInstance": "i", "action": "a", "reason": "r")")},
      {"POST", budgets, budget(R"({"minAvailable": 1, "maxUnavailable": 1})"), "application/json", false},
      {"POST", budgets, budget(R"({"minAvailable": -1})")},
      {"POST", budgets, budget(R"({"maxUnavailable": "half"})")},
      {"POST", budgets, budget(R"({"maxUnavailable": "101%"})")},
      {"POST", ns + "/pods", object("Pod", R"("spec": {"containers": []})"), "application/json", false},
      {"POST", ns + "/pods", object("Pod", R"("spec": {})"), "application/json", false},
      {"POST", ns + "/pods", object("Pod", R"("status": {})"), "application/json", false},
      {"POST", kMaps,
       map_named("owned", R"(, "ownerReferences": [{"apiVersion": "v1", "kind": "Secret", "name": "x"}])")},
      {"POST", kMaps, map_named("owned")},
      {"PATCH", kMaps + "/owned", R"({"data": {}})", "application/json-patch+json"},
      {"DELETE", kMaps + "/owned"},
      {"POST", kMaps, map_named("held", R"(, "finalizers": ["example.com/hold"])")},
      {"DELETE", kMaps + "/held"},
      {"POST", kMaps, map_named("held")},
      {"PATCH", kMaps + "/held", R"({"metadata": {"finalizers": null}})", merge},
  });
}

TEST_F(WireConformance, WhatABodyNeedNotSay) {
  const std::string pods = "/api/v1/namespaces/wire/pods";
  expect_same({
      {"POST", kMaps, R"({"metadata": {"name": "typed"}, "data": {"a": "b"}})"},
      {"PUT", kMaps + "/typed", R"({"metadata": {"name": "typed"}, "kind": "ConfigMap"})"},
      {"PUT", kMaps + "/typed", R"({"metadata": {"name": "typed"}, "apiVersion": "v1"})"},
      {"PUT", kMaps + "/typed", R"({"metadata": {"name": "typed"}, "kind": "Secret"})", "application/json", false},
      {"PUT", kMaps + "/typed", R"({"metadata": {"name": "typed"}, "apiVersion": "v2"})", "application/json", false},
      {"DELETE", kMaps + "/typed", R"({"gracePeriodSeconds": 0})"},
      {"POST", "/apis/coordination.k8s.io/v1/namespaces/wire/leases?dryRun=All", R"({"metadata": {"name": "typed"}})"},
      {"POST", pods + "/none/eviction", R"({"metadata": {"name": "none"}})"},
      {"POST", kPools, R"({"metadata": {"name": "typed"}})", "application/json", false},
      {"POST", kPools, R"({"metadata": {"name": "typed"}, "kind": "MachineConfigPool"})", "application/json", false},
  });
}

TEST_F(WireConformance, QuestionsAboutOneself) {
  const std::string access = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  expect_same({
      {"POST", access, R"({"spec": {"resourceAttributes": {"verb": "get", "resource": "nodes"}}})"},
      {"POST", access, R"({"spec": {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}})"},
      {"POST", access, "{}"},
      {"POST", access, R"({"spec": {"resourceAttributes": {}, "nonResourceAttributes": {}}})", "application/json",
       false},
      {"GET", access},
      {"POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", R"({"spec": {"namespace": "wire"}})"},
      {"POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}"},
      {"POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", R"({"apiVersion": "v1", "kind": "Pod"})",
       "application/json", false},
      {"GET", "/apis/authentication.k8s.io"},
  });
}

TEST_F(WireConformance, WhatRemainsOfAListIsOfItsMoment) {
  const std::string secrets = "/api/v1/namespaces/wire/secrets";
  const auto counts_on = [&](Backend backend) {
    for (const char* name : {"r1", "r2", "r3", "r4", "r5"}) {
      send(backend, {"POST", secrets, fmt::format(R"({{"metadata": {{"name": "{}"}}}})", name)});
    }
    std::string counts;
    std::string next;
    for (int page = 0; page < 3; ++page) {
      const net::Response response = send(backend, {"GET", secrets + "?limit=2" + next});
      const json::Value list = parsed(response.body);
      counts += fmt::format("{}\n", json::find_int(list, {"metadata", "remainingItemCount"}).value_or(0));
      next = "&continue=" + net::percent_encode(json::find_string(list, {"metadata", "continue"}).value_or(""));
      if (page != 0) continue;
      send(backend, {"DELETE", secrets + "/r4"});
      send(backend, {"DELETE", secrets + "/r5"});
      send(backend, {"POST", secrets, R"({"metadata": {"name": "r9"}})"});
    }
    for (const char* name : {"r1", "r2", "r3", "r9"}) send(backend, {"DELETE", secrets + "/" + name});
    return counts;
  };
  const std::string expected = counts_on(Backend::kKubernetes);
  EXPECT_EQ(expected, "3\n1\n0\n");
  EXPECT_EQ(counts_on(Backend::kEmbeddedHttps), expected);
}

TEST_F(WireConformance, WhatIsWrongWithARequest) {
  expect_same({
      {"POST", kMaps, "{", "application/json", false},
      {"POST", kMaps, "[]", "application/json", false},
      {"POST", kMaps, "", "application/json", false},
      {"POST", kMaps, "a: b", "text/plain", false},
      {"PUT", kMaps, map_named("a")},
      {"POST", kMaps + "/a", map_named("a")},
      {"POST", "/api/v1/configmaps", map_named("a")},
      {"GET", kMaps + "?limit=many", "", "application/json", false},
      {"GET", kMaps + "?labelSelector=a%20b", "", "application/json", false},
      {"GET", kMaps + "?fieldSelector=spec.nothing%3D1"},
      {"GET", "/api/v1/nodes?fieldSelector=spec.nothing%3D1"},
      {"GET", kPools + "?fieldSelector=spec.nothing%3D1"},
      {"GET", kMaps + "?resourceVersion=abc", "", "application/json", false},
      {"GET", kMaps + "?resourceVersionMatch=Exact", "", "application/json", false},
      {"POST", kMaps + "?dryRun=Maybe", map_named("a")},
      {"POST", kMaps + "?dryRun=All&dryRun=Maybe", map_named("a")},
      {"POST", kMaps + "?fieldValidation=Maybe", map_named("a")},
      {"DELETE", kMaps + "/a?dryRun=Maybe"},
      {"POST", kPools, pool_named("p", R"(, "spec": {})")},
      {"PATCH", kPools + "/p", R"({"spec": {}})", "application/strategic-merge-patch+json", false},
      {"PATCH", kPools + "/p", R"({"spec": {}})", "application/json", false},
      {"PATCH", kPools + "/p", "{", "application/merge-patch+json", false},
      {"PATCH", kPools + "/p", R"([{"op": "test", "path": "/spec", "value": 1}])", "application/json-patch+json",
       false},
      {"PATCH", kPools + "/none", R"({"spec": {}})", "application/merge-patch+json"},
      {"PATCH", kPools + "/p/status", R"({"status": {"machineCount": "x"}})", "application/merge-patch+json", false},
      {"GET", kMaps + "/a/status"},
      {"DELETE", kPools + "/p"},
  });
}

}  // namespace
}  // namespace strake::conformance
