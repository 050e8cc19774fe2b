#include "apistore/schema/schema.h"

#include <re2/re2.h>

#include <cmath>
#include <limits>
#include <set>

#include "apistore/schema/schema_node.h"
#include "base/time.h"
#include "codec/base64.h"
#include "codec/json_patch.h"

namespace strake::apistore {

namespace {

using Problems = std::vector<FieldProblem>;

constexpr std::size_t kMaxProblems = 100;  // of one object: more help nobody

std::string child_path(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

bool is_identity_field(std::string_view name) { return name == "apiVersion" || name == "kind" || name == "metadata"; }

// Pruning

void prune_value(json::Value& value, const Schema::Node& node, const std::string& path, bool is_resource,
                 std::vector<std::string>& removed) {
  if (value.is_array() && node.items) {
    std::size_t index = 0;
    for (json::Value& item : value.get_array()) {
      prune_value(item, *node.items, fmt::format("{}[{}]", path, index++), node.items->embedded_resource, removed);
    }
  }
  if (!value.is_object()) return;
  json::Object& object = value.get_object();
  std::vector<std::string> unknown;
  for (auto& [key, member] : object) {
    const std::string_view name(key.data(), key.size());
    if (is_resource && is_identity_field(name)) continue;
    if (const auto property = node.properties.find(name); property != node.properties.end()) {
      prune_value(member, property->second, child_path(path, name), property->second.embedded_resource, removed);
    } else if (node.additional) {
      prune_value(member, *node.additional, child_path(path, name), node.additional->embedded_resource, removed);
    } else if (!node.any_additional && !node.preserve_unknown) {
      unknown.emplace_back(name);
    }
  }
  for (const std::string& name : unknown) {
    object.erase(name);
    removed.push_back(child_path(path, name));
  }
}

// Defaults

void default_value(json::Value& value, const Schema::Node& node) {
  if (value.is_array() && node.items) {
    for (json::Value& item : value.get_array()) default_value(item, *node.items);
  }
  if (!value.is_object()) return;
  json::Object& object = value.get_object();
  for (const auto& [name, property] : node.properties) {
    auto member = object.find(name);
    // A null that is not allowed stands for "absent".
    if (member != object.end() && member->value().is_null() && !property.nullable) {
      object.erase(member);
      member = object.end();
    }
    if (member == object.end() && property.default_value) {
      object[name] = *property.default_value;
      member = object.find(name);
    }
    if (member != object.end()) default_value(member->value(), property);
  }
  if (!node.additional) return;
  for (auto& [key, member] : object) {
    if (!node.properties.contains(std::string_view(key.data(), key.size()))) default_value(member, *node.additional);
  }
}

// Validation

bool is_integral(const json::Value& value) {
  if (value.is_int64() || value.is_uint64()) return true;
  return value.is_double() && std::nearbyint(value.get_double()) == value.get_double() &&
         std::abs(value.get_double()) < 0x1p63;
}

bool has_type(const json::Value& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "integer") return is_integral(value);
  if (type == "number") return value.is_number();
  return true;
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }));
}

bool has_format(std::string_view text, std::string_view format) {
  if (format == "date-time") return parse_rfc3339(text).ok();
  if (format == "byte") return codec::decode_base64(text, codec::kBase64Lenient).ok();
  return true;  // other formats are documentation
}

class Validator {
 public:
  /// Rules count only in an object whose fields can be relied on: what breaks them is kept apart.
  Validator(Problems& problems, Problems& broken_rules) : problems_(problems), broken_rules_(broken_rules) {}

  void check(const json::Value& value, const Schema::Node& node, const std::string& path, const json::Value* old) {
    if (problems_.size() >= kMaxProblems) return;
    if (value.is_null() && node.nullable) return;
    const bool right_type = check_type(value, node, path);
    if (!node.allowed_values.empty()) check_enum(value, node, path);
    if (right_type) {
      if (value.is_string()) check_string(value, node, path);
      if (value.is_number()) check_number(value, node, path);
      if (value.is_array()) check_array(value.get_array(), node, path);
      if (value.is_object()) check_object(value, node, path, old);
    }
    check_junctors(value, node, path);
    if (!right_type) return;
    for (const SchemaRule& rule : node.rules) check_rule(value, rule, path, old);
  }

 private:
  void invalid(const json::Value& value, const std::string& path, std::string_view detail) {
    problems_.push_back(FieldProblem::invalid(path, value, fmt::format("{} in body {}", path, detail)));
  }

  bool check_type(const json::Value& value, const Schema::Node& node, const std::string& path) {
    if (node.int_or_string ? value.is_string() || is_integral(value) : has_type(value, node.type)) return true;
    const std::string_view wanted = node.int_or_string ? std::string_view("integer,string") : node.type;
    const std::string_view actual = json::type_name(value);
    problems_.push_back(FieldProblem::wrong_type(
        path, actual, fmt::format("{} in body must be of type {}: \"{}\"", path, wanted, actual)));
    return false;
  }

