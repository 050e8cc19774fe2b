#include "apistore/rest/openapi.h"

#include <gtest/gtest.h>

#include <set>

#include "codec/json.h"

namespace strake::apistore::rest::openapi_test {

const Registry& registry() {
  static const Registry kRegistry = *Registry::standard();
  return kRegistry;
}

json::Value document(const OpenApi& open_api, std::string_view path) {
  const OpenApi::Document* found = open_api.find(path);
  STRAKE_INVARIANT(found != nullptr);
  auto value = json::parse(found->text);
  STRAKE_INVARIANT(value.ok());
  return *std::move(value);
}

std::set<std::string> parameter_names(const json::Value& operation) {
  std::set<std::string> names;
  for (const json::Value& parameter : operation.at("parameters").as_array()) {
    names.emplace(json::as_view(parameter.at("name").as_string()));
  }
  return names;
}

/// Every "$ref" below a value.
void collect_references(const json::Value& value, std::set<std::string>& references) {
  if (value.is_array()) {
    for (const json::Value& item : value.get_array()) collect_references(item, references);
  } else if (value.is_object()) {
    for (const auto& member : value.get_object()) {
      if (member.key() == "$ref") references.emplace(json::as_view(member.value().as_string()));
      collect_references(member.value(), references);
    }
  }
}

TEST(OpenApi, TheIndexNamesEveryDocumentWithItsHash) {
  const OpenApi open_api(registry());
  const auto index = json::parse(open_api.index().text);
  ASSERT_TRUE(index.ok());
  const json::Object& paths = index->at("paths").as_object();
  EXPECT_TRUE(paths.contains("api/v1"));
  EXPECT_TRUE(paths.contains("apis/machineconfiguration.openshift.io/v1"));
  for (const auto& path : paths) {
    const OpenApi::Document* found = open_api.find(std::string(path.key()));
    ASSERT_NE(found, nullptr) << path.key();
    EXPECT_EQ(path.value().at("serverRelativeURL").as_string(),
              fmt::format("/openapi/v3/{}?hash={}", std::string(path.key()), found->hash));
  }
  EXPECT_EQ(open_api.find("api/v2"), nullptr);
}

TEST(OpenApi, TwoServersOfOneProgramAgree) {
  EXPECT_EQ(OpenApi(registry()).index().text, OpenApi(registry()).index().text);
}

TEST(OpenApi, WritesDeclareTheParametersClientsLookFor) {
  const OpenApi open_api(registry());
  const json::Value doc = document(open_api, "apis/machineconfiguration.openshift.io/v1");
  const json::Object& paths = doc.at("paths").as_object();
  const std::string base = "/apis/machineconfiguration.openshift.io/v1/machineconfigpools";
  for (const auto& [path, method] :
       {std::pair(base, "post"), std::pair(base + "/{name}", "put"), std::pair(base + "/{name}", "patch"),
        std::pair(base + "/{name}/status", "put"), std::pair(base + "/{name}/status", "patch")}) {
    const json::Value& operation = paths.at(path).at(method);
    const auto names = parameter_names(operation);
    for (const char* name : {"dryRun", "fieldManager", "fieldValidation"}) {
      EXPECT_TRUE(names.contains(name)) << path << " " << method << " " << name;
    }
    EXPECT_EQ(json::write(operation.at("x-kubernetes-group-version-kind")),
              R"({"group":"machineconfiguration.openshift.io","kind":"MachineConfigPool","version":"v1"})");
  }
}

TEST(OpenApi, StrategicMergeIsNotOffered) {
  const OpenApi open_api(registry());
  for (const char* path : {"api/v1", "apis/policy/v1"}) {
    const OpenApi::Document* found = open_api.find(path);
    ASSERT_NE(found, nullptr) << path;
    EXPECT_EQ(found->text.find("strategic-merge-patch"), std::string::npos) << path;
  }
}

TEST(OpenApi, SchemasKeepWhatTheDefinitionSays) {
  const OpenApi open_api(registry());
  const json::Value doc = document(open_api, "apis/machineconfiguration.openshift.io/v1");
  const json::Object& schemas = doc.at("components").at("schemas").as_object();
  const json::Value& pool = schemas.at("io.openshift.machineconfiguration.v1.MachineConfigPool");
  EXPECT_EQ(json::write(pool.at("x-kubernetes-group-version-kind")),
            R"([{"group":"machineconfiguration.openshift.io","kind":"MachineConfigPool","version":"v1"}])");
  const json::Value& selector = pool.at("properties").at("spec").at("properties").at("machineConfigSelector");
  EXPECT_EQ(selector.at("x-kubernetes-map-type").as_string(), "atomic");
  EXPECT_FALSE(selector.at("description").as_string().empty());
  EXPECT_EQ(json::write(pool.at("properties").at("metadata").at("allOf")),
            R"([{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}])");
  EXPECT_TRUE(schemas.contains("io.openshift.machineconfiguration.v1.MachineConfigPoolList"));
}

TEST(OpenApi, BuiltinTypesHaveTheNamesClientsKnow) {
  const OpenApi open_api(registry());
  EXPECT_TRUE(
      document(open_api, "api/v1").at("components").at("schemas").as_object().contains("io.k8s.api.core.v1.Node"));
  EXPECT_TRUE(document(open_api, "apis/coordination.k8s.io/v1")
                  .at("components")
                  .at("schemas")
                  .as_object()
                  .contains("io.k8s.api.coordination.v1.Lease"));
  const json::Value core = document(open_api, "api/v1");
  const json::Object& paths = core.at("paths").as_object();
  EXPECT_EQ(json::write(paths.at("/api/v1/namespaces/{namespace}/pods/{name}/eviction")
                            .at("post")
                            .at("x-kubernetes-group-version-kind")),
            R"({"group":"policy","kind":"Eviction","version":"v1"})");
  EXPECT_TRUE(paths.at("/api/v1/pods").as_object().contains("get"));
  EXPECT_FALSE(paths.at("/api/v1/namespaces").as_object().contains("delete"));
}

TEST(OpenApi, EveryReferenceLeadsSomewhere) {
  const OpenApi open_api(registry());
  const auto index = json::parse(open_api.index().text);
  ASSERT_TRUE(index.ok());
  for (const auto& path : index->at("paths").as_object()) {
    const json::Value doc = document(open_api, std::string(path.key()));
    std::set<std::string> references;
    collect_references(doc, references);
    ASSERT_FALSE(references.empty());
    const json::Object& schemas = doc.at("components").at("schemas").as_object();
    for (const std::string& reference : references) {
      constexpr std::string_view kPrefix = "#/components/schemas/";
      ASSERT_TRUE(reference.starts_with(kPrefix)) << reference;
      EXPECT_TRUE(schemas.contains(reference.substr(kPrefix.size()))) << path.key() << ": " << reference;
    }
  }
}

}  // namespace strake::apistore::rest::openapi_test
