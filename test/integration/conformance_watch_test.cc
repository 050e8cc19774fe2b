// Conformance: watches.
#include "api/kinds.h"
#include "conformance.h"

namespace strake::conformance {
namespace {

using namespace std::chrono_literals;
using kube::core::kSecret;
using Words = std::vector<std::string>;

class WatchConformance : public ConformanceTest {
 protected:
  std::unique_ptr<kube::WatchStream> open(const kube::Resource& resource, const kube::WatchOptions& options,
                                          std::source_location where = std::source_location::current()) {
    return expect_ok(api().watch(resource, resource.namespaced ? ns() : "", options, call()), where);
  }
  kube::WatchEvent next(kube::WatchStream& stream, std::source_location where = std::source_location::current()) {
    while (true) {
      const auto event = expect_ok(stream.next(call()), where);
      if (!event) return {};
      if (event->type != kube::WatchType::kBookmark) return *event;
    }
  }
  /// "ADDED name" of the next events.
  Words next_words(kube::WatchStream& stream, std::size_t count,
                   std::source_location where = std::source_location::current()) {
    Words words;
    while (words.size() < count) {
      const kube::WatchEvent event = next(stream, where);
      words.push_back(fmt::format("{} {}", to_string(event.type), event.object.name()));
    }
    return words;
  }
  std::string version_now() { return expect_ok(api().list(kSecret, ns(), {}, call())).resource_version; }
  kube::Object label(const std::string& name, const std::string& label, const std::string& json_value) {
    return expect_ok(try_patch(kSecret, name, kube::PatchType::kMerge,
                               fmt::format(R"({{"metadata": {{"labels": {{"{}": {}}}}}}})", label, json_value)));
  }
};
INSTANTIATE_TEST_SUITE_P(On, WatchConformance, kAllBackends, backend_name);

TEST_P(WatchConformance, FromAVersionOnlyWhatCameAfterIt) {
  create(kSecret, "before");
  const auto stream = open(kSecret, {.resource_version = version_now()});
  ASSERT_TRUE(stream);
  const kube::Object created = create(kSecret, "a");
  const kube::Object changed = label("a", "x", "\"1\"");
  expect_ok(try_remove(kSecret, "a"));

  const kube::WatchEvent added = next(*stream);
  EXPECT_EQ(added.type, kube::WatchType::kAdded);
  EXPECT_EQ(added.object.kind(), "Secret");
  EXPECT_EQ(added.object.resource_version(), created.resource_version());
  const kube::WatchEvent modified = next(*stream);
  EXPECT_EQ(modified.type, kube::WatchType::kModified);
  EXPECT_EQ(modified.object.resource_version(), changed.resource_version());
  EXPECT_EQ(modified.object.label("x"), "1");
  const kube::WatchEvent deleted = next(*stream);
  EXPECT_EQ(deleted.type, kube::WatchType::kDeleted);
  EXPECT_EQ(deleted.object.uid(), created.uid());
  EXPECT_EQ(deleted.object.label("x"), "1") << "the last state is shown";
  EXPECT_GT(std::stoll(deleted.object.resource_version()), std::stoll(changed.resource_version()))
      << "a watch can be resumed behind the deletion";
}

TEST_P(WatchConformance, ResumedFromAnEventNothingIsMissedOrRepeated) {
  const std::string start = version_now();
  for (int i = 0; i < 20; ++i) create(kSecret, fmt::format("s{:02}", i));
  std::string version = start;
  Words seen;
  for (int resumed = 0; resumed < 4; ++resumed) {
    const auto stream = open(kSecret, {.resource_version = version});
    ASSERT_TRUE(stream);
    for (int i = 0; i < 5; ++i) {
      const kube::WatchEvent event = next(*stream);
      EXPECT_GT(std::stoll(event.object.resource_version()), std::stoll(version));
      version = event.object.resource_version();
      seen.push_back(event.object.name());
    }
  }
  EXPECT_EQ(seen, list_names(kSecret, {}));
}

TEST_P(WatchConformance, WithoutAVersionThePresentStateComesFirst) {
  create(kSecret, "a");
  create(kSecret, "b");
  // "0" may be answered from a cache that is a moment behind, so it is asked when the cache must have seen both.
  const auto seen = open(kSecret, {.resource_version = ""});
  ASSERT_TRUE(seen);
  Words words = next_words(*seen, 2);
  std::ranges::sort(words);
  EXPECT_EQ(words, (Words{"ADDED a", "ADDED b"}));
  const auto cached = open(kSecret, {.resource_version = "0"});
  ASSERT_TRUE(cached);
  words = next_words(*cached, 2);
  std::ranges::sort(words);
  EXPECT_EQ(words, (Words{"ADDED a", "ADDED b"}));
  create(kSecret, "c");
  EXPECT_EQ(next_words(*seen, 1), (Words{"ADDED c"}));
  EXPECT_EQ(next_words(*cached, 1), (Words{"ADDED c"}));
}

TEST_P(WatchConformance, LeavingTheSelectionIsADeletion) {
  const auto stream = open(kSecret, {.label_selector = "colour=red", .resource_version = version_now()});
  ASSERT_TRUE(stream);
  create(kSecret, "other");
  create(kSecret, "a");
  label("a", "colour", "\"red\"");
  label("a", "size", "\"big\"");
  const kube::Object left = label("a", "colour", "\"blue\"");
  label("a", "size", "\"small\"");
  label("a", "colour", "\"red\"");
  expect_ok(try_remove(kSecret, "a"));
  EXPECT_EQ(next_words(*stream, 2), (Words{"ADDED a", "MODIFIED a"}));
  const kube::WatchEvent gone = next(*stream);
  EXPECT_EQ(gone.type, kube::WatchType::kDeleted);
  EXPECT_EQ(gone.object.label("colour"), "red") << "as it was when the watcher last saw it";
  EXPECT_EQ(gone.object.resource_version(), left.resource_version());
  EXPECT_EQ(next_words(*stream, 2), (Words{"ADDED a", "DELETED a"}));
}

TEST_P(WatchConformance, FieldSelectorsApply) {
  const auto stream = open(kSecret, {.field_selector = "metadata.name=wanted", .resource_version = version_now()});
  ASSERT_TRUE(stream);
  create(kSecret, "other");
  create(kSecret, "wanted");
  expect_ok(try_remove(kSecret, "other"));
  expect_ok(try_remove(kSecret, "wanted"));
  EXPECT_EQ(next_words(*stream, 2), (Words{"ADDED wanted", "DELETED wanted"}));
}

TEST_P(WatchConformance, ANamespaceOrAll) {
  const std::string version = version_now();
  const auto one = open(kSecret, {.resource_version = version});
  const auto all =
      expect_ok(api().watch(kSecret, "", {.label_selector = "of=" + ns(), .resource_version = version}, call()));
  ASSERT_TRUE(one && all);
  kube::Object elsewhere = make(kSecret, own("x"),
                                fmt::format(R"({{"metadata": {{"namespace": "default",
                                                               "labels": {{"of": "{}"}}}}}})",
                                            ns()));
  expect_ok(try_create(kSecret, elsewhere));
  create(kSecret, "here", fmt::format(R"({{"metadata": {{"labels": {{"of": "{}"}}}}}})", ns()));
  EXPECT_EQ(next_words(*one, 1), (Words{"ADDED here"}));
  EXPECT_EQ(next_words(*all, 2), (Words{"ADDED " + own("x"), "ADDED here"}));
}

