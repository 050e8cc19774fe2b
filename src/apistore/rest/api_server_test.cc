// The API server as clients meet it: over HTTPS, with certificates and tokens.
#include "apistore/rest/api_server.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "kube/https_api.h"
#include "kube/kubeconfig.h"
#include "net/http_client.h"
#include "net/testing/raw_tls_client.h"
#include "support/temp_dir.h"

namespace strake::apistore::rest::api_server_test {

using namespace std::chrono_literals;
using kube::core::kConfigMap;

struct Sent {
  std::string method;
  std::string path;
  std::string body = {};
  net::Headers headers = {};
};

class ApiServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto registry = Registry::standard();
    ASSERT_TRUE(registry.ok()) << registry.error().to_string();
    auto service = Service::open(runtime_, std::make_shared<const Registry>(*std::move(registry)), {});
    ASSERT_TRUE(service.ok()) << service.error().to_string();
    service_ = *std::move(service);
    ApiServerOptions options;
    options.port = 0;
    options.state_directory = dir_.path();
    options.program_version = "test";
    options.watches.tick = 5ms;
    auto server = ApiServer::start(*service_, std::move(options));
    ASSERT_TRUE(server.ok()) << server.error().to_string();
    server_ = *std::move(server);
  }

  net::HttpClient client(const kube::ClusterAccess& access, const std::string& token = "") {
    net::ClientOptions options;
    options.ca_pem = access.ca_pem;
    options.client_certificate_pem = access.client_cert_pem;
    options.client_key_pem = access.client_key_pem;
    options.bearer_token = token;
    options.proxy = net::ProxySettings{};
    auto made = net::HttpClient::create(std::move(options));
    STRAKE_INVARIANT(made.ok());
    return *std::move(made);
  }
  net::HttpClient admin() { return client(server_->admin_access()); }
  net::HttpClient viewer() { return client(*server_->issue_client("ann", {"strake:viewers"}, 1h)); }

  net::Response send(const net::HttpClient& by, Sent sent) {
    if (!sent.body.empty() && !sent.headers.has("Content-Type")) sent.headers.add("Content-Type", "application/json");
    const auto response = by.send({sent.method, server_->url() + sent.path, sent.headers, sent.body});
    EXPECT_TRUE(response.ok()) << response.error().to_string();
    return response.ok() ? *response : net::Response{0, {}, ""};
  }
  net::Response send(Sent sent) { return send(admin(), std::move(sent)); }
  static json::Value body(const net::Response& response) {
    auto value = json::parse(response.body);
    EXPECT_TRUE(value.ok()) << response.body;
    return value.ok() ? *std::move(value) : json::Value();
  }
  /// "404 NotFound" of a Status.
  static std::string outcome(const net::Response& response) {
    const json::Value status = body(response);
    EXPECT_EQ(json::find_string(status, {"kind"}), "Status") << response.body;
    EXPECT_EQ(json::find_int(status, {"code"}), response.status);
    return fmt::format("{} {}", response.status, json::find_string(status, {"reason"}).value_or(""));
  }
  std::unique_ptr<kube::HttpsApi> api() {
    auto made = kube::HttpsApi::create(runtime_, server_->admin_access());
    STRAKE_INVARIANT(made.ok());
    return *std::move(made);
  }
  kube::Call soon() { return runtime_.call_within(60s); }

  runtime::ThreadRuntime runtime_;
  test::TempDir dir_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<ApiServer> server_;
};

const std::string kMaps = "/api/v1/namespaces/default/configmaps";

std::string config_map(const std::string& name, const std::string& more = "") {
  return fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"}}{}}})", name, more);
}

