#include "codec/yaml/yaml_tree.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <variant>

#include "codec/base64.h"
#include "codec/text_position.h"
#include "codec/utf8.h"
#include "codec/yaml/yaml_scalar.h"

namespace strake::yaml {
namespace {

/// Each is looked for from the start of its mapping; a text with more of them is not one that somebody repairs.
constexpr std::size_t kMostDuplicateKeys = 100;

/// Aliases may repeat a long text; all text together may grow to this many times the largest input.
constexpr std::size_t kTextGrowth = 4;

std::string_view describe_kind(TreeKind kind) {
  switch (kind) {
    case TreeKind::kNull: return "null";
    case TreeKind::kScalar: return "a scalar";
    case TreeKind::kSequence: return "a list";
    case TreeKind::kMapping: return "a mapping";
    case TreeKind::kAlias: return "an alias";
  }
  return "unknown";
}

std::string_view tag_name(TreeTag tag) {
  switch (tag) {
    case TreeTag::kPlain: return "";
    case TreeTag::kText: return "!!str";
    case TreeTag::kInt: return "!!int";
    case TreeTag::kFloat: return "!!float";
    case TreeTag::kBool: return "!!bool";
    case TreeTag::kNull: return "!!null";
    case TreeTag::kBinary: return "!!binary";
    case TreeTag::kMerge: return "!!merge";
  }
  return "";
}

/// A number used as a key, as the Kubernetes tools spell it: Go's %g of the value rounded to 32 bits.
std::string float_key_text(double number) {
  const auto rounded = static_cast<float>(number);
  if (std::isnan(rounded)) return ".nan";
  if (std::isinf(rounded)) return rounded > 0 ? ".inf" : "-.inf";
  std::array<char, 64> buffer;
  const auto print = [&](std::chars_format format) {
    char* end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), rounded, format).ptr;
    return std::string(buffer.data(), end);
  };
  const float magnitude = std::abs(rounded);
  const bool is_ordinary = magnitude == 0 || (magnitude >= 1e-4f && magnitude < 1e6f);
  return print(is_ordinary ? std::chars_format::fixed : std::chars_format::scientific);
}

}  // namespace

Error error_in_yaml(Code code, std::string_view source, std::size_t offset, std::string_view message) {
  const codec::TextPosition position = codec::position_in(source, offset);
  return error(code, "line {}, column {}: {}", position.line, position.column, message);
}

Error TreeConverter::error_here(const TreeNode& node, std::string_view message) const {
  return error_in_yaml(Code::kInvalidArgument, source_, node.offset, message);
}

const TreeNode& TreeConverter::follow(TreeIndex index) const {
  const TreeNode& node = (*tree_)[index];
  return node.kind == TreeKind::kAlias ? (*tree_)[node.target] : node;
}

Status TreeConverter::account(const TreeNode& node) {
  if (++nodes_ > limits_.max_nodes) {
    return error_in_yaml(Code::kExhausted, source_, node.offset,
                         fmt::format("more than {} values, those repeated by aliases included", limits_.max_nodes));
  }
  text_bytes_ += node.text.size();
  if (text_bytes_ / kTextGrowth > limits_.max_bytes) {
    return error_in_yaml(Code::kExhausted, source_, node.offset, "too much text, that repeated by aliases included");
  }
  return {};
}

Result<json::Value> TreeConverter::convert(const Tree& tree) {
  tree_ = &tree;
  if (tree.empty()) return json::Value(nullptr);
  return convert_node(0, 0);
}

Result<json::Value> TreeConverter::convert_node(TreeIndex index, std::size_t depth) {
  const TreeNode& node = follow(index);
  STRAKE_CHECK_OK(account(node));
  switch (node.kind) {
    case TreeKind::kNull: return json::Value(nullptr);
    case TreeKind::kScalar: return convert_scalar(node);
    case TreeKind::kAlias: break;  // follow() took care of it: an alias of an alias cannot be written
    case TreeKind::kSequence:
    case TreeKind::kMapping:
      // Aliases can nest deeper than the text does.
      if (depth >= limits_.max_depth) {
        return error_in_yaml(Code::kExhausted, source_, (*tree_)[index].offset,
                             fmt::format("nested deeper than the limit of {} levels", limits_.max_depth));
      }
      return node.kind == TreeKind::kSequence ? convert_sequence(node, depth + 1) : convert_mapping(node, depth + 1);
  }
  return json::Value(nullptr);
}

