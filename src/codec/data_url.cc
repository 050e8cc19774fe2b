#include "codec/data_url.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/base64.h"
#include "codec/hex.h"
#include "codec/utf8.h"

namespace strake::codec {
namespace {

constexpr std::string_view kDataPrefix = "data:";

/// A token character of RFC 2045: visible ASCII without the separators.
bool is_mime_token_char(char c) {
  constexpr std::string_view kSeparators = "()<>@,;:\\\"/[]?=";
  return c > ' ' && c < 0x7F && kSeparators.find(c) == std::string_view::npos;
}

/// What may stand in the data part; `%` is judged by the percent decoder.
constexpr bool is_url_data_char(char c) {
  constexpr std::string_view kExcluded = "\"#<>[\\]^`{|}";
  return c > ' ' && c < 0x7F && kExcluded.find(c) == std::string_view::npos;
}

/// What a byte may not be in the data part, for a check without branches: escapes stand anywhere, and a processor that
/// has to guess where is slow.
enum DataByte : unsigned char { kForbidden = 1, kPercent = 2, kNoHexDigit = 4 };

constexpr std::array<unsigned char, 256> kDataBytes = [] {
  std::array<unsigned char, 256> bytes{};
  for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
    const bool hex = byte < 0x80 && is_hex_digit(static_cast<char>(byte));
    const bool allowed = byte < 0x7F && is_url_data_char(static_cast<char>(byte));
    bytes[byte] =
        static_cast<unsigned char>((allowed ? 0 : kForbidden) | (byte == '%' ? kPercent : 0) | (hex ? 0 : kNoHexDigit));
  }
  return bytes;
}();

/// Whether `data` holds only what may stand there, every `%` before two hexadecimal digits.
bool is_percent_encoded(std::string_view data) {
  const auto kind = [&](std::size_t i) -> unsigned { return kDataBytes[static_cast<unsigned char>(data[i])]; };
  unsigned wrong = 0;
  unsigned one_back = 0;
  unsigned two_back = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const unsigned here = kind(i);
    wrong |= (here & kForbidden) | ((one_back | two_back) << 1 & here & kNoHexDigit);
    two_back = one_back;
    one_back = here & kPercent;
  }
  return wrong == 0 && one_back == 0 && two_back == 0;
}
static_assert(kPercent << 1 == kNoHexDigit);

bool is_known_media_type(std::string_view type) {
  if (type.starts_with("x-") || type.starts_with("X-")) return true;
  constexpr std::array<std::string_view, 7> kTypes = {"text",        "image",   "audio",    "video",
                                                      "application", "message", "multipart"};
  return std::any_of(kTypes.begin(), kTypes.end(), [&](std::string_view known) { return type.starts_with(known); });
}

class DataUrlParser {
 public:
  explicit DataUrlParser(std::string_view url) : url_(url) {}

  Result<DataUrl> parse() {
    STRAKE_TRY(DataUrl result, parse_head());
    STRAKE_TRY(result.data, result.base64 ? base64_data() : percent_decoded(at_, url_.size(), /*is_data=*/true));
    return result;
  }

  Status check() {
    STRAKE_TRY(const DataUrl head, parse_head());
    return head.base64 ? check_base64_data() : check_percent_data();
  }

 private:
  static constexpr int kEnd = -1;

  /// Everything before the data.
  Result<DataUrl> parse_head() {
    if (!url_.starts_with(kDataPrefix)) {
      return error(Code::kInvalidArgument, "not a data URL: it must start with `data:` in lower case");
    }
    at_ = kDataPrefix.size();
    DataUrl result;
    if (peek() != ',' && peek() != ';') {
      STRAKE_TRY(result.media_type, media_type());
    }
    while (peek() == ';') STRAKE_CHECK_OK(parameter(result));
    if (peek() != ',') return unexpected("`;` or `,`");
    ++at_;
    return result;
  }

  int peek() const { return at_ < url_.size() ? static_cast<unsigned char>(url_[at_]) : kEnd; }

  Error unexpected(std::string_view expected) const {
    if (at_ >= url_.size()) return error(Code::kInvalidArgument, "data URL ends where {} is expected", expected);
    return error(Code::kInvalidArgument, "data URL: expected {} at offset {}", expected, at_);
  }

  std::string_view token() {
    const std::size_t start = at_;
    while (at_ < url_.size() && is_mime_token_char(url_[at_])) ++at_;
    return url_.substr(start, at_ - start);
  }

  Result<std::string> media_type() {
    const std::string_view type = token();
    if (type.empty()) return unexpected("a media type, `;` or `,`");
    if (peek() != '/') return unexpected("`/` in the media type");
    if (!is_known_media_type(type)) {
      return error(Code::kInvalidArgument, "data URL: unknown media type; use text, application, ... or an x- type");
    }
    ++at_;
    const std::string_view subtype = token();
    return fmt::format("{}/{}", type, subtype.empty() ? std::string_view("plain") : subtype);
  }

