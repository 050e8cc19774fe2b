#include "kube/discovery.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace strake::kube::discovery_test {

/// A server's discovery documents by path.
struct Documents {
  Discovery::Fetch fetch() {
    return [this](std::vector<std::string> path, const Call&) -> Result<json::Value> {
      const std::string name = fmt::format("{}", fmt::join(path, "/"));
      ++fetched;
      const auto found = by_path.find(name);
      if (found == by_path.end()) return error(Code::kUnavailable, "no endpoints for {}", name);
      return *json::parse(found->second);
    };
  }
  std::map<std::string, std::string> by_path{
      {"api", R"({"kind":"APIVersions","versions":["v1"]})"},
      {"apis", R"({"kind":"APIGroupList","groups":[
          {"name":"apps","versions":[{"version":"v1"},{"version":"v1beta1"}],"preferredVersion":{"version":"v1"}},
          {"name":"broken.io","versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}},
          {"name":"example.io","versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}}]})"},
      {"api/v1", R"({"groupVersion":"v1","resources":[
          {"name":"nodes","singularName":"node","kind":"Node","namespaced":false,"shortNames":["no"],"verbs":["get","list"]},
          {"name":"nodes/status","kind":"Node","namespaced":false},
          {"name":"pods","singularName":"pod","kind":"Pod","namespaced":true,"shortNames":["po"],"categories":["all"]}]})"},
      {"apis/apps/v1", R"({"groupVersion":"apps/v1","resources":[
          {"name":"deployments","singularName":"deployment","kind":"Deployment","namespaced":true,"shortNames":["deploy"]}]})"},
      {"apis/example.io/v1", R"({"groupVersion":"example.io/v1","resources":[
          {"name":"nodes","singularName":"node","kind":"Node","namespaced":true}]})"},
  };
  int fetched = 0;
};

TEST(Discovery, FindsWhatAUserMeans) {
  Documents documents;
  Discovery discovery(documents.fetch());
  struct Case {
    const char* word;
    const char* api_version;
    const char* plural;
  };
  const Case cases[] = {
      {"nodes", "v1", "nodes"},
      {"node", "v1", "nodes"},
      {"no", "v1", "nodes"},
      {"Node", "v1", "nodes"},
      {"nodes.v1", "v1", "nodes"},
      {"nodes.example.io", "example.io/v1", "nodes"},
      {"node.v1.example.io", "example.io/v1", "nodes"},
      {"deploy", "apps/v1", "deployments"},
      {"deployments.v1.apps", "apps/v1", "deployments"},
      {"deployments.apps", "apps/v1", "deployments"},
  };
  for (const Case& c : cases) {
    const Result<ApiResource> found = discovery.find(c.word, {});
    ASSERT_TRUE(found.ok()) << c.word << ": " << found.error().to_string();
    EXPECT_EQ(found->resource.api_version(), c.api_version) << c.word;
    EXPECT_EQ(found->resource.plural, c.plural) << c.word;
  }
  EXPECT_EQ(documents.fetched, 6) << "the answers must be kept";
  EXPECT_EQ(discovery.find("no", {})->subresources, (std::vector<std::string>{"status"}));
  EXPECT_TRUE(discovery.find("po", {})->resource.namespaced);
  const Result<ApiResource> none = discovery.find("gizmos", {});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message(), "the server has no kind of object called \"gizmos\"; not answering now: broken.io");
  documents.by_path["apis/broken.io/v1"] =
      R"({"groupVersion":"broken.io/v1","resources":[{"name":"gizmos","singularName":"gizmo","kind":"Gizmo"}]})";
  EXPECT_TRUE(discovery.find("gizmos", {}).ok());
}

TEST(Discovery, ListsGroupsPreferredVersionFirst) {
  Documents documents;
  const Discovery discovery(documents.fetch());
  const Result<std::vector<ApiGroup>> groups = discovery.groups({});
  ASSERT_TRUE(groups.ok());
  ASSERT_EQ(groups->size(), 4u);
  EXPECT_EQ(groups->at(0).name, "");
  EXPECT_EQ(groups->at(1).versions, (std::vector<std::string>{"v1", "v1beta1"}));
}

TEST(Discovery, RefusesOtherDocuments) {
  EXPECT_FALSE(parse_resource_list(*json::parse("{}")).ok());
  EXPECT_FALSE(parse_resource_list(*json::parse(R"({"groupVersion":"v1","resources":{}})")).ok());
}

}  // namespace strake::kube::discovery_test