Result<json::Value> TreeConverter::convert_sequence(const TreeNode& node, std::size_t depth) {
  json::Array array;
  for (TreeIndex child = node.first_child; child != kNoTreeNode; child = (*tree_)[child].next_sibling) {
    STRAKE_TRY(json::Value element, convert_node(child, depth));
    array.push_back(std::move(element));
  }
  return json::Value(std::move(array));
}

/// In the order of the text, as the Kubernetes tools do it: what comes later wins, be it a key or a merge.
Result<json::Value> TreeConverter::convert_mapping(const TreeNode& node, std::size_t depth) {
  json::Object object;
  // Without a merge the object itself tells which keys were written; a merge adds keys that may be written again.
  std::optional<std::unordered_set<std::string>> written;
  bool merged = false;
  for (TreeIndex child = node.first_child; child != kNoTreeNode;) {
    const TreeNode& key = follow(child);
    const TreeIndex value_index = (*tree_)[child].next_sibling;
    STRAKE_CHECK_OK(account(key));
    if (is_merge_key(key)) {
      if (std::exchange(merged, true)) return duplicate_key(node, (*tree_)[child], "<<");
      written.emplace();
      for (const auto& member : object) written->emplace(member.key().data(), member.key().size());
      STRAKE_TRY(json::Object source, merge_source(value_index, depth));
      for (auto& member : source) object.insert_or_assign(member.key(), std::move(member.value()));
    } else {
      STRAKE_TRY(const std::string text, key_text(key));
      const bool is_new = written ? written->insert(text).second : !object.contains(text);
      if (!is_new) {
        Error refusal = duplicate_key(node, (*tree_)[child], text);
        if (!limits_.on_duplicate_key || ++duplicate_keys_ > kMostDuplicateKeys) return refusal;
        limits_.on_duplicate_key(refusal.message());
      }
      STRAKE_TRY(json::Value value, convert_node(value_index, depth));
      object.insert_or_assign(text, std::move(value));
    }
    child = (*tree_)[value_index].next_sibling;
  }
  return json::Value(std::move(object));
}

bool TreeConverter::is_merge_key(const TreeNode& node) const {
  return node.kind == TreeKind::kScalar &&
         (node.tag == TreeTag::kMerge || (node.tag == TreeTag::kPlain && node.text == "<<"));
}

/// The members a `<<` brings in: a mapping's, or those of a list of mappings of which the earlier ones win.
Result<json::Object> TreeConverter::merge_source(TreeIndex index, std::size_t depth) {
  const TreeNode& node = follow(index);
  const TreeNode& shown = (*tree_)[index];
  if (node.kind == TreeKind::kMapping) {
    STRAKE_TRY(json::Value mapping, convert_node(index, depth));
    return std::move(mapping.get_object());
  }
  if (node.kind != TreeKind::kSequence) {
    return error_here(shown,
                      fmt::format("'<<' needs a mapping or a list of mappings, not {}", describe_kind(node.kind)));
  }
  json::Object combined;
  for (TreeIndex child = node.first_child; child != kNoTreeNode; child = (*tree_)[child].next_sibling) {
    if (follow(child).kind != TreeKind::kMapping) {
      return error_here((*tree_)[child], fmt::format("'<<' needs mappings, not {}", describe_kind(follow(child).kind)));
    }
    STRAKE_TRY(json::Value mapping, convert_node(child, depth));
    for (auto& member : mapping.get_object()) combined.emplace(member.key(), std::move(member.value()));
  }
  return combined;
}

