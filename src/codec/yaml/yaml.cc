#include "codec/yaml.h"

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <istream>
#include <limits>
#include <optional>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/utf8.h"
#include "codec/yaml/yaml_tree.h"

namespace strake::yaml {
namespace {

/// yaml-cpp counts positions in `int`.
constexpr std::size_t kLargestText = 1u << 30;

/// yaml-cpp reads a whole flow collection before it reports its first node, one token of about 100 bytes for each of
/// these characters. This many without a node reported means tens of megabytes: far beyond any honest document that is
/// not JSON (which has its own parser).
constexpr std::size_t kMostIndicatorsAhead = 500'000;
constexpr std::string_view kIndicators = "[]{},:?-&*!\"'";

constexpr std::array<bool, 256> kIsIndicator = [] {
  std::array<bool, 256> table{};
  for (const char c : kIndicators) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kStandardTagPrefix = "tag:yaml.org,2002:";

/// Carries an Error out of yaml-cpp's parser; never leaves this file.
struct ParseRefused {
  Error error;
};

/// A text and a few bytes behind it, as one: a large text is not copied for their sake.
class MarkedText {
 public:
  MarkedText(std::string_view text, std::string_view tail) : text_(text), tail_(tail) {}

  std::string_view text() const { return text_; }
  std::string_view tail() const { return tail_; }

  /// The last line feed at or before `at`; npos when there is none.
  std::size_t line_feed_before(std::size_t at) const {
    if (at >= text_.size()) {
      const std::size_t in_tail = tail_.rfind('\n', at - text_.size());
      if (in_tail != std::string_view::npos) return text_.size() + in_tail;
    }
    return text_.rfind('\n', at);
  }
  /// Never over the border: no line that begins in the text ends behind it.
  std::string_view part(std::size_t at, std::size_t size) const {
    return at < text_.size() ? text_.substr(at, size) : tail_.substr(std::min(at - text_.size(), tail_.size()), size);
  }

 private:
  std::string_view text_;
  std::string_view tail_;
};

/// Hands the text to yaml-cpp in pieces and counts how far it reads ahead of what it reports.
class MeteredText : public std::streambuf {
 public:
  explicit MeteredText(const MarkedText& marked) : rest_(marked.text()), tail_(marked.tail()) {}

  void node_reported() { indicators_ = 0; }
  bool exceeded() const { return exceeded_; }
  std::size_t consumed() const { return consumed_; }

 protected:
  int_type underflow() override {
    if (indicators_ > kMostIndicatorsAhead) exceeded_ = true;
    if (rest_.empty()) rest_ = std::exchange(tail_, {});
    if (rest_.empty() || exceeded_) return traits_type::eof();
    const std::size_t size = std::min(piece_.size(), rest_.size());
    std::copy_n(rest_.begin(), size, piece_.begin());
    for (std::size_t i = 0; i < size; ++i) indicators_ += kIsIndicator[static_cast<unsigned char>(piece_[i])] ? 1 : 0;
    setg(piece_.data(), piece_.data(), piece_.data() + size);
    rest_.remove_prefix(size);
    consumed_ += size;
    return traits_type::to_int_type(piece_[0]);
  }

 private:
  std::string_view rest_;
  std::string_view tail_;
  std::array<char, 4096> piece_;
  std::size_t indicators_ = 0;
  std::size_t consumed_ = 0;
  bool exceeded_ = false;
};

/// yaml-cpp turns the escapes \N and \_ into the bytes 0x85 and 0xA0. Everything else in a scalar is UTF-8, so a
/// continuation byte without a lead byte is one of those two.
std::string with_utf8_escapes(const std::string& text) {
  if (codec::is_valid_utf8(text)) return text;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x80 && byte < 0xC0) {
      codec::append_utf8(out, byte);
      ++at;
    } else {
      const std::size_t width = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
      out.append(text, at, width);
      at += width;
    }
  }
  return out;
}

/// Builds the tree of one document after the other from yaml-cpp's events.
class TreeBuilder : public YAML::EventHandler {
 public:
  /// `marked` is the source with its end marker: what yaml-cpp sees.
  TreeBuilder(std::string_view source, const MarkedText& marked, const ParseLimits& limits, std::size_t text_limit,
              MeteredText& input)
      : source_(source), marked_(marked), limits_(limits), text_limit_(text_limit), input_(input) {}