TEST_P(WatchConformance, BookmarksWhenAskedForAndAnEndInGoodOrder) {
  const kube::WatchOptions nothing{.label_selector = "no=such", .resource_version = version_now(), .timeout = 3s};
  const auto marked = open(kSecret, nothing);
  kube::WatchOptions without = nothing;
  without.bookmarks = false;
  const auto plain = open(kSecret, without);
  ASSERT_TRUE(marked && plain);
  const kube::Object unseen = create(kSecret, "outside-the-selection");
  std::string last;
  while (const auto event = expect_ok(marked->next(call()))) {
    ASSERT_EQ(event->type, kube::WatchType::kBookmark);
    EXPECT_EQ(event->object.kind(), "Secret");
    EXPECT_EQ(event->object.name(), "");
    last = event->object.resource_version();
  }
  ASSERT_NE(last, "") << "no bookmark came";
  EXPECT_GE(std::stoll(last), std::stoll(unseen.resource_version())) << "resuming skips what was filtered out";
  EXPECT_FALSE(expect_ok(plain->next(call()))) << "nothing came, and the end in good order";
}

TEST_P(WatchConformance, AnAncientVersionIsExpired) {
  // A kind that did not exist when the server was young: kube-apiserver remembers all of the others since its start.
  create(api::kMachineConfigPool, own("p"), R"({"spec": {}})");
  expect_ok(server().compact());
  // A server says so at once or as the first event of the stream.
  const auto opened = api().watch(api::kMachineConfigPool, "", {.resource_version = "1"}, call());
  if (!opened.ok()) return expect_refused(opened, Code::kExpired, "Expired");
  expect_refused((*opened)->next(call()), Code::kExpired, "Expired", {"too old resource version: 1"});
}

