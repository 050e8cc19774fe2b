#include "kube/https_api.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "kube/discovery.h"
#include "kube/https_watch.h"
#include "kube/informer.h"
#include "net/testing/test_server.h"

namespace strake::kube::https_api_test {

using namespace std::chrono_literals;

struct Seen {
  std::string method;
  std::string target;
  std::string body;
  net::Headers headers;
};

/// A server that answers with what the test prepared and keeps what it was asked.
class CannedServer {
 public:
  explicit CannedServer(net::Handler handler)
      : server_([this, handler = std::move(handler)](const net::ServerRequest& request, net::Responder responder) {
          {
            std::lock_guard lock(mutex_);
            seen_.push_back({request.method, request.raw_target, request.body, request.headers});
          }
          handler(request, std::move(responder));
        }) {}

  ClusterAccess access() {
    ClusterAccess access;
    access.server = server_.url("");
    access.ca_pem = server_.authority().pem();
    access.bearer_token = "secret";
    return access;
  }
  std::vector<Seen> seen() {
    std::lock_guard lock(mutex_);
    return seen_;
  }
  Seen last() { return seen().back(); }
  void stop() { server_.server().stop(0ms); }

 private:
  std::mutex mutex_;
  std::vector<Seen> seen_;
  net::testing::TestServer server_;  // last: no request arrives after what keeps them is gone
};

net::Response json_answer(int status, std::string body) {
  return {status, {{"Content-Type", "application/json"}}, std::move(body)};
}

net::Handler always(int status, std::string body) {
  return [status, body = std::move(body)](const net::ServerRequest&, net::Responder responder) {
    responder.send(json_answer(status, body));
  };
}

struct Client {
  explicit Client(const ClusterAccess& access, HttpsOptions options = quick()) {
    auto created = HttpsApi::create(runtime, access, std::move(options));
    EXPECT_TRUE(created.ok()) << created.error().to_string();
    api = *std::move(created);
  }
  static HttpsOptions quick() {
    HttpsOptions options;
    options.backoff = {1ms, 1.0, 1ms, 0.0};
    return options;
  }
  Call within(runtime::Duration time = 30s) { return runtime.call_within(time); }

  runtime::ThreadRuntime runtime;
  std::unique_ptr<HttpsApi> api;
};

const Resource kDeployment{"apps", "v1", "Deployment", "deployments", true};

TEST(HttpsApi, SpeaksTheProtocol) {
  CannedServer server(always(200, R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"n"},"items":[]})"));
  Client client(server.access());
  const Object node(core::kNode, {"", "n"});
  Object pod(core::kPod, {"ns", "p"});
  const auto check = [&](const char* what, const char* method, const char* target, std::string_view body = "",
                         std::string_view type = "") {
    const Seen seen = server.last();
    EXPECT_EQ(seen.method, method) << what;
    EXPECT_EQ(seen.target, target) << what;
    EXPECT_EQ(seen.body, body) << what;
    EXPECT_EQ(seen.headers.get("Content-Type").value_or(""), type) << what;
    EXPECT_EQ(seen.headers.get("Authorization").value_or(""), "Bearer secret") << what;
  };

  EXPECT_TRUE(client.api->get(core::kNode, {"", "n"}, client.within()).ok());
  check("get", "GET", "/api/v1/nodes/n");
  EXPECT_TRUE(client.api->get(kDeployment, {"ns", "d"}, client.within()).ok());
  check("get in a group", "GET", "/apis/apps/v1/namespaces/ns/deployments/d");
  ListOptions list;
  list.label_selector = "a in (b,c)";
  list.field_selector = "spec.nodeName=x";
  list.limit = 10;
  list.continue_token = "t&k";
  EXPECT_TRUE(client.api->list(core::kPod, "ns", list, client.within()).ok());
  check("list", "GET",
        "/api/v1/namespaces/ns/"
        "pods?labelSelector=a%20in%20%28b%2Cc%29&fieldSelector=spec.nodeName%3Dx&limit=10&continue=t%26k");
  EXPECT_TRUE(client.api->list(core::kPod, "", {}, client.within()).ok());
  check("list of all namespaces", "GET", "/api/v1/pods");

