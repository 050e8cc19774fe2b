// The decisions of the YAML writer, apart from layout: what a string becomes on its way through the reader, which style
// it gets, how numbers look, how keys are ordered. Internal to yaml_emit.cc.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace strake::yaml {

constexpr char32_t kNextLine = 0x85;
constexpr char32_t kLineSeparator = 0x2028;
constexpr char32_t kParagraphSeparator = 0x2029;
constexpr char32_t kByteOrderMark = 0xFEFF;

bool is_line_break(char32_t c);

/// What may stand in the output unescaped. Characters outside the basic plane are not among them.
bool is_printable(char32_t c);

/// The text after JSON has been read back as YAML; an error when the reader would refuse it.
Result<std::u32string> read_string(std::string_view utf8);

/// The same for a map key, which must also fit on one line of the reader.
Result<std::u32string> read_key(std::string_view utf8);

enum class ScalarStyle { kPlain, kSingleQuoted, kDoubleQuoted, kLiteral };

struct ScalarForm {
  ScalarStyle style = ScalarStyle::kPlain;
  bool multiline = false;
};

ScalarForm choose_form(const std::u32string& text);

/// Nothing but visible ASCII, blanks and line feeds: text the reader leaves as it is and no style escapes, so that it
/// need not be taken apart into code points.
bool is_simple_text(std::string_view text);

/// The same decision as above for simple text.
ScalarForm choose_form(std::string_view simple_text);

/// ASCII letters only: among such keys natural order is that of their bytes.
bool is_word(std::string_view key);

/// The shortest digits that read back to the same number; with an exponent below 1e-4 and from 1e6 on.
std::string format_float(double value);

/// "Natural" order: letters by code point and after everything else, runs of digits by their value. It is not
/// transitive (`b2` < `b12` < `b1a` < `b2`), so only sorts that survive such a predicate may use it.
bool natural_less(const std::u32string& a, const std::u32string& b);

}  // namespace strake::yaml
