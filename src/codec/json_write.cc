// Writing JSON: numbers as Go's encoding/json prints them, strings with only the escapes JSON demands.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"
#include "codec/json_indent.h"
#include "codec/utf8.h"

namespace strake::json {
namespace {

enum class MemberOrder { kStored, kSorted };
enum class Layout { kCompact, kIndented };

enum class ByteClass : std::uint8_t { kPlain, kEscape, kMultibyte };

constexpr std::array<ByteClass, 256> kByteClasses = [] {
  std::array<ByteClass, 256> classes{};
  for (std::size_t byte = 0; byte < 0x20; ++byte) classes[byte] = ByteClass::kEscape;
  for (std::size_t byte = 0x80; byte < 0x100; ++byte) classes[byte] = ByteClass::kMultibyte;
  classes['"'] = ByteClass::kEscape;
  classes['\\'] = ByteClass::kEscape;
  return classes;
}();

ByteClass class_of(char c) { return kByteClasses[static_cast<unsigned char>(c)]; }

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: {
      constexpr std::string_view kHex = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 0xFu];
    }
  }
}

/// A run of bytes outside ASCII. What is not UTF-8 becomes U+FFFD: whatever we write, others can read.
void append_multibyte(std::string& out, std::string_view run) {
  if (codec::is_valid_utf8(run)) {
    out += run;
    return;
  }
  while (!run.empty()) {
    std::size_t width = 2;
    while (width <= 4 && width <= run.size() && !codec::is_valid_utf8(run.substr(0, width))) ++width;
    if (width <= 4 && width <= run.size()) {
      out += run.substr(0, width);
    } else {
      out += "\xEF\xBF\xBD";
      width = 1;
    }
    run.remove_prefix(width);
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  std::size_t start = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const ByteClass byte_class = class_of(text[at]);
    if (byte_class == ByteClass::kPlain) {
      ++at;
      continue;
    }
    out.append(text, start, at - start);
    start = at;
    if (byte_class == ByteClass::kEscape) {
      append_escape(out, text[at++]);
    } else {
      while (at < text.size() && class_of(text[at]) == ByteClass::kMultibyte) ++at;
      append_multibyte(out, text.substr(start, at - start));
    }
    start = at;
  }
  out.append(text, start);
  out += '"';
}

template <typename Integer>
void append_integer(std::string& out, Integer number) {
  std::array<char, 24> buffer;
  out.append(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr);
}

/// Shortest digits that read back to the same number; an exponent only below 1e-6 and from 1e21 on, as Go does.
void append_double(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";  // JSON has no word for it; parsers never produce one
    return;
  }
  constexpr double kTwoTo53 = 9007199254740992.0;
  if (number == std::trunc(number) && std::abs(number) < kTwoTo53 && !(number == 0 && std::signbit(number))) {
    append_integer(out, static_cast<std::int64_t>(number));
    return;
  }

  std::array<char, 40> buffer;
  const double magnitude = std::abs(number);
  const char* end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, std::chars_format::scientific).ptr;
  const std::string_view scientific(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t mark = scientific.find('e');
  std::string digits(scientific.substr(0, 1));
  if (mark > 2) digits += scientific.substr(2, mark - 2);
  int exponent = 0;
  const std::size_t exponent_at = mark + (scientific[mark + 1] == '+' ? 2 : 1);
  std::from_chars(scientific.data() + exponent_at, end, exponent);

  if (std::signbit(number)) out += '-';
  if (magnitude != 0 && (magnitude < 1e-6 || magnitude >= 1e21)) {
    out += digits[0];
    if (digits.size() > 1) {
      out += '.';
      out.append(digits, 1);
    }
    out += exponent < 0 ? "e" : "e+";
    append_integer(out, exponent);
  } else if (exponent < 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-exponent - 1), '0');
    out += digits;
  } else {
    const std::size_t whole = static_cast<std::size_t>(exponent) + 1;
    if (digits.size() <= whole) {
      out += digits;
      out.append(whole - digits.size(), '0');
    } else {
      out.append(digits, 0, whole);
      out += '.';
      out.append(digits, whole);
    }
  }
}