  WriteOptions write;
  write.field_validation = "Strict";
  write.dry_run = true;
  EXPECT_TRUE(client.api->create(core::kPod, pod, write, client.within()).ok());
  check("create", "POST", "/api/v1/namespaces/ns/pods?dryRun=All&fieldManager=strake&fieldValidation=Strict",
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns"}})", "application/json");
  write = {};
  write.subresource = "status";
  EXPECT_TRUE(client.api->update(core::kNode, node, write, client.within()).ok());
  check("update status", "PUT", "/api/v1/nodes/n/status?fieldManager=strake",
        R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}})", "application/json");
  EXPECT_TRUE(
      client.api->patch(core::kNode, {"", "n"}, PatchType::kMerge, json::Object{{"a", 1}}, {}, client.within()).ok());
  check("merge patch", "PATCH", "/api/v1/nodes/n?fieldManager=strake", R"({"a":1})", "application/merge-patch+json");
  write = {};
  write.force = true;
  Object applied = node;
  json::ensure(applied.json(), {"metadata", "resourceVersion"}) = "7";
  EXPECT_TRUE(server_side_apply(*client.api, core::kNode, applied, write, client.within()).ok());
  check("apply", "PATCH", "/api/v1/nodes/n?fieldManager=strake&force=true",
        R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}})", "application/apply-patch+yaml");

  DeleteOptions remove;
  remove.uid = "u";
  remove.propagation = "Foreground";
  remove.grace_period_seconds = 0;
  EXPECT_TRUE(client.api->remove(core::kPod, {"ns", "p"}, remove, client.within()).ok());
  check(
      "delete", "DELETE", "/api/v1/namespaces/ns/pods/p",
      R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u"},"propagationPolicy":"Foreground","gracePeriodSeconds":0})",
      "application/json");
  ListOptions which;
  which.label_selector = "a=b";
  EXPECT_TRUE(client.api->remove_collection(core::kPod, "ns", which, {}, client.within()).ok());
  check("delete many", "DELETE", "/api/v1/namespaces/ns/pods?labelSelector=a%3Db",
        R"({"kind":"DeleteOptions","apiVersion":"v1"})", "application/json");
  EXPECT_TRUE(client.api->evict({"ns", "p"}, {}, client.within()).ok());
  check("evict", "POST", "/api/v1/namespaces/ns/pods/p/eviction",
        R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"ns"},)"
        R"("deleteOptions":{"kind":"DeleteOptions","apiVersion":"v1"}})",
        "application/json");
  EXPECT_TRUE(client.api->get_raw({"version"}, client.within()).ok());
  check("raw", "GET", "/version");
}

TEST(HttpsApi, NamesThatWouldChangeThePathAreRefused) {
  CannedServer server(always(200, "{}"));
  Client client(server.access());
  for (const char* name : {"", ".", "..", "a/b", "a%2Fb"}) {
    EXPECT_EQ(client.api->remove(core::kNode, {"", name}, {}, client.within()).error().code(), Code::kInvalidArgument)
        << name;
  }
  EXPECT_FALSE(client.api->get(core::kPod, {"", "p"}, client.within()).ok());
  EXPECT_FALSE(client.api->get(core::kNode, {"ns", "n"}, client.within()).ok());
  EXPECT_FALSE(client.api->remove_collection(core::kPod, "", {}, {}, client.within()).ok());
  EXPECT_TRUE(server.seen().empty());
}

