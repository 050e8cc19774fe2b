#include "apistore/rest/discovery.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "apistore/rest/reviews.h"
#include "codec/json.h"
#include "kube/resource.h"

namespace strake::apistore::rest {

namespace {

/// Kubernetes' order of versions: v2, v1, v1beta2, v1beta1, v1alpha1, then everything else by name.
std::tuple<int, int, int> version_rank(std::string_view name) {
  constexpr std::tuple kNotAVersion{0, 0, 0};
  if (!name.starts_with('v')) return kNotAVersion;
  const char* const end = name.data() + name.size();
  int major = 0;
  auto parsed = std::from_chars(name.data() + 1, end, major);
  if (parsed.ec != std::errc()) return kNotAVersion;
  const std::string_view rest(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
  if (rest.empty()) return {3, major, 0};
  for (const auto& [word, stage] : {std::pair("beta", 2), std::pair("alpha", 1)}) {
    if (!rest.starts_with(word)) continue;
    int minor = 0;
    parsed = std::from_chars(rest.data() + std::string_view(word).size(), end, minor);
    if (parsed.ec == std::errc() && parsed.ptr == end) return {stage, major, minor};
  }
  return kNotAVersion;
}

json::Array string_array(const auto& texts) {
  json::Array array;
  for (const auto& text : texts) array.emplace_back(json::Value(std::string_view(text)));
  return array;
}

json::Array resources_of(const Kind& kind, const KindVersion& version) {
  json::Array resources;
  json::Object main{{"name", kind.plural},
                    {"singularName", kind.singular},
                    {"namespaced", kind.namespaced},
                    {"kind", kind.kind},
                    {"verbs", string_array(verbs_of(kind))}};
  if (!kind.short_names.empty()) main["shortNames"] = string_array(kind.short_names);
  if (!kind.categories.empty()) main["categories"] = string_array(kind.categories);
  resources.push_back(std::move(main));
  if (kind.builtin && kind.group.empty() && kind.plural == kube::core::kPod.plural) {
    resources.push_back(json::Object{{"name", "pods/eviction"},
                                     {"singularName", ""},
                                     {"namespaced", true},
                                     {"group", "policy"},
                                     {"version", "v1"},
                                     {"kind", "Eviction"},
                                     {"verbs", json::Array{"create"}}});
  }
  if (version.has_status) {
    resources.push_back(json::Object{{"name", kind.plural + "/status"},
                                     {"singularName", ""},
                                     {"namespaced", kind.namespaced},
                                     {"kind", kind.kind},
                                     {"verbs", json::Array{"get", "patch", "update"}}});
  }
  return resources;
}

json::Value resource_list(const Registry& registry, std::string_view group, std::string_view version_name) {
  json::Array resources;
  for (const Kind& kind : registry.kinds()) {
    const KindVersion* version = kind.group == group ? kind.version(version_name) : nullptr;
    if (version == nullptr || !version->served) continue;
    for (json::Value& resource : resources_of(kind, *version)) resources.push_back(std::move(resource));
  }
  return json::Object{
      {"kind", "APIResourceList"},
      {"apiVersion", "v1"},
      {"groupVersion", group.empty() ? std::string(version_name) : fmt::format("{}/{}", group, version_name)},
      {"resources", std::move(resources)}};
}

json::Object group_summary(const Registry& registry, const std::string& group) {
  json::Array versions;
  for (const std::string& version : served_versions(registry, group)) {
    versions.push_back(json::Object{{"groupVersion", fmt::format("{}/{}", group, version)}, {"version", version}});
  }
  json::Value preferred = versions.front();
  return {{"name", group}, {"versions", std::move(versions)}, {"preferredVersion", std::move(preferred)}};
}

std::string_view platform() {
#if defined(__aarch64__)
  return "linux/arm64";
#elif defined(__powerpc64__)
  return "linux/ppc64le";
#elif defined(__s390x__)
  return "linux/s390x";
#else
  return "linux/amd64";
#endif
}

json::Value version_document(std::string_view program_version) {
  return json::Object{{"major", "1"},
                      {"minor", "34"},
                      {"gitVersion", fmt::format("{}+strake-{}", kKubernetesVersion, program_version)},
                      {"gitCommit", ""},
                      {"gitTreeState", ""},
                      {"buildDate", ""},
                      {"goVersion", ""},
                      {"compiler", ""},
                      {"platform", platform()}};
}

}  // namespace

std::vector<std::string_view> verbs_of(const Kind& kind) {
  // In the order kube-apiserver lists them for custom resources and for its own kinds; `kubectl api-resources` keeps
  // it.
  if (!kind.builtin) return {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
  std::vector<std::string_view> verbs = {"create", "delete", "deletecollection", "get",
                                         "list",   "patch",  "update",           "watch"};
  // Removing every namespace at once is nobody's intention.
  if (kind.builtin && kind.group.empty() && kind.plural == kube::core::kNamespace.plural)
    std::erase(verbs, "deletecollection");
  return verbs;
}

std::vector<std::string> served_versions(const Registry& registry, std::string_view group) {
  std::set<std::string> names;
  for (const Kind& kind : registry.kinds()) {
    if (kind.group != group) continue;
    for (const KindVersion& version : kind.versions) {
      if (version.served) names.insert(version.name);
    }
  }
  std::vector<std::string> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end(), [](const std::string& a, const std::string& b) {
    const auto rank_a = version_rank(a), rank_b = version_rank(b);
    return rank_a != rank_b ? rank_a > rank_b : a < b;
  });
  return sorted;
}

std::vector<std::string> served_groups(const Registry& registry) {
  std::set<std::string> groups;
  for (const Kind& kind : registry.kinds()) {
    if (!served_versions(registry, kind.group).empty()) groups.insert(kind.group);
  }
  return {groups.begin(), groups.end()};
}

Discovery::Discovery(const Registry& registry, std::string_view program_version) {
  const auto keep = [this](std::string path, const json::Value& document) {
    documents_.emplace(std::move(path), json::write(document) + "\n");
  };
  json::Array groups;
  json::Array root_paths = {"/api", "/api/v1", "/apis"};
  for (const std::string& group : served_groups(registry)) {
    const std::string base = group.empty() ? "api" : "apis/" + group;
    for (const std::string& version : served_versions(registry, group)) {
      keep(fmt::format("{}/{}", base, version), resource_list(registry, group, version));
      if (!group.empty()) root_paths.emplace_back(fmt::format("/{}/{}", base, version));
    }
    if (group.empty()) continue;
    json::Object summary = group_summary(registry, group);
    json::Object alone{{"kind", "APIGroup"}, {"apiVersion", "v1"}};
    for (const auto& member : summary) alone.emplace(member.key(), member.value());
    keep(base, std::move(alone));
    groups.push_back(std::move(summary));
  }
  for (const ReviewKind& review : review_kinds()) {
    const std::string path = fmt::format("apis/{}/{}", review.group, review.version);
    const json::Value version =
        json::Object{{"groupVersion", fmt::format("{}/{}", review.group, review.version)}, {"version", review.version}};
    if (documents_.contains(path)) continue;  // a group of several reviews
    json::Array resources;
    for (const ReviewKind& other : review_kinds()) {
      if (other.group != review.group) continue;
      resources.push_back(json::Object{{"name", other.plural},
                                       {"singularName", other.singular},
                                       {"namespaced", false},
                                       {"kind", other.kind},
                                       {"verbs", json::Array{"create"}}});
    }
    keep(path, json::Object{{"kind", "APIResourceList"},
                            {"apiVersion", "v1"},
                            {"groupVersion", fmt::format("{}/{}", review.group, review.version)},
                            {"resources", std::move(resources)}});
    const json::Object summary{
        {"name", review.group}, {"versions", json::Array{version}}, {"preferredVersion", version}};
    json::Object alone{{"kind", "APIGroup"}, {"apiVersion", "v1"}};
    for (const auto& member : summary) alone.emplace(member.key(), member.value());
    keep(fmt::format("apis/{}", review.group), std::move(alone));
    groups.push_back(summary);
    root_paths.emplace_back("/" + path);
  }
  keep("api", json::Object{{"kind", "APIVersions"},
                           {"versions", string_array(served_versions(registry, ""))},
                           {"serverAddressByClientCIDRs", json::Array{}}});
  keep("apis", json::Object{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}});
  keep("version", version_document(program_version));
  for (const std::string_view path : {"/healthz", "/livez", "/metrics", "/openapi/v3", "/readyz", "/version"}) {
    root_paths.emplace_back(path);
  }
  keep("", json::Object{{"paths", std::move(root_paths)}});
}

const std::string* Discovery::document(const std::vector<std::string>& segments) const {
  if (segments.size() > 3) return nullptr;
  // An encoded slash stays inside its segment and must not read as a separator here.
  const auto has_slash = [](const std::string& segment) { return segment.find('/') != std::string::npos; };
  if (std::any_of(segments.begin(), segments.end(), has_slash)) return nullptr;
  const auto found = documents_.find(fmt::format("{}", fmt::join(segments, "/")));
  return found == documents_.end() ? nullptr : &found->second;
}

}  // namespace strake::apistore::rest
