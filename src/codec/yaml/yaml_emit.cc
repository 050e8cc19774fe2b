// The layout half of the YAML writer: byte for byte what gopkg.in/yaml.v2 2.4.0 puts on the lines, because rendered
// MachineConfig names are hashes of its output. yaml_style.h makes the choices.
#include <algorithm>
#include <string>
#include <vector>

#include "codec/utf8.h"
#include "codec/yaml.h"
#include "codec/yaml/yaml_style.h"

namespace strake::yaml {
namespace {

constexpr std::size_t kPreferredWidth = 80;
constexpr int kIndentStep = 2;
constexpr std::size_t kMaxInlineKeyBytes = 128;  // longer keys are written in the `? key` form
constexpr std::size_t kMaxEmitDepth = 1000;

constexpr std::size_t kBufferBytes = 32u << 10;

struct KeyedMember {
  std::u32string key;
  const json::Object::value_type* entry;
};

/// Natural order has cycles, on which std::sort may run out of bounds; a heap cannot. The first sort makes the outcome
/// independent of the order in which the members came.
void sort_members(std::vector<KeyedMember>& members) {
  std::sort(members.begin(), members.end(), [](const KeyedMember& a, const KeyedMember& b) { return a.key < b.key; });
  const auto less = [](const KeyedMember& a, const KeyedMember& b) { return natural_less(a.key, b.key); };
  std::make_heap(members.begin(), members.end(), less);
  std::sort_heap(members.begin(), members.end(), less);
}

bool has_word_keys(const json::Object& object) {
  return std::all_of(object.begin(), object.end(), [](const auto& entry) {
    return entry.key().size() <= kMaxInlineKeyBytes && is_word(entry.key());
  });
}

// Where the writers stop in a text of code points, and in simple text (see is_simple_text), where little can happen.
std::size_t find_break(const std::u32string& text, std::size_t from) {
  return static_cast<std::size_t>(
      std::find_if(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), is_line_break) - text.begin());
}
std::size_t find_break(std::string_view text, std::size_t from) { return std::min(text.find('\n', from), text.size()); }

bool is_break(char32_t c) { return is_line_break(c); }
bool is_break(char c) { return c == '\n'; }

bool needs_escape(char32_t c) { return !is_printable(c) || is_line_break(c) || c == U'"' || c == U'\\'; }
bool needs_escape(char c) { return c == '\n' || c == '"' || c == '\\'; }

bool starts_with_mark(const std::u32string& text) { return !text.empty() && text.front() == kByteOrderMark; }
bool starts_with_mark(std::string_view) { return false; }

/// Remembers what the next token depends on: the column, whether a blank was just written, and whether the line so far
/// is nothing but indentation (dashes and question marks count as indentation).
class BlockEmitter {
 public:
  explicit BlockEmitter(const TextSink& sink) : sink_(sink) { out_.reserve(kBufferBytes); }

  Status emit_document(const json::Value& value) {
    STRAKE_CHECK_OK(emit_node(value, /*in_mapping=*/false));
    start_line();
    flush();
    return {};
  }

 private:
  Status emit_node(const json::Value& value, bool in_mapping) {
    if (depth_ == kMaxEmitDepth) {
      return error(Code::kInvalidArgument, "the value is nested deeper than {} levels", kMaxEmitDepth);
    }
    ++depth_;
    Status status = emit_value(value, in_mapping);
    --depth_;
    return status;
  }

  Status emit_value(const json::Value& value, bool in_mapping) {
    switch (value.kind()) {
      case boost::json::kind::null: return emit_word("null");
      case boost::json::kind::bool_: return emit_word(value.get_bool() ? "true" : "false");
      case boost::json::kind::int64: return emit_word(fmt::format("{}", value.get_int64()));
      case boost::json::kind::uint64: return emit_word(fmt::format("{}", value.get_uint64()));
      case boost::json::kind::double_: return emit_word(format_float(value.get_double()));
      case boost::json::kind::string: return emit_string(std::string_view(value.get_string()));
      case boost::json::kind::array: return emit_sequence(value.get_array(), in_mapping);
      case boost::json::kind::object: return emit_mapping(value.get_object());
    }
    return error(Code::kInternal, "a JSON value has an unknown kind");
  }

  Status emit_word(std::string_view word) {
    write_separated(word);
    in_indentation_ = false;
    return {};
  }

  Status emit_sequence(const json::Array& array, bool in_mapping) {
    if (array.empty()) return emit_word("[]");
    const int outer_indent = indent_;
    // A sequence under a key keeps the key's indentation; one that starts on a dash or `:` line does not.
    const bool keeps_indent = in_mapping && !in_indentation_;
    if (!keeps_indent) increase_indent();
    std::size_t index = 0;
    for (const json::Value& item : array) {
      start_line();
      write_dash("-");
      STRAKE_CHECK_OK(emit_node(item, /*in_mapping=*/false).context("item {}", index));
      ++index;
    }
    indent_ = outer_indent;
    return {};
  }