  const Tree& tree() const { return tree_; }
  std::size_t root_line() const { return root_line_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    const std::size_t offset = offset_of(mark);
    check_document_start(offset);
    last_document_ = offset;
    tree_.clear();
    open_.clear();
    anchored_.assign(1, kNoTreeNode);  // yaml-cpp numbers anchors from 1 in each document
  }
  void OnDocumentEnd() override { input_.node_reported(); }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(TreeKind::kNull, mark, anchor); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const TreeIndex target = anchor < anchored_.size() ? anchored_[anchor] : kNoTreeNode;
    if (target == kNoTreeNode) refuse(Code::kInvalidArgument, offset_of(mark), "alias of an unknown anchor");
    if (!tree_[target].complete) {
      refuse(Code::kInvalidArgument, offset_of(mark), "alias of a collection inside that collection");
    }
    add(TreeKind::kAlias, mark, YAML::NullAnchor).target = target;
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (value.empty() && tag != "?") check_closed(offset_of(mark));
    TreeNode& node = add(TreeKind::kScalar, mark, anchor);
    node.tag = scalar_tag(tag, mark);
    node.text = with_utf8_escapes(value);
    if (node.text.size() > text_limit_) {
      node.text.resize(text_limit_);
      node.text.shrink_to_fit();
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_collection_tag(tag, "seq", mark);
    open(TreeKind::kSequence, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    check_collection_tag(tag, "map", mark);
    open(TreeKind::kMapping, mark, anchor);
    open_.back().is_block_mapping = style == YAML::EmitterStyle::Block;
  }
  void OnMapEnd() override { close(); }

 private:
  struct OpenCollection {
    TreeIndex node;
    bool is_block_mapping = false;
    bool has_key = false;  ///< of a mapping: its next child is a value
  };

  [[noreturn]] void refuse(Code code, std::size_t offset, std::string_view message) const {
    throw ParseRefused{error_in_yaml(code, source_, offset, message)};
  }

  static std::size_t offset_of(const YAML::Mark& mark) {
    return mark.is_null() ? 0 : static_cast<std::size_t>(mark.pos);
  }

  /// yaml-cpp takes whatever it cannot fit into one document for the start of another one, even when it makes no
  /// progress. A further document really starts with '---', or comes after '...'; a line with '%' needs '---' after it.
  void check_document_start(std::size_t offset) const {
    const std::size_t line_start = offset == 0 ? 0 : marked_.line_feed_before(offset - 1) + 1;  // npos + 1 is 0
    const bool makes_progress = !last_document_ || offset > *last_document_;
    if (makes_progress && offset == line_start && marked_.part(offset, 3) == "---") return;

    const std::string_view before = content_line_before(line_start);
    if (before.starts_with('%')) {
      refuse(Code::kInvalidArgument, static_cast<std::size_t>(before.data() - marked_.text().data()),
             "a line that starts with '%' is a directive and needs a line '---' after it; text needs quotes");
    }
    const std::string_view indentation = marked_.part(line_start, offset - line_start);
    const bool is_bare = indentation.find_first_not_of(" \t") == std::string_view::npos && before.starts_with("...");
    if (last_document_ && !(makes_progress && is_bare)) {
      refuse(Code::kInvalidArgument, offset,
             "unexpected content after the end of the document; documents are separated by a line '---'");
    }
  }

  /// The last line before `line_start` that is neither blank nor a comment; empty when there is none.
  std::string_view content_line_before(std::size_t line_start) const {
    while (line_start > 0) {
      const std::size_t end = line_start - 1;
      line_start = end == 0 ? 0 : marked_.line_feed_before(end - 1) + 1;
      const std::string_view line = marked_.part(line_start, end - line_start);
      const std::size_t content = line.find_first_not_of(" \t");
      if (content != std::string_view::npos && line[content] != '#') return line;
    }
    return {};
  }

  /// yaml-cpp takes a lone quote at the very end of the text for an empty scalar.
  void check_closed(std::size_t offset) const {
    const std::size_t opening = source_.find_first_of("\"'|>\n", offset);
    if (opening != std::string_view::npos && opening + 1 == source_.size() &&
        (source_[opening] == '"' || source_[opening] == '\'')) {
      refuse(Code::kInvalidArgument, opening, "a quoted text is not closed");
    }
  }

  /// A word at the end of the text where a key belongs is to yaml-cpp a key without a value, told by the value's
  /// position. Explicit keys ("? a") may lack a value, plain ones may not.
  void check_key_has_colon(const TreeNode& value, const OpenCollection& parent) const {
    if (!parent.is_block_mapping || !parent.has_key || value.kind != TreeKind::kNull) return;
    if (tree_[tree_[parent.node].last_child].offset == value.offset) {
      refuse(Code::kInvalidArgument, value.offset, "a ':' is missing after this key");
    }
  }

  TreeNode& add(TreeKind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    input_.node_reported();
    const std::size_t offset = offset_of(mark);
    if (++nodes_ > limits_.max_nodes) {
      refuse(Code::kExhausted, offset, fmt::format("more than {} values", limits_.max_nodes));
    }
    const auto index = static_cast<TreeIndex>(tree_.size());
    TreeNode& node = tree_.emplace_back();
    node.kind = kind;
    node.offset = offset;
    if (index == 0) {
      root_line_ = mark.is_null() ? 1 : static_cast<std::size_t>(mark.line) + 1;
    } else if (!open_.empty()) {
      check_key_has_colon(node, open_.back());
      open_.back().has_key = !open_.back().has_key;
      TreeNode& parent = tree_[open_.back().node];
      if (parent.last_child == kNoTreeNode) {
        parent.first_child = index;
      } else {
        tree_[parent.last_child].next_sibling = index;
      }
      parent.last_child = index;
    }
    if (anchor != YAML::NullAnchor) {
      if (anchored_.size() <= anchor) anchored_.resize(anchor + 1, kNoTreeNode);
      anchored_[anchor] = index;
    }
    return node;
  }

  void open(TreeKind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() >= limits_.max_depth) {
      refuse(Code::kExhausted, offset_of(mark),
             fmt::format("nested deeper than the limit of {} levels", limits_.max_depth));
    }
    add(kind, mark, anchor).complete = false;
    open_.push_back({static_cast<TreeIndex>(tree_.size() - 1)});
  }