TEST(HttpsApi, ReadsListPages) {
  CannedServer server(always(200, R"({"kind":"NodeList","metadata":{"resourceVersion":"42","continue":"next"},
    "items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"},"unknown":{"kept":true}}]})"));
  Client client(server.access());
  const Result<ListPage> page = client.api->list(core::kNode, "", {}, client.within());
  ASSERT_TRUE(page.ok()) << page.error().to_string();
  EXPECT_EQ(page->resource_version, "42");
  EXPECT_EQ(page->continue_token, "next");
  ASSERT_EQ(page->items.size(), 2u);
  EXPECT_EQ(page->items[0].kind(), "Node");
  EXPECT_EQ(page->items[0].api_version(), "v1");
  EXPECT_EQ(json::find_bool(page->items[1].json(), {"unknown", "kept"}), true);
}

TEST(HttpsApi, AStatusForADeletionBecomesTheObjectsName) {
  CannedServer server(always(200, R"({"kind":"Status","status":"Success","details":{"name":"n","uid":"u1"}})"));
  Client client(server.access());
  const Result<Object> removed = client.api->remove(core::kNode, {"", "n"}, {}, client.within());
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(removed->kind(), "Node");
  EXPECT_EQ(removed->uid(), "u1");
}

TEST(HttpsApi, ErrorsCarryTheServersReason) {
  CannedServer server(
      always(409, R"({"kind":"Status","reason":"AlreadyExists","message":"nodes \"n\" already exists"})"));
  Client client(server.access());
  const Result<Object> created = client.api->create(core::kNode, Object(core::kNode, {"", "n"}), {}, client.within());
  ASSERT_FALSE(created.ok());
  EXPECT_EQ(created.error().code(), Code::kExists);
  EXPECT_EQ(created.error().to_string(), "creating nodes n: nodes \"n\" already exists");
}

TEST(HttpsApi, AnAnswerThatIsNotAnObjectIsCorrupt) {
  CannedServer server(always(200, "[1]"));
  Client client(server.access());
  EXPECT_EQ(client.api->get(core::kNode, {"", "n"}, client.within()).error().code(), Code::kCorrupt);
  EXPECT_EQ(client.api->list(core::kNode, "", {}, client.within()).error().code(), Code::kCorrupt);
}

TEST(HttpsApi, ReadsWaitWhenAskedToAndWritesDoNot) {
  std::atomic<int> asked = 0;
  CannedServer server([&](const net::ServerRequest& request, net::Responder responder) {
    if (request.method == "GET" && ++asked == 3) {
      responder.send(json_answer(200, R"({"metadata":{"name":"n"}})"));
      return;
    }
    net::Response busy = json_answer(429, R"({"kind":"Status","reason":"TooManyRequests","message":"busy"})");
    busy.headers.add("Retry-After", "0");
    responder.send(std::move(busy));
  });
  Client client(server.access());
  EXPECT_TRUE(client.api->get(core::kNode, {"", "n"}, client.within()).ok());
  EXPECT_EQ(asked, 3);
  const Status evicted = client.api->evict({"ns", "p"}, {}, client.within());
  ASSERT_FALSE(evicted.ok());
  EXPECT_EQ(evicted.error().code(), Code::kExhausted);
  EXPECT_EQ(evicted.error().retry_after(), 0ms);
  EXPECT_EQ(server.seen().size(), 4u);
}

TEST(HttpsApi, GivesUpAfterSoManyTriesOrWithoutTimeLeft) {
  std::string retry_after = "0";
  CannedServer server([&](const net::ServerRequest&, net::Responder responder) {
    net::Response busy = json_answer(429, "{}");
    busy.headers.add("Retry-After", retry_after);
    responder.send(std::move(busy));
  });
  Client client(server.access());
  EXPECT_EQ(client.api->get(core::kNode, {"", "n"}, client.within()).error().code(), Code::kExhausted);
  EXPECT_EQ(server.seen().size(), 5u);
  retry_after = "3600";
  const Result<Object> late = client.api->get(core::kNode, {"", "n"}, client.within());
  EXPECT_EQ(late.error().retry_after(), 3600s);
  EXPECT_EQ(server.seen().size(), 6u);
}

