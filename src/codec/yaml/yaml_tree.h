// A YAML document as it was written, aliases not yet followed, and its conversion to JSON. Internal to codec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "codec/yaml.h"

namespace strake::yaml {

enum class TreeKind : std::uint8_t { kNull, kScalar, kSequence, kMapping, kAlias };

/// What decides the type of a scalar: nothing (its text), quotes, or an explicit tag.
enum class TreeTag : std::uint8_t { kPlain, kText, kInt, kFloat, kBool, kNull, kBinary, kMerge };

using TreeIndex = std::uint32_t;
inline constexpr TreeIndex kNoTreeNode = std::numeric_limits<TreeIndex>::max();

struct TreeNode {
  TreeKind kind = TreeKind::kNull;
  TreeTag tag = TreeTag::kPlain;
  bool complete = true;  ///< false while a collection is being read: an alias may not refer to it
  std::size_t offset = 0;
  TreeIndex first_child = kNoTreeNode;  ///< of a mapping: key, value, key, value, ...
  TreeIndex last_child = kNoTreeNode;
  TreeIndex next_sibling = kNoTreeNode;
  TreeIndex target = kNoTreeNode;  ///< what an alias stands for
  std::string text;
};

/// Nodes in the order they were read; the root is the first.
using Tree = std::vector<TreeNode>;

/// "line 3, column 5: <message>"
Error error_in_yaml(Code code, std::string_view source, std::size_t offset, std::string_view message);

/// The size checked, the byte order mark left out.
Result<std::string_view> text_within_limits(std::string_view text, const ParseLimits& limits);

/// A JSON document, which is YAML too, read by the faster parser; nullopt when it is none.
std::optional<Document> try_json(std::string_view text, const ParseLimits& limits);

/// Told of one document after the other: `source` is the text that offsets count in (line ends are line feeds there),
/// `root_line` where the document's first value stands.
using TreeVisitor = std::function<Status(std::string_view source, const Tree& tree, std::size_t root_line)>;

/// Reads a stream that is not JSON. Of longer scalars only the first `text_limit` bytes are kept.
Status read_trees(std::string_view text, const ParseLimits& limits, std::size_t text_limit, const TreeVisitor& visit);

/// Converts the documents of one stream, which share one allowance for nodes and text.
class TreeConverter {
 public:
  TreeConverter(std::string_view source, const ParseLimits& limits) : source_(source), limits_(limits) {}

  Result<json::Value> convert(const Tree& tree);

  // How a tree is read, for whoever walks it without converting it; of the tree last looked at.
  void look_at(const Tree& tree) { tree_ = &tree; }
  const TreeNode& follow(TreeIndex index) const;
  bool is_merge_key(const TreeNode& node) const;
  Result<std::string> key_text(const TreeNode& node) const;

 private:
  Result<json::Value> convert_node(TreeIndex index, std::size_t depth);
  Result<json::Value> convert_sequence(const TreeNode& node, std::size_t depth);
  Result<json::Value> convert_mapping(const TreeNode& node, std::size_t depth);
  Result<json::Value> convert_scalar(const TreeNode& node) const;
  Result<json::Value> convert_tagged(const TreeNode& node) const;
  Result<json::Value> convert_binary(const TreeNode& node) const;
  Result<json::Object> merge_source(TreeIndex index, std::size_t depth);

  Error duplicate_key(const TreeNode& mapping, const TreeNode& key, std::string_view text) const;
  Status account(const TreeNode& node);
  Error error_here(const TreeNode& node, std::string_view message) const;

  std::string_view source_;
  const ParseLimits& limits_;
  const Tree* tree_ = nullptr;
  std::size_t nodes_ = 0;
  std::size_t text_bytes_ = 0;
  std::size_t duplicate_keys_ = 0;
};

}  // namespace strake::yaml
