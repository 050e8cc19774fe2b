#include "codec/toml.h"

#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "codec/text_position.h"
#include "codec/toml_scalar.h"
#include "codec/utf8.h"

namespace strake::toml {

namespace {

/// How a node came to be decides who may add to it later (TOML 1.0, "Table" and "Inline Table").
enum class NodeKind {
  kScalar,
  kArray,          ///< [1, 2]: complete as written
  kInlineTable,    ///< {a = 1}: complete as written
  kTableArray,     ///< [[a]]: grows by further headers of the same name
  kHeaderTable,    ///< [a]: named once
  kImplicitTable,  ///< the `a` of [a.b]: may still be named
  kDottedTable,    ///< the `a` of a.b = 1: may grow by dotted keys, and by headers of tables below it
};

struct Node {
  NodeKind kind = NodeKind::kScalar;
  std::size_t depth = 0;
  json::Value scalar;
  std::vector<std::pair<std::string, Node*>> members;  ///< of tables; of arrays with empty names
  std::unordered_map<std::string, Node*> by_name;
};

struct Key {
  std::string name;
  std::size_t offset = 0;
};

class Parser {
 public:
  Parser(std::string_view text, const ParseLimits& limits) : text_(text), limits_(limits) {}

  Result<json::Value> parse() {
    Node* root = &nodes_.emplace_back();
    root->kind = NodeKind::kHeaderTable;
    Node* table = root;
    while (true) {
      skip_blanks();
      if (at_end()) break;
      if (peek() != '#' && !at_line_break()) {
        if (peek() == '[') {
          STRAKE_TRY(table, header(*root));
        } else {
          STRAKE_CHECK_OK(key_value(*table));
        }
      }
      STRAKE_CHECK_OK(end_of_line());
    }
    return to_json(*root);
  }

 private:
  bool at_end() const { return offset_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return offset_ + ahead < text_.size() ? text_[offset_ + ahead] : '\0'; }
  bool at(std::string_view wanted) const { return text_.substr(offset_).starts_with(wanted); }
  bool at_line_break() const { return at("\n") || at("\r\n"); }

  template <typename... Args>
  Error error_at(std::size_t offset, fmt::format_string<Args...> message, Args&&... args) const {
    return positioned(Code::kInvalidArgument, offset, fmt::format(message, std::forward<Args>(args)...));
  }
  Error positioned(Code code, std::size_t offset, std::string_view message) const {
    const codec::TextPosition position = codec::position_in(text_, offset);
    return error(code, "line {}, column {}: {}", position.line, position.column, message);
  }

  std::string here() const {
    if (at_end()) return "the text ends";
    if (at_line_break()) return "the line ends";
    const auto byte = static_cast<unsigned char>(peek());
    if (byte < 0x20 || byte == 0x7F) return fmt::format("there is the control character 0x{:02x}", byte);
    if (byte >= 0x80) return "there is a character that is not ASCII";
    return fmt::format("there is '{}'", peek());
  }

  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t') ++offset_;
  }

  static bool is_refused_control(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7F;
  }

  Status skip_comment() {
    if (peek() != '#') return {};
    while (!at_end() && !at_line_break()) {
      if (is_refused_control(peek())) return error_at(offset_, "a comment cannot contain control characters");
      ++offset_;
    }
    return {};
  }

  void skip_line_break() { offset_ += peek() == '\r' ? 2 : 1; }

  Status end_of_line() {
    skip_blanks();
    STRAKE_CHECK_OK(skip_comment());
    if (at_end()) return {};
    if (!at_line_break()) return error_at(offset_, "the line should end here, but {}", here());
    skip_line_break();
    return {};
  }

  /// Blanks, comments and line breaks: what may stand between the elements of an array.
  Status skip_space() {
    while (true) {
      skip_blanks();
      STRAKE_CHECK_OK(skip_comment());
      if (!at_line_break()) return {};
      skip_line_break();
    }
  }

  Result<Node*> new_node(NodeKind kind, std::size_t depth, std::size_t offset) {
    if (depth > limits_.max_depth) {
      return positioned(Code::kExhausted, offset,
                        fmt::format("nested deeper than the limit of {} levels", limits_.max_depth));
    }
    if (nodes_.size() >= limits_.max_nodes) {
      return positioned(Code::kExhausted, offset, fmt::format("more values than the limit of {}", limits_.max_nodes));
    }
    Node* node = &nodes_.emplace_back();
    node->kind = kind;
    node->depth = depth;
    return node;
  }