TEST(HttpsApi, AnUnreachableServerIsUnavailable) {
  CannedServer server(always(200, "{}"));
  const ClusterAccess access = server.access();
  server.stop();
  Client client(access);
  const Result<Object> answer = client.api->get(core::kNode, {"", "n"}, client.within());
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code(), Code::kUnavailable) << answer.error().to_string();
}

TEST(HttpsApi, AnotherCaIsNotTrusted) {
  CannedServer server(always(200, "{}"));
  ClusterAccess access = server.access();
  access.ca_pem = net::testing::TestAuthority("another authority").pem();
  Client client(access);
  EXPECT_EQ(client.api->get(core::kNode, {"", "n"}, client.within()).error().code(), Code::kDenied);
  EXPECT_TRUE(server.seen().empty());
}

TEST(HttpsApi, StopsAndTimesOut) {
  std::vector<net::Responder> unanswered;
  std::mutex mutex;
  CannedServer server([&](const net::ServerRequest&, net::Responder responder) {
    std::lock_guard lock(mutex);
    unanswered.push_back(std::move(responder));
  });
  Client client(server.access());
  EXPECT_EQ(client.api->get(core::kNode, {"", "n"}, client.within(50ms)).error().code(), Code::kTimeout);
  EXPECT_EQ(client.api->get(core::kNode, {"", "n"}, client.within(-1s)).error().code(), Code::kTimeout);
  std::stop_source stop;
  auto stopper = client.runtime.spawn("stopper", [&](std::stop_token token) {
    while (server.seen().size() < 2 && client.runtime.sleep(1ms, token).ok()) {
    }
    stop.request_stop();
  });
  EXPECT_EQ(client.api->get(core::kNode, {"", "n"}, {stop.get_token(), {}}).error().code(), Code::kCancelled);
}

TEST(HttpsApi, AsksThePluginAgainAfterARefusal) {
  CannedServer server([](const net::ServerRequest& request, net::Responder responder) {
    const bool good = request.headers.get("Authorization") == "Bearer token-2";
    responder.send(json_answer(good ? 200 : 401, good ? R"({"metadata":{"name":"n"}})" : "{}"));
  });
  ClusterAccess access = server.access();
  access.bearer_token.clear();
  access.exec.emplace();
  access.exec->api_version = "client.authentication.k8s.io/v1";
  access.exec->command = "login";
  HttpsOptions options = Client::quick();
  int runs = 0;
  options.exec.run = [&](const Command&, std::stop_token) -> Result<ProcessOutput> {
    return ProcessOutput{{},
                         fmt::format(R"({{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
                                     R"("status":{{"token":"token-{}"}}}})",
                                     ++runs),
                         "",
                         false};
  };
  Client client(access, options);
  EXPECT_TRUE(client.api->create(core::kNode, Object(core::kNode, {"", "n"}), {}, client.within()).ok());
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(client.api->get(core::kNode, {"", "n"}, client.within()).ok());
  EXPECT_EQ(runs, 2);
}

TEST(HttpsApi, ImpersonationBasicLoginAndWarnings) {
  CannedServer server([](const net::ServerRequest&, net::Responder responder) {
    net::Response answer = json_answer(200, R"({"metadata":{"name":"n"}})");
    answer.headers.add("Warning", R"(299 - "unknown field \"spec.x\"")");
    responder.send(std::move(answer));
  });
  ClusterAccess access = server.access();
  access.bearer_token.clear();
  access.username = "u";
  access.password = "p";
  access.impersonate_user = "boss";
  access.impersonate_groups = {"g1", "g2"};
  HttpsOptions options = Client::quick();
  std::vector<std::string> warnings;
  options.on_warning = [&](const std::string& warning) { warnings.push_back(warning); };
  Client client(access, options);
  EXPECT_TRUE(client.api->get(core::kNode, {"", "n"}, client.within()).ok());
  const Seen seen = server.last();
  EXPECT_EQ(seen.headers.get("Authorization"), "Basic dTpw");
  EXPECT_EQ(seen.headers.get("Impersonate-User"), "boss");
  EXPECT_EQ(seen.headers.all("Impersonate-Group").size(), 2u);
  EXPECT_EQ(warnings, (std::vector<std::string>{"unknown field \"spec.x\""}));
}

