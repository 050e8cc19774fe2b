// Conformance: get and list, selectors, pages.
#include "api/kinds.h"
#include "codec/base64.h"
#include "conformance.h"

namespace strake::conformance {
namespace {

using kube::core::kConfigMap;
using kube::core::kNode;
using kube::core::kPod;
using kube::core::kSecret;
using Names = std::vector<std::string>;

class ReadConformance : public ConformanceTest {
 protected:
  void create_labelled() {
    create(kSecret, "a", R"({"metadata": {"labels": {"tier": "front", "app": "shop"}}})");
    create(kSecret, "b", R"({"metadata": {"labels": {"tier": "back", "app": "shop"}}})");
    create(kSecret, "c", R"({"metadata": {"labels": {"tier": "", "example.com/odd_Key.1": "v-1.x_Y"}}})");
    create(kSecret, "d");
  }
  Result<kube::ListPage> list_page(const kube::Resource& resource, const kube::ListOptions& options) {
    return api().list(resource, resource.namespaced ? ns() : "", options, call());
  }
};
INSTANTIATE_TEST_SUITE_P(On, ReadConformance, kAllBackends, backend_name);

TEST_P(ReadConformance, GetReturnsWhatWasCreated) {
  const kube::Object created = create(kConfigMap, "one", R"({"metadata": {"labels": {"a": "b"}}, "data": {"k": "v"}})");
  EXPECT_EQ(created.uid().size(), 36u);
  EXPECT_NE(created.resource_version(), "");
  EXPECT_EQ(created.creation_timestamp().size(), std::string_view("2026-01-01T00:00:00Z").size());
  const kube::Object read = get(kConfigMap, "one");
  EXPECT_EQ(read.api_version(), "v1");
  EXPECT_EQ(read.kind(), "ConfigMap");
  EXPECT_EQ(read.ns(), ns());
  EXPECT_EQ(read.uid(), created.uid());
  EXPECT_EQ(read.resource_version(), created.resource_version());
  EXPECT_EQ(read.label("a"), "b");
  EXPECT_EQ(read.text({"data", "k"}), "v");
}

TEST_P(ReadConformance, WhatIsNotThereIsNotFound) {
  expect_refused(try_get(kConfigMap, "none"), Code::kNotFound, "NotFound", {"configmaps \"none\" not found"});
  expect_refused(try_get(api::kMachineConfigPool, own("none")), Code::kNotFound, "NotFound",
                 {"machineconfigpools.machineconfiguration.openshift.io \"" + own("none") + "\" not found"});
  expect_refused(api().get(kConfigMap, {"no-such-namespace", "x"}, call()), Code::kNotFound, "NotFound");
  const kube::Resource unknown{"nothing.example.com", "v1", "Widget", "widgets", false};
  const auto of_no_kind = try_get(unknown, "x");
  ASSERT_FALSE(of_no_kind.ok());
  EXPECT_EQ(of_no_kind.error().code(), Code::kNotFound) << "kube-apiserver has no Status for such paths";
  EXPECT_EQ(expect_ok(api().list(kConfigMap, "no-such-namespace", {}, call())).items.size(), 0u);
}

TEST_P(ReadConformance, ListsAreOrderedAndCarryAVersion) {
  const kube::Object b = create(kSecret, "b");
  create(kSecret, "a");
  const kube::Object c = create(kSecret, "c");
  const kube::ListPage page = expect_ok(list_page(kSecret, {}));
  EXPECT_EQ(names(page.items), (Names{"a", "b", "c"}));
  EXPECT_EQ(page.continue_token, "");
  EXPECT_GE(std::stoll(page.resource_version), std::stoll(c.resource_version()));
  for (const kube::Object& item : page.items) {
    EXPECT_EQ(item.kind(), "Secret");
    EXPECT_EQ(item.api_version(), "v1");
  }
  EXPECT_EQ(page.items[1].resource_version(), b.resource_version());
}

TEST_P(ReadConformance, LabelSelectors) {
  create_labelled();
  const std::vector<std::pair<std::string, Names>> cases = {
      {"tier=front", {"a"}},
      {"tier==front", {"a"}},
      {"tier!=front", {"b", "c", "d"}},
      {"tier=", {"c"}},
      {"tier", {"a", "b", "c"}},
      {"!tier", {"d"}},
      {"tier in (front, back)", {"a", "b"}},
      {"tier in (front,)", {"a", "c"}},
      {"tier notin (front, back)", {"c", "d"}},
      {"app=shop,tier!=back", {"a"}},
      {"app,tier in (back),tier notin (front)", {"b"}},
      {"example.com/odd_Key.1=v-1.x_Y", {"c"}},
      {"missing", {}},
      {"", {"a", "b", "c", "d"}},
  };
  for (const auto& [selector, expected] : cases) {
    EXPECT_EQ(list_names(kSecret, {.label_selector = selector}), expected) << selector;
  }
}

TEST_P(ReadConformance, SelectorsThatCannotBeReadAreRefused) {
  for (const char* selector : {"tier in front", "a=b=c", "tier in (a", "=x", "/x=y", "a b", "x=not valid"}) {
    expect_refused(list_page(kSecret, {.label_selector = selector}), Code::kInvalidArgument, "BadRequest");
  }
  expect_refused(list_page(kSecret, {.field_selector = "metadata.name"}), Code::kInvalidArgument, "BadRequest");
  expect_refused(list_page(kSecret, {.field_selector = "spec.nothing=x"}), Code::kInvalidArgument, "BadRequest",
                 {"field label not supported: spec.nothing"});
}

TEST_P(ReadConformance, FieldSelectorsOnMetadata) {
  create_labelled();
  EXPECT_EQ(list_names(kSecret, {.field_selector = "metadata.name=b"}), (Names{"b"}));
  EXPECT_EQ(list_names(kSecret, {.field_selector = "metadata.name!=b"}), (Names{"a", "c", "d"}));
  EXPECT_EQ(list_names(kSecret, {.field_selector = "metadata.name=b,metadata.namespace=" + ns()}), (Names{"b"}));
  EXPECT_EQ(list_names(kSecret, {.field_selector = "metadata.namespace=elsewhere"}), Names{});
  EXPECT_EQ(list_names(kSecret, {.label_selector = "app=shop", .field_selector = "metadata.name!=a"}), (Names{"b"}));
  EXPECT_EQ(list_names(kSecret, {.field_selector = "type=Opaque,metadata.name=c"}), (Names{"c"}));
  create(api::kMachineConfigPool, own("p"), R"({"spec": {}})");
  EXPECT_EQ(list_names(api::kMachineConfigPool, {.field_selector = "metadata.name=" + own("p")}), (Names{own("p")}));
}

TEST_P(ReadConformance, FieldSelectorsOnPodsAndNodes) {
  create_pod("here", R"({"spec": {"nodeName": "node-1"}})");
  create_pod("there", R"({"spec": {"nodeName": "node-2"}})");
  create_pod("nowhere");
  EXPECT_EQ(list_names(kPod, {.field_selector = "spec.nodeName=node-1"}), (Names{"here"}));
  EXPECT_EQ(list_names(kPod, {.field_selector = "spec.nodeName="}), (Names{"nowhere"}));
  EXPECT_EQ(list_names(kPod, {.field_selector = "spec.nodeName!=node-1,status.phase=Pending"}),
            (Names{"nowhere", "there"}));
  create(kNode, own("open"), fmt::format(R"({{"metadata": {{"labels": {{"of": "{}"}}}}}})", ns()));
  create(kNode, own("closed"),
         fmt::format(R"({{"metadata": {{"labels": {{"of": "{}"}}}}, "spec": {{"unschedulable": true}}}})", ns()));
  EXPECT_EQ(list_names(kNode, {.label_selector = "of=" + ns(), .field_selector = "spec.unschedulable=true"}),
            (Names{own("closed")}));
  EXPECT_EQ(list_names(kNode, {.label_selector = "of=" + ns(), .field_selector = "spec.unschedulable=false"}),
            (Names{own("open")}));
}

TEST_P(ReadConformance, AllNamespacesAtOnce) {
  const std::string label = fmt::format(R"({{"metadata": {{"labels": {{"of": "{}"}}}}}})", ns());
  create(kSecret, "z", label);
  kube::Object elsewhere = make(kSecret, "a", label);
  json::ensure(elsewhere.json(), {"metadata", "namespace"}) = "default";
  json::ensure(elsewhere.json(), {"metadata", "name"}) = own("a");
  expect_ok(try_create(kSecret, elsewhere));
  const kube::ListPage page = expect_ok(api().list(kSecret, "", {.label_selector = "of=" + ns()}, call()));
  EXPECT_EQ(names(page.items), (ns() < "default" ? Names{"z", own("a")} : Names{own("a"), "z"}));
}

TEST_P(ReadConformance, PagesShowOneMomentWhileWritesGoOn) {
  for (const char* name : {"a", "b", "c", "d", "e"}) create(kSecret, name);
  const kube::ListPage first = expect_ok(list_page(kSecret, {.limit = 2}));
  EXPECT_EQ(names(first.items), (Names{"a", "b"}));
  ASSERT_NE(first.continue_token, "");

  expect_ok(try_remove(kSecret, "d"));
  create(kSecret, "c2");
  create(kSecret, "a2");
  const kube::Object changed =
      expect_ok(try_patch(kSecret, "c", kube::PatchType::kMerge, R"({"metadata": {"labels": {"changed": "yes"}}})"));

  const kube::ListPage second = expect_ok(list_page(kSecret, {.limit = 2, .continue_token = first.continue_token}));
  EXPECT_EQ(names(second.items), (Names{"c", "d"}));
  EXPECT_EQ(second.items[0].label("changed"), std::nullopt);
  EXPECT_EQ(second.resource_version, first.resource_version);
  const kube::ListPage third = expect_ok(list_page(kSecret, {.limit = 2, .continue_token = second.continue_token}));
  EXPECT_EQ(names(third.items), (Names{"e"}));
  EXPECT_EQ(third.continue_token, "");
  EXPECT_EQ(third.resource_version, first.resource_version);
  EXPECT_EQ(list_names(kSecret, {}), (Names{"a", "a2", "b", "c", "c2", "e"}));
  EXPECT_GT(std::stoll(changed.resource_version()), std::stoll(third.resource_version));
}

TEST_P(ReadConformance, PagesThroughASelector) {
  for (int i = 0; i < 9; ++i) {
    create(kSecret, fmt::format("s{}", i), i % 2 == 0 ? R"({"metadata": {"labels": {"even": "yes"}}})" : "{}");
  }
  Names seen;
  kube::ListOptions options{.label_selector = "even=yes", .limit = 2};
  do {
    const kube::ListPage page = expect_ok(list_page(kSecret, options));
    ASSERT_LE(page.items.size(), 2u);
    for (const std::string& name : names(page.items)) seen.push_back(name);
    options.continue_token = page.continue_token;
  } while (!options.continue_token.empty());
  EXPECT_EQ(seen, (Names{"s0", "s2", "s4", "s6", "s8"}));
}

TEST_P(ReadConformance, AListAtAnExactVersion) {
  create(kSecret, "a");
  const kube::Object b = create(kSecret, "b");
  create(kSecret, "c");
  expect_ok(try_remove(kSecret, "a"));
  EXPECT_EQ(list_names(kSecret, {.resource_version = b.resource_version(), .resource_version_match = "Exact"}),
            (Names{"a", "b"}));
  // "Not older" may be any version since, so ask from the newest.
  const kube::Object d = create(kSecret, "d");
  EXPECT_EQ(list_names(kSecret, {.resource_version = d.resource_version(), .resource_version_match = "NotOlderThan"}),
            (Names{"b", "c", "d"}));
  // Over HTTPS the options are an object of the request, and invalid like one.
  const std::string reason = server().wire() ? "Invalid" : "BadRequest";
  expect_refused(list_page(kSecret, {.resource_version_match = "Exact"}), Code::kInvalidArgument, reason);
  expect_refused(list_page(kSecret, {.resource_version = "0", .resource_version_match = "Exact"}),
                 Code::kInvalidArgument, reason);
  expect_refused(list_page(kSecret, {.resource_version = "1", .resource_version_match = "Sometimes"}),
                 Code::kInvalidArgument, reason);
}

TEST_P(ReadConformance, ContinuingAfterCompactionIsExpired) {
  const auto create_pool = [&](std::string_view name) {
    create(api::kMachineConfigPool, own(name), R"({"spec": {}})");
  };
  for (const char* name : {"a", "b", "c"}) create_pool(name);
  const kube::ListPage first = expect_ok(list_page(api::kMachineConfigPool, {.limit = 1}));
  create_pool("d");
  expect_ok(server().compact());
  create_pool("e");
  std::string token = first.continue_token;
  if (on_kubernetes()) {
    // It keeps minutes of snapshots in memory, whatever etcd forgets: only a token from before them is too old.
    token = codec::encode_base64(std::string_view(R"({"v": "meta.k8s.io/v1", "rv": 2, "start": "a\u0000"})"));
    token.erase(token.find_last_not_of('=') + 1);
  }
  expect_refused(list_page(api::kMachineConfigPool, {.limit = 1, .continue_token = token}), Code::kExpired, "Expired");
}

TEST_P(ReadConformance, AContinueTokenThatIsNoneIsRefused) {
  create(kSecret, "a");
  for (const char* token : {"nonsense", "e30", "!!"}) {
    expect_refused(list_page(kSecret, {.limit = 1, .continue_token = token}), Code::kInvalidArgument, "BadRequest");
  }
}

}  // namespace
}  // namespace strake::conformance