TEST_F(ApiServerTest, LifeOfAnObject) {
  const auto created = send({"POST", kMaps, config_map("a", R"(,"data":{"k":"1"})")});
  EXPECT_EQ(created.status, 201);
  EXPECT_EQ(created.headers.get("Content-Type"), "application/json");
  EXPECT_EQ(outcome(send({"POST", kMaps, config_map("a")})), "409 AlreadyExists");
  EXPECT_EQ(body(send({"GET", kMaps + "/a"})), body(created));

  const auto patched =
      send({"PATCH", kMaps + "/a", R"({"data":{"k":"2"}})", {{"Content-Type", "application/merge-patch+json"}}});
  EXPECT_EQ(patched.status, 200);
  EXPECT_EQ(body(patched).at("data").at("k").as_string(), "2");

  json::Value stale = body(created);
  stale.as_object()["data"] = json::Object{{"k", "3"}};
  EXPECT_EQ(outcome(send({"PUT", kMaps + "/a", json::write(stale)})), "409 Conflict");
  stale.at("metadata").as_object()["resourceVersion"] = body(patched).at("metadata").at("resourceVersion");
  EXPECT_EQ(send({"PUT", kMaps + "/a", json::write(stale)}).status, 200);

  const auto deleted =
      send({"DELETE", kMaps + "/a", R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"})"});
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(json::write(body(deleted).at("details").at("kind")), R"("configmaps")");
  EXPECT_EQ(body(deleted).at("status").as_string(), "Success");
  EXPECT_EQ(outcome(send({"GET", kMaps + "/a"})), "404 NotFound");
  EXPECT_EQ(json::find_string(body(send({"GET", kMaps + "/a"})), {"message"}), "configmaps \"a\" not found");
}

TEST_F(ApiServerTest, ADryRunChangesNothing) {
  const auto created = send({"POST", kMaps + "?dryRun=All", config_map("a")});
  EXPECT_EQ(created.status, 201);
  EXPECT_EQ(send({"GET", kMaps + "/a"}).status, 404);
}