TEST(HttpsWatch, DeliversEventsBookmarksAndTheEnd) {
  CannedServer server([](const net::ServerRequest&, net::Responder responder) {
    const auto sink = responder.stream({200, {{"Content-Type", "application/json"}}});
    sink->write(R"({"type":"ADDED","object":{"kind":"Node","metadata":{"name":"a","resourceVersion":"1"}}})"
                "\n");
    sink->write(R"({"type":"MODIFIED","object":{"kind":"Node","metadata":{"na)");
    sink->write("me\":\"a\",\"resourceVersion\":\"2\"}}}\n\n");
    sink->write(R"({"type":"BOOKMARK","object":{"kind":"Node","metadata":{"resourceVersion":"9"}}})"
                "\n");
    sink->close();
  });
  Client client(server.access());
  WatchOptions options;
  options.resource_version = "0";
  options.timeout = 60s;
  auto stream = client.api->watch(core::kNode, "", options, client.within());
  ASSERT_TRUE(stream.ok()) << stream.error().to_string();
  EXPECT_EQ(server.last().target, "/api/v1/nodes?watch=1&resourceVersion=0&allowWatchBookmarks=true&timeoutSeconds=60");
  const auto next = [&] { return (*stream)->next(client.within()); };
  auto event = next();
  ASSERT_TRUE(event.ok() && event->has_value());
  EXPECT_EQ((*event)->type, WatchType::kAdded);
  EXPECT_EQ((*event)->object.name(), "a");
  event = next();
  ASSERT_TRUE(event.ok() && event->has_value());
  EXPECT_EQ((*event)->type, WatchType::kModified);
  event = next();
  ASSERT_TRUE(event.ok() && event->has_value());
  EXPECT_EQ((*event)->type, WatchType::kBookmark);
  EXPECT_EQ((*event)->object.resource_version(), "9");
  event = next();
  ASSERT_TRUE(event.ok());
  EXPECT_FALSE(event->has_value());
}

TEST(HttpsWatch, ErrorEventsEndTheStream) {
  CannedServer server([](const net::ServerRequest&, net::Responder responder) {
    const auto sink = responder.stream({200, {}});
    sink->write(R"({"type":"ADDED","object":{"metadata":{"name":"a"}}})"
                "\n");
    sink->write(R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}})"
                "\n");
    sink->close();
  });
  Client client(server.access());
  auto stream = client.api->watch(core::kNode, "", {}, client.within());
  ASSERT_TRUE(stream.ok());
  EXPECT_TRUE((*stream)->next(client.within()).ok());
  const auto end = (*stream)->next(client.within());
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().code(), Code::kExpired);
}

TEST(HttpsWatch, ARefusedWatchSaysWhy) {
  CannedServer server(always(403, R"({"kind":"Status","reason":"Forbidden","message":"nodes is forbidden"})"));
  Client client(server.access());
  const auto stream = client.api->watch(core::kNode, "", {}, client.within());
  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.error().code(), Code::kDenied);
  EXPECT_EQ(stream.error().to_string(), "watching nodes: nodes is forbidden");
}

