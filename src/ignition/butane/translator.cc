#include "ignition/butane/translator.h"

#include <algorithm>

#include "base/text.h"
#include "ignition/butane/typed_scalar.h"
#include "ignition/config.h"

namespace strake::ignition {

std::string snake_case(std::string_view name) {
  std::string snake;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool starts_word = name[i] >= 'A' && name[i] <= 'Z' && !name.substr(0, i + 1).ends_with("MiB");
    if (starts_word) snake += '_';
    snake += lower_case(name[i]);
  }
  return snake;
}

std::string_view kind_name(const yaml::Node& node) {
  switch (node.kind) {
    case NodeKind::kNull: return "null";
    case NodeKind::kScalar: return "a scalar";
    case NodeKind::kList: return "a list";
    case NodeKind::kMapping: return "a mapping";
  }
  return "";
}

void ButaneTranslator::translate() {
  const Place root{root_, {}};
  json::Value config = struct_of(root, config_schema());
  json::ensure(config, {"ignition", "version"}) = to_string(dialect_.spec);
  take_trees(config);
  json::Object metadata, settings;
  if (dialect_.is_openshift) {
    take_metadata(metadata);
    take_openshift(settings);
    check_openshift(config);
  }
  if (result_.report.is_fatal()) return;
  check_result(config);
  if (result_.report.is_fatal()) return;
  normalise(config);
  result_.config = std::move(config);
  if (!dialect_.is_openshift) return;
  result_.metadata = std::move(metadata);
  result_.settings = std::move(settings);
}

void ButaneTranslator::add(Severity severity, json::Steps steps, std::string message, bool at_key) {
  auto& findings = result_.report.findings;
  if (findings.size() > Report::kMaxFindings) return;
  const std::size_t line = line_of(steps, at_key);
  findings.push_back({severity, std::move(steps), std::move(message), "", at_key, codec::TextPosition{line, 1}});
}

json::Steps ButaneTranslator::below(const Place& place, std::string_view name) {
  json::Steps steps = place.steps;
  steps.emplace_back(name);
  return steps;
}

std::size_t ButaneTranslator::line_of(const json::Steps& steps, bool at_key) const {
  const yaml::Node* node = &root_;
  std::size_t line = node->line;
  for (const std::string& step : steps) {
    const yaml::Node* inner = nullptr;
    if (step.starts_with('[')) {
      const std::size_t index = std::strtoul(step.c_str() + 1, nullptr, 10);
      if (node->kind == NodeKind::kList && index < node->children.size()) inner = &node->children[index];
    } else {
      inner = node->find(step);
      if (inner == nullptr) inner = node->find(snake_case(step));
    }
    if (inner == nullptr) return line;
    // A text in several lines starts behind its name.
    const bool is_scalar = inner->kind == NodeKind::kScalar || inner->kind == NodeKind::kNull;
    line = inner->key_line != 0 && (at_key || is_scalar) ? inner->key_line : inner->line;
    node = inner;
  }
  return line;
}

json::Object ButaneTranslator::struct_of(const Place& place, const StructSchema& schema) {
  json::Object made;
  const yaml::Node& node = place.node;
  if (node.kind == NodeKind::kNull || node.is_alias) {
    if (!place.is_quiet) warn(place, "not written here, so that misspelt members in it are not noticed");
    if (node.kind == NodeKind::kNull) return made;
  }
  if (node.kind != NodeKind::kMapping) {
    fail(place, fmt::format("expected a mapping, found {}", kind_name(node)));
    return made;
  }
  const std::vector<std::string_view> extra = extra_members(schema);
  std::set<std::string, std::less<>> known(extra.begin(), extra.end());
  for (const Member& member : schema.members) {
    if (member.since_minor > dialect_.spec.minor || is_left_out(schema, member)) continue;
    const std::string name = snake_case(member.name);
    known.insert(name);
    const yaml::Node* value = node.find(name);
    if (value != nullptr) take(made, member, place.member(name, *value));
  }
  warn_of_unknown(place, known);
  demand_names(schema, made);
  take_extras(place, schema, made);
  return made;
}