TEST_F(ApiServerTest, ListsComeInPagesTablesAndMetadata) {
  for (const char* name : {"a", "b", "c"}) ASSERT_EQ(send({"POST", kMaps, config_map(name)}).status, 201);
  const json::Value page = body(send({"GET", kMaps + "?limit=2"}));
  EXPECT_EQ(page.at("kind").as_string(), "ConfigMapList");
  EXPECT_EQ(page.at("items").as_array().size(), 2u);
  EXPECT_EQ(page.at("metadata").at("remainingItemCount"), 1);
  const std::string next = net::percent_encode(json::as_view(page.at("metadata").at("continue").as_string()));
  const json::Value rest = body(send({"GET", kMaps + "?limit=2&continue=" + next}));
  ASSERT_EQ(rest.at("items").as_array().size(), 1u);
  EXPECT_EQ(rest.at("items").at(0).at("metadata").at("name").as_string(), "c");

  const json::Value table = body(send(
      {"GET", kMaps + "?limit=2", "", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}}}));
  EXPECT_EQ(table.at("kind").as_string(), "Table");
  EXPECT_EQ(table.at("rows").as_array().size(), 2u);
  EXPECT_FALSE(table.at("metadata").at("continue").as_string().empty());
  const json::Value metadata =
      body(send({"GET", kMaps, "", {{"Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}}}));
  EXPECT_EQ(metadata.at("kind").as_string(), "PartialObjectMetadataList");
  EXPECT_EQ(metadata.at("items").at(0).at("kind").as_string(), "PartialObjectMetadata");
  EXPECT_NE(send({"GET", kMaps + "?pretty=true"}).body.find("\n  \"items\": ["), std::string::npos);
  EXPECT_EQ(
      outcome(send(
          {"GET", kMaps + "?includeObject=All", "", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}}})),
      "400 BadRequest");

  EXPECT_EQ(body(send({"DELETE", kMaps})).at("items").as_array().size(), 3u);
  EXPECT_TRUE(body(send({"GET", kMaps})).at("items").as_array().empty());
}

TEST_F(ApiServerTest, BodiesMayBeProtobuf) {
  // As `kubectl create configmap c2 -n cap --from-literal=a=b` sends it, for namespace default.
  using namespace std::string_literals;
  const std::string object =
      "\x0a\x0f\x0a\x02"s + "c2"s + "\x12\x00\x1a\x07"s + "default"s + "\x12\x06\x0a\x01"s + "a"s + "\x12\x01"s + "b"s;
  const std::string sent = "k8s\0\x0a\x0f\x0a\x02"s + "v1"s + "\x12\x09"s + "ConfigMap"s + "\x12"s +
                           static_cast<char>(object.size()) + object;
  const net::Response created = send({"POST",
                                      kMaps,
                                      sent,
                                      {{"Content-Type", "application/vnd.kubernetes.protobuf"},
                                       {"Accept", "application/vnd.kubernetes.protobuf,application/json"}}});
  EXPECT_EQ(created.status, 201) << created.body;
  EXPECT_EQ(json::write(body(created).at("data")), R"({"a":"b"})");
}

TEST_F(ApiServerTest, OpenApiTwoIsEmpty) {
  EXPECT_TRUE(body(send({"GET", "/openapi/v2"})).at("paths").as_object().empty());
  const net::Response for_kubectl =
      send({"GET", "/openapi/v2", "", {{"Accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}}});
  EXPECT_EQ(for_kubectl.status, 200);
  EXPECT_EQ(for_kubectl.body.substr(0, 5), std::string_view("\x0a\x03"
                                                            "2.0"));
}

TEST_F(ApiServerTest, RefusalsHaveTheCodesOfKubernetes) {
  EXPECT_EQ(outcome(send({"GET", "/api/v1/widgets"})), "404 NotFound");
  EXPECT_EQ(outcome(send({"GET", "/openapi/v1"})), "404 NotFound");
  EXPECT_EQ(outcome(send({"GET", kMaps, "", {{"Accept", "application/vnd.kubernetes.protobuf"}}})),
            "406 NotAcceptable");
  EXPECT_EQ(outcome(send({"POST", kMaps, "kind: ConfigMap", {{"Content-Type", "application/yaml"}}})),
            "415 UnsupportedMediaType");
  EXPECT_EQ(outcome(send({"PATCH", kMaps + "/a", "{}", {{"Content-Type", "application/apply-patch+yaml"}}})),
            "415 UnsupportedMediaType");
  EXPECT_EQ(outcome(send({"POST", kMaps, "{"})), "400 BadRequest");
  EXPECT_EQ(outcome(send({"POST", kMaps, "\"" + std::string(4u << 20, 'x') + "\""})), "413 RequestEntityTooLarge");
  EXPECT_EQ(outcome(send({"GET", kMaps + "?watch=1&resourceVersionMatch=Exact"})), "422 Invalid");
  const auto method = send({"POST", "/api/v1/pods", "{}"});
  EXPECT_EQ(outcome(method), "405 MethodNotAllowed");
  EXPECT_EQ(method.headers.get("Allow"), "GET");
  EXPECT_EQ(outcome(send({"POST", "/version", "{}"})), "405 MethodNotAllowed");
}

TEST_F(ApiServerTest, UnknownFieldsWarnOrFail) {
  const std::string pools = "/apis/machineconfiguration.openshift.io/v1/machineconfigpools";
  const std::string pool =
      R"({"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfigPool","metadata":{"name":"p"},"spec":{"nope":1}})";
  EXPECT_EQ(outcome(send({"POST", pools + "?fieldValidation=Strict", pool})), "400 BadRequest");
  const auto created = send({"POST", pools, pool});
  EXPECT_EQ(created.status, 201);
  const auto warning = created.headers.get("Warning");
  ASSERT_TRUE(warning.has_value());
  EXPECT_TRUE(warning->starts_with("299 - \"unknown field")) << *warning;
}

TEST_F(ApiServerTest, DiscoveryAndSchemas) {
  EXPECT_EQ(body(send({"GET", "/version"})).at("gitVersion").as_string(), "v1.34.4+strake-test");
  const auto groups =
      send({"GET",
            "/apis",
            "",
            {{"Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}}});
  EXPECT_EQ(groups.headers.get("Content-Type"), "application/json");
  EXPECT_EQ(body(groups).at("kind").as_string(), "APIGroupList");

  const json::Value index = body(send({"GET", "/openapi/v3"}));
  const std::string url(json::as_view(index.at("paths").at("api/v1").at("serverRelativeURL").as_string()));
  const auto document = send({"GET", url});
  EXPECT_EQ(document.status, 200);
  EXPECT_EQ(document.headers.get("Cache-Control"), "public, immutable");
  const std::string tag(document.headers.get("ETag").value_or(""));
  const auto again = send({"GET", url, "", {{"If-None-Match", tag}}});
  EXPECT_EQ(again.status, 304);
  EXPECT_TRUE(again.body.empty());
  EXPECT_EQ(body(send({"GET", "/openapi/v3/api/v1?hash=old"})), body(document)) << "redirected to the present one";
}

TEST_F(ApiServerTest, OnlyWhoIsSomebodyGetsIn) {
  kube::ClusterAccess nobody;
  nobody.ca_pem = server_->admin_access().ca_pem;
  for (const char* path : {"/api", "/version", "/metrics", "/api/v1/nodes", "/nothing", "/openapi/v3"}) {
    EXPECT_EQ(outcome(send(client(nobody), {"GET", path})), "401 Unauthorized") << path;
  }
  EXPECT_EQ(outcome(send(client(nobody, "made-up"), {"GET", "/api"})), "401 Unauthorized");
  for (const char* path : {"/livez", "/readyz", "/healthz"}) {
    const auto health = send(client(nobody), {"GET", path});
    EXPECT_EQ(health.status, 200) << path;
    EXPECT_EQ(health.body, "ok");
  }

  net::testing::TestAuthority stranger;
  const auto impostor = stranger.client("strake:admin", {"strake:admins"});
  kube::ClusterAccess foreign = nobody;
  foreign.client_cert_pem = impostor.certificate_pem;
  foreign.client_key_pem = impostor.key_pem;
  EXPECT_EQ(outcome(send(client(foreign), {"GET", "/api"})), "401 Unauthorized");
}

TEST_F(ApiServerTest, ViewersSeeButDoNotTouch) {
  const auto by = viewer();
  EXPECT_EQ(send(by, {"GET", "/api/v1/nodes"}).status, 200);
  EXPECT_EQ(outcome(send(by, {"GET", kMaps})), "403 Forbidden") << "it may hold anything";
  EXPECT_EQ(outcome(send(by, {"POST", kMaps, config_map("x")})), "403 Forbidden");
  EXPECT_EQ(outcome(send(by, {"GET", "/api/v1/namespaces/default/secrets"})), "403 Forbidden");
  EXPECT_EQ(outcome(send(by, {"GET", "/metrics"})), "403 Forbidden");
  EXPECT_EQ(outcome(send(by, {"GET", "/api/v1/nodes", "", {{"Impersonate-User", "strake:admin"}}})), "403 Forbidden");
  EXPECT_EQ(outcome(send({"GET",
                          "/api/v1/namespaces/default/secrets",
                          "",
                          {{"Impersonate-User", "ann"}, {"Impersonate-Group", "strake:viewers"}}})),
            "403 Forbidden");
}

TEST_F(ApiServerTest, TokensWorkUntilTheyAreRevoked) {
  const auto issued = server_->tokens().issue(runtime_.random(), {"bob", {"strake:viewers"}, runtime_.wall_now() + 1h},
                                              runtime_.wall_now());
  ASSERT_TRUE(issued.ok()) << issued.error().to_string();
  kube::ClusterAccess access;
  access.ca_pem = server_->admin_access().ca_pem;
  EXPECT_EQ(send(client(access, issued->secret), {"GET", "/api/v1/nodes"}).status, 200);
  ASSERT_TRUE(server_->tokens().revoke(issued->id).ok());
  EXPECT_EQ(outcome(send(client(access, issued->secret), {"GET", "/api/v1/nodes"})), "401 Unauthorized");
}

TEST_F(ApiServerTest, MetricsCountByVerbResourceAndCode) {
  ASSERT_EQ(send({"POST", kMaps, config_map("a")}).status, 201);
  ASSERT_EQ(send({"GET", kMaps + "/none"}).status, 404);
  const auto metrics = send({"GET", "/metrics"});
  EXPECT_EQ(metrics.status, 200);
  for (const char* line : {R"(strake_apiserver_requests_total{code="201",resource="configmaps",verb="create"} 1)",
                           R"(strake_apiserver_requests_total{code="404",resource="configmaps",verb="get"} 1)",
                           R"(strake_apistore_objects{resource="configmaps"} 1)", "strake_apiserver_watches 0"}) {
    EXPECT_NE(metrics.body.find(line), std::string::npos) << line << "\n" << metrics.body;
  }
  EXPECT_EQ(metrics.body.find("none"), std::string::npos) << "names of objects are no labels";
}

TEST_F(ApiServerTest, OurOwnClientWatches) {
  const auto api = this->api();
  const kube::ObjectKey key{"default", "w"};
  ASSERT_TRUE(api->create(kConfigMap, kube::Object(kConfigMap, key), {}, soon()).ok());
  kube::WatchOptions options;
  options.field_selector = "metadata.name=w";
  auto watch = api->watch(kConfigMap, "default", options, soon());
  ASSERT_TRUE(watch.ok()) << watch.error().to_string();
  const auto next = [&]() -> std::string {
    const auto event = (*watch)->next(soon());
    if (!event.ok()) return event.error().to_string();
    if (!*event) return "end";
    return fmt::format("{} {}", kube::to_string((*event)->type), (*event)->object.name());
  };
  EXPECT_EQ(next(), "ADDED w");
  ASSERT_TRUE(api->create(kConfigMap, kube::Object(kConfigMap, {"default", "other"}), {}, soon()).ok());
  ASSERT_TRUE(
      api->patch(kConfigMap, key, kube::PatchType::kMerge, json::Object{{"data", json::Object{{"a", "b"}}}}, {}, soon())
          .ok());
  EXPECT_EQ(next(), "MODIFIED w");
  ASSERT_TRUE(api->remove(kConfigMap, key, {}, soon()).ok());
  EXPECT_EQ(next(), "DELETED w");
  server_->stop();
  EXPECT_EQ(next(), "end");
}

TEST_F(ApiServerTest, AWatchEndsAtItsTimeInGoodOrder) {
  std::string seen;
  const auto head = admin().stream({"GET", server_->url() + "/api/v1/namespaces?watch=1&timeoutSeconds=1", {}, {}},
                                   nullptr, [&](std::string_view bytes) -> Status {
                                     seen += bytes;
                                     return {};
                                   });
  ASSERT_TRUE(head.ok()) << head.error().to_string();
  EXPECT_EQ(head->status, 200);
  EXPECT_NE(seen.find(R"({"type":"ADDED","object":{"apiVersion":"v1","kind":"Namespace")"), std::string::npos) << seen;
}

TEST_F(ApiServerTest, AWatchOfTablesSendsItsColumnsOnce) {
  std::vector<json::Value> events;
  std::string pending;
  const auto ended = admin().stream(
      {"GET", server_->url() + kMaps + "?watch=1", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}}, {}},
      [&](const net::ResponseHead& head) -> Status {
        EXPECT_EQ(head.status, 200);
        EXPECT_EQ(send({"POST", kMaps, config_map("a")}).status, 201);
        EXPECT_EQ(send({"DELETE", kMaps + "/a"}).status, 200);
        return {};
      },
      [&](std::string_view bytes) -> Status {
        pending += bytes;
        for (std::size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n')) {
          events.push_back(*json::parse(pending.substr(0, end)));
          pending.erase(0, end + 1);
        }
        return events.size() < 2 ? Status() : error(Code::kCancelled, "seen enough");
      });
  ASSERT_FALSE(ended.ok());
  ASSERT_EQ(ended.error().code(), Code::kCancelled) << ended.error().to_string();
  EXPECT_EQ(events[0].at("type").as_string(), "ADDED");
  EXPECT_EQ(events[0].at("object").at("columnDefinitions").as_array().size(), 3u);
  EXPECT_EQ(events[0].at("object").at("rows").at(0).at("cells").at(0).as_string(), "a");
  EXPECT_EQ(events[1].at("type").as_string(), "DELETED");
  EXPECT_TRUE(events[1].at("object").at("columnDefinitions").is_null());
}

TEST_F(ApiServerTest, TheInitialStateEndsWithABookmark) {
  std::string seen;
  const auto ended = admin().stream(
      {"GET",
       server_->url() +
           "/api/v1/"
           "namespaces?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
       {},
       {}},
      nullptr, [&](std::string_view bytes) -> Status {
        seen += bytes;
        if (seen.find("k8s.io/initial-events-end") == std::string::npos) return {};
        return error(Code::kCancelled, "seen enough");
      });
  ASSERT_FALSE(ended.ok());
  EXPECT_NE(seen.find("\"name\":\"default\""), std::string::npos);
  EXPECT_LT(seen.find("\"name\":\"default\""), seen.find("BOOKMARK"));
}

TEST_F(ApiServerTest, AWatchOfAMomentThatIsGoneIsTold) {
  const auto gone = send({"GET", kMaps + "?watch=1&resourceVersion=999999"});
  EXPECT_EQ(gone.status, 200) << "as kube-apiserver: the stream says it";
  const json::Value event = body(gone);
  EXPECT_EQ(event.at("type").as_string(), "ERROR");
  EXPECT_EQ(event.at("object").at("code"), 410);
  EXPECT_EQ(event.at("object").at("reason").as_string(), "Expired");
  EXPECT_EQ(outcome(send({"GET", kMaps + "?watch=1&resourceVersion=soon"})), "400 BadRequest");
}

TEST_F(ApiServerTest, KubernetesOwnKindsNeedNotSayWhatTheyAre) {
  const auto created = send({"POST", kMaps, R"({"metadata":{"name":"typed"},"data":{"a":"b"}})"});
  ASSERT_EQ(created.status, 201) << created.body;
  EXPECT_EQ(body(created).at("kind").as_string(), "ConfigMap");
  EXPECT_EQ(body(created).at("apiVersion").as_string(), "v1");
  EXPECT_EQ(send({"PUT", kMaps + "/typed", R"({"metadata":{"name":"typed"}})"}).status, 200);
  EXPECT_EQ(outcome(send({"POST", kMaps, R"({"kind":"Secret","metadata":{"name":"x"}})"})), "400 BadRequest");
  EXPECT_EQ(outcome(send(
                {"POST", "/apis/machineconfiguration.openshift.io/v1/machineconfigs", R"({"metadata":{"name":"x"}})"})),
            "400 BadRequest");
}

TEST_F(ApiServerTest, CallersLearnAboutThemselves) {
  const std::string reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const std::string may_delete = R"({"spec":{"resourceAttributes":{"verb":"delete","resource":"nodes"}}})";
  EXPECT_EQ(body(send({"POST", reviews, may_delete})).at("status").at("allowed"), true);
  EXPECT_EQ(body(send(viewer(), {"POST", reviews, may_delete})).at("status").at("allowed"), false);
  const auto whoami = send(viewer(), {"POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}"});
  EXPECT_EQ(whoami.status, 201);
  EXPECT_EQ(body(whoami).at("status").at("userInfo").at("username").as_string(), "ann");
  EXPECT_EQ(outcome(send({"GET", reviews})), "405 MethodNotAllowed");
  EXPECT_EQ(outcome(send({"POST", reviews, "{}"})), "422 Invalid");
  const json::Value groups = body(send({"GET", "/apis"}));
  EXPECT_NE(json::write(groups).find("authentication.k8s.io"), std::string::npos);
}

TEST_F(ApiServerTest, WhatOnlyAWholeClusterHasIsRefusedInWords) {
  for (const char* path : {"/api/v1/namespaces/default/pods/p/log", "/api/v1/namespaces/default/pods/p/exec",
                           "/api/v1/namespaces/default/serviceaccounts/default/token"}) {
    const auto refused = send({"POST", path, "{}"});
    EXPECT_EQ(outcome(refused), "404 NotFound") << path;
    EXPECT_NE(refused.body.find("embedded API server"), std::string::npos) << refused.body;
  }
}

TEST_F(ApiServerTest, IsNotReadyOnceItsStoreIsDamaged) {
  EXPECT_EQ(send({"GET", "/readyz"}).status, 200);
  EXPECT_NE(send({"GET", "/readyz?verbose"}).body.find("[+]store ok"), std::string::npos);
  service_->note_failure(Error(Code::kIo, "disk I/O error").with_reason(std::string(kStorageDamaged)));
  kube::ClusterAccess nobody;
  nobody.ca_pem = server_->admin_access().ca_pem;
  const auto said = send(client(nobody), {"GET", "/readyz?verbose"});
  EXPECT_EQ(said.status, 503);
  EXPECT_NE(said.body.find("[-]store failed"), std::string::npos) << said.body;
  EXPECT_EQ(said.body.find("disk I/O error"), std::string::npos) << "not for everybody";
  const auto told = send({"GET", "/readyz?verbose"});
  EXPECT_EQ(told.status, 503);
  EXPECT_NE(told.body.find("disk I/O error"), std::string::npos) << told.body;
  EXPECT_EQ(send({"GET", "/livez"}).status, 200) << "starting it again would not help";
  EXPECT_EQ(outcome(send({"POST", kMaps, config_map("a")})), "503 ServiceUnavailable");
  EXPECT_NE(send({"GET", "/metrics"}).body.find("strake_apistore_damaged 1"), std::string::npos);
}

TEST_F(ApiServerTest, ManyWatchersShareFewTasks) {
  constexpr int kWatchers = 60;
  const auto access = server_->admin_access();
  std::vector<net::testing::RawTlsClient> watchers;
  for (int i = 0; i < kWatchers; ++i) {
    auto watcher = net::testing::RawTlsClient::connect(
        server_->port(), {.ca_pem = access.ca_pem, .identity = {access.client_cert_pem, access.client_key_pem}});
    ASSERT_TRUE(watcher.ok()) << watcher.error().to_string();
    ASSERT_TRUE(watcher->write("GET " + kMaps + "?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n").ok());
    ASSERT_TRUE(watcher->read_until("\r\n\r\n").ok());
    watchers.push_back(*std::move(watcher));
  }
  for (int i = 0; i < 5; ++i) ASSERT_EQ(send({"POST", kMaps, config_map(fmt::format("m{}", i))}).status, 201);
  for (auto& watcher : watchers) {
    const auto events = watcher.read_until("\"name\":\"m4\"");
    ASSERT_TRUE(events.ok()) << events.error().to_string();
    for (int i = 0; i < 4; ++i) EXPECT_NE(events->find(fmt::format("\"name\":\"m{}\"", i)), std::string::npos);
  }
  EXPECT_NE(send({"GET", "/metrics"}).body.find(fmt::format("strake_apiserver_watches {}", kWatchers)),
            std::string::npos);
}

TEST_F(ApiServerTest, EvictionIsASubresourceOfPods) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  const std::string pod =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}})";
  ASSERT_EQ(send({"POST", pods, pod}).status, 201);
  EXPECT_EQ(outcome(send({"POST", pods + "/p/eviction", R"({"kind":"Pod","apiVersion":"v1"})"})), "400 BadRequest");
  EXPECT_EQ(outcome(send(
                {"POST", pods + "/p/eviction",
                 R"({"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"other","namespace":"default"}})"})),
            "400 BadRequest");
  const auto evicted =
      send({"POST", pods + "/p/eviction",
            R"({"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"p","namespace":"default"}})"});
  EXPECT_EQ(evicted.status, 201) << evicted.body;
  EXPECT_EQ(body(evicted).at("status").as_string(), "Success");
  EXPECT_EQ(send({"GET", pods + "/p"}).status, 404);
}

TEST_F(ApiServerTest, TheWrittenKubeconfigLetsOneIn) {
  const auto path = server_->write_kubeconfig(dir_ / "kubeconfig");
  ASSERT_TRUE(path.ok()) << path.error().to_string();
  const auto config = kube::load_kubeconfig(kube::kubeconfig_locations(*path));
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  const auto access = kube::resolve_access(*config);
  ASSERT_TRUE(access.ok()) << access.error().to_string();
  EXPECT_EQ(access->server, server_->url());
  const auto api = kube::HttpsApi::create(runtime_, *access);
  ASSERT_TRUE(api.ok());
  EXPECT_TRUE((*api)->get(kube::core::kNamespace, {"", "default"}, soon()).ok());
}

TEST_F(ApiServerTest, AStoppedServerAnswersNobody) {
  const std::string url = server_->url();
  const auto by = admin();
  server_->stop();
  EXPECT_FALSE(by.send({"GET", url + "/livez", {}, {}}).ok());
}

}  // namespace strake::apistore::rest::api_server_test
