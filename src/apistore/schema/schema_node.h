// The compiled form of a schema; private to schema*.cc.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apistore/schema/schema.h"

namespace re2 {
class RE2;
}

namespace strake::apistore {

/// A rule of x-kubernetes-validations whose shape we evaluate ourselves.
struct SchemaRule {
  enum class Kind { kNameIs, kNameIsField, kUnchanged, kAllMatch };
  Kind kind = Kind::kUnchanged;
  std::string literal;
  std::vector<std::string> field;
  std::shared_ptr<const re2::RE2> pattern;
  std::string message;
};

struct Schema::Node {
  Node();
  ~Node();
  Node(Node&&) noexcept;

  std::string type;  ///< "" = any
  std::string format;
  bool nullable = false;
  bool int_or_string = false;
  bool preserve_unknown = false;
  bool embedded_resource = false;

  std::map<std::string, Node, std::less<>> properties;
  std::vector<std::string> required;
  std::unique_ptr<Node> additional;  ///< the values of a map
  bool any_additional = false;       ///< additionalProperties: true
  std::unique_ptr<Node> items;
  std::optional<json::Value> default_value;

  std::vector<json::Value> allowed_values;
  std::unique_ptr<re2::RE2> pattern;
  std::optional<double> minimum, maximum, multiple_of;
  bool exclusive_minimum = false, exclusive_maximum = false;
  std::optional<std::int64_t> min_length, max_length, min_items, max_items, min_properties, max_properties;
  bool unique_items = false;
  bool list_is_set = false;
  std::vector<std::string> list_map_keys;

  std::vector<Node> all_of, any_of, one_of;
  std::unique_ptr<Node> none_of;  ///< "not"
  std::vector<SchemaRule> rules;
  bool has_rules_within = false;  ///< of any shape, here or below
};

}  // namespace strake::apistore
