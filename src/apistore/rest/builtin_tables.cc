#include "apistore/rest/builtin_tables.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "apistore/rest/human_duration.h"
#include "apistore/rest/pod_summary.h"
#include "base/text.h"

namespace strake::apistore::rest {

namespace {

using Path = std::initializer_list<std::string_view>;

constexpr std::string_view kAgeText = "How long ago the object was created.";
constexpr BuiltinColumn kNameColumn = {"Name", "string", "name", 0,
                                       "The object's name, unique within its kind and namespace."};
constexpr BuiltinColumn kAgeColumn = {"Age", "string", "", 0, kAgeText};

std::string cell_text(const json::Value& object, Path path, std::string_view otherwise = "") {
  auto text = json::find_string(object, path);
  return text && !text->empty() ? *std::move(text) : std::string(otherwise);
}

std::string object_name(const json::Value& object) { return cell_text(object, {"metadata", "name"}); }

std::string object_age(const json::Value& object, WallTime now) {
  return human_age(cell_text(object, {"metadata", "creationTimestamp"}), now);
}

std::int64_t member_count(const json::Value& object, std::string_view field) {
  const json::Value* members = json::find(object, {field});
  return members != nullptr && members->is_object() ? static_cast<std::int64_t>(members->get_object().size()) : 0;
}

// --- nodes ---

constexpr std::array kNodeColumns = {
    kNameColumn,
    BuiltinColumn{"Status", "string", "", 0, "Whether the node is ready, and whether pods may be scheduled to it."},
    BuiltinColumn{"Roles", "string", "", 0, "The node-role.kubernetes.io/ labels of the node."},
    kAgeColumn,
    BuiltinColumn{"Version", "string", "", 0, "The kubelet version the node reports."},
    BuiltinColumn{"Internal-IP", "string", "", 1, "The first address of type InternalIP."},
    BuiltinColumn{"External-IP", "string", "", 1, "The first address of type ExternalIP."},
    BuiltinColumn{"OS-Image", "string", "", 1, "The operating system the node reports."},
    BuiltinColumn{"Kernel-Version", "string", "", 1, "The kernel the node reports."},
    BuiltinColumn{"Container-Runtime", "string", "", 1, "The container runtime the node reports."},
};

const json::Value* element_of_type(const json::Value& object, Path list_path, std::string_view type) {
  const json::Value* list = json::find(object, list_path);
  if (list == nullptr || !list->is_array()) return nullptr;
  const json::Array& elements = list->get_array();
  const auto found = std::find_if(elements.begin(), elements.end(), [&](const json::Value& element) {
    return json::find_string(element, {"type"}) == type;
  });
  return found == elements.end() ? nullptr : &*found;
}

std::string node_status(const json::Value& node) {
  std::string status = "Unknown";
  if (const json::Value* ready = element_of_type(node, {"status", "conditions"}, "Ready"); ready != nullptr) {
    status = json::find_string(*ready, {"status"}) == "True" ? "Ready" : "NotReady";
  }
  if (json::find_bool(node, {"spec", "unschedulable"}).value_or(false)) status += ",SchedulingDisabled";
  return status;
}

std::string node_roles(const json::Value& node) {
  constexpr std::string_view kRolePrefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  if (const json::Value* labels = json::find(node, {"metadata", "labels"}); labels != nullptr && labels->is_object()) {
    for (const auto& label : labels->get_object()) {
      const std::string_view key(label.key().data(), label.key().size());
      if (key.starts_with(kRolePrefix) && key.size() > kRolePrefix.size()) {
        roles.emplace(key.substr(kRolePrefix.size()));
      } else if (key == "kubernetes.io/role" && label.value().is_string() && !label.value().get_string().empty()) {
        roles.emplace(json::as_view(label.value().get_string()));
      }
    }
  }
  return roles.empty() ? "<none>" : fmt::format("{}", fmt::join(roles, ","));
}

std::string node_address(const json::Value& node, std::string_view type) {
  const json::Value* address = element_of_type(node, {"status", "addresses"}, type);
  return address == nullptr ? "<none>" : cell_text(*address, {"address"});
}

json::Array node_cells(const json::Value& node, WallTime now) {
  const auto info = [&](std::string_view field) { return cell_text(node, {"status", "nodeInfo", field}, "<unknown>"); };
  return {object_name(node),
          node_status(node),
          node_roles(node),
          object_age(node, now),
          cell_text(node, {"status", "nodeInfo", "kubeletVersion"}),
          node_address(node, "InternalIP"),
          node_address(node, "ExternalIP"),
          info("osImage"),
          info("kernelVersion"),
          info("containerRuntimeVersion")};
}

// --- pods ---

constexpr std::array kPodColumns = {
    kNameColumn,
    BuiltinColumn{"Ready", "string", "", 0, "Containers that are ready, of all that keep running."},
    BuiltinColumn{"Status", "string", "", 0, "What the pod as a whole is doing, or what keeps it from starting."},
    BuiltinColumn{"Restarts", "string", "", 0,
                  "How often its containers were started again, and when the last time was."},
    kAgeColumn,
    BuiltinColumn{"IP", "string", "", 1, "The pod's first address."},
    BuiltinColumn{"Node", "string", "", 1, "The node the pod is bound to."},
    BuiltinColumn{"Nominated Node", "string", "", 1, "The node that is being cleared for the pod."},
    BuiltinColumn{"Readiness Gates", "string", "", 1, "Extra conditions that are true, of all the pod asks for."},
};

json::Array pod_cells(const json::Value& pod, WallTime now) {
  const PodSummary summary = summarize_pod(pod);
  std::string restarts = std::to_string(summary.restarts);
  if (summary.restarts != 0 && summary.last_restart) {
    restarts += fmt::format(" ({} ago)", human_duration(now - *summary.last_restart));
  }
  std::string ip = "<none>";
  if (const json::Value* ips = json::find(pod, {"status", "podIPs"});
      ips != nullptr && ips->is_array() && !ips->get_array().empty()) {
    ip = cell_text(ips->get_array().front(), {"ip"}, "<none>");
  }
  return {object_name(pod),
          fmt::format("{}/{}", summary.ready, summary.total),
          summary.status,
          restarts,
          object_age(pod, now),
          ip,
          cell_text(pod, {"spec", "nodeName"}, "<none>"),
          cell_text(pod, {"status", "nominatedNodeName"}, "<none>"),
          readiness_gates(pod)};
}

json::Array pod_conditions(const json::Value& pod) {
  const std::string phase = cell_text(pod, {"status", "phase"});
  if (phase != "Succeeded" && phase != "Failed") return {};
  return {json::Object{
      {"type", "Completed"},
      {"status", "True"},
      {"reason", phase},
      {"message", phase == "Failed" ? "a container of the pod failed" : "every container of the pod succeeded"}}};
}

// --- events ---

constexpr std::array kEventColumns = {
    BuiltinColumn{"Last Seen", "string", "", 0, "When it happened last."},
    BuiltinColumn{"Type", "string", "", 0, "Normal or Warning."},
    BuiltinColumn{"Reason", "string", "", 0, "Why it happened, in one word."},
    BuiltinColumn{"Object", "string", "", 0, "The object it is about."},
    BuiltinColumn{"Subobject", "string", "", 1, "The part of the object it is about."},
    BuiltinColumn{"Source", "string", "", 1, "Who reported it."},
    BuiltinColumn{"Message", "string", "", 0, "What happened, for people."},
    BuiltinColumn{"First Seen", "string", "", 1, "When it happened first."},
    BuiltinColumn{"Count", "string", "", 1, "How often it happened."},
    BuiltinColumn{"Name", "string", "name", 1, kNameColumn.description},
};

json::Array event_cells(const json::Value& event, WallTime now) {
  // Old clients fill in the timestamps, new ones eventTime and a series.
  std::string first = cell_text(event, {"firstTimestamp"});
  if (first.empty()) first = cell_text(event, {"eventTime"});
  std::string last = cell_text(event, {"lastTimestamp"}, first);
  std::int64_t count = json::find_int(event, {"count"}).value_or(0);
  if (const json::Value* series = json::find(event, {"series"}); series != nullptr && series->is_object()) {
    last = cell_text(*series, {"lastObservedTime"});
    count = json::find_int(*series, {"count"}).value_or(0);
  } else if (count == 0) {
    count = 1;
  }
  const std::string about_name = cell_text(event, {"involvedObject", "name"});
  std::string about = lower_case(cell_text(event, {"involvedObject", "kind"}));
  if (!about_name.empty()) about += "/" + about_name;
  const std::string component = cell_text(event, {"source", "component"}, cell_text(event, {"reportingComponent"}));
  const std::string host = cell_text(event, {"source", "host"}, cell_text(event, {"reportingInstance"}));
  return {human_age(last, now),
          cell_text(event, {"type"}),
          cell_text(event, {"reason"}),
          about,
          cell_text(event, {"involvedObject", "fieldPath"}),
          host.empty() ? component : fmt::format("{}, {}", component, host),
          trimmed(cell_text(event, {"message"})),
          human_age(first, now),
          count,
          object_name(event)};
}

// --- the small ones ---

constexpr std::array kNamespaceColumns = {
    kNameColumn, BuiltinColumn{"Status", "string", "", 0, "Active, or Terminating while its contents are removed."},
    kAgeColumn};

json::Array namespace_cells(const json::Value& object, WallTime now) {
  return {object_name(object), cell_text(object, {"status", "phase"}), object_age(object, now)};
}

constexpr std::array kSecretColumns = {kNameColumn, BuiltinColumn{"Type", "string", "", 0, "What the secret is for."},
                                       BuiltinColumn{"Data", "string", "", 0, "The number of entries."}, kAgeColumn};

json::Array secret_cells(const json::Value& object, WallTime now) {
  return {object_name(object), cell_text(object, {"type"}), member_count(object, "data"), object_age(object, now)};
}

constexpr std::array kConfigMapColumns = {kNameColumn, BuiltinColumn{"Data", "string", "", 0, "The number of entries."},
                                          kAgeColumn};

json::Array config_map_cells(const json::Value& object, WallTime now) {
  return {object_name(object), member_count(object, "data") + member_count(object, "binaryData"),
          object_age(object, now)};
}

constexpr std::array kLeaseColumns = {kNameColumn, BuiltinColumn{"Holder", "string", "", 0, "Who holds the lease."},
                                      kAgeColumn};

json::Array lease_cells(const json::Value& object, WallTime now) {
  return {object_name(object), cell_text(object, {"spec", "holderIdentity"}), object_age(object, now)};
}

constexpr std::array kBudgetColumns = {
    kNameColumn,
    BuiltinColumn{"Min Available", "string", "", 0, "Pods that must stay available."},
    BuiltinColumn{"Max Unavailable", "string", "", 0, "Pods that may be unavailable."},
    BuiltinColumn{"Allowed Disruptions", "integer", "", 0, "Pods that may be evicted now."},
    kAgeColumn,
};

std::string number_or_percentage(const json::Value& budget, std::string_view field) {
  if (const auto number = json::find_int(budget, {"spec", field})) return std::to_string(*number);
  return cell_text(budget, {"spec", field}, "N/A");
}

json::Array budget_cells(const json::Value& object, WallTime now) {
  return {object_name(object), number_or_percentage(object, "minAvailable"),
          number_or_percentage(object, "maxUnavailable"),
          json::find_int(object, {"status", "disruptionsAllowed"}).value_or(0), object_age(object, now)};
}

constexpr std::array kBuiltinTables = {
    BuiltinTable{"configmap", kConfigMapColumns, config_map_cells, nullptr},
    BuiltinTable{"event", kEventColumns, event_cells, nullptr},
    BuiltinTable{"lease", kLeaseColumns, lease_cells, nullptr},
    BuiltinTable{"namespace", kNamespaceColumns, namespace_cells, nullptr},
    BuiltinTable{"node", kNodeColumns, node_cells, nullptr},
    BuiltinTable{"pdb", kBudgetColumns, budget_cells, nullptr},
    BuiltinTable{"pod", kPodColumns, pod_cells, pod_conditions},
    BuiltinTable{"secret", kSecretColumns, secret_cells, nullptr},
};

}  // namespace

const BuiltinTable* find_builtin_table(std::string_view name) {
  const auto found = std::find_if(kBuiltinTables.begin(), kBuiltinTables.end(),
                                  [&](const BuiltinTable& table) { return table.name == name; });
  return found == kBuiltinTables.end() ? nullptr : &*found;
}

}  // namespace strake::apistore::rest
