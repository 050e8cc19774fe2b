// The layout half of the YAML writer: byte for byte what gopkg.in/yaml.v2 2.4.0 puts on the lines, because rendered
// MachineConfig names are hashes of its output. yaml_style.h makes the choices.
#include <algorithm>
#include <string>
#include <vector>

#include "codec/utf8.h"
#include "codec/yaml.h"
#include "codec/yaml_style.h"

namespace strake::yaml {
namespace {

constexpr std::size_t kPreferredWidth = 80;
constexpr int kIndentStep = 2;
constexpr std::size_t kMaxInlineKeyBytes = 128;  // longer keys are written in the `? key` form
constexpr std::size_t kMaxEmitDepth = 1000;

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

/// Remembers what the next token depends on: the column, whether a blank was just written, and whether the line so far
/// is nothing but indentation (dashes and question marks count as indentation).
class BlockEmitter {
 public:
  Status emit_document(const json::Value& value) {
    STRAKE_CHECK_OK(emit_node(value, /*in_mapping=*/false));
    start_line();
    return {};
  }

  std::string take() && { return std::move(out_); }

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
    std::vector<KeyedMember> members;
    members.reserve(object.size());
    for (const auto& entry : object) {
      STRAKE_TRY_CONTEXT(std::u32string key, read_key(entry.key()), "key {:?}",
                         std::string_view(entry.key()).substr(0, 60));
      members.push_back({std::move(key), &entry});
    }
    sort_members(members);

    const int outer_indent = indent_;
    increase_indent();
    for (const KeyedMember& member : members) {
      start_line();
      emit_key(member.key, member.entry->key().size());
      STRAKE_CHECK_OK(
          emit_node(member.entry->value(), /*in_mapping=*/true).context("{}", std::string_view(member.entry->key())));
    }
    indent_ = outer_indent;
    return {};
  }

  void emit_key(const std::u32string& key, std::size_t key_bytes) {
    const ScalarForm form = choose_form(key);
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
    STRAKE_TRY(const std::u32string text, read_string(utf8));
    write_scalar(text, choose_form(text).style, /*may_fold=*/true);
    return {};
  }

  void write_scalar(const std::u32string& text, ScalarStyle style, bool may_fold) {
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

  void write_plain(const std::u32string& text, bool may_fold) {
    separate();
    bool after_space = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool is_space = text[i] == U' ';
      if (is_space && may_fold && !after_space && column_ > kPreferredWidth && text[i + 1] != U' ') {
        start_line();
      } else {
        write_char(text[i]);
      }
      if (!is_space) in_indentation_ = false;
      after_space = is_space;
    }
    blank_written_ = false;
    in_indentation_ = false;
  }

  void write_single_quoted(const std::u32string& text, bool may_fold) {
    write_separated("'");
    in_indentation_ = false;
    bool after_space = false;
    bool after_break = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char32_t c = text[i];
      if (c == U' ') {
        if (may_fold && !after_space && column_ > kPreferredWidth && i > 0 && i + 1 < text.size() &&
            text[i + 1] != U' ') {
          start_line();
        } else {
          write_char(c);
        }
        after_space = true;
      } else if (is_line_break(c)) {
        write_break(c);
        in_indentation_ = true;
        after_break = true;
      } else {
        if (after_break) start_line();
        if (c == U'\'') write_char(c);
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

  void write_double_quoted(const std::u32string& text, bool may_fold) {
    write_separated("\"");
    in_indentation_ = false;
    // The original looks for the byte order mark at the start of the text only, and then escapes every character.
    const bool escape_all = !text.empty() && text.front() == kByteOrderMark;
    bool after_space = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char32_t c = text[i];
      if (escape_all || !is_printable(c) || is_line_break(c) || c == U'"' || c == U'\\') {
        write_escaped(c);
        after_space = false;
      } else if (c == U' ') {
        if (may_fold && !after_space && column_ > kPreferredWidth && i > 0 && i + 1 < text.size()) {
          start_line();
          if (text[i + 1] == U' ') write_ascii("\\");
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

  void write_literal(const std::u32string& text) {
    write_separated("|");
    // Without the hint a reader would take the leading blanks for indentation.
    if (text.front() == U' ' || is_line_break(text.front())) write_ascii(fmt::format("{}", kIndentStep));
    if (!is_line_break(text.back())) {
      write_ascii("-");
    } else if (text.size() == 1 || is_line_break(text[text.size() - 2])) {
      write_ascii("+");
    }
    write_break(U'\n');
    in_indentation_ = true;
    blank_written_ = true;
    bool after_break = true;
    for (char32_t c : text) {
      if (is_line_break(c)) {
        write_break(c);
        in_indentation_ = true;
        after_break = true;
      } else {
        if (after_break) start_line();
        write_char(c);
        in_indentation_ = false;
        after_break = false;
      }
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
    out_.append(text);
    column_ += text.size();
  }

  void write_char(char32_t c) {
    codec::append_utf8(out_, c);
    ++column_;
  }

  void write_break(char32_t c) {
    codec::append_utf8(out_, c);
    column_ = 0;
  }

  std::string out_;
  int indent_ = -1;  // outside any collection
  std::size_t column_ = 0;
  std::size_t depth_ = 0;
  bool blank_written_ = true;
  bool in_indentation_ = true;
};

}  // namespace

Result<std::string> emit(const json::Value& value) {
  BlockEmitter emitter;
  STRAKE_CHECK_OK(emitter.emit_document(value).context("writing YAML"));
  return std::move(emitter).take();
}

}  // namespace strake::yaml