  Status emit_mapping(const json::Object& object) {
    if (object.empty()) return emit_word("{}");
    const int outer_indent = indent_;
    increase_indent();
    STRAKE_CHECK_OK(has_word_keys(object) ? emit_word_members(object) : emit_members(object));
    indent_ = outer_indent;
    return {};
  }

  /// The members of an object that is being written lie on top of those of the objects around it.
  Status emit_word_members(const json::Object& object) {
    const std::size_t first = words_.size();
    for (const auto& entry : object) words_.push_back(&entry);
    std::sort(words_.begin() + static_cast<std::ptrdiff_t>(first), words_.end(),
              [](const auto* a, const auto* b) { return a->key() < b->key(); });
    for (std::size_t i = first; i < first + object.size(); ++i) {
      const json::Object::value_type& entry = *words_[i];
      const std::string_view key = entry.key();
      start_line();
      emit_key(key, choose_form(key), key.size());
      STRAKE_CHECK_OK(emit_node(entry.value(), /*in_mapping=*/true).context("{}", key));
    }
    words_.resize(first);
    return {};
  }

  Status emit_members(const json::Object& object) {
    std::vector<KeyedMember> members;
    members.reserve(object.size());
    for (const auto& entry : object) {
      STRAKE_TRY_CONTEXT(std::u32string key, read_key(entry.key()), "key {:?}",
                         std::string_view(entry.key()).substr(0, 60));
      members.push_back({std::move(key), &entry});
    }
    sort_members(members);
    for (const KeyedMember& member : members) {
      start_line();
      emit_key(member.key, choose_form(member.key), member.entry->key().size());
      STRAKE_CHECK_OK(
          emit_node(member.entry->value(), /*in_mapping=*/true).context("{}", std::string_view(member.entry->key())));
    }
    return {};
  }

  template <typename Text>
  void emit_key(const Text& key, const ScalarForm& form, std::size_t key_bytes) {
    if (!form.multiline && key_bytes <= kMaxInlineKeyBytes) {
      write_scalar(key, form.style, /*may_fold=*/false);
      write_ascii(":");
      blank_written_ = false;
      in_indentation_ = false;
      return;
    }
    write_dash("?");
    write_scalar(key, form.style, /*may_fold=*/true);
    start_line();
    write_dash(":");
  }

  Status emit_string(std::string_view utf8) {
    if (is_simple_text(utf8)) {
      write_scalar(utf8, choose_form(utf8).style, /*may_fold=*/true);
      return {};
    }
    STRAKE_TRY(const std::u32string text, read_string(utf8));
    write_scalar(text, choose_form(text).style, /*may_fold=*/true);
    return {};
  }

  template <typename Text>
  void write_scalar(const Text& text, ScalarStyle style, bool may_fold) {
    const int outer_indent = indent_;
    indent_ = indent_ < 0 ? kIndentStep : indent_ + kIndentStep;
    switch (style) {
      case ScalarStyle::kPlain: write_plain(text, may_fold); break;
      case ScalarStyle::kSingleQuoted: write_single_quoted(text, may_fold); break;
      case ScalarStyle::kDoubleQuoted: write_double_quoted(text, may_fold); break;
      case ScalarStyle::kLiteral: write_literal(text); break;
    }
    indent_ = outer_indent;
  }

  template <typename Text>
  void write_plain(const Text& text, bool may_fold) {
    separate();
    bool after_space = false;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t space = std::min(text.find(' ', i), text.size());
      if (space > i) {
        write_run(text, i, space);
        in_indentation_ = false;
        after_space = false;
      }
      if (space < text.size()) {
        const bool folds = may_fold && !after_space && column_ > kPreferredWidth && text[space + 1] != ' ';
        if (folds) {
          start_line();
        } else {
          write_char(' ');
        }
        after_space = true;
      }
      i = space + 1;
    }
    blank_written_ = false;
    in_indentation_ = false;
  }

