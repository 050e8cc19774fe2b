#include "codec/yaml_node.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "codec/base64.h"
#include "codec/yaml/yaml_scalar.h"
#include "codec/yaml/yaml_tree.h"

namespace strake::yaml {

namespace {

std::vector<std::size_t> line_starts(std::string_view text) {
  std::vector<std::size_t> starts{0};
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    starts.push_back(at + 1);
  }
  return starts;
}

/// One stream's documents; aliases of all of them share one allowance.
class NodeConverter {
 public:
  NodeConverter(std::string_view source, const ParseLimits& limits)
      : source_(source), limits_(limits), starts_(line_starts(source)) {}

  Result<Node> convert(const Tree& tree) {
    tree_ = &tree;
    return tree.empty() ? Node() : node_at(0, 0);
  }

 private:
  Result<Node> node_at(TreeIndex index, std::size_t depth) {
    const TreeNode& written = (*tree_)[index];
    const bool is_alias = written.kind == TreeKind::kAlias;
    const TreeNode& meant = is_alias ? (*tree_)[written.target] : written;
    bytes_ += meant.text.size();
    if (++nodes_ > limits_.max_nodes || bytes_ > kMaxTextGrowth * limits_.max_bytes) {
      return refuse(written, "too many values or too much text, what aliases repeat included");
    }
    if (depth > limits_.max_depth) return refuse(written, "nested too deeply");
    Node node;
    node.is_alias = is_alias;
    node.line = line_of(written.offset);
    STRAKE_CHECK_OK(fill(meant, depth, node));
    return node;
  }

  Status fill(const TreeNode& meant, std::size_t depth, Node& node) {
    switch (meant.kind) {
      case TreeKind::kNull:
      case TreeKind::kAlias: return {};
      case TreeKind::kScalar: return fill_scalar(meant, node);
      case TreeKind::kSequence:
        node.kind = Node::Kind::kList;
        for (TreeIndex child = meant.first_child; child != kNoTreeNode; child = (*tree_)[child].next_sibling) {
          STRAKE_TRY(Node item, node_at(child, depth + 1));
          node.children.push_back(std::move(item));
        }
        return {};
      case TreeKind::kMapping: return fill_mapping(meant, depth, node);
    }
    return {};
  }

  Status fill_scalar(const TreeNode& meant, Node& node) {
    const bool is_null = meant.tag == TreeTag::kNull ||
                         (meant.tag == TreeTag::kPlain && std::holds_alternative<Null>(resolve_scalar(meant.text)));
    if (is_null) return {};
    node.kind = Node::Kind::kScalar;
    node.is_plain = meant.tag != TreeTag::kText && meant.tag != TreeTag::kBinary;
    node.text = meant.text;
    if (meant.tag != TreeTag::kBinary) return {};
    std::erase_if(node.text, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
    auto bytes = codec::decode_base64(node.text, codec::kBase64Lenient);
    if (!bytes.ok()) return refuse(meant, fmt::format("!!binary: {}", bytes.error().message()));
    node.text = *std::move(bytes);
    return {};
  }

  Status fill_mapping(const TreeNode& meant, std::size_t depth, Node& node) {
    node.kind = Node::Kind::kMapping;
    TreeIndex merge = kNoTreeNode;
    std::set<std::string, std::less<>> known;
    for (TreeIndex child = meant.first_child; child != kNoTreeNode;) {
      const TreeIndex value_index = (*tree_)[child].next_sibling;
      const TreeNode& key = follow(child);
      if (is_merge(key)) {
        merge = value_index;
      } else {
        if (key.kind != TreeKind::kScalar) return refuse((*tree_)[child], "a key must be a scalar");
        STRAKE_TRY(Node value, node_at(value_index, depth + 1));
        value.key_line = line_of((*tree_)[child].offset);
        if (!known.insert(key.text).second) return refuse((*tree_)[child], "duplicate key");
        node.keys.push_back(key.text);
        node.children.push_back(std::move(value));
      }
      child = (*tree_)[value_index].next_sibling;
    }
    if (merge == kNoTreeNode) return {};
    node.has_merge = true;
    const TreeNode& source = follow(merge);
    if (source.kind == TreeKind::kMapping) return merge_from(merge, depth, known, node);
    if (source.kind != TreeKind::kSequence) return refuse(source, "'<<' needs a mapping or a list of mappings");
    for (TreeIndex child = source.first_child; child != kNoTreeNode; child = (*tree_)[child].next_sibling) {
      if (follow(child).kind != TreeKind::kMapping) return refuse((*tree_)[child], "'<<' needs mappings");
      STRAKE_CHECK_OK(merge_from(child, depth, known, node));
    }
    return {};
  }

  Status merge_from(TreeIndex index, std::size_t depth, std::set<std::string, std::less<>>& known, Node& node) {
    STRAKE_TRY(Node source, node_at(index, depth + 1));
    for (std::size_t i = 0; i < source.keys.size(); ++i) {
      if (!known.insert(source.keys[i]).second) continue;
      source.children[i].is_merged = true;
      node.keys.push_back(std::move(source.keys[i]));
      node.children.push_back(std::move(source.children[i]));
    }
    return {};
  }

  const TreeNode& follow(TreeIndex index) const {
    const TreeNode& node = (*tree_)[index];
    return node.kind == TreeKind::kAlias ? (*tree_)[node.target] : node;
  }

  static bool is_merge(const TreeNode& key) {
    return key.kind == TreeKind::kScalar &&
           (key.tag == TreeTag::kMerge || (key.tag == TreeTag::kPlain && key.text == "<<"));
  }

  std::size_t line_of(std::size_t offset) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(starts_, offset) - starts_.begin());
  }

  Error refuse(const TreeNode& node, std::string_view message) const {
    return error_in_yaml(Code::kInvalidArgument, source_, node.offset, message);
  }

  static constexpr std::size_t kMaxTextGrowth = 4;  // aliases may repeat a long text

  std::string_view source_;
  const ParseLimits& limits_;
  std::vector<std::size_t> starts_;
  const Tree* tree_ = nullptr;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

const Node* Node::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key);
  return found == keys.end() ? nullptr : &children[static_cast<std::size_t>(found - keys.begin())];
}

Result<std::vector<Node>> parse_nodes(std::string_view text, const ParseLimits& limits) {
  std::vector<Node> documents;
  std::optional<NodeConverter> converter;
  STRAKE_TRY(text, text_within_limits(text, limits));
  STRAKE_CHECK_OK(read_trees(text, limits, std::numeric_limits<std::size_t>::max(),
                             [&](std::string_view source, const Tree& tree, std::size_t) -> Status {
                               if (!converter) converter.emplace(source, limits);
                               STRAKE_TRY(Node document, converter->convert(tree));
                               if (document.kind != Node::Kind::kNull) documents.push_back(std::move(document));
                               return {};
                             }));
  return documents;
}

}  // namespace strake::yaml