  void check_enum(const json::Value& value, const Schema::Node& node, const std::string& path) {
    std::vector<std::string> supported;
    for (const json::Value& allowed : node.allowed_values) {
      if (json::same_value(value, allowed)) return;
      supported.push_back(allowed.is_string() ? std::string(json::as_view(allowed.get_string()))
                                              : json::write(allowed));
    }
    problems_.push_back(FieldProblem::not_supported(path, value, supported));
  }

  void check_string(const json::Value& value, const Schema::Node& node, const std::string& path) {
    const std::string_view text = json::as_view(value.get_string());
    if (node.max_length && code_points(text) > static_cast<std::size_t>(*node.max_length)) {
      problems_.push_back(FieldProblem::too_long(path, *node.max_length));
    }
    if (node.min_length && code_points(text) < static_cast<std::size_t>(*node.min_length)) {
      invalid(value, path, fmt::format("should be at least {} chars long", *node.min_length));
    }
    if (node.pattern && !matches(text, *node.pattern)) {
      invalid(value, path, fmt::format("should match '{}'", node.pattern->pattern()));
    }
    if (!node.format.empty() && !has_format(text, node.format)) {
      invalid(value, path, fmt::format("must be of type {}: {}", node.format, shown_value(value)));
    }
  }

  void check_number(const json::Value& value, const Schema::Node& node, const std::string& path) {
    const double number = value.to_number<double>();
    if (node.format == "int32" &&
        (number < std::numeric_limits<std::int32_t>::min() || number > std::numeric_limits<std::int32_t>::max())) {
      invalid(value, path, "must be of type int32: \"int64\"");
    }
    if (node.multiple_of && *node.multiple_of > 0 && std::remainder(number, *node.multiple_of) != 0) {
      invalid(value, path, fmt::format("should be a multiple of {}", *node.multiple_of));
    }
    if (node.maximum && (node.exclusive_maximum ? number >= *node.maximum : number > *node.maximum)) {
      invalid(value, path,
              fmt::format("should be less than {}{}", node.exclusive_maximum ? "" : "or equal to ", *node.maximum));
    }
    if (node.minimum && (node.exclusive_minimum ? number <= *node.minimum : number < *node.minimum)) {
      invalid(value, path,
              fmt::format("should be greater than {}{}", node.exclusive_minimum ? "" : "or equal to ", *node.minimum));
    }
  }

  void check_array(const json::Array& array, const Schema::Node& node, const std::string& path) {
    const auto size = static_cast<std::int64_t>(array.size());
    if (node.max_items && size > *node.max_items)
      problems_.push_back(FieldProblem::too_many(path, size, *node.max_items));
    if (node.min_items && size < *node.min_items) {
      invalid(json::Value(size), path, fmt::format("should have at least {} items", *node.min_items));
    }
    std::set<std::string> seen;
    std::size_t index = 0;
    for (const json::Value& item : array) {
      const std::string item_path = fmt::format("{}[{}]", path, index++);
      if (node.items) check(item, *node.items, item_path, nullptr);
      if (node.list_is_set || node.unique_items) {
        if (!seen.insert(json::write_canonical(item)).second)
          problems_.push_back(FieldProblem::duplicate(item_path, item));
      } else if (!node.list_map_keys.empty() && item.is_object()) {
        json::Object key;
        for (const std::string& name : node.list_map_keys) {
          if (const json::Value* member = json::find(item, {name}); member != nullptr) key[name] = *member;
        }
        const json::Value key_value(std::move(key));
        if (!seen.insert(json::write_canonical(key_value)).second) {
          problems_.push_back(FieldProblem::duplicate(item_path, key_value));
        }
      }
    }
  }

  void check_object(const json::Value& value, const Schema::Node& node, const std::string& path,
                    const json::Value* old) {
    const json::Object& object = value.get_object();
    const auto size = static_cast<std::int64_t>(object.size());
    if (node.max_properties && size > *node.max_properties) {
      problems_.push_back(FieldProblem::too_many(path, size, *node.max_properties));
    }
    if (node.min_properties && size < *node.min_properties) {
      invalid(json::Value(size), path, fmt::format("should have at least {} properties", *node.min_properties));
    }
    for (const std::string& name : node.required) {
      if (!object.contains(name)) problems_.push_back(FieldProblem::required(child_path(path, name)));
    }
    for (const auto& [key, member] : object) {
      const std::string_view name(key.data(), key.size());
      const auto property = node.properties.find(name);
      const json::Value* old_member = old == nullptr ? nullptr : json::find(*old, {name});
      if (property != node.properties.end()) {
        check(member, property->second, child_path(path, name), old_member);
      } else if (node.additional) {
        check(member, *node.additional, child_path(path, name), old_member);
      }
    }
  }

  static Problems problems_of(const json::Value& value, const Schema::Node& node, const std::string& path) {
    Problems problems;
    Problems broken_rules;  // stay empty: what is joined has none
    Validator(problems, broken_rules).check(value, node, path, nullptr);
    return problems;
  }

