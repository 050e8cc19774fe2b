#include "apistore/rules/builtin_validation.h"

#include <algorithm>
#include <limits>

#include "apistore/rules/builtin_rules.h"
#include "apistore/rules/name_rules.h"
#include "codec/json_patch.h"

namespace strake::apistore {

namespace {

using FieldProblems = std::vector<FieldProblem>;

constexpr std::size_t kMaxDataBytes = std::size_t{1} << 20;  // of a ConfigMap or Secret, values only

bool differs(const json::Value& old, const json::Value& object, std::initializer_list<std::string_view> path) {
  const json::Value* before = json::find(old, path);
  const json::Value* after = json::find(object, path);
  if (before == nullptr || after == nullptr) return before != after;
  return !json::same_value(*before, *after);
}

// ConfigMaps and Secrets

std::size_t decoded_bytes(std::string_view base64) {
  const auto digits =
      std::count_if(base64.begin(), base64.end(), [](char c) { return c != '=' && c != '\n' && c != '\r'; });
  return static_cast<std::size_t>(digits) * 3 / 4;
}

const json::Object* map_at(const json::Value& object, std::string_view field) {
  const json::Value* map = json::find(object, {field});
  return map != nullptr && map->is_object() ? &map->get_object() : nullptr;
}

/// Checks the keys of one map and returns what its values hold.
std::size_t check_data(const json::Value& object, std::string_view field, bool encoded, FieldProblems& problems) {
  const json::Object* map = map_at(object, field);
  if (map == nullptr) return 0;
  std::size_t bytes = 0;
  for (const auto& [key, value] : *map) {
    const std::string name(key);
    for (const std::string& wrong : data_key_problems(name)) {
      problems.push_back(FieldProblem::invalid(fmt::format("{}[{}]", field, name), json::Value(name), wrong));
    }
    const std::string_view text = value.is_string() ? json::as_view(value.get_string()) : std::string_view();
    bytes += encoded ? decoded_bytes(text) : text.size();
  }
  return bytes;
}

void check_immutable_data(const json::Value& old, const json::Value& object, FieldProblems& problems) {
  if (!json::find_bool(old, {"immutable"}).value_or(false)) return;
  for (const std::string_view field : {"data", "binaryData", "immutable"}) {
    if (differs(old, object, {field})) {
      problems.push_back(FieldProblem::forbidden(std::string(field), "field is immutable when `immutable` is set"));
    }
  }
}

void check_config_map(const json::Value& map, const json::Value* old, FieldProblems& problems) {
  if (old != nullptr) check_immutable_data(*old, map, problems);
  const json::Object* texts = map_at(map, "data");
  const json::Object* binaries = map_at(map, "binaryData");
  if (texts != nullptr && binaries != nullptr) {
    for (const auto& [key, value] : *texts) {
      const std::string name(key);
      if (!binaries->contains(name)) continue;
      problems.push_back(FieldProblem::invalid(fmt::format("data[{}]", name), json::Value(name),
                                               "duplicate of key present in binaryData"));
    }
  }
  const std::size_t bytes = check_data(map, "data", false, problems) + check_data(map, "binaryData", true, problems);
  // "[]" is how kube-apiserver names the whole object here.
  if (bytes > kMaxDataBytes) problems.push_back(FieldProblem::too_long("[]", std::int64_t{kMaxDataBytes}));
}

void check_secret(const json::Value& secret, const json::Value* old, FieldProblems& problems) {
  if (old != nullptr) {
    if (differs(*old, secret, {"type"})) {
      const std::string type = json::find_string(secret, {"type"}).value_or("");
      problems.push_back(FieldProblem::invalid("type", json::Value(type), "field is immutable"));
    }
    check_immutable_data(*old, secret, problems);
  }
  if (check_data(secret, "data", true, problems) > kMaxDataBytes) {
    problems.push_back(FieldProblem::too_long("data", std::int64_t{kMaxDataBytes}));
  }
}

// Events

void check_event(const json::Value& event, FieldProblems& problems) {
  const std::string ns = json::find_string(event, {"metadata", "namespace"}).value_or("");
  const std::string about = json::find_string(event, {"involvedObject", "namespace"}).value_or("");
  // Events about objects without a namespace are in "default"; newer ones, which have eventTime, also in "kube-system".
  const bool newer = json::find_string(event, {"eventTime"}).has_value();
  const bool agrees = about.empty() ? ns == "default" || (newer && ns == "kube-system") : newer || about == ns;
  if (agrees) return;
  problems.push_back(
      FieldProblem::invalid("involvedObject.namespace", json::Value(about), "does not match event.namespace"));
}

// PodDisruptionBudgets

/// A number that is not negative, or "0%" to "100%".
void check_share(const std::string& field, const json::Value& value, FieldProblems& problems) {
  if (value.is_number()) {
    if (value.to_number<double>() < 0) {
      problems.push_back(FieldProblem::invalid(field, value, "must be greater than or equal to 0"));
    }
    return;
  }
  if (!value.is_string()) return;        // its type was refused before
  constexpr std::size_t kMaxDigits = 9;  // more are more than 100 % in any case
  const std::string_view text = json::as_view(value.get_string());
  const bool percent = text.size() > 1 && text.ends_with('%') &&
                       std::all_of(text.begin(), text.end() - 1, [](char c) { return c >= '0' && c <= '9'; });
  if (!percent) {
    problems.push_back(FieldProblem::invalid(field, value,
                                             "a valid percent string must be a numeric string followed by an ending "
                                             "'%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"));
  } else if (text.size() - 1 > kMaxDigits || std::stoul(std::string(text)) > 100) {
    problems.push_back(FieldProblem::invalid(field, value, "must not be greater than 100%"));
  }
}

void check_budget(const json::Value& budget, FieldProblems& problems) {
  const json::Value* least = json::find(budget, {"spec", "minAvailable"});
  const json::Value* most = json::find(budget, {"spec", "maxUnavailable"});
  if (least != nullptr && most != nullptr) {
    problems.push_back(FieldProblem::invalid("spec", *json::find(budget, {"spec"}),
                                             "minAvailable and maxUnavailable cannot be both set"));
  }
  if (least != nullptr) check_share("spec.minAvailable", *least, problems);
  if (most != nullptr) check_share("spec.maxUnavailable", *most, problems);
}

// Pods

const json::Array& array_at(const json::Value& spec, std::string_view name) {
  static const json::Array kNone;
  const json::Value* list = json::find(spec, {name});
  return list != nullptr && list->is_array() ? list->get_array() : kNone;
}

/// A deadline may be set once, and then only come nearer.
void check_deadline(const json::Value& before, const json::Value& after, FieldProblems& problems) {
  constexpr std::string_view kField = "spec.activeDeadlineSeconds";
  const auto was = json::find_int(before, {"activeDeadlineSeconds"});
  const auto wanted = json::find_int(after, {"activeDeadlineSeconds"});
  constexpr std::int64_t kMaxSeconds = std::numeric_limits<std::int32_t>::max();
  const auto refuse = [&](const json::Value& value, std::string_view why) {
    problems.push_back(FieldProblem::invalid(std::string(kField), value, why));
  };
  if (wanted && (*wanted < 0 || *wanted > kMaxSeconds)) {
    refuse(*wanted, fmt::format("must be between 0 and {}, inclusive", kMaxSeconds));
  } else if (wanted && was && *was < *wanted) {
    refuse(*wanted, "must be less than or equal to previous value");
  } else if (was && !wanted) {
    refuse(nullptr, "must not update from a positive integer to nil value");
  }
}

void check_tolerations(const json::Value& before, const json::Value& after, FieldProblems& problems) {
  const auto without_seconds = [](json::Value toleration) {
    toleration.get_object().erase("tolerationSeconds");
    return toleration;
  };
  for (const json::Value& old : array_at(before, "tolerations")) {
    const json::Array& now = array_at(after, "tolerations");
    const bool kept = std::any_of(now.begin(), now.end(), [&](const json::Value& toleration) {
      return json::same_value(without_seconds(toleration), without_seconds(old));
    });
    if (kept) continue;
    problems.push_back(FieldProblem::forbidden("spec.tolerations",
                                               "existing toleration can not be modified except its tolerationSeconds"));
    return;
  }
}

void check_gates(const json::Value& before, const json::Value& after, FieldProblems& problems) {
  const json::Array& known = array_at(before, "schedulingGates");
  std::size_t index = 0;
  for (const json::Value& gate : array_at(after, "schedulingGates")) {
    const std::size_t at = index++;
    if (std::any_of(known.begin(), known.end(), [&](const json::Value& old) { return json::same_value(old, gate); })) {
      continue;
    }
    problems.push_back(
        FieldProblem::forbidden(fmt::format("spec.schedulingGates[{}].name", at),
                                fmt::format("only deletion is allowed, but found new scheduling gate '{}'",
                                            json::find_string(gate, {"name"}).value_or(""))));
  }
}

/// The spec without what check_pod_update allows to change.
json::Value fixed_part(json::Value spec) {
  json::Object& members = spec.get_object();
  for (const std::string_view name : {"activeDeadlineSeconds", "schedulingGates", "tolerations"}) members.erase(name);
  for (const std::string_view list : {"containers", "initContainers"}) {
    json::Value* containers = members.if_contains(list);
    if (containers == nullptr || !containers->is_array()) continue;
    for (json::Value& container : containers->get_array()) container.get_object().erase("image");
  }
  return spec;
}

void check_pod_update(const json::Value& old, const json::Value& pod, FieldProblems& problems) {
  const json::Value* before = json::find(old, {"spec"});
  const json::Value* after = json::find(pod, {"spec"});
  if (before == nullptr || after == nullptr) return;
  for (const std::string_view list : {"containers", "initContainers"}) {
    if (array_at(*before, list).size() == array_at(*after, list).size()) continue;
    problems.push_back(
        FieldProblem::forbidden(fmt::format("spec.{}", list), "pod updates may not add or remove containers"));
    return;
  }
  check_deadline(*before, *after, problems);
  check_tolerations(*before, *after, problems);
  check_gates(*before, *after, problems);

  json::Value was = fixed_part(*before);
  json::Value is = fixed_part(*after);
  const std::string_view grace = "terminationGracePeriodSeconds";
  if (json::find_int(was, {grace}).value_or(0) < 0 && json::find_int(is, {grace}) == 1) {
    was.get_object().erase(grace);
    is.get_object().erase(grace);
  }
  if (json::same_value(was, is)) return;
  std::vector<std::string> changed;
  for (const auto& member : was.get_object()) {
    const std::string name(member.key());
    if (differs(was, is, {name})) changed.push_back(name);
  }
  for (const auto& member : is.get_object()) {
    if (const std::string name(member.key()); !was.get_object().contains(name)) changed.push_back(name);
  }
  problems.push_back(FieldProblem::forbidden(
      "spec", fmt::format("pod updates may not change fields other than `spec.containers[*].image`,"
                          "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
                          "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
                          "to 1 if it was previously negative)\nchanged: {}",
                          fmt::join(changed, ", "))));
}

void check_pod(const json::Value& pod, const json::Value* old, FieldProblems& problems) {
  const json::Value* containers = json::find(pod, {"spec", "containers"});
  // One that is absent is refused by the schema.
  if (containers != nullptr && containers->is_array() && containers->get_array().empty()) {
    problems.push_back(FieldProblem::required("spec.containers"));
  }
  if (old != nullptr) check_pod_update(*old, pod, problems);
}

}  // namespace

void check_builtin(const Kind& kind, const json::Value& object, const json::Value* old, FieldProblems& problems) {
  if (is_core_kind(kind, "ConfigMap")) check_config_map(object, old, problems);
  if (is_core_kind(kind, "Secret")) check_secret(object, old, problems);
  if (is_core_kind(kind, "Event")) check_event(object, problems);
  if (is_core_kind(kind, "Pod")) check_pod(object, old, problems);
  if (kind.builtin && kind.group == "policy" && kind.kind == "PodDisruptionBudget") check_budget(object, problems);
}

}  // namespace strake::apistore
