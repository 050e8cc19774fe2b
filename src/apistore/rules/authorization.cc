#include "apistore/rules/authorization.h"

#include <algorithm>
#include <array>

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "codec/json_patch.h"
#include "kube/resource.h"

namespace strake::apistore {

namespace {

constexpr std::string_view kOwnPrefix = "machineconfiguration.openshift.io/";
constexpr std::array<std::string_view, 3> kReadVerbs = {"get", "list", "watch"};

bool is_read(std::string_view verb) {
  return std::find(kReadVerbs.begin(), kReadVerbs.end(), verb) != kReadVerbs.end();
}
bool is_change(std::string_view verb) { return verb == "update" || verb == "patch"; }

Error forbidden(const Caller& caller, const Access& access, std::string_view why = "") {
  const std::string resource = access.subresource.empty() ? access.plural : access.plural + "/" + access.subresource;
  const std::string object = access.group.empty() ? access.plural : access.plural + "." + access.group;
  const std::string where =
      access.ns.empty() ? "at the cluster scope" : fmt::format("in the namespace \"{}\"", access.ns);
  const std::string subject = access.name.empty() ? object : fmt::format("{} \"{}\"", object, access.name);
  std::string message = fmt::format("{} is forbidden: User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {}",
                                    subject, caller.user, access.verb, resource, access.group, where);
  if (!why.empty()) message += fmt::format(": {}", why);
  return Error(Code::kDenied, std::move(message)).with_reason("Forbidden");
}

bool is(const Access& access, const kube::Resource& resource) {
  return access.group == resource.group && access.plural == resource.plural;
}

/// Everything outside `owned_maps` is equal; within them only keys with our prefix differ.
bool changes_own_keys_only(const json::Value& before, const json::Value& after) {
  const json::Object none;
  const auto map_of = [&](const json::Value& object, std::string_view name) -> const json::Object& {
    const json::Value* found = json::find(object, {"metadata", name});
    return found != nullptr && found->is_object() ? found->get_object() : none;
  };
  for (const std::string_view name : {"labels", "annotations"}) {
    const json::Object& old_map = map_of(before, name);
    const json::Object& new_map = map_of(after, name);
    const auto differs_in = [](const json::Object& from, const json::Object& to) {
      return std::any_of(from.begin(), from.end(), [&](const auto& entry) {
        const std::string_view key(entry.key().data(), entry.key().size());
        if (key.starts_with(kOwnPrefix) || key == api::node_annotation::kExecutedClass) return false;
        const json::Value* other = to.if_contains(entry.key());
        return other == nullptr || *other != entry.value();
      });
    };
    if (differs_in(old_map, new_map) || differs_in(new_map, old_map)) return false;
  }
  const auto same = [&](std::initializer_list<std::string_view> path) {
    const json::Value* old_value = json::find(before, path);
    const json::Value* new_value = json::find(after, path);
    if (old_value == nullptr || new_value == nullptr) return old_value == new_value;
    return json::same_value(*old_value, *new_value);
  };
  return same({"spec"}) && same({"metadata", "ownerReferences"}) && same({"metadata", "finalizers"});
}

Status authorize_agent_write(const Caller& caller, const Access& access, const std::string& node,
                             const json::Value* before, const json::Value* after) {
  if (is(access, kube::core::kNode)) {
    const bool own =
        is_change(access.verb) && access.name == node && (access.subresource.empty() || access.subresource == "status");
    if (!own) return forbidden(caller, access);
    if (before == nullptr || after == nullptr) return {};
    if (!changes_own_keys_only(*before, *after)) {
      return forbidden(
          caller, access,
          fmt::format("an agent may change the status and the {} labels and annotations of its node only", kOwnPrefix));
    }
    return {};
  }
  if (is(access, api::kMachineConfigNode)) {
    const bool allowed =
        access.name == node && (is_change(access.verb) || (access.verb == "create" && access.subresource.empty()));
    if (allowed) return {};
    return forbidden(caller, access);
  }
  if (is(access, kube::core::kLease)) {
    const bool allowed = access.name == node &&
                         (access.ns == "kube-node-lease" || access.ns == api::kStrakeNamespace) &&
                         (is_change(access.verb) || access.verb == "create");
    if (allowed) return {};
    return forbidden(caller, access);
  }
  if (is(access, kube::core::kEvent)) {
    if (access.verb != "create" && !is_change(access.verb)) return forbidden(caller, access);
    for (const json::Value* event : {before, after}) {
      if (event == nullptr) continue;
      const std::string about = json::find_string(*event, {"involvedObject", "kind"}).value_or("");
      const std::string name = json::find_string(*event, {"involvedObject", "name"}).value_or("");
      if ((about != "Node" && about != "MachineConfigNode") || name != node) {
        return forbidden(caller, access, "an agent may report events of its own Node and MachineConfigNode only");
      }
    }
    return {};
  }
  return forbidden(caller, access);
}

Status authorize_agent(const Caller& caller, const Access& access, const json::Value* before,
                       const json::Value* after) {
  const std::string node = caller.user.substr(api::kAgentUserPrefix.size());
  if (!is_read(access.verb)) return authorize_agent_write(caller, access, node, before, after);

  const bool named_after_node =
      is(access, kube::core::kNode) || is(access, api::kMachineConfigNode) ||
      (is(access, kube::core::kLease) && (access.ns == "kube-node-lease" || access.ns == api::kStrakeNamespace));
  if (named_after_node && access.name == node) return {};
  // By name only: a MachineConfig of another pool may hold secrets, and the name of a rendered one cannot be guessed.
  if (is(access, api::kMachineConfig) && access.verb == "get") return {};
  for (const kube::Resource* shared :
       {&api::kMachineConfigPool, &api::kControllerConfig, &api::kMachineConfiguration, &api::kOsImageStream}) {
    if (is(access, *shared)) return {};
  }
  return forbidden(caller, access);
}

}  // namespace

bool Caller::in_group(std::string_view group) const {
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

Caller Caller::system(std::string_view component) { return {fmt::format("system:{}", component), {"system:masters"}}; }

Status authorize(const Caller& caller, const Access& access, const json::Value* before, const json::Value* after) {
  if (caller.is_admin()) return {};
  if (caller.in_group(api::kAgentGroup) && caller.user.starts_with(api::kAgentUserPrefix) &&
      caller.user.size() > api::kAgentUserPrefix.size()) {
    return authorize_agent(caller, access, before, after);
  }
  const bool is_secret = is(access, kube::core::kSecret);
  if (caller.in_group("strake:viewers") && is_read(access.verb) && !is_secret) return {};
  return forbidden(caller, access);
}

}  // namespace strake::apistore
