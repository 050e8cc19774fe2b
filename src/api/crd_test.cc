// The definitions in deploy/crds and src/apistore/builtin: consistent with each other and with the descriptors, and
// inside the subset of schemas that both a real server and the embedded store accept.

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "api/crd_files.h"
#include "api/kinds.h"
#include "api/testing/schema.h"
#include "codec/yaml.h"
#include "support/places.h"

namespace strake::api::crd_test {

struct SourceFile {
  std::string name;
  std::string contents;
};

std::vector<SourceFile> files_in(std::string_view folder) {
  std::vector<SourceFile> files;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_folder() / folder)) {
    std::ifstream stream(entry.path(), std::ios::binary);
    std::ostringstream contents;
    contents << stream.rdbuf();
    files.push_back({entry.path().filename(), contents.str()});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

std::vector<testing::Crd> builtin_crds() {
  std::vector<testing::Crd> crds;
  for (const SourceFile& file : files_in("src/apistore/builtin")) {
    Result<testing::Crd> crd = testing::parse_crd({file.name, file.contents});
    EXPECT_TRUE(crd.ok()) << crd.error().to_string();
    if (crd.ok()) crds.push_back(*std::move(crd));
  }
  return crds;
}

std::vector<testing::Crd> all_crds() {
  Result<std::vector<testing::Crd>> crds = testing::load_crds();
  EXPECT_TRUE(crds.ok()) << crds.error().to_string();
  std::vector<testing::Crd> all = crds.ok() ? *std::move(crds) : std::vector<testing::Crd>{};
  for (testing::Crd& crd : builtin_crds()) all.push_back(std::move(crd));
  return all;
}

std::vector<std::string> texts(const json::Value* list) {
  std::vector<std::string> found;
  if (list == nullptr || !list->is_array()) return found;
  for (const json::Value& item : list->get_array())
    found.emplace_back(item.is_string() ? json::as_view(item.get_string()) : "?");
  return found;
}

kube::Resource describe(const testing::Crd& crd) {
  return {crd.text({"spec", "group"}), json::find_string(crd.version(), {"name"}).value_or(""),
          crd.text({"spec", "names", "kind"}), crd.plural(), crd.text({"spec", "scope"}) == "Namespaced"};
}

TEST(EmbeddedCrds, AreTheFilesByteForByte) {
  const std::vector<SourceFile> files = files_in("deploy/crds");
  ASSERT_EQ(files.size(), crd_files().size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(files[i].name, crd_files()[i].name);
    EXPECT_TRUE(files[i].contents == crd_files()[i].contents) << files[i].name;
  }
}

TEST(Crds, MatchTheDescriptors) {
  const Result<std::vector<testing::Crd>> crds = testing::load_crds();
  ASSERT_TRUE(crds.ok()) << crds.error().to_string();
  ASSERT_EQ(crds->size(), all_kinds().size());
  for (const kube::Resource& kind : all_kinds()) {
    const Result<testing::Crd> crd = testing::load_crd(kind.qualified_name());
    ASSERT_TRUE(crd.ok()) << crd.error().to_string();
    EXPECT_EQ(describe(*crd), kind) << kind.kind;
  }
}

TEST(BuiltinKinds, MatchTheDescriptors) {
  using namespace kube::core;
  std::vector<kube::Resource> expected{kNamespace, kNode,  kPod,   kSecret,
                                       kConfigMap, kEvent, kLease, kPodDisruptionBudget};
  const std::vector<testing::Crd> crds = builtin_crds();
  EXPECT_EQ(crds.size(), expected.size());
  for (const testing::Crd& crd : crds) {
    EXPECT_EQ(std::erase(expected, describe(crd)), 1u) << crd.file;
    EXPECT_NE(json::find(crd.document, {"metadata", "annotations", "strake.dev/table"}), nullptr) << crd.file;
  }
}

TEST(Crds, AreNamedConsistently) {
  std::set<std::string> names;
  const auto take = [&](const std::string& group, const std::string& name, const std::string& file) {
    EXPECT_TRUE(names.insert(group + "/" + name).second) << file << ": the name " << name << " is taken in its group";
  };
  std::set<std::string> short_names;
  for (const testing::Crd& crd : all_crds()) {
    SCOPED_TRACE(crd.file);
    const std::string group = crd.text({"spec", "group"});
    const std::string kind = crd.text({"spec", "names", "kind"});
    const std::string singular = crd.text({"spec", "names", "singular"});
    EXPECT_EQ(crd.text({"apiVersion"}), "apiextensions.k8s.io/v1");
    EXPECT_EQ(crd.text({"kind"}), "CustomResourceDefinition");
    EXPECT_EQ(crd.text({"metadata", "name"}), crd.qualified_kind());
    EXPECT_EQ(crd.file, (group.empty() ? "" : group + "_") + crd.plural() + ".yaml");
    EXPECT_EQ(crd.text({"spec", "names", "listKind"}), kind + "List");
    const std::string stem = singular.substr(0, singular.size() - (singular.ends_with("y") ? 1 : 0));
    EXPECT_EQ(crd.plural(), stem + (singular.ends_with("y") ? "ies" : singular.ends_with("s") ? "es" : "s"));
    std::string lower_kind = kind;
    std::transform(lower_kind.begin(), lower_kind.end(), lower_kind.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    EXPECT_EQ(singular, lower_kind);
    EXPECT_TRUE(json::find_bool(crd.version(), {"served"}).value_or(false));
    EXPECT_TRUE(json::find_bool(crd.version(), {"storage"}).value_or(false));
    take(group, crd.plural(), crd.file);
    take(group, singular, crd.file);
    for (const std::string& name : texts(json::find(crd.document, {"spec", "names", "shortNames"}))) {
      EXPECT_TRUE(short_names.insert(name).second) << "short name " << name << " is used twice";
      EXPECT_FALSE(names.contains(group + "/" + name)) << name;
    }
  }
}

/// What keeps a schema structural, and inside what the embedded store's validator knows.
class SchemaCheck {
 public:
  explicit SchemaCheck(std::string file) : file_(std::move(file)) {}

  void check(const json::Value& schema, const std::string& path) {
    ASSERT_TRUE(schema.is_object()) << where(path);
    check_keywords(schema, path);
    const bool int_or_string = json::find_bool(schema, {"x-kubernetes-int-or-string"}).value_or(false);
    const std::string type = json::find_string(schema, {"type"}).value_or("");
    EXPECT_EQ(int_or_string, type.empty()) << where(path) << ": a type, or x-kubernetes-int-or-string";
    if (const auto pattern = json::find_string(schema, {"pattern"})) {
      EXPECT_TRUE(re2::RE2(*pattern).ok()) << where(path) << ": pattern " << *pattern;
      EXPECT_TRUE(pattern->starts_with('^')) << where(path) << ": an unanchored pattern";
    }
    if (type == "array") check_list(schema, path);
    const json::Value* properties = json::find(schema, {"properties"});
    const json::Value* values = json::find(schema, {"additionalProperties"});
    EXPECT_FALSE(properties != nullptr && values != nullptr) << where(path);
    if (type == "object" && !path.ends_with("metadata")) {
      EXPECT_TRUE(properties != nullptr || values != nullptr ||
                  json::find_bool(schema, {"x-kubernetes-preserve-unknown-fields"}).value_or(false))
          << where(path) << ": an object of which everything would be pruned";
    }
    for (const std::string& name : texts(json::find(schema, {"required"}))) {
      EXPECT_NE(json::find(schema, {"properties", name}), nullptr) << where(path) << ": requires undeclared " << name;
    }
    if (properties != nullptr) {
      for (const auto& [name, property] : properties->as_object()) {
        check(property, path.empty() ? std::string(name) : path + "." + std::string(name));
      }
    }
    if (values != nullptr) check(*values, path + ".*");
  }

 private:
  std::string where(const std::string& path) const { return file_ + ": " + (path.empty() ? "(root)" : path); }

  void check_keywords(const json::Value& schema, const std::string& path) {
    static const std::set<std::string_view> kKnown{"description",
                                                   "type",
                                                   "format",
                                                   "nullable",
                                                   "default",
                                                   "enum",
                                                   "pattern",
                                                   "minLength",
                                                   "maxLength",
                                                   "minimum",
                                                   "maximum",
                                                   "minItems",
                                                   "maxItems",
                                                   "minProperties",
                                                   "maxProperties",
                                                   "items",
                                                   "properties",
                                                   "additionalProperties",
                                                   "required",
                                                   "anyOf",
                                                   "x-kubernetes-preserve-unknown-fields",
                                                   "x-kubernetes-int-or-string",
                                                   "x-kubernetes-embedded-resource",
                                                   "x-kubernetes-list-type",
                                                   "x-kubernetes-list-map-keys",
                                                   "x-kubernetes-map-type",
                                                   "x-kubernetes-validations"};
    for (const auto& [keyword, value] : schema.as_object()) {
      EXPECT_TRUE(kKnown.contains(std::string_view(keyword.data(), keyword.size()))) << where(path) << ": " << keyword;
    }
    if (const json::Value* rules = json::find(schema, {"x-kubernetes-validations"})) {
      for (const json::Value& rule : rules->as_array()) {
        EXPECT_FALSE(json::find_string(rule, {"rule"}).value_or("").empty()) << where(path);
        EXPECT_FALSE(json::find_string(rule, {"message"}).value_or("").empty()) << where(path);
      }
    }
  }

  void check_list(const json::Value& schema, const std::string& path) {
    const json::Value* items = json::find(schema, {"items"});
    ASSERT_NE(items, nullptr) << where(path);
    const std::string list_type = json::find_string(schema, {"x-kubernetes-list-type"}).value_or("");
    EXPECT_TRUE(list_type == "atomic" || list_type == "set" || list_type == "map") << where(path) << ": " << list_type;
    const std::vector<std::string> keys = texts(json::find(schema, {"x-kubernetes-list-map-keys"}));
    EXPECT_EQ(list_type == "map", !keys.empty()) << where(path);
    const std::vector<std::string> required = texts(json::find(*items, {"required"}));
    for (const std::string& key : keys) {
      const json::Value* property = json::find(*items, {"properties", key});
      ASSERT_NE(property, nullptr) << where(path) << ": map key " << key;
      EXPECT_TRUE(std::find(required.begin(), required.end(), key) != required.end() ||
                  json::find(*property, {"default"}) != nullptr)
          << where(path) << ": map key " << key << " is neither required nor has a default";
    }
    check(*items, path + "[]");
  }

  std::string file_;
};

TEST(Crds, HaveStructuralSchemas) {
  for (const testing::Crd& crd : all_crds()) SchemaCheck(crd.file).check(crd.schema(), "");
}

TEST(Crds, PrinterColumnsPointAtDeclaredFields) {
  for (const testing::Crd& crd : all_crds()) {
    const json::Value* columns = json::find(crd.version(), {"additionalPrinterColumns"});
    if (columns == nullptr) continue;
    for (const json::Value& column : columns->as_array()) {
      const std::string path = json::find_string(column, {"jsonPath"}).value_or("");
      SCOPED_TRACE(crd.file + ": " + path);
      EXPECT_FALSE(json::find_string(column, {"name"}).value_or("").empty());
      static const std::set<std::string> kTypes{"string", "integer", "number", "boolean", "date"};
      EXPECT_TRUE(kTypes.contains(json::find_string(column, {"type"}).value_or("")));
      ASSERT_TRUE(path.starts_with('.'));
      // Metadata is not in the schema, and what follows a free-form field cannot be.
      if (path.starts_with(".metadata.") || path == ".spec.config.ignition.version") continue;
      std::string plain = path.substr(1);
      re2::RE2::GlobalReplace(&plain, R"(\[\?\(@\.[a-z]+=="[A-Za-z]+"\)\])", "[]");
      EXPECT_NE(testing::schema_at(crd.schema(), plain), nullptr);
    }
  }
}

/// kubectl and the servers read YAML 1.1, where these plain words are booleans (and this has silently renamed fields).
TEST(Yaml, HasNoPlainBooleanWords) {
  const re2::RE2 key(R"((?mi)^\s*(?:- )?(y|n|yes|no|on|off|true|false)\s*:)");
  const re2::RE2 item(R"((?mi)^\s*- (y|n|yes|no|on|off)\s*$)");
  const re2::RE2 flow(R"((?mi)[\[,]\s*(y|n|yes|no|on|off)\s*[,\]])");
  const re2::RE2 value(R"((?mi):\s+(y|n|yes|no|on|off)\s*$)");
  for (const std::string_view folder : {"deploy/crds", "deploy/rbac", "src/apistore/builtin"}) {
    for (const SourceFile& file : files_in(folder)) {
      for (const re2::RE2* pattern : {&key, &item, &flow, &value}) {
        std::string word;
        EXPECT_FALSE(re2::RE2::PartialMatch(file.contents, *pattern, &word)) << file.name << ": quote " << word;
      }
    }
  }
}

/// Every rule of a role: who may do what with which resource.
struct Grant {
  std::string role;
  std::vector<std::string> groups;
  std::vector<std::string> resources;
  std::vector<std::string> verbs;
};

std::vector<Grant> grants() {
  std::vector<Grant> found;
  for (const SourceFile& file : files_in("deploy/rbac")) {
    const Result<std::vector<yaml::Document>> documents = yaml::parse_stream(file.contents);
    EXPECT_TRUE(documents.ok()) << file.name << ": " << documents.error().to_string();
    if (!documents.ok()) continue;
    for (const yaml::Document& document : *documents) {
      const json::Value* rules = json::find(document.value, {"rules"});
      if (rules == nullptr) continue;
      for (const json::Value& rule : rules->as_array()) {
        found.push_back({json::find_string(document.value, {"metadata", "name"}).value_or(""),
                         texts(json::find(rule, {"apiGroups"})), texts(json::find(rule, {"resources"})),
                         texts(json::find(rule, {"verbs"}))});
      }
    }
  }
  return found;
}

TEST(Rbac, NamesOnlyResourcesThatExist) {
  std::set<std::string> known;
  std::set<std::string> groups;
  for (const kube::Resource& kind : all_kinds()) {
    groups.insert(kind.group);
    known.insert(kind.group + "/" + kind.plural);
  }
  ASSERT_FALSE(grants().empty());
  for (const Grant& grant : grants()) {
    for (const std::string& group : grant.groups) {
      if (!groups.contains(group)) continue;
      for (const std::string& resource : grant.resources) {
        EXPECT_TRUE(known.contains(group + "/" + resource.substr(0, resource.find('/'))))
            << grant.role << ": " << resource;
      }
    }
  }
}

TEST(Rbac, AgentsHaveNothingInCommonButToReadByName) {
  bool seen = false;
  for (const Grant& grant : grants()) {
    if (!grant.role.starts_with("strake-agent")) continue;
    seen = true;
    EXPECT_EQ(grant.verbs, std::vector<std::string>{"get"}) << grant.role;
    for (const std::string& resource : grant.resources) {
      EXPECT_TRUE(resource != "secrets" && resource != "configmaps" && resource != "*")
          << grant.role << ": " << resource;
    }
  }
  EXPECT_TRUE(seen);
}

TEST(Rbac, ViewerSeesNothingThatHoldsSecretsAndWritesNothing) {
  for (const Grant& grant : grants()) {
    if (grant.role != "strake-viewer") continue;
    for (const std::string& verb : grant.verbs) EXPECT_TRUE(verb == "get" || verb == "list" || verb == "watch") << verb;
    for (const std::string& resource : grant.resources) {
      EXPECT_TRUE(resource != "secrets" && resource != "machineconfigs" && resource != "controllerconfigs") << resource;
    }
  }
}

}  // namespace strake::api::crd_test
