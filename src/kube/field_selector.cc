#include <algorithm>

#include "kube/selector.h"

namespace strake::kube {

namespace {

constexpr std::size_t kMaxFieldSelectorBytes = 64u << 10;
constexpr std::size_t kMaxFieldTerms = 1000;

std::string escape_field_value(std::string_view value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '\\' || c == ',' || c == '=') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

Result<std::string> unescape_field_value(std::string_view value) {
  std::string plain;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\') {
      if (++i == value.size() || (value[i] != '\\' && value[i] != ',' && value[i] != '=')) {
        return error(Code::kInvalidArgument, "invalid escape in '{}': only \\\\, \\, and \\= are escapes", value);
      }
    } else if (value[i] == '=' || value[i] == ',') {
      return error(Code::kInvalidArgument, "'{}' in a value must be written as '\\{}'", value[i], value[i]);
    }
    plain += value[i];
  }
  return plain;
}

Result<FieldSelector::Term> parse_field_term(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
      continue;
    }
    const bool negated = text.substr(i, 2) == "!=";
    if (!negated && text[i] != '=') continue;
    const std::size_t length = negated || text.substr(i, 2) == "==" ? 2 : 1;
    if (i == 0) break;
    STRAKE_TRY(std::string value, unescape_field_value(text.substr(i + length)));
    return FieldSelector::Term{std::string(text.substr(0, i)), !negated, std::move(value)};
  }
  return error(Code::kInvalidArgument, "cannot understand '{}': write FIELD=VALUE, FIELD==VALUE or FIELD!=VALUE", text);
}

}  // namespace

Result<FieldSelector> FieldSelector::parse(std::string_view text) {
  if (text.size() > kMaxFieldSelectorBytes) {
    return error(Code::kInvalidArgument, "field selector: longer than {} bytes", kMaxFieldSelectorBytes);
  }
  FieldSelector selector;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '\\') {
      ++i;
      if (i < text.size()) continue;
    } else if (i < text.size() && text[i] != ',') {
      continue;
    }
    const std::string_view part = text.substr(start, std::min(i, text.size()) - start);
    start = i + 1;
    if (part.empty()) continue;
    if (selector.terms_.size() == kMaxFieldTerms) {
      return error(Code::kInvalidArgument, "field selector: more than {} terms", kMaxFieldTerms);
    }
    STRAKE_TRY_CONTEXT(Term term, parse_field_term(part), "unable to parse the field selector \"{}\"", text);
    selector.terms_.push_back(std::move(term));
  }
  return selector;
}

bool FieldSelector::matches(const Getter& field_value) const {
  return std::all_of(terms_.begin(), terms_.end(),
                     [&](const Term& term) { return (field_value(term.field) == term.value) == term.equal; });
}

std::optional<std::string> FieldSelector::required_value(std::string_view field) const {
  for (const Term& term : terms_) {
    if (term.equal && term.field == field) return term.value;
  }
  return std::nullopt;
}

Status FieldSelector::check_fields(const std::function<bool(std::string_view)>& supported) const {
  for (const Term& term : terms_) {
    if (!supported(term.field)) return error(Code::kInvalidArgument, "field label not supported: {}", term.field);
  }
  return {};
}

std::string FieldSelector::to_string() const {
  std::string text;
  for (const Term& term : terms_) {
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ",", term.field,
                        term.equal ? "=" : "!=", escape_field_value(term.value));
  }
  return text;
}

}  // namespace strake::kube