Error TreeConverter::duplicate_key(const TreeNode& mapping, const TreeNode& key, std::string_view text) const {
  std::size_t first_offset = key.offset;
  for (TreeIndex child = mapping.first_child; child != kNoTreeNode;) {
    const auto candidate = is_merge_key(follow(child)) ? Result<std::string>("<<") : key_text(follow(child));
    if (candidate.ok() && *candidate == text) {
      first_offset = (*tree_)[child].offset;
      break;
    }
    child = (*tree_)[(*tree_)[child].next_sibling].next_sibling;
  }
  return error_here(key, fmt::format("duplicate key {} (first at line {})", json::write(json::Value(text)),
                                     codec::position_in(source_, first_offset).line));
}

Result<std::string> TreeConverter::key_text(const TreeNode& node) const {
  if (node.kind == TreeKind::kNull)
    return error_here(node, "a key is missing or null; put it in quotes if it is meant");
  if (node.kind != TreeKind::kScalar) {
    return error_here(node, fmt::format("a key must be a scalar, not {}", describe_kind(node.kind)));
  }
  if (node.tag == TreeTag::kPlain) {
    const Scalar resolved = resolve_scalar(node.text);
    if (const double* number = std::get_if<double>(&resolved)) return float_key_text(*number);
  }
  STRAKE_TRY(const json::Value value, convert_scalar(node));
  if (const json::String* text = value.if_string()) return std::string(json::as_view(*text));
  if (const double* number = value.if_double()) return float_key_text(*number);
  if (value.is_null()) return error_here(node, "a key is null; put it in quotes if it is meant");
  return json::write(value);  // true, false and integers
}

Result<json::Value> TreeConverter::convert_scalar(const TreeNode& node) const {
  if (node.tag == TreeTag::kText) return json::Value(node.text);
  if (node.tag == TreeTag::kBinary) return convert_binary(node);
  if (node.tag != TreeTag::kPlain) return convert_tagged(node);
  return std::visit(
      [&](const auto& resolved) -> Result<json::Value> {
        using Type = std::decay_t<decltype(resolved)>;
        if constexpr (std::is_same_v<Type, Null>) {
          return json::Value(nullptr);
        } else if constexpr (std::is_same_v<Type, PlainString> || std::is_same_v<Type, Timestamp>) {
          return json::Value(node.text);
        } else if constexpr (std::is_same_v<Type, double>) {
          if (!std::isfinite(resolved)) {
            return error_here(node, fmt::format("{} has no JSON form; put it in quotes if text is meant", node.text));
          }
          return json::Value(resolved);
        } else {
          return json::Value(resolved);
        }
      },
      resolve_scalar(node.text));
}

/// A scalar whose tag demands a type: its text must resolve to that type.
Result<json::Value> TreeConverter::convert_tagged(const TreeNode& node) const {
  TreeNode untagged = node;
  untagged.tag = TreeTag::kPlain;
  STRAKE_TRY(json::Value value, convert_scalar(untagged));
  switch (node.tag) {
    case TreeTag::kInt:
      if (value.is_int64() || value.is_uint64()) return value;
      break;
    case TreeTag::kFloat:
      if (value.is_number()) return json::Value(value.to_number<double>());
      break;
    case TreeTag::kBool:
      if (value.is_bool()) return value;
      break;
    case TreeTag::kNull:
      if (value.is_null()) return value;
      break;
    case TreeTag::kMerge: return error_here(node, "!!merge belongs to the key '<<' of a mapping");
    case TreeTag::kPlain:
    case TreeTag::kText:
    case TreeTag::kBinary: break;
  }
  return error_here(node, fmt::format("the text is not a value of type {}", tag_name(node.tag)));
}

Result<json::Value> TreeConverter::convert_binary(const TreeNode& node) const {
  std::string compact;
  for (const char c : node.text) {
    if (c != ' ' && c != '\n' && c != '\t') compact += c;
  }
  const auto bytes = codec::decode_base64(compact, codec::kBase64Lenient);
  if (!bytes.ok()) return error_here(node, fmt::format("!!binary: {}", bytes.error().message()));
  if (!codec::is_valid_utf8(*bytes)) {
    return error_here(node, "!!binary holds bytes that are not UTF-8, which JSON text must be");
  }
  return json::Value(*bytes);
}

}  // namespace strake::yaml