  Result<Node*> add_member(Node& table, const Key& key, NodeKind kind) {
    STRAKE_TRY(Node * node, new_node(kind, table.depth + 1, key.offset));
    adopt(table, key.name, node);
    return node;
  }

  static void adopt(Node& table, const std::string& name, Node* node) {
    table.members.emplace_back(name, node);
    table.by_name.emplace(name, node);
  }

  static Node* find(const Node& table, const std::string& name) {
    const auto found = table.by_name.find(name);
    return found == table.by_name.end() ? nullptr : found->second;
  }

  Result<std::vector<Key>> dotted_key() {
    std::vector<Key> keys;
    while (true) {
      skip_blanks();
      Key key{{}, offset_};
      if (peek() == '"' || peek() == '\'') {
        if (at("\"\"\"") || at("'''")) return error_at(offset_, "a key cannot be a multi-line string");
        STRAKE_TRY(key.name, quoted_string());
      } else {
        while (is_bare_key_character(peek())) key.name += text_[offset_++];
        if (key.name.empty()) return error_at(offset_, "a key is expected, but {}", here());
      }
      keys.push_back(std::move(key));
      if (keys.size() > limits_.max_depth) {
        return positioned(Code::kExhausted, offset_,
                          fmt::format("a key of more than the limit of {} parts", limits_.max_depth));
      }
      skip_blanks();
      if (peek() != '.') return keys;
      ++offset_;
    }
  }

  static bool is_bare_key_character(char c) { return is_alphanumeric(c) || c == '-' || c == '_'; }

  /// [a.b] or [[a.b]]; returns the table that the lines below it fill.
  Result<Node*> header(Node& root) {
    const bool is_array = at("[[");
    offset_ += is_array ? 2 : 1;
    STRAKE_TRY(const std::vector<Key> keys, dotted_key());
    const std::string_view closing = is_array ? "]]" : "]";
    if (!at(closing)) return error_at(offset_, "the table name should end with '{}', but {}", closing, here());
    offset_ += closing.size();

    Node* table = &root;
    for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
      STRAKE_TRY(table, step_into(*table, keys[i]));
    }
    const Key& last = keys.back();
    Node* existing = find(*table, last.name);
    if (is_array) {
      if (existing == nullptr) {
        STRAKE_TRY(existing, add_member(*table, last, NodeKind::kTableArray));
      } else if (existing->kind != NodeKind::kTableArray) {
        return error_at(last.offset, "'{}' is already something else than an array of tables", last.name);
      }
      STRAKE_TRY(Node * element, new_node(NodeKind::kHeaderTable, existing->depth + 1, last.offset));
      existing->members.emplace_back(std::string(), element);
      return element;
    }
    if (existing == nullptr) return add_member(*table, last, NodeKind::kHeaderTable);
    if (existing->kind != NodeKind::kImplicitTable) {
      return error_at(last.offset, "'{}' is already defined; a table can be defined only once", last.name);
    }
    existing->kind = NodeKind::kHeaderTable;
    return existing;
  }

  /// One part of a header's path before the last: may lead through anything but complete values.
  Result<Node*> step_into(Node& table, const Key& key) {
    Node* next = find(table, key.name);
    if (next == nullptr) return add_member(table, key, NodeKind::kImplicitTable);
    switch (next->kind) {
      case NodeKind::kHeaderTable:
      case NodeKind::kImplicitTable:
      case NodeKind::kDottedTable: return next;
      case NodeKind::kTableArray: return next->members.back().second;
      case NodeKind::kScalar:
      case NodeKind::kArray:
      case NodeKind::kInlineTable: break;
    }
    return error_at(key.offset, "'{}' is already a value; no table can be added to it", key.name);
  }