  /// How schemas are joined is told about the whole object, with the place in the words.
  void junctor_fails(const std::string& path, std::string_view detail) {
    problems_.push_back(FieldProblem::invalid("", "", fmt::format("\"{}\" {}", path, detail)));
  }

  /// How many of the alternatives accept the value. When none does, the problems of the one that came nearest are told.
  std::size_t count_accepting(const json::Value& value, const std::vector<Schema::Node>& alternatives,
                              const std::string& path) {
    std::size_t accepting = 0;
    Problems nearest;
    for (const Schema::Node& each : alternatives) {
      Problems found = problems_of(value, each, path);
      if (found.empty()) ++accepting;
      if (nearest.empty() || found.size() < nearest.size()) nearest = std::move(found);
    }
    if (accepting == 0) problems_.insert(problems_.end(), nearest.begin(), nearest.end());
    return accepting;
  }

  void check_junctors(const json::Value& value, const Schema::Node& node, const std::string& path) {
    if (!node.any_of.empty() && count_accepting(value, node.any_of, path) == 0) {
      junctor_fails(path, "must validate at least one schema (anyOf)");
    }
    if (!node.one_of.empty()) {
      const std::size_t accepting = count_accepting(value, node.one_of, path);
      if (accepting != 1) {
        junctor_fails(path, fmt::format("must validate one and only one schema (oneOf). Found {}",
                                        accepting == 0 ? std::string("none valid")
                                                       : fmt::format("{} valid alternatives", accepting)));
      }
    }
    std::size_t refusing = 0;
    for (const Schema::Node& each : node.all_of) {
      const Problems found = problems_of(value, each, path);
      if (!found.empty()) ++refusing;
      problems_.insert(problems_.end(), found.begin(), found.end());
    }
    if (refusing > 0) {
      junctor_fails(path, fmt::format("must validate all the schemas (allOf){}",
                                      refusing == node.all_of.size() ? ". None validated" : ""));
    }
    if (node.none_of && problems_of(value, *node.none_of, path).empty()) {
      junctor_fails(path, "must not validate the schema (not)");
    }
  }

  static bool matches(std::string_view text, const re2::RE2& pattern) {
    return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern);
  }

  static bool all_match(const json::Value& value, const re2::RE2& pattern) {
    if (value.is_object()) {
      const json::Object& map = value.get_object();
      return std::all_of(map.begin(), map.end(), [&](const auto& member) {
        return matches({member.key().data(), member.key().size()}, pattern);
      });
    }
    if (!value.is_array()) return true;
    const json::Array& list = value.get_array();
    return std::all_of(list.begin(), list.end(), [&](const json::Value& item) {
      return item.is_string() && matches(json::as_view(item.get_string()), pattern);
    });
  }

  void check_rule(const json::Value& value, const SchemaRule& rule, const std::string& path, const json::Value* old) {
    bool holds = true;
    const std::string name = json::find_string(value, {"metadata", "name"}).value_or("");
    switch (rule.kind) {
      case SchemaRule::Kind::kUnchanged: holds = old == nullptr || json::same_value(value, *old); break;
      case SchemaRule::Kind::kNameIs: holds = name == rule.literal; break;
      case SchemaRule::Kind::kAllMatch: holds = all_match(value, *rule.pattern); break;
      case SchemaRule::Kind::kNameIsField: {
        const json::Value* at = &value;
        for (const std::string& step : rule.field) at = at == nullptr ? nullptr : json::find(*at, {step});
        holds = at != nullptr && at->is_string() && json::as_view(at->get_string()) == name;
        break;
      }
    }
    if (holds) return;
    broken_rules_.push_back(FieldProblem::wrong_type(path, json::type_name(value), rule.message));
    broken_rules_.back().reason = "FieldValueInvalid";
  }

  Problems& problems_;
  Problems& broken_rules_;
};

/// As kube-apiserver decides whether rules are looked at.
bool keeps_rules_from_counting(const FieldProblem& problem) {
  return problem.reason != "FieldValueInvalid" && problem.reason != "FieldValueDuplicate";
}

}  // namespace

std::vector<std::string> Schema::prune(json::Value& object) const {
  std::vector<std::string> removed;
  prune_value(object, *root_, "", true, removed);
  return removed;
}

void Schema::apply_defaults(json::Value& object) const { default_value(object, *root_); }

std::vector<FieldProblem> Schema::validate(const json::Value& object, const json::Value* old) const {
  Problems problems;
  Problems broken_rules;
  Validator(problems, broken_rules).check(object, *root_, "", old);
  if (!root_->has_rules_within || std::none_of(problems.begin(), problems.end(), keeps_rules_from_counting)) {
    problems.insert(problems.end(), broken_rules.begin(), broken_rules.end());
  } else {
    problems.push_back(FieldProblem::invalid("", nullptr,
                                             "some validation rules were not checked because the object was invalid; "
                                             "correct the existing errors to complete validation"));
  }
  for (FieldProblem& problem : problems) {
    if (problem.field.empty()) problem.field = FieldProblem::kObjectItself;
  }
  return problems;
}

}  // namespace strake::apistore
