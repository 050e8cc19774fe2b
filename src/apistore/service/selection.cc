#include "apistore/service/selection.h"

#include <algorithm>
#include <array>

#include "apistore/rules/builtin_rules.h"
#include "apistore/service/service_errors.h"

namespace strake::apistore {

namespace {

constexpr std::array<std::string_view, 6> kPodFields = {"spec.nodeName",      "spec.restartPolicy",
                                                        "spec.schedulerName", "spec.serviceAccountName",
                                                        "status.phase",       "status.nominatedNodeName"};
constexpr std::array<std::string_view, 11> kEventFields = {"involvedObject.kind",
                                                           "involvedObject.namespace",
                                                           "involvedObject.name",
                                                           "involvedObject.uid",
                                                           "involvedObject.apiVersion",
                                                           "involvedObject.fieldPath",
                                                           "reason",
                                                           "type",
                                                           "involvedObject.resourceVersion",
                                                           "reportingComponent",
                                                           "source"};

bool is_selectable(const Kind& kind, const KindVersion& version, std::string_view field) {
  const auto among = [&](const auto& list) { return std::find(list.begin(), list.end(), field) != list.end(); };
  if (field == "metadata.name" || (kind.namespaced && field == "metadata.namespace")) return true;
  if (is_core_kind(kind, "Pod")) return among(kPodFields);
  if (is_core_kind(kind, "Event")) return among(kEventFields);
  if (is_core_kind(kind, "Node")) return field == "spec.unschedulable";
  if (is_core_kind(kind, "Secret")) return field == "type";
  if (is_core_kind(kind, "Namespace")) return field == "status.phase";
  return among(version.selectable_fields);
}

Error not_selectable(const Kind& kind, const std::string& field) {
  // kube-apiserver has these words for kinds of its own that have no further fields.
  const bool metadata_only = kind.builtin && (is_core_kind(kind, "ConfigMap") || kind.group == "coordination.k8s.io" ||
                                              kind.group == "policy");
  if (!metadata_only) return bad_request("field label not supported: {}", field);
  return bad_request("\"{}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", field);
}

/// A field's value as selectors compare it: text as it is, the rest as JSON, absent booleans as false.
std::string field_text(const json::Value& object, std::string_view field) {
  if (field == "source") field = "source.component";
  const json::Value* at = &object;
  std::string_view rest = field;
  while (at != nullptr && !rest.empty()) {
    const std::size_t dot = rest.find('.');
    at = json::find(*at, {rest.substr(0, dot)});
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
  }
  if (at == nullptr || at->is_null()) return field == "spec.unschedulable" ? "false" : "";
  return at->is_string() ? std::string(json::as_view(at->get_string())) : json::write(*at);
}

std::string quoted_json(std::string_view text) {
  return json::write(json::Value(boost::json::string_view(text.data(), text.size())));
}

}  // namespace

Result<Selection> Selection::parse(const Kind& kind, const KindVersion& version, const std::string& label_selector,
                                   const std::string& field_selector) {
  Selection selection;
  auto labels = kube::Selector::parse(label_selector);
  if (!labels.ok()) return bad_request("unable to parse the label selector: {}", labels.error().to_string());
  selection.labels_ = *std::move(labels);
  auto fields = kube::FieldSelector::parse(field_selector);
  if (!fields.ok()) return bad_request("unable to parse the field selector: {}", fields.error().to_string());
  selection.fields_ = *std::move(fields);
  for (const kube::FieldSelector::Term& term : selection.fields_.terms()) {
    if (!is_selectable(kind, version, term.field)) return not_selectable(kind, term.field);
    // The stored text is compact JSON written by one writer: the value of a field that is always a string appears in it
    // like this.
    const auto& numbers_too = version.selectable_fields;
    const bool is_text = term.field != "spec.unschedulable" &&
                         std::find(numbers_too.begin(), numbers_too.end(), term.field) == numbers_too.end();
    if (term.equal && !term.value.empty() && is_text) selection.needles_.push_back(quoted_json(term.value));
  }
  for (const kube::Requirement& requirement : selection.labels_.requirements()) {
    if (requirement.op == kube::SelectorOperator::kIn && requirement.values.size() == 1) {
      selection.needles_.push_back(quoted_json(requirement.key) + ":" + quoted_json(requirement.values.front()));
    } else if (requirement.op == kube::SelectorOperator::kExists || requirement.op == kube::SelectorOperator::kIn) {
      selection.needles_.push_back(quoted_json(requirement.key) + ":");
    }
  }
  return selection;
}

bool Selection::matches(const json::Value& object) const {
  if (!labels_.matches_everything()) {
    kube::Labels labels;
    if (const json::Value* found = json::find(object, {"metadata", "labels"}); found != nullptr && found->is_object()) {
      for (const auto& [key, value] : found->get_object()) {
        if (value.is_string()) labels.emplace(key, json::as_view(value.get_string()));
      }
    }
    if (!labels_.matches(labels)) return false;
  }
  return fields_.matches([&](std::string_view field) { return field_text(object, field); });
}

bool Selection::may_match_text(std::string_view text) const {
  return std::all_of(needles_.begin(), needles_.end(),
                     [&](const std::string& needle) { return text.find(needle) != std::string_view::npos; });
}

Result<bool> Selection::matches_text(std::string_view text) const {
  if (everything()) return true;
  if (!may_match_text(text)) return false;
  auto object = json::parse(text);
  if (!object.ok()) return Error(Code::kCorrupt, object.error().message()).context("reading a stored object");
  return matches(*object);
}

}  // namespace strake::apistore