  void close() {
    input_.node_reported();
    tree_[open_.back().node].complete = true;
    open_.pop_back();
  }

  TreeTag scalar_tag(std::string_view tag, const YAML::Mark& mark) const {
    if (tag == "?") return TreeTag::kPlain;
    if (tag == "!") return TreeTag::kText;  // quoted, or told so by a bare '!'
    if (tag.starts_with(kStandardTagPrefix)) {
      const std::string_view name = tag.substr(kStandardTagPrefix.size());
      if (name == "str" || name == "timestamp") return TreeTag::kText;
      if (name == "int") return TreeTag::kInt;
      if (name == "float") return TreeTag::kFloat;
      if (name == "bool") return TreeTag::kBool;
      if (name == "null") return TreeTag::kNull;
      if (name == "binary") return TreeTag::kBinary;
      if (name == "merge") return TreeTag::kMerge;
    }
    refuse_tag(tag, mark);
  }

  void check_collection_tag(std::string_view tag, std::string_view wanted, const YAML::Mark& mark) const {
    const bool is_standard = tag.starts_with(kStandardTagPrefix) && tag.substr(kStandardTagPrefix.size()) == wanted;
    if (tag != "?" && tag != "!" && !is_standard) refuse_tag(tag, mark);
  }

  [[noreturn]] void refuse_tag(std::string_view tag, const YAML::Mark& mark) const {
    // What is not one of YAML's own may be text that lacks its quotes, a password for example: it is not repeated.
    const bool is_standard = tag.starts_with(kStandardTagPrefix);
    const std::string shown = is_standard ? fmt::format("!!{}", tag.substr(kStandardTagPrefix.size())) : "'!...'";
    refuse(Code::kInvalidArgument, offset_of(mark),
           fmt::format("the tag {} cannot be used here; known are !!str, !!int, !!float, !!bool, !!null, !!binary and "
                       "!!timestamp for scalars, !!seq for lists, !!map for mappings{}",
                       shown, is_standard ? "" : "; text that starts with '!' needs quotes"));
  }