constexpr std::size_t kPartBytes = 64 * 1024;

template <MemberOrder kOrder, Layout kLayout>
class JsonWriter {
 public:
  explicit JsonWriter(std::size_t spaces = 0, const TextSink* sink = nullptr) : spaces_(spaces), sink_(sink) {}

  std::string take(const Value& value) {
    out_.reserve(512);
    write(value);
    if constexpr (kLayout == Layout::kIndented) out_ += '\n';
    return std::move(out_);
  }

 private:
  void write(const Value& value) {
    switch (value.kind()) {
      case boost::json::kind::null: out_ += "null"; return;
      case boost::json::kind::bool_: out_ += value.get_bool() ? "true" : "false"; return;
      case boost::json::kind::int64: append_integer(out_, value.get_int64()); return;
      case boost::json::kind::uint64: append_integer(out_, value.get_uint64()); return;
      case boost::json::kind::double_: append_double(out_, value.get_double()); return;
      case boost::json::kind::string: append_quoted(out_, as_view(value.get_string())); return;
      case boost::json::kind::array: write_array(value.get_array()); return;
      case boost::json::kind::object: write_object(value.get_object()); return;
    }
  }

  void write_array(const Array& array) {
    out_ += '[';
    bool first = true;
    ++depth_;
    for (const Value& element : array) {
      separate(first);
      write(element);
    }
    close(']', first);
  }

  void write_object(const Object& object) {
    out_ += '{';
    bool first = true;
    ++depth_;
    if constexpr (kOrder == MemberOrder::kSorted) {
      // One vector serves as the stack of all open objects, so that sorting allocates rarely.
      const std::size_t base = members_.size();
      for (const auto& member : object) members_.push_back(&member);
      std::sort(members_.begin() + static_cast<std::ptrdiff_t>(base), members_.end(),
                [](const Member* a, const Member* b) { return a->key() < b->key(); });
      for (std::size_t i = 0; i < object.size(); ++i) write_member(*members_[base + i], first);
      members_.resize(base);
    } else {
      for (const auto& member : object) write_member(member, first);
    }
    close('}', first);
  }

  using Member = boost::json::key_value_pair;

  void write_member(const Member& member, bool& first) {
    separate(first);
    append_quoted(out_, {member.key().data(), member.key().size()});
    out_ += kLayout == Layout::kIndented ? ": " : ":";
    write(member.value());
  }

  void separate(bool& first) {
    if (!first) out_ += ',';
    first = false;
    if (sink_ != nullptr && out_.size() >= kPartBytes) {
      (*sink_)(out_);
      out_.clear();
    }
    if constexpr (kLayout == Layout::kIndented) break_line();
  }

  void close(char bracket, bool empty) {
    --depth_;
    if constexpr (kLayout == Layout::kIndented) {
      if (!empty) break_line();
    }
    out_ += bracket;
  }

  void break_line() {
    out_ += '\n';
    out_.append(spaces_ * depth_, ' ');
  }

  std::string out_;
  std::vector<const Member*> members_;
  std::size_t depth_ = 0;
  const std::size_t spaces_;
  const TextSink* const sink_;  ///< nullptr: the text is wanted whole
};

}  // namespace

std::string write(const Value& value) { return JsonWriter<MemberOrder::kStored, Layout::kCompact>().take(value); }

std::string write_canonical(const Value& value) {
  return JsonWriter<MemberOrder::kSorted, Layout::kCompact>().take(value);
}

std::string write_pretty(const Value& value) { return write_indented(value, 2); }

void write_indented_to(const Value& value, std::size_t spaces, const TextSink& sink) {
  sink(JsonWriter<MemberOrder::kStored, Layout::kIndented>(spaces, &sink).take(value));
}

std::string write_indented(const Value& value, std::size_t spaces) {
  return JsonWriter<MemberOrder::kStored, Layout::kIndented>(spaces).take(value);
}

}  // namespace strake::json
