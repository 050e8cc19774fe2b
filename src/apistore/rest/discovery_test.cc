#include "apistore/rest/discovery.h"

#include <gtest/gtest.h>

#include "codec/json.h"

namespace strake::apistore::rest::discovery_test {

const api::EmbeddedFile kTwoVersions{"two.yaml", R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, shortNames: [th], categories: [all]}
  versions:
    - {name: v1beta1, served: true, storage: false}
    - {name: v1, served: true, storage: true, subresources: {status: {}}}
    - {name: v2alpha1, served: false, storage: false}
    - {name: v2, served: true, storage: false}
)"};

Registry small_registry() {
  auto registry = Registry::load(builtin_files(), std::span(&kTwoVersions, 1));
  STRAKE_INVARIANT(registry.ok());
  return *std::move(registry);
}

json::Value document(const Discovery& discovery, const std::vector<std::string>& path) {
  const std::string* text = discovery.document(path);
  if (text == nullptr) return nullptr;
  auto value = json::parse(*text);
  STRAKE_INVARIANT(value.ok());
  return *std::move(value);
}

const json::Value* resource_named(const json::Value& list, std::string_view name) {
  for (const json::Value& resource : list.at("resources").as_array()) {
    if (json::as_view(resource.at("name").as_string()) == name) return &resource;
  }
  return nullptr;
}

TEST(Discovery, GroupsPreferTheHighestStableVersion) {
  const Registry registry = small_registry();
  EXPECT_EQ(served_versions(registry, "example.com"), (std::vector<std::string>{"v2", "v1", "v1beta1"}));
  const Discovery discovery(registry, "1.2.3");
  const json::Value groups = document(discovery, {"apis"});
  EXPECT_EQ(groups.at("kind").as_string(), "APIGroupList");
  std::vector<std::string> names;
  for (const json::Value& group : groups.at("groups").as_array())
    names.emplace_back(json::as_view(group.at("name").as_string()));
  EXPECT_EQ(names, (std::vector<std::string>{"coordination.k8s.io", "example.com", "policy", "authentication.k8s.io",
                                             "authorization.k8s.io"}));
  EXPECT_EQ(json::write(document(discovery, {"apis", "example.com"}).at("preferredVersion")),
            R"({"groupVersion":"example.com/v2","version":"v2"})");
  EXPECT_EQ(json::write(document(discovery, {"api"}).at("versions")), R"(["v1"])");
}

TEST(Discovery, ResourcesOfAVersion) {
  const Registry registry = small_registry();
  const Discovery discovery(registry, "0");
  const json::Value list = document(discovery, {"apis", "example.com", "v1"});
  EXPECT_EQ(list.at("kind").as_string(), "APIResourceList");
  EXPECT_EQ(list.at("groupVersion").as_string(), "example.com/v1");
  EXPECT_EQ(json::write(*resource_named(list, "things")),
            R"({"name":"things","singularName":"thing","namespaced":true,"kind":"Thing",)"
            R"("verbs":["delete","deletecollection","get","list","patch","create","update","watch"],)"
            R"("shortNames":["th"],"categories":["all"]})");
  EXPECT_EQ(
      json::write(*resource_named(list, "things/status")),
      R"({"name":"things/status","singularName":"","namespaced":true,"kind":"Thing","verbs":["get","patch","update"]})");
  EXPECT_EQ(resource_named(document(discovery, {"apis", "example.com", "v2"}), "things/status"), nullptr);
}

TEST(Discovery, OfTheCoreGroup) {
  const Registry registry = small_registry();
  const Discovery discovery(registry, "0");
  const json::Value list = document(discovery, {"api", "v1"});
  EXPECT_EQ(list.at("groupVersion").as_string(), "v1");
  const json::Value* eviction = resource_named(list, "pods/eviction");
  ASSERT_NE(eviction, nullptr);
  EXPECT_EQ(eviction->at("group").as_string(), "policy");
  EXPECT_EQ(eviction->at("kind").as_string(), "Eviction");
  ASSERT_NE(resource_named(list, "nodes/status"), nullptr);
  EXPECT_EQ(json::write(resource_named(list, "nodes")->at("shortNames")), R"(["no"])");
  EXPECT_EQ(json::write(resource_named(list, "namespaces")->at("verbs")).find("deletecollection"), std::string::npos);
}

TEST(Discovery, SaysWhichKubernetesItFollowsAndWhoItIs) {
  const Registry registry = small_registry();
  const json::Value version = document(Discovery(registry, "1.2.3"), {"version"});
  EXPECT_EQ(version.at("major").as_string(), "1");
  EXPECT_EQ(version.at("minor").as_string(), "34");
  EXPECT_EQ(version.at("gitVersion").as_string(), "v1.34.4+strake-1.2.3");
}

TEST(Discovery, KnowsNothingElse) {
  const Registry registry = small_registry();
  const Discovery discovery(registry, "0");
  const std::vector<std::vector<std::string>> unknown = {{"apis", "example.com", "v2alpha1"},
                                                         {"apis", "other.com"},
                                                         {"api", "v2"},
                                                         {"apis", "example.com/v1"},
                                                         {"apis", "example.com", "v1", "things"}};
  for (const auto& path : unknown)
    EXPECT_EQ(discovery.document(path), nullptr) << fmt::format("{}", fmt::join(path, " / "));
}

}  // namespace strake::apistore::rest::discovery_test