  std::string_view source_;
  const MarkedText& marked_;
  const ParseLimits& limits_;
  const std::size_t text_limit_;
  MeteredText& input_;
  Tree tree_;
  std::vector<OpenCollection> open_;
  std::vector<TreeIndex> anchored_;
  std::optional<std::size_t> last_document_;
  std::size_t root_line_ = 1;
  std::size_t nodes_ = 0;
};

/// yaml-cpp's words for the commonest mistakes, and words for people.
std::string_view explain(std::string_view message) {
  struct Explanation {
    std::string_view words;
    std::string_view meaning;
  };
  const std::array<Explanation, 10> kExplanations = {{
      {YAML::ErrorMsg::END_OF_MAP, "this does not fit into the mapping it is in; check its indentation and quotes"},
      {YAML::ErrorMsg::END_OF_SEQ, "this does not fit into the list it is in; check its indentation and quotes"},
      {YAML::ErrorMsg::END_OF_MAP_FLOW, "the '{' of this mapping has no matching '}', or a ',' is missing"},
      {YAML::ErrorMsg::END_OF_SEQ_FLOW, "the '[' of this list has no matching ']', or a ',' is missing"},
      {YAML::ErrorMsg::MAP_VALUE, "a mapping is not possible here; text that contains ': ' needs quotes"},
      {YAML::ErrorMsg::BLOCK_ENTRY, "a list item ('- ') is not possible here; check its indentation"},
      {YAML::ErrorMsg::UNKNOWN_TOKEN, "text cannot start with this character; put it in quotes"},
      {YAML::ErrorMsg::EOF_IN_SCALAR, "a quoted text is not closed"},
      {YAML::ErrorMsg::DOC_IN_SCALAR, "a quoted text is not closed"},
      {YAML::ErrorMsg::BAD_FILE, "nested too deeply"},
  }};
  for (const Explanation& known : kExplanations) {
    if (message == known.words) return known.meaning;
  }
  return message;
}

/// The characters YAML 1.1 calls non-printable, and bytes that are not UTF-8.
Status check_characters(std::string_view text) {
  const auto byte_at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t at = 0; at < text.size();) {
    const unsigned char byte = byte_at(at);
    if (byte < 0x80) {
      const bool is_control = (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F;
      if (is_control) {
        return error_in_yaml(Code::kInvalidArgument, text, at,
                             fmt::format("control character 0x{:02x}; write it as an escape in double quotes", byte));
      }
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && byte_at(end) >= 0x80) ++end;
    const auto run = codec::decode_utf8(text.substr(at, end - at));
    if (!run) return error_in_yaml(Code::kInvalidArgument, text, at, "the text is not UTF-8");
    const bool is_printable = std::none_of(
        run->begin(), run->end(), [](char32_t c) { return (c < 0xA0 && c != 0x85) || c == 0xFFFE || c == 0xFFFF; });
    if (!is_printable) {
      return error_in_yaml(Code::kInvalidArgument, text, at,
                           "a control character beyond ASCII; write it as an escape in double quotes");
    }
    at = end;
  }
  return {};
}

/// To YAML a carriage return ends a line like a line feed does; yaml-cpp disagrees when it stands alone.
std::string with_line_feeds(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      out += '\n';
    }
  }
  return out;
}

/// yaml-cpp takes the end of the text for the end of a quoted scalar when only blanks come before it. An
/// end-of-document line there makes it notice.
std::string_view end_marker_for(std::string_view text) {
  const std::size_t last_line = text.rfind('\n') + 1;  // npos + 1 is 0
  const std::string_view line = text.substr(last_line);
  if (line.find_first_not_of(" \t") != std::string_view::npos && !line.starts_with('%')) return "";
  return last_line != text.size() ? "\n...\n" : "...\n";
}