  Status key_value(Node& table) {
    STRAKE_TRY(const std::vector<Key> keys, dotted_key());
    if (peek() != '=') return error_at(offset_, "the key should be followed by '=', but {}", here());
    ++offset_;
    skip_blanks();
    Node* owner = &table;
    for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
      Node* next = find(*owner, keys[i].name);
      if (next == nullptr) {
        STRAKE_TRY(next, add_member(*owner, keys[i], NodeKind::kDottedTable));
      } else if (next->kind != NodeKind::kDottedTable && next->kind != NodeKind::kImplicitTable) {
        return error_at(keys[i].offset, "'{}' is already defined; a dotted key cannot add to it", keys[i].name);
      }
      next->kind = NodeKind::kDottedTable;
      owner = next;
    }
    const Key& last = keys.back();
    if (find(*owner, last.name) != nullptr) return error_at(last.offset, "duplicate key '{}'", last.name);
    STRAKE_TRY(Node * node, value(owner->depth + 1));
    adopt(*owner, last.name, node);
    return {};
  }

  Result<Node*> value(std::size_t depth) {
    switch (peek()) {
      case '[': return array(depth);
      case '{': return inline_table(depth);
      case '"':
      case '\'': {
        const std::size_t start = offset_;
        STRAKE_TRY(std::string text, at("\"\"\"") || at("'''") ? multi_line_string() : quoted_string());
        STRAKE_TRY(Node * node, new_node(NodeKind::kScalar, depth, start));
        node->scalar = std::move(text);
        return node;
      }
      default: return plain_value(depth);
    }
  }

  Result<Node*> array(std::size_t depth) {
    STRAKE_TRY(Node * node, new_node(NodeKind::kArray, depth, offset_));
    ++offset_;
    while (true) {
      STRAKE_CHECK_OK(skip_space());
      if (peek() == ']') break;
      STRAKE_TRY(Node * element, value(depth + 1));
      node->members.emplace_back(std::string(), element);
      STRAKE_CHECK_OK(skip_space());
      if (peek() == ']') break;
      if (peek() != ',') return error_at(offset_, "the array should go on with ',' or end with ']', but {}", here());
      ++offset_;
    }
    ++offset_;
    return node;
  }

  Result<Node*> inline_table(std::size_t depth) {
    STRAKE_TRY(Node * node, new_node(NodeKind::kInlineTable, depth, offset_));
    ++offset_;
    skip_blanks();
    if (peek() == '}') {
      ++offset_;
      return node;
    }
    while (true) {
      STRAKE_CHECK_OK(key_value(*node));
      skip_blanks();
      if (peek() == '}') break;
      if (peek() != ',') {
        return error_at(offset_, "the inline table should go on with ',' or end with '}}', but {}", here());
      }
      ++offset_;
    }
    ++offset_;
    return node;
  }

  Result<Node*> plain_value(std::size_t depth) {
    const std::size_t start = offset_;
    const auto skip_token = [&] {
      offset_ = std::min(text_.find_first_of(" \t\r\n#,]}=\"'[{", offset_), text_.size());
    };
    skip_token();
    if (is_date(text_.substr(start, offset_ - start)) && peek() == ' ' && peek(1) >= '0' && peek(1) <= '9') {
      ++offset_;
      skip_token();
    }
    if (offset_ == start) return error_at(start, "a value is expected, but {}", here());
    const std::string_view token = text_.substr(start, offset_ - start);
    for (const char c : token) {
      if (c >= ' ' && c < 0x7F) continue;  // the blank is the one between a date and its time
      offset_ = start + static_cast<std::size_t>(&c - token.data());
      return error_at(offset_, "a value is expected, but {}", here());
    }
    constexpr std::size_t kLongestToken = 400;  // longer than any number; keeps errors readable
    if (token.size() > kLongestToken) return error_at(start, "a value of {} characters without quotes", token.size());
    Scalar scalar = resolve_scalar(token);
    if (!scalar.refusal.empty()) return error_at(start, "{}", scalar.refusal);
    STRAKE_TRY(Node * node, new_node(NodeKind::kScalar, depth, start));
    node->scalar = std::move(scalar.value);
    return node;
  }

  /// "basic" or 'literal', on one line.
  Result<std::string> quoted_string() {
    const std::size_t start = offset_;
    const char quote = text_[offset_++];
    std::string value;
    while (true) {
      if (at_end() || at_line_break()) return error_at(start, "the string is not closed on its line");
      const char c = peek();
      if (is_refused_control(c)) return error_at(offset_, "a string cannot contain control characters; escape them");
      if (c == '\\' && quote == '"') {
        STRAKE_CHECK_OK(escape(value));
        continue;
      }
      ++offset_;
      if (c == quote) return value;
      value += c;
    }
  }

  /// """basic""" or '''literal'''. A line break directly after the opening is not part of it; CRLF reads as LF.
  Result<std::string> multi_line_string() {
    const std::size_t start = offset_;
    const char quote = peek();
    const std::string_view closing = text_.substr(start, 3);
    offset_ += 3;
    if (at_line_break()) skip_line_break();
    std::string value;
    while (true) {
      if (at_end()) return error_at(start, "the string is not closed");
      if (at(closing)) {
        offset_ += 3;
        // Up to two quotes may stand directly before the closing three.
        for (int extra = 0; extra < 2 && peek() == quote; ++extra, ++offset_) value += quote;
        return value;
      }
      if (at_line_break()) {
        skip_line_break();
        value += '\n';
      } else if (is_refused_control(peek())) {
        return error_at(offset_, "a string cannot contain control characters; escape them");
      } else if (peek() == '\\' && quote == '"') {
        if (skip_escaped_line_break()) continue;
        STRAKE_CHECK_OK(escape(value));
      } else {
        value += text_[offset_++];
      }
    }
  }

  /// A backslash at the end of a line swallows it and all blanks and empty lines after it.
  bool skip_escaped_line_break() {
    const std::size_t start = offset_++;
    skip_blanks();
    if (!at_line_break()) {
      offset_ = start;
      return false;
    }
    while (at_line_break()) {
      skip_line_break();
      skip_blanks();
    }
    return true;
  }

  Status escape(std::string& value) {
    const std::size_t start = offset_;
    ++offset_;
    const char kind = peek();
    if (!at_end()) ++offset_;
    switch (kind) {
      case 'b': value += '\b'; return {};
      case 't': value += '\t'; return {};
      case 'n': value += '\n'; return {};
      case 'f': value += '\f'; return {};
      case 'r': value += '\r'; return {};
      case '"': value += '"'; return {};
      case '\\': value += '\\'; return {};
      case 'u': return unicode_escape(4, start, value);
      case 'U': return unicode_escape(8, start, value);
      default: return error_at(start, "unknown escape; a backslash is written as \\\\");
    }
  }

  Status unicode_escape(std::size_t digits, std::size_t start, std::string& value) {
    std::uint32_t code_point = 0;
    for (std::size_t i = 0; i < digits; ++i, ++offset_) {
      const char c = peek();
      const int digit = hex_digit_value(c);
      if (digit < 0) return error_at(start, "the escape needs {} hexadecimal digits", digits);
      code_point = code_point * 16 + static_cast<std::uint32_t>(digit);
    }
    if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF)) {
      return error_at(start, "the escape names no Unicode character");
    }
    codec::append_utf8(value, code_point);
    return {};
  }

  static json::Value to_json(Node& node) {
    switch (node.kind) {
      case NodeKind::kScalar: return std::move(node.scalar);
      case NodeKind::kArray:
      case NodeKind::kTableArray: {
        json::Array array;
        array.reserve(node.members.size());
        for (auto& [unused, element] : node.members) array.push_back(to_json(*element));
        return array;
      }
      case NodeKind::kInlineTable:
      case NodeKind::kHeaderTable:
      case NodeKind::kImplicitTable:
      case NodeKind::kDottedTable: break;
    }
    json::Object object;
    object.reserve(node.members.size());
    for (auto& [name, member] : node.members) object.emplace(name, to_json(*member));
    return object;
  }

  std::string_view text_;
  const ParseLimits& limits_;
  std::size_t offset_ = 0;
  std::deque<Node> nodes_;  ///< owns the tree; addresses stay
};

/// The number of the first line that is not UTF-8, or 0.
std::size_t first_line_not_utf8(std::string_view text) {
  if (codec::is_valid_utf8(text)) return 0;
  std::size_t line = 1;
  while (true) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos || !codec::is_valid_utf8(text.substr(0, end))) return line;
    text.remove_prefix(end + 1);
    ++line;
  }
}

}  // namespace

Result<json::Value> parse(std::string_view text, const ParseLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return error(Code::kExhausted, "TOML text of {} bytes exceeds the limit of {} bytes", text.size(),
                 limits.max_bytes);
  }
  if (const std::size_t line = first_line_not_utf8(text)) {
    return error(Code::kInvalidArgument, "line {}: the text is not UTF-8", line);
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return Parser(text, limits).parse();
}

}  // namespace strake::toml
