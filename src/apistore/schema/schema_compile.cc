#include <re2/re2.h>

#include <algorithm>

#include "apistore/schema/schema_node.h"
#include "base/text.h"

namespace strake::apistore {

namespace {

constexpr int kMaxSchemaDepth = 64;
constexpr std::int64_t kPatternMemoryBytes = 1 << 20;

std::optional<double> number_member(const json::Value& schema, std::string_view name) {
  const json::Value* value = json::find(schema, {name});
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

std::vector<std::string> string_list(const json::Value& schema, std::string_view name) {
  std::vector<std::string> list;
  const json::Value* value = json::find(schema, {name});
  if (value == nullptr || !value->is_array()) return list;
  for (const json::Value& item : value->get_array()) {
    if (item.is_string()) list.emplace_back(json::as_view(item.get_string()));
  }
  return list;
}

re2::RE2::Options pattern_options() {
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kPatternMemoryBytes);
  return options;
}

/// The pattern of `self.all(x, x.matches('pattern'))`; null for everything else. A literal with escapes needs an
/// interpreter, too.
std::shared_ptr<const re2::RE2> all_match_pattern(std::string_view expression) {
  static const re2::RE2 kShape(R"(self\.all\((\w+), *(\w+)\.matches\('([^'\\]*)'\)\))");
  std::string variable;
  std::string matched;
  std::string pattern;
  if (!re2::RE2::FullMatch(re2::StringPiece(expression.data(), expression.size()), kShape, &variable, &matched,
                           &pattern) ||
      variable != matched) {
    return nullptr;
  }
  auto compiled = std::make_shared<const re2::RE2>(pattern, pattern_options());
  return compiled->ok() ? compiled : nullptr;
}

/// nullopt for every rule that needs a CEL interpreter.
std::optional<SchemaRule> known_rule(const json::Value& rule, bool is_root) {
  const std::string text = json::find_string(rule, {"rule"}).value_or("");
  std::string_view expression = trimmed(text);
  SchemaRule known;
  known.message = json::find_string(rule, {"message"}).value_or(fmt::format("failed rule: {}", expression));
  if (expression == "self == oldSelf") return known;
  if (known.pattern = all_match_pattern(expression); known.pattern) {
    known.kind = SchemaRule::Kind::kAllMatch;
    return known;
  }
  constexpr std::string_view kNameEquals = "self.metadata.name == ";
  if (!is_root || !expression.starts_with(kNameEquals)) return std::nullopt;
  expression.remove_prefix(kNameEquals.size());
  const char quote = expression.empty() ? '\0' : expression.front();
  if ((quote == '\'' || quote == '"') && expression.size() > 2 && expression.find(quote, 1) == expression.size() - 1) {
    known.kind = SchemaRule::Kind::kNameIs;
    known.literal = expression.substr(1, expression.size() - 2);
    return known;
  }
  if (!expression.starts_with("self.")) return std::nullopt;
  expression.remove_prefix(5);
  known.kind = SchemaRule::Kind::kNameIsField;
  std::string part;
  for (const char c : expression) {
    if (c == '.') {
      known.field.push_back(std::exchange(part, ""));
    } else if (is_alphanumeric(c) || c == '_') {
      part += c;
    } else {
      return std::nullopt;  // an operator or a call: more than a path
    }
  }
  known.field.push_back(std::move(part));
  return known;
}

Result<Schema::Node> compile_node(const json::Value& schema, const std::string& path, int depth);

Status compile_list(const json::Value& schema, std::string_view name, const std::string& path, int depth,
                    std::vector<Schema::Node>& nodes) {
  const json::Value* list = json::find(schema, {name});
  if (list == nullptr) return {};
  if (!list->is_array()) return error(Code::kInvalidArgument, "{}.{} is not a list", path, name);
  for (const json::Value& item : list->get_array()) {
    STRAKE_TRY(Schema::Node node, compile_node(item, fmt::format("{}.{}[{}]", path, name, nodes.size()), depth + 1));
    nodes.push_back(std::move(node));
  }
  return {};
}

Status compile_children(const json::Value& schema, const std::string& path, int depth, Schema::Node& node) {
  if (const json::Value* properties = json::find(schema, {"properties"}); properties != nullptr) {
    if (!properties->is_object()) return error(Code::kInvalidArgument, "{}.properties is not an object", path);
    for (const auto& [key, value] : properties->get_object()) {
      const std::string name(key);
      STRAKE_TRY(Schema::Node child, compile_node(value, path + "." + name, depth + 1));
      node.properties.emplace(name, std::move(child));
    }
  }
  if (const json::Value* additional = json::find(schema, {"additionalProperties"}); additional != nullptr) {
    if (additional->is_bool()) {
      node.any_additional = additional->get_bool();
    } else {
      STRAKE_TRY(Schema::Node child, compile_node(*additional, path + ".*", depth + 1));
      node.additional = std::make_unique<Schema::Node>(std::move(child));
    }
  }
  if (const json::Value* items = json::find(schema, {"items"}); items != nullptr) {
    STRAKE_TRY(Schema::Node child, compile_node(*items, path + "[]", depth + 1));
    node.items = std::make_unique<Schema::Node>(std::move(child));
  }
  if (const json::Value* excluded = json::find(schema, {"not"}); excluded != nullptr) {
    STRAKE_TRY(Schema::Node child, compile_node(*excluded, path + ".not", depth + 1));
    node.none_of = std::make_unique<Schema::Node>(std::move(child));
  }
  STRAKE_CHECK_OK(compile_list(schema, "allOf", path, depth, node.all_of));
  STRAKE_CHECK_OK(compile_list(schema, "anyOf", path, depth, node.any_of));
  return compile_list(schema, "oneOf", path, depth, node.one_of);
}

Result<Schema::Node> compile_node(const json::Value& schema, const std::string& path, int depth) {
  if (depth > kMaxSchemaDepth) return error(Code::kInvalidArgument, "{}: deeper than {} levels", path, kMaxSchemaDepth);
  if (!schema.is_object())
    return error(Code::kInvalidArgument, "{}: a schema is an object, not {}", path, json::type_name(schema));
  Schema::Node node;
  const auto flag = [&](std::string_view name) { return json::find_bool(schema, {name}).value_or(false); };
  const auto count = [&](std::string_view name) { return json::find_int(schema, {name}); };
  node.type = json::find_string(schema, {"type"}).value_or("");
  node.format = json::find_string(schema, {"format"}).value_or("");
  node.nullable = flag("nullable");
  node.int_or_string = flag("x-kubernetes-int-or-string");
  node.preserve_unknown = flag("x-kubernetes-preserve-unknown-fields");
  node.embedded_resource = flag("x-kubernetes-embedded-resource");
  node.required = string_list(schema, "required");
  node.minimum = number_member(schema, "minimum");
  node.maximum = number_member(schema, "maximum");
  node.multiple_of = number_member(schema, "multipleOf");
  node.exclusive_minimum = flag("exclusiveMinimum");
  node.exclusive_maximum = flag("exclusiveMaximum");
  node.min_length = count("minLength");
  node.max_length = count("maxLength");
  node.min_items = count("minItems");
  node.max_items = count("maxItems");
  node.min_properties = count("minProperties");
  node.max_properties = count("maxProperties");
  node.unique_items = flag("uniqueItems");
  const std::string list_type = json::find_string(schema, {"x-kubernetes-list-type"}).value_or("");
  node.list_is_set = list_type == "set";
  if (list_type == "map") node.list_map_keys = string_list(schema, "x-kubernetes-list-map-keys");
  if (const json::Value* value = json::find(schema, {"default"}); value != nullptr) node.default_value = *value;
  if (const json::Value* values = json::find(schema, {"enum"}); values != nullptr && values->is_array()) {
    node.allowed_values.assign(values->get_array().begin(), values->get_array().end());
  }
  if (const auto pattern = json::find_string(schema, {"pattern"}); pattern && !pattern->empty()) {
    node.pattern = std::make_unique<re2::RE2>(*pattern, pattern_options());
    if (!node.pattern->ok()) {
      return error(Code::kInvalidArgument, "{}.pattern '{}': {}", path, *pattern, node.pattern->error());
    }
  }
  if (const json::Value* rules = json::find(schema, {"x-kubernetes-validations"});
      rules != nullptr && rules->is_array()) {
    node.has_rules_within = !rules->get_array().empty();
    for (const json::Value& rule : rules->get_array()) {
      if (auto known = known_rule(rule, depth == 0)) node.rules.push_back(*std::move(known));
    }
  }
  STRAKE_CHECK_OK(compile_children(schema, path, depth, node));
  node.has_rules_within |= (node.items && node.items->has_rules_within) ||
                           (node.additional && node.additional->has_rules_within) ||
                           std::any_of(node.properties.begin(), node.properties.end(),
                                       [](const auto& property) { return property.second.has_rules_within; });
  return node;
}

}  // namespace

Schema::Node::Node() = default;
Schema::Node::~Node() = default;
Schema::Node::Node(Node&&) noexcept = default;

Schema::Schema() {
  Node any;
  any.preserve_unknown = true;
  root_ = std::make_shared<const Node>(std::move(any));
}

Result<Schema> Schema::compile(const json::Value& open_api) {
  STRAKE_TRY(Node root, compile_node(open_api, "openAPIV3Schema", 0));
  Schema schema;
  schema.root_ = std::make_shared<const Node>(std::move(root));
  return schema;
}

}  // namespace strake::apistore