void ButaneTranslator::warn_of_unknown(const Place& place, const std::set<std::string, std::less<>>& known) {
  if (place.is_quiet || place.node.is_alias) return;
  for (std::size_t i = 0; i < place.node.keys.size(); ++i) {
    const std::string& key = place.node.keys[i];
    if (place.node.children[i].is_merged || known.contains(key)) continue;
    add(Severity::kWarning, below(place, key), fmt::format("unused key {}", key), true);
  }
  if (place.node.has_merge) warn(place, "unused key <<");
}

bool ButaneTranslator::is_left_out(const StructSchema& schema, const Member& member) {
  return member.name == "version" && schema.find("timeouts") != nullptr;
}

void ButaneTranslator::demand_names(const StructSchema& schema, json::Object& made) const {
  if (schema.key == "name" || schema.key == "path") made.emplace(schema.key, "");
  const bool is_link = schema.find("target") != nullptr;
  if (is_link && dialect_.spec.minor < 3) made.emplace("target", "");
}

void ButaneTranslator::take(json::Object& made, const Member& member, const Place& place) {
  const yaml::Node& node = place.node;
  if (member.type == MemberType::kObject) {
    made.emplace(member.name, struct_of(place, *member.element));
    return;
  }
  if (node.kind == NodeKind::kNull) return;
  switch (member.type) {
    case MemberType::kString:
      if (const auto text = text_of(place); text) made.emplace(member.name, *text);
      return;
    case MemberType::kBool:
      if (const auto value = node.kind == NodeKind::kScalar ? as_bool(node) : std::nullopt; value) {
        made.emplace(member.name, *value);
      } else {
        fail(place, fmt::format("expected true or false, found {}", described(node)));
      }
      return;
    case MemberType::kInteger:
      if (const auto value = node.kind == NodeKind::kScalar ? as_integer(node) : std::nullopt; value) {
        made.emplace(member.name, *value);
      } else {
        fail(place, fmt::format("expected an integer, found {}", described(node)));
      }
      return;
    case MemberType::kStringList:
    case MemberType::kObjectList: made.emplace(member.name, list_of(place, member.element)); return;
    case MemberType::kObject: return;
  }
}

std::string_view ButaneTranslator::described(const yaml::Node& node) {
  return node.kind == NodeKind::kScalar ? (node.is_plain ? "text" : "text in quotes") : kind_name(node);
}

std::optional<std::string> ButaneTranslator::text_of(const Place& place) {
  if (place.node.kind == NodeKind::kScalar) return place.node.text;
  fail(place, fmt::format("expected text, found {}", kind_name(place.node)));
  return std::nullopt;
}

json::Array ButaneTranslator::list_of(const Place& place, const StructSchema* element) {
  json::Array items;
  if (place.node.kind != NodeKind::kList) {
    fail(place, fmt::format("expected a list, found {}", kind_name(place.node)));
    return items;
  }
  for (std::size_t i = 0; i < place.node.children.size(); ++i) {
    const Place item = place.item(i);
    if (item.node.kind == NodeKind::kNull) continue;
    if (element != nullptr) {
      items.emplace_back(struct_of(item, *element));
    } else if (const auto text = text_of(item); text) {
      items.emplace_back(*text);
    }
  }
  // Butane notices when it looks for the names of an item's members at the place of an item that is not there.
  for (std::size_t i = 0; element != nullptr && !place.is_quiet && i < items.size(); ++i) {
    const Place item = place.item(i);
    if (item.node.kind == NodeKind::kNull) warn(item, "an empty item is left out");
  }
  return items;
}

void ButaneTranslator::check_result(const json::Value& config) {
  for (Finding& finding : check(config).report.findings) {
    finding.position = codec::TextPosition{line_of(finding.steps, finding.at_key), 1};
    result_.report.findings.push_back(std::move(finding));
  }
  std::ranges::stable_sort(result_.report.findings, {},
                           [](const Finding& finding) { return finding.position ? finding.position->line : 0; });
}

}  // namespace strake::ignition
