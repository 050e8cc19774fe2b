#include "codec/yaml_locate.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "codec/yaml/yaml_scalar.h"
#include "codec/yaml/yaml_tree.h"

namespace strake::yaml {
namespace {

/// Longer than any key that is not written with '?'.
constexpr std::size_t kMaxKeptText = 2048;

/// Finds paths in the tree of one document. What was looked at is remembered, so that many questions about one long
/// list cost no more than the list.
class TreeLocator {
 public:
  TreeLocator(std::string_view source, const Tree& tree, const ParseLimits& limits)
      : tree_(tree), limits_(limits), reader_(source, limits) {
    reader_.look_at(tree);
  }

  bool is_empty_document() const {
    if (tree_.empty()) return true;
    const TreeNode& root = reader_.follow(0);
    if (root.kind != TreeKind::kScalar) return root.kind == TreeKind::kNull;
    return root.tag == TreeTag::kNull ||
           (root.tag == TreeTag::kPlain && std::holds_alternative<Null>(resolve_scalar(root.text)));
  }

  std::size_t offset_of(const json::Wanted& wanted) {
    Member here{kNoTreeNode, 0};
    for (const std::string& step : wanted.steps) {
      const Member* next = child(here.value, step);
      if (next == nullptr) break;
      here = *next;
    }
    return tree_[wanted.key && here.key != kNoTreeNode ? here.key : here.value].offset;
  }

 private:
  struct Member {
    TreeIndex key = kNoTreeNode;
    TreeIndex value = kNoTreeNode;
  };
  using Members = std::unordered_map<std::string, Member>;

  TreeIndex followed(TreeIndex index) const {
    return tree_[index].kind == TreeKind::kAlias ? tree_[index].target : index;
  }

  const Member* child(TreeIndex index, const std::string& step) {
    const TreeIndex at = followed(index);
    if (tree_[at].kind == TreeKind::kMapping) {
      const Members& members = members_of(at, 0);
      const auto found = members.find(step);
      return found == members.end() ? nullptr : &found->second;
    }
    if (tree_[at].kind != TreeKind::kSequence || !step.starts_with('[') || !step.ends_with(']')) return nullptr;
    const Members& items = items_of(at);
    const auto found = items.find(step);
    return found == items.end() ? nullptr : &found->second;
  }

  const Members& items_of(TreeIndex sequence) {
    const auto [known, is_new] = looked_at_.try_emplace(sequence);
    if (!is_new) return known->second;
    std::size_t count = 0;
    for (TreeIndex item = tree_[sequence].first_child; item != kNoTreeNode; item = tree_[item].next_sibling) {
      known->second.emplace(fmt::format("[{}]", count++), Member{kNoTreeNode, item});
    }
    return known->second;
  }

  /// As TreeConverter::convert_mapping has it: what comes later wins, be it a key or a merge.
  const Members& members_of(TreeIndex mapping, std::size_t depth) {
    if (const auto known = looked_at_.find(mapping); known != looked_at_.end()) return known->second;
    Members members;
    for (TreeIndex key = tree_[mapping].first_child; key != kNoTreeNode;) {
      const TreeIndex value = tree_[key].next_sibling;
      if (value == kNoTreeNode) break;
      if (reader_.is_merge_key(reader_.follow(key))) {
        if (depth < limits_.max_depth) merge(followed(value), depth + 1, members);
      } else if (const auto text = reader_.key_text(reader_.follow(key)); text.ok()) {
        members.insert_or_assign(*text, Member{key, value});
      }
      key = tree_[value].next_sibling;
    }
    return looked_at_.emplace(mapping, std::move(members)).first->second;
  }

  void merge(TreeIndex source, std::size_t depth, Members& into) {
    if (tree_[source].kind == TreeKind::kMapping) {
      for (const auto& [name, member] : members_of(source, depth)) into.insert_or_assign(name, member);
    } else if (tree_[source].kind == TreeKind::kSequence) {
      Members combined;  // the earlier ones win
      for (TreeIndex item = tree_[source].first_child; item != kNoTreeNode; item = tree_[item].next_sibling) {
        const TreeIndex mapping = followed(item);
        if (tree_[mapping].kind != TreeKind::kMapping) continue;
        for (const auto& [name, member] : members_of(mapping, depth)) combined.emplace(name, member);
      }
      for (const auto& [name, member] : combined) into.insert_or_assign(name, member);
    }
  }

  const Tree& tree_;
  const ParseLimits& limits_;
  TreeConverter reader_;
  std::unordered_map<TreeIndex, Members> looked_at_;
};

/// Positions of offsets that only grow: each byte is looked at once, also in a text without line breaks.
class PositionWalk {
 public:
  codec::TextPosition at(std::string_view text, std::size_t offset) {
    const codec::TextPosition further = codec::position_in(text.substr(at_, offset - at_), offset - at_);
    here_ = {here_.line + further.line - 1, further.line > 1 ? further.column : here_.column + further.column - 1};
    at_ = offset;
    return here_;
  }

 private:
  std::size_t at_ = 0;
  codec::TextPosition here_;
};

std::vector<codec::TextPosition> locate_json(std::string_view text, std::span<const WantedField> wanted) {
  std::vector<json::Wanted> fields;
  for (const WantedField& want : wanted) fields.push_back(want.field);
  auto positions = json::locate(text, fields);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].document > 0) positions[i] = codec::position_in(text, text.size());
  }
  return positions;
}

}  // namespace

Result<std::vector<codec::TextPosition>> locate(std::string_view text, std::span<const WantedField> wanted,
                                                const ParseLimits& limits) {
  STRAKE_TRY(text, text_within_limits(text, limits));
  if (try_json(text, limits)) return locate_json(text, wanted);

  std::map<std::size_t, std::vector<std::size_t>> asked;  // of a document: which of the wanted
  for (std::size_t i = 0; i < wanted.size(); ++i) asked[wanted[i].document].push_back(i);
  std::vector<codec::TextPosition> positions(wanted.size());
  std::vector<std::size_t> offsets(wanted.size());
  PositionWalk walk;
  std::size_t document = 0;
  STRAKE_CHECK_OK(
      read_trees(text, limits, kMaxKeptText, [&](std::string_view source, const Tree& tree, std::size_t) -> Status {
        TreeLocator locator(source, tree, limits);
        if (locator.is_empty_document()) return {};
        const auto here = asked.find(document++);
        if (here == asked.end()) return {};
        for (const std::size_t i : here->second) offsets[i] = locator.offset_of(wanted[i].field);
        std::ranges::sort(here->second, {}, [&](std::size_t i) { return offsets[i]; });
        for (const std::size_t i : here->second) positions[i] = walk.at(source, offsets[i]);
        return {};
      }));
  for (auto beyond = asked.lower_bound(document); beyond != asked.end(); ++beyond) {
    for (const std::size_t i : beyond->second) positions[i] = codec::position_in(text, text.size());
  }
  return positions;
}

}  // namespace strake::yaml