TEST_P(WatchConformance, AnAncientVersionIsToldInsideTheStream) {
  if (server().wire() == nullptr) return;  // in process there is no stream before the first event
  create(api::kMachineConfigPool, own("p"), R"({"spec": {}})");
  expect_ok(server().compact());
  auto prepared = server().wire()->prepare({}, {});
  ASSERT_TRUE(prepared.ok()) << prepared.error().to_string();
  net::Request request = prepared->request;
  request.method = "GET";
  while (request.url.ends_with('/')) request.url.pop_back();
  request.url +=
      "/apis/machineconfiguration.openshift.io/v1/machineconfigpools?watch=1&resourceVersion=1&timeoutSeconds=5";
  const auto response = prepared->client->send(request, {.timeout = 30s, .idle_timeout = {}, .stop = {}});
  ASSERT_TRUE(response.ok()) << response.error().to_string();
  EXPECT_EQ(response->status, 200);
  const json::Value event = parsed(response->body);
  EXPECT_EQ(json::find_string(event, {"type"}), "ERROR") << response->body;
  EXPECT_EQ(json::find_int(event, {"object", "code"}), 410);
  EXPECT_EQ(json::find_string(event, {"object", "reason"}), "Expired");
}

TEST_P(WatchConformance, AVersionThatIsNoneIsRefused) {
  for (const char* version : {"abc", "-1", "1.5"}) {
    const auto opened = api().watch(kSecret, ns(), {.resource_version = version}, call());
    if (on_kubernetes()) {  // docs/api-differences.md: status 500 for a mistake of the client
      expect_refused(opened, Code::kUnavailable, "", {"resourceVersion: Invalid value"});
    } else {
      expect_refused(opened, Code::kInvalidArgument, "BadRequest");
    }
  }
  expect_refused(api().watch(kSecret, ns(), {.label_selector = "a b", .resource_version = version_now()}, call()),
                 Code::kInvalidArgument, "BadRequest");
}

TEST_P(WatchConformance, TheCallersEndIsNotTheStreams) {
  const auto stream = open(kSecret, {.resource_version = version_now()});
  ASSERT_TRUE(stream);
  const auto late = stream->next(runtime().call_within(10ms));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code(), Code::kTimeout);
  std::stop_source stopping;
  stopping.request_stop();
  const auto stopped = stream->next({stopping.get_token(), {}});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), Code::kCancelled);
  create(kSecret, "a");
  EXPECT_EQ(next_words(*stream, 1), (Words{"ADDED a"}));
}

TEST_P(WatchConformance, AWaitIsCancelledFromOutside) {
  const auto stream = open(kSecret, {.resource_version = version_now()});
  ASSERT_TRUE(stream);
  Code ended = Code::kInternal;
  runtime::Task waiter = runtime().spawn("waiter", [&](std::stop_token stop) {
    const auto event = stream->next({stop, {}});
    if (!event.ok()) ended = event.error().code();
  });
  waiter.stop_and_join();
  EXPECT_EQ(ended, Code::kCancelled);
}

TEST_P(WatchConformance, EveryWatcherSeesTheSameOrder) {
  const std::string version = version_now();
  std::vector<std::unique_ptr<kube::WatchStream>> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(open(kSecret, {.resource_version = version}));
  constexpr int kWriters = 4, kEach = 10;
  std::vector<runtime::Task> writers;
  std::atomic<int> failures = 0;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.push_back(runtime().spawn("writer", [this, writer, &failures](const std::stop_token&) {
      for (int i = 0; i < kEach; ++i) {
        if (!try_create(kSecret, make(kSecret, fmt::format("w{}-{}", writer, i))).ok()) ++failures;
      }
    }));
  }
  for (runtime::Task& writer : writers) writer.join();
  EXPECT_EQ(failures, 0);
  const Words first = next_words(*streams[0], kWriters * kEach);
  for (std::size_t i = 1; i < streams.size(); ++i) EXPECT_EQ(next_words(*streams[i], kWriters * kEach), first);
}

}  // namespace
}  // namespace strake::conformance
