#include "kube/discovery.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "net/http.h"

namespace strake::kube {

namespace {

std::vector<std::string> strings_at(const json::Value& root, std::string_view field) {
  std::vector<std::string> strings;
  const json::Value* found = json::find(root, {field});
  if (found == nullptr || !found->is_array()) return strings;
  for (const json::Value& item : found->get_array()) {
    if (item.is_string()) strings.emplace_back(json::as_view(item.get_string()));
  }
  return strings;
}

bool has(const std::vector<std::string>& list, std::string_view word) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& item) { return equal_ignoring_case(item, word); });
}

bool is_called(const ApiResource& resource, std::string_view word) {
  return equal_ignoring_case(resource.resource.plural, word) || equal_ignoring_case(resource.singular, word) ||
         equal_ignoring_case(resource.resource.kind, word) || has(resource.short_names, word);
}

/// The first resource the word names, in the order of the groups; words may be qualified by version and group.
std::optional<ApiResource> find_by_word(const std::vector<ApiResource>& resources, std::string_view word) {
  for (const ApiResource& resource : resources) {
    if (is_called(resource, word)) return resource;
  }
  const std::size_t dot = word.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view name = word.substr(0, dot);
  const std::string_view rest = word.substr(dot + 1);
  for (const ApiResource& resource : resources) {
    if (!is_called(resource, name)) continue;
    const Resource& r = resource.resource;
    if (rest == r.group || rest == (r.group.empty() ? r.version : r.version + "." + r.group)) return resource;
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<ApiResource>> parse_resource_list(const json::Value& list) {
  const auto group_version = json::find_string(list, {"groupVersion"});
  const json::Value* items = json::find(list, {"resources"});
  if (!group_version || items == nullptr || !items->is_array()) {
    return error(Code::kCorrupt, "the server's answer is not an APIResourceList");
  }
  const std::size_t slash = group_version->find('/');
  const std::string group = slash == std::string::npos ? "" : group_version->substr(0, slash);
  const std::string version = slash == std::string::npos ? *group_version : group_version->substr(slash + 1);

  std::vector<ApiResource> resources;
  std::map<std::string, std::vector<std::string>> subresources;
  for (const json::Value& item : items->get_array()) {
    const std::string name = json::find_string(item, {"name"}).value_or("");
    if (const std::size_t sub = name.find('/'); sub != std::string::npos) {
      subresources[name.substr(0, sub)].push_back(name.substr(sub + 1));
      continue;
    }
    ApiResource resource;
    resource.resource = {group, version, json::find_string(item, {"kind"}).value_or(""), name,
                         json::find_bool(item, {"namespaced"}).value_or(false)};
    if (name.empty() || resource.resource.kind.empty()) continue;
    resource.singular = json::find_string(item, {"singularName"}).value_or("");
    resource.short_names = strings_at(item, "shortNames");
    resource.categories = strings_at(item, "categories");
    resource.verbs = strings_at(item, "verbs");
    resources.push_back(std::move(resource));
  }
  for (ApiResource& resource : resources) resource.subresources = std::move(subresources[resource.resource.plural]);
  return resources;
}

Result<std::vector<ApiGroup>> Discovery::groups(const Call& call) const {
  STRAKE_TRY_CONTEXT(const json::Value core_versions, fetch_({"api"}, call), "asking for the API's versions");
  std::vector<ApiGroup> groups{{"", strings_at(core_versions, "versions")}};
  if (groups.front().versions.empty()) groups.clear();

  STRAKE_TRY_CONTEXT(const json::Value list, fetch_({"apis"}, call), "asking for the API's groups");
  const json::Value* items = json::find(list, {"groups"});
  if (items == nullptr || !items->is_array())
    return error(Code::kCorrupt, "the server's answer is not an APIGroupList");
  for (const json::Value& item : items->get_array()) {
    ApiGroup group{json::find_string(item, {"name"}).value_or(""), {}};
    const std::string preferred = json::find_string(item, {"preferredVersion", "version"}).value_or("");
    if (!preferred.empty()) group.versions.push_back(preferred);
    if (const json::Value* versions = json::find(item, {"versions"}); versions != nullptr && versions->is_array()) {
      for (const json::Value& version : versions->get_array()) {
        const std::string name = json::find_string(version, {"version"}).value_or("");
        if (!name.empty() && name != preferred) group.versions.push_back(name);
      }
    }
    if (!group.name.empty() && !group.versions.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

Result<std::vector<ApiResource>> Discovery::resources(const std::string& group, const std::string& version,
                                                      const Call& call) const {
  std::vector<std::string> path{"api", version};
  if (!group.empty()) path = {"apis", group, version};
  STRAKE_TRY_CONTEXT(const json::Value list, fetch_(std::move(path), call), "asking for the resources of {}/{}", group,
                     version);
  return parse_resource_list(list).context("the resources of {}/{}", group, version);
}

Result<std::vector<ApiResource>> Discovery::all(const Call& call, std::vector<std::string>* unavailable) const {
  STRAKE_TRY(const std::vector<ApiGroup> groups, this->groups(call));
  std::vector<ApiResource> everything;
  for (const ApiGroup& group : groups) {
    Result<std::vector<ApiResource>> found = resources(group.name, group.versions.front(), call);
    if (found.ok()) {
      std::move(found->begin(), found->end(), std::back_inserter(everything));
      continue;
    }
    // Groups served by extensions come and go; the rest of the API works without them.
    const Code code = found.error().code();
    if (code != Code::kUnavailable && code != Code::kNotFound && code != Code::kTimeout)
      return std::move(found).error();
    if (call.stop.stop_requested()) return std::move(found).error();
    if (unavailable != nullptr) unavailable->push_back(group.name);
  }
  return everything;
}

Result<ApiResource> Discovery::find(std::string_view word, const Call& call) {
  {
    std::lock_guard lock(mutex_);
    if (known_) {
      if (auto found = find_by_word(*known_, word)) return *std::move(found);
    }
  }
  std::vector<std::string> unavailable;
  STRAKE_TRY(std::vector<ApiResource> everything, all(call, &unavailable));
  std::optional<ApiResource> found = find_by_word(everything, word);
  {
    std::lock_guard lock(mutex_);
    known_ = std::move(everything);
  }
  if (found) return *std::move(found);
  std::string away;
  for (const std::string& group : unavailable) away += (away.empty() ? "; not answering now: " : ", ") + group;
  return error(Code::kNotFound, "the server has no kind of object called \"{}\"{}", word, away);
}

}  // namespace strake::kube