  template <typename Text>
  void write_single_quoted(const Text& text, bool may_fold) {
    write_separated("'");
    in_indentation_ = false;
    bool after_space = false;
    bool after_break = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto c = text[i];
      if (c == ' ') {
        if (may_fold && !after_space && column_ > kPreferredWidth && i > 0 && i + 1 < text.size() &&
            text[i + 1] != ' ') {
          start_line();
        } else {
          write_char(c);
        }
        after_space = true;
      } else if (is_break(c)) {
        write_break(static_cast<char32_t>(c));
        in_indentation_ = true;
        after_break = true;
      } else {
        if (after_break) start_line();
        if (c == '\'') write_char(c);
        write_char(c);
        in_indentation_ = false;
        after_space = false;
        after_break = false;
      }
    }
    write_ascii("'");
    blank_written_ = false;
    in_indentation_ = false;
  }

  template <typename Text>
  void write_double_quoted(const Text& text, bool may_fold) {
    write_separated("\"");
    in_indentation_ = false;
    // The original looks for the byte order mark at the start of the text only, and then escapes every character.
    const bool escape_all = starts_with_mark(text);
    bool after_space = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto c = text[i];
      if (escape_all || needs_escape(c)) {
        write_escaped(static_cast<char32_t>(c));
        after_space = false;
      } else if (c == ' ') {
        if (may_fold && !after_space && column_ > kPreferredWidth && i > 0 && i + 1 < text.size()) {
          start_line();
          if (text[i + 1] == ' ') write_ascii("\\");
        } else {
          write_char(c);
        }
        after_space = true;
      } else {
        write_char(c);
        after_space = false;
      }
    }
    write_ascii("\"");
    blank_written_ = false;
    in_indentation_ = false;
  }

  void write_escaped(char32_t c) {
    switch (c) {
      case 0x00: return write_ascii("\\0");
      case 0x07: return write_ascii("\\a");
      case 0x08: return write_ascii("\\b");
      case 0x09: return write_ascii("\\t");
      case 0x0A: return write_ascii("\\n");
      case 0x0B: return write_ascii("\\v");
      case 0x0C: return write_ascii("\\f");
      case 0x0D: return write_ascii("\\r");
      case 0x1B: return write_ascii("\\e");
      case U'"': return write_ascii("\\\"");
      case U'\\': return write_ascii("\\\\");
      case kNextLine: return write_ascii("\\N");
      case 0xA0: return write_ascii("\\_");
      case kLineSeparator: return write_ascii("\\L");
      case kParagraphSeparator: return write_ascii("\\P");
      default: break;
    }
    const auto code = static_cast<std::uint32_t>(c);
    if (code <= 0xFF) return write_ascii(fmt::format("\\x{:02X}", code));
    if (code <= 0xFFFF) return write_ascii(fmt::format("\\u{:04X}", code));
    write_ascii(fmt::format("\\U{:08X}", code));
  }

  template <typename Text>
  void write_literal(const Text& text) {
    write_separated("|");
    // Without the hint a reader would take the leading blanks for indentation.
    if (text.front() == ' ' || is_break(text.front())) write_ascii(fmt::format("{}", kIndentStep));
    if (!is_break(text.back())) {
      write_ascii("-");
    } else if (text.size() == 1 || is_break(text[text.size() - 2])) {
      write_ascii("+");
    }
    write_break(U'\n');
    in_indentation_ = true;
    blank_written_ = true;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::size_t end = find_break(text, i);
      if (end > i) {
        start_line();
        write_run(text, i, end);
        in_indentation_ = false;
      }
      if (end < text.size()) {
        write_break(static_cast<char32_t>(text[end]));
        in_indentation_ = true;
      }
      i = end;
    }
  }

  void increase_indent() { indent_ = indent_ < 0 ? 0 : indent_ + kIndentStep; }

  /// Moves to the current indentation: on this line when it holds nothing else yet, otherwise on a new one.
  void start_line() {
    const auto wanted = static_cast<std::size_t>(std::max(indent_, 0));
    if (!in_indentation_ || column_ > wanted || (column_ == wanted && !blank_written_)) write_break(U'\n');
    if (column_ < wanted) {
      out_.append(wanted - column_, ' ');
      column_ = wanted;
    }
    blank_written_ = true;
    in_indentation_ = true;
  }

  /// `-`, `?` and `:` at the start of a line: what follows may still count as the line's start.
  void write_dash(std::string_view indicator) { write_separated(indicator); }

  void write_separated(std::string_view text) {
    separate();
    write_ascii(text);
    blank_written_ = false;
  }

  void separate() {
    if (!blank_written_) write_ascii(" ");
  }

  void write_ascii(std::string_view text) {
    write_bytes(text);
    column_ += text.size();
  }

  void write_run(std::string_view text, std::size_t begin, std::size_t end) {
    write_ascii(text.substr(begin, end - begin));
  }

  void write_run(const std::u32string& text, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) write_char(text[i]);
  }

  void write_char(char32_t c) {
    codec::append_utf8(out_, c);
    ++column_;
  }

  void write_char(char c) {
    out_.push_back(c);
    ++column_;
  }

  void write_break(char32_t c) {
    codec::append_utf8(out_, c);
    column_ = 0;
    if (out_.size() >= kBufferBytes) flush();
  }

  /// What would not fit into the buffer need not go through it.
  void write_bytes(std::string_view bytes) {
    if (out_.size() + bytes.size() > kBufferBytes) flush();
    if (bytes.size() > kBufferBytes) {
      sink_(bytes);
    } else {
      out_.append(bytes);
    }
  }

  void flush() {
    sink_(out_);
    out_.clear();
  }

  const TextSink& sink_;
  std::string out_;  ///< what the sink has not had yet
  std::vector<const json::Object::value_type*> words_;
  int indent_ = -1;  // outside any collection
  std::size_t column_ = 0;
  std::size_t depth_ = 0;
  bool blank_written_ = true;
  bool in_indentation_ = true;
};

}  // namespace

Status emit_to(const json::Value& value, const TextSink& sink) {
  return BlockEmitter(sink).emit_document(value).context("writing YAML");
}

Result<std::string> emit(const json::Value& value) {
  std::string text;
  STRAKE_CHECK_OK(emit_to(value, [&](std::string_view part) { text += part; }));
  return text;
}

}  // namespace strake::yaml