TEST(HttpsWatch, WaitsAndEndsAsItsCallerWishes) {
  std::shared_ptr<net::StreamSink> sink;
  std::mutex mutex;
  CannedServer server([&](const net::ServerRequest&, net::Responder responder) {
    std::lock_guard lock(mutex);
    sink = responder.stream({200, {}});
    sink->write("\n");
  });
  Client client(server.access());
  auto stream = client.api->watch(core::kNode, "", {}, client.within());
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ((*stream)->next(client.within(20ms)).error().code(), Code::kTimeout);
  {
    std::lock_guard lock(mutex);
    sink->write(R"({"type":"DELETED","object":{"metadata":{"name":"a"}}})"
                "\n");
  }
  EXPECT_EQ((**(*stream)->next(client.within())).type, WatchType::kDeleted);
  stream->reset();  // must not wait for the server
}

TEST(HttpsWatch, AFloodWaitsForItsReader) {
  constexpr int kEvents = 2000;
  CannedServer server([](const net::ServerRequest&, net::Responder responder) {
    const auto sink = responder.stream({200, {}}, {16u << 20});
    for (int i = 0; i < kEvents; ++i) {
      sink->write(fmt::format(R"({{"type":"ADDED","object":{{"metadata":{{"name":"n{}"}}}}}})"
                              "\n",
                              i));
    }
    sink->close();
  });
  HttpsOptions options = Client::quick();
  options.watch_buffer_events = 3;
  Client client(server.access(), options);
  auto stream = client.api->watch(core::kNode, "", {}, client.within());
  ASSERT_TRUE(stream.ok());
  for (int i = 0; i < kEvents; ++i) {
    auto event = (*stream)->next(client.within());
    ASSERT_TRUE(event.ok() && event->has_value()) << i;
    ASSERT_EQ((*event)->object.name(), fmt::format("n{}", i));
  }
  EXPECT_FALSE((*stream)->next(client.within())->has_value());
}

TEST(HttpsWatch, FeedsAnInformer) {
  CannedServer server([](const net::ServerRequest& request, net::Responder responder) {
    if (!request.target.query.get("watch")) {
      responder.send(json_answer(
          200, R"({"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a","resourceVersion":"4"}}]})"));
      return;
    }
    const auto sink = responder.stream({200, {}});
    if (request.target.query.get("resourceVersion") == "5") {
      sink->write(R"({"type":"ADDED","object":{"metadata":{"name":"b","resourceVersion":"6"}}})"
                  "\n");
      sink->close();
    }
  });
  Client client(server.access());
  Informer informer(client.runtime, *client.api, core::kNode);
  runtime::Queue<ObjectKey> changed(client.runtime);
  informer.on_change([&](const ObjectKey& key) { changed.push(key); });
  informer.start();
  EXPECT_EQ(changed.pop(client.within())->name, "a");
  EXPECT_EQ(changed.pop(client.within())->name, "b");
  informer.stop();
}

TEST(LineSplitter, CutsWhereverThePiecesFall) {
  const std::string text = "one\n\ntwo\nthree";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    LineSplitter splitter(5);
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < text.size(); i += piece) {
      ASSERT_TRUE(splitter
                      .feed(std::string_view(text).substr(i, piece),
                            [&](std::string_view line) -> Status {
                              lines.emplace_back(line);
                              return {};
                            })
                      .ok());
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "two"})) << piece;
    EXPECT_TRUE(splitter.inside_line());
  }
  LineSplitter splitter(5);
  const auto ignore = [](std::string_view) -> Status { return {}; };
  EXPECT_TRUE(splitter.feed("12345\n", ignore).ok());
  EXPECT_TRUE(splitter.feed("123", ignore).ok());
  EXPECT_EQ(splitter.feed("456", ignore).error().code(), Code::kExhausted);
}

TEST(ParseWatchLine, RefusesWhatIsNotAnEvent) {
  for (const char* line :
       {"", "[]", "{}", R"({"type":"ADDED"})", R"({"type":"OTHER","object":{}})", R"({"type":"ADDED","object":1})"}) {
    EXPECT_FALSE(parse_watch_line(line).ok()) << line;
  }
}

}  // namespace strake::kube::https_api_test