  /// `;name=value`, or `;base64`, which must be the last.
  Status parameter(DataUrl& result) {
    ++at_;
    const std::size_t start = at_;
    const std::string_view name = token();
    if (name.empty()) return unexpected("a parameter name");
    if (peek() == ',') {
      if (name != "base64") {
        return error(Code::kInvalidArgument, "data URL: the parameter at offset {} has no value", start);
      }
      result.base64 = true;
      return {};
    }
    if (peek() != '=') return unexpected("`=` behind the parameter name");
    ++at_;
    STRAKE_TRY(std::string value, peek() == '"' ? quoted_value() : token_value());
    result.parameters.emplace_back(name, std::move(value));
    return {};
  }

  Result<std::string> token_value() {
    const std::size_t start = at_;
    if (token().empty()) return unexpected("a parameter value");
    return percent_decoded(start, at_, /*is_data=*/false);
  }

  /// A string of the language Go, which is how Ignition reads it: percent signs stand for themselves.
  Result<std::string> quoted_value() {
    ++at_;
    std::string value;
    while (peek() != '"') {
      if (peek() == kEnd) return unexpected("the closing quote of a parameter value");
      if (peek() >= 0x80 || peek() == '\n') return unexpected("an ASCII character on the same line");
      if (peek() == '\\') {
        STRAKE_CHECK_OK(append_escaped(value));
      } else {
        value.push_back(url_[at_++]);
      }
    }
    ++at_;
    return value;
  }

  Status append_escaped(std::string& value) {
    constexpr std::string_view kLetters = "abfnrtv\\\"";
    constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\\"";
    const std::size_t start = at_;
    const auto refuse = [&] {
      at_ = start;
      return unexpected("one of the escapes \\a \\b \\f \\n \\r \\t \\v \\\\ \\\" \\xHH \\OOO \\uHHHH \\UHHHHHHHH");
    };
    ++at_;
    const char letter = at_ < url_.size() ? url_[at_] : '\0';
    if (const std::size_t simple = kLetters.find(letter); simple != std::string_view::npos) {
      value.push_back(kMeanings[simple]);
      ++at_;
      return {};
    }
    const bool is_octal = letter >= '0' && letter <= '7';
    if (!is_octal) ++at_;
    const std::size_t digits = is_octal ? 3 : letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (digits == 0 || digits > url_.size() - std::min(at_, url_.size())) return refuse();
    std::uint32_t number = 0;
    for (const char c : url_.substr(at_, digits)) {
      const int digit = hex_digit_value(c);
      if (digit < 0 || (is_octal && digit > 7)) return refuse();
      number = number * (is_octal ? 8 : 16) + static_cast<std::uint32_t>(digit);
    }
    at_ += digits;
    if (digits <= 3) {  // a byte, not a character
      if (number > 0xFF) return refuse();
      value.push_back(static_cast<char>(number));
      return {};
    }
    if (number > 0x10FFFF || (number >= 0xD800 && number < 0xE000)) return refuse();
    append_utf8(value, static_cast<char32_t>(number));
    return {};
  }

  Status check_percent_data() const {
    if (is_percent_encoded(url_.substr(at_))) return {};
    return percent_decoded(at_, url_.size(), /*is_data=*/true).error();
  }

  Result<std::string> percent_decoded(std::size_t begin, std::size_t end, bool is_data) const {
    std::string out;
    out.reserve(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      const char c = url_[i];
      if (is_data && !is_url_data_char(c)) {
        return error(Code::kInvalidArgument, "data URL: byte 0x{:02x} at offset {} must be percent-encoded as %{:02X}",
                     static_cast<unsigned char>(c), i, static_cast<unsigned char>(c));
      }
      if (c != '%') {
        out.push_back(c);
        continue;
      }
      const int high = i + 1 < end ? hex_digit_value(url_[i + 1]) : -1;
      const int low = i + 2 < end ? hex_digit_value(url_[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return error(
            Code::kInvalidArgument,
            "data URL: `%` at offset {} is not followed by two hexadecimal digits; write a percent sign as %25", i);
      }
      out.push_back(static_cast<char>(high << 4 | low));
      i += 2;
    }
    return out;
  }

  Status check_base64_data() const {
    if (url_.find('\n', at_) != std::string_view::npos) {
      if (auto decoded = base64_data(); !decoded.ok()) return std::move(decoded).error();
      return {};
    }
    return check_base64(url_.substr(at_), kBase64Lenient).context("data URL, counting from offset {}", at_);
  }

  Result<std::string> base64_data() const {
    std::string text(url_.substr(at_));
    std::erase(text, '\n');
    return decode_base64(text, kBase64Lenient).context("data URL, counting from offset {}", at_);
  }

  std::string_view url_;
  std::size_t at_ = 0;
};

}  // namespace

Result<DataUrl> parse_data_url(std::string_view url) { return DataUrlParser(url).parse(); }

Status check_data_url(std::string_view url) { return DataUrlParser(url).check(); }

std::string encode_data_url(std::string_view data) {
  constexpr std::string_view kHexDigits = "0123456789ABCDEF";
  constexpr std::string_view kUnreservedMarks = "-_.!~*'()";
  std::string out = "data:,";
  for (char c : data) {
    if (is_alphanumeric(c) || kUnreservedMarks.find(c) != std::string_view::npos) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kHexDigits[byte >> 4]);
    out.push_back(kHexDigits[byte & 0x0F]);
  }
  return out;
}

std::string encode_base64_data_url(std::string_view data, std::string_view media_type) {
  return fmt::format("data:{};base64,{}", media_type, encode_base64(data));
}

}  // namespace strake::codec