std::size_t count_values(const json::Value& value) {
  std::size_t count = 1;
  if (const json::Object* object = value.if_object()) {
    for (const auto& member : *object) count += 1 + count_values(member.value());
  } else if (const json::Array* array = value.if_array()) {
    for (const json::Value& element : *array) count += count_values(element);
  }
  return count;
}

Status read_marked(std::string_view text, const ParseLimits& limits, std::size_t text_limit, const TreeVisitor& visit) {
  const MarkedText marked(text, end_marker_for(text));
  MeteredText input(marked);
  std::istream stream(&input);
  TreeBuilder builder(text, marked, limits, text_limit, input);
  const auto read_too_far = [&] {
    return error_in_yaml(Code::kExhausted, text, input.consumed(),
                         "a collection in '{}' or '[]' up to here is too long; write it as JSON or in block style");
  };
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
      if (input.exceeded()) return read_too_far();
      STRAKE_CHECK_OK(visit(text, builder.tree(), builder.root_line()));
    }
  } catch (const ParseRefused& refused) {
    if (input.exceeded()) return read_too_far();  // the text was cut there: no wonder it is wrong
    return refused.error;
  } catch (const YAML::Exception& failure) {
    if (input.exceeded()) return read_too_far();
    const std::size_t offset = failure.mark.is_null() ? 0 : static_cast<std::size_t>(failure.mark.pos);
    return error_in_yaml(Code::kInvalidArgument, text, offset, explain(failure.msg));
  } catch (const std::exception& failure) {
    return error(Code::kExhausted, "cannot hold the YAML document: {}", failure.what());
  }
  if (input.exceeded()) return read_too_far();
  return {};
}

}  // namespace

Result<std::string_view> text_within_limits(std::string_view text, const ParseLimits& limits) {
  const std::size_t largest = std::min(limits.max_bytes, kLargestText);
  if (text.size() > largest) {
    return error(Code::kExhausted, "YAML text of {} bytes exceeds the limit of {} bytes", text.size(), largest);
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

std::optional<Document> try_json(std::string_view text, const ParseLimits& limits) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || (text[start] != '{' && text[start] != '[')) return std::nullopt;
  auto value = json::parse(text, {.max_bytes = limits.max_bytes, .max_depth = limits.max_depth});
  if (!value.ok() || count_values(*value) > limits.max_nodes) return std::nullopt;  // YAML words for the error, then
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(start), '\n');
  return Document{*std::move(value), static_cast<std::size_t>(line)};
}

Status read_trees(std::string_view text, const ParseLimits& limits, std::size_t text_limit, const TreeVisitor& visit) {
  STRAKE_CHECK_OK(check_characters(text));
  if (text.find('\r') == std::string_view::npos) return read_marked(text, limits, text_limit, visit);
  return read_marked(with_line_feeds(text), limits, text_limit, visit);
}

Result<std::vector<Document>> parse_stream(std::string_view text, const ParseLimits& limits) {
  STRAKE_TRY(text, text_within_limits(text, limits));
  std::vector<Document> documents;
  if (auto document = try_json(text, limits)) {
    documents.push_back(*std::move(document));
    return documents;
  }
  std::optional<TreeConverter> converter;
  STRAKE_CHECK_OK(read_trees(text, limits, std::numeric_limits<std::size_t>::max(),
                             [&](std::string_view source, const Tree& tree, std::size_t root_line) -> Status {
                               if (!converter) converter.emplace(source, limits);
                               STRAKE_TRY(json::Value value, converter->convert(tree));
                               if (!value.is_null()) documents.push_back({std::move(value), root_line});
                               return {};
                             }));
  return documents;
}

Result<json::Value> parse(std::string_view text, const ParseLimits& limits) {
  STRAKE_TRY(std::vector<Document> documents, parse_stream(text, limits));
  if (documents.empty()) return error(Code::kInvalidArgument, "the text holds no document");
  if (documents.size() > 1) {
    return error(Code::kInvalidArgument, "line {}: a second document where one is expected", documents[1].line);
  }
  return std::move(documents.front().value);
}

}  // namespace strake::yaml
