#include "kube/selector.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"

namespace strake::kube {

namespace {

constexpr std::size_t kMaxLabelPartBytes = 63;
constexpr std::size_t kMaxLabelPrefixBytes = 253;
constexpr std::size_t kMaxSelectorBytes = 64u << 10;
constexpr std::size_t kMaxRequirementValues = 10'000;
constexpr std::string_view kContradictoryKey = "strake.dev/none";

bool is_name_part(std::string_view text) {
  if (text.empty() || !is_alphanumeric(text.front()) || !is_alphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_dns_subdomain(std::string_view text) {
  bool label_open = false;
  char before = '.';
  for (const char c : text) {
    const bool letter_or_digit = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (c == '.') {
      if (!label_open || before == '-') return false;
      label_open = false;
    } else if (letter_or_digit) {
      label_open = true;
    } else if (c != '-' || !label_open) {
      return false;
    }
    before = c;
  }
  return label_open && before != '-';
}

std::optional<std::int64_t> parse_whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

/// Checks what both the text and the JSON form must obey, and brings the values into their canonical order.
Result<Requirement> checked_requirement(Requirement requirement) {
  STRAKE_CHECK_OK(check_label_key(requirement.key));
  for (const std::string& value : requirement.values) {
    STRAKE_CHECK_OK(check_label_value(value).context("values of {}", requirement.key));
  }
  const std::size_t count = requirement.values.size();
  switch (requirement.op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      if (count == 0) {
        return error(Code::kInvalidArgument, "values of {}: must not be empty with the operator {}", requirement.key,
                     to_string(requirement.op));
      }
      break;
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      if (count != 0) {
        return error(Code::kInvalidArgument, "values of {}: must be empty with the operator {}", requirement.key,
                     to_string(requirement.op));
      }
      break;
    case SelectorOperator::kGreaterThan:
    case SelectorOperator::kLessThan:
      if (count != 1 || !parse_whole_number(requirement.values.front())) {
        return error(Code::kInvalidArgument, "values of {}: the operator {} needs exactly one integer", requirement.key,
                     to_string(requirement.op));
      }
      break;
  }
  std::sort(requirement.values.begin(), requirement.values.end());
  requirement.values.erase(std::unique(requirement.values.begin(), requirement.values.end()), requirement.values.end());
  return requirement;
}

enum class SelectorToken { kEnd, kComma, kOpen, kClose, kNot, kEquals, kNotEquals, kGreater, kLess, kWord };

class SelectorParser {
 public:
  explicit SelectorParser(std::string_view text) : text_(text) { advance(); }

  Result<std::vector<Requirement>> parse() {
    std::vector<Requirement> requirements;
    if (token_ == SelectorToken::kEnd) return requirements;
    while (true) {
      if (requirements.size() == kMaxSelectorRequirements) {
        return error(Code::kInvalidArgument, "more than {} requirements", kMaxSelectorRequirements);
      }
      STRAKE_TRY(Requirement requirement, parse_requirement());
      requirements.push_back(std::move(requirement));
      if (token_ == SelectorToken::kEnd) return requirements;
      if (token_ != SelectorToken::kComma) return unexpected("',' or the end");
      advance();
      if (token_ == SelectorToken::kEnd) return unexpected("a label key after ','");
    }
  }

 private:
  Result<Requirement> parse_requirement() {
    Requirement requirement;
    if (token_ == SelectorToken::kNot) {
      advance();
      if (token_ != SelectorToken::kWord) return unexpected("a label key after '!'");
      requirement.key = take_word();
      requirement.op = SelectorOperator::kDoesNotExist;
      return checked_requirement(std::move(requirement));
    }
    if (token_ != SelectorToken::kWord) return unexpected("'!' or a label key");
    requirement.key = take_word();
    if (token_ == SelectorToken::kEnd || token_ == SelectorToken::kComma) {
      requirement.op = SelectorOperator::kExists;
      return checked_requirement(std::move(requirement));
    }
    bool set = false;
    switch (token_) {
      case SelectorToken::kEquals: requirement.op = SelectorOperator::kIn; break;
      case SelectorToken::kNotEquals: requirement.op = SelectorOperator::kNotIn; break;
      case SelectorToken::kGreater: requirement.op = SelectorOperator::kGreaterThan; break;
      case SelectorToken::kLess: requirement.op = SelectorOperator::kLessThan; break;
      case SelectorToken::kWord:
        if (word_ != "in" && word_ != "notin") return unexpected("one of in, notin, =, ==, !=, > or <");
        requirement.op = word_ == "in" ? SelectorOperator::kIn : SelectorOperator::kNotIn;
        set = true;
        break;
      case SelectorToken::kEnd:
      case SelectorToken::kComma:
      case SelectorToken::kOpen:
      case SelectorToken::kClose:
      case SelectorToken::kNot: return unexpected("one of in, notin, =, ==, !=, > or <");
    }
    advance();
    if (set) {
      STRAKE_CHECK_OK(parse_set(requirement));
    } else if (token_ == SelectorToken::kWord) {
      requirement.values.push_back(take_word());
    } else if (token_ == SelectorToken::kEnd || token_ == SelectorToken::kComma) {
      requirement.values.emplace_back();  // `a=` asks for the empty value
    } else {
      return unexpected("a label value");
    }
    return checked_requirement(std::move(requirement));
  }

  /// `(a,b)`. A missing value between commas or parentheses is the empty one.
  Status parse_set(Requirement& requirement) {
    if (token_ != SelectorToken::kOpen) return unexpected("'('");
    advance();
    while (true) {
      if (requirement.values.size() == kMaxRequirementValues) {
        return error(Code::kInvalidArgument, "more than {} values for {}", kMaxRequirementValues, requirement.key);
      }
      requirement.values.push_back(token_ == SelectorToken::kWord ? take_word() : std::string());
      if (token_ == SelectorToken::kClose) break;
      if (token_ != SelectorToken::kComma) return unexpected("',' or ')'");
      advance();
    }
    advance();
    return {};
  }

  std::string take_word() {
    std::string word(word_);
    advance();
    return word;
  }

  Error unexpected(std::string_view wanted) const {
    if (token_ == SelectorToken::kEnd) return error(Code::kInvalidArgument, "found the end, expected {}", wanted);
    return error(Code::kInvalidArgument, "found '{}' at column {}, expected {}", word_, column_, wanted);
  }

  bool skip(char wanted) {
    if (position_ >= text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }

  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  static bool is_special(char c) { return std::string_view("=!(),><").find(c) != std::string_view::npos; }

  void advance() {
    while (position_ < text_.size() && is_blank(text_[position_])) ++position_;
    const std::size_t start = position_;
    column_ = start + 1;
    if (start == text_.size()) {
      token_ = SelectorToken::kEnd;
      word_ = {};
      return;
    }
    const char first = text_[position_++];
    switch (first) {
      case ',': token_ = SelectorToken::kComma; break;
      case '(': token_ = SelectorToken::kOpen; break;
      case ')': token_ = SelectorToken::kClose; break;
      case '>': token_ = SelectorToken::kGreater; break;
      case '<': token_ = SelectorToken::kLess; break;
      case '=':
        token_ = SelectorToken::kEquals;
        skip('=');
        break;
      case '!': token_ = skip('=') ? SelectorToken::kNotEquals : SelectorToken::kNot; break;
      default:
        token_ = SelectorToken::kWord;
        while (position_ < text_.size() && !is_blank(text_[position_]) && !is_special(text_[position_])) ++position_;
        break;
    }
    word_ = text_.substr(start, position_ - start);
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t column_ = 1;
  SelectorToken token_ = SelectorToken::kEnd;
  std::string_view word_;
};

Result<Requirement> requirement_from_json(const json::Value& expression) {
  if (!expression.is_object()) {
    return error(Code::kInvalidArgument, "must be an object, found {}", json::type_name(expression));
  }
  Requirement requirement;
  const auto key = json::find_string(expression, {"key"});
  if (!key) return error(Code::kInvalidArgument, "key: must be a string");
  requirement.key = *key;
  const auto op = json::find_string(expression, {"operator"});
  if (!op) return error(Code::kInvalidArgument, "operator: must be a string");
  STRAKE_TRY_CONTEXT(requirement.op, parse_selector_operator(*op), "operator");
  if (requirement.op == SelectorOperator::kGreaterThan || requirement.op == SelectorOperator::kLessThan) {
    return error(Code::kInvalidArgument, "operator: {} is not allowed in a label selector", *op);
  }
  if (const json::Value* values = json::find(expression, {"values"}); values != nullptr && !values->is_null()) {
    if (!values->is_array()) return error(Code::kInvalidArgument, "values: must be an array");
    if (values->get_array().size() > kMaxRequirementValues) {
      return error(Code::kInvalidArgument, "values: more than {}", kMaxRequirementValues);
    }
    for (const json::Value& value : values->get_array()) {
      if (!value.is_string()) return error(Code::kInvalidArgument, "values: must be strings");
      requirement.values.emplace_back(json::as_view(value.get_string()));
    }
  }
  return checked_requirement(std::move(requirement));
}

}  // namespace

Status check_label_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  std::string_view name = key;
  if (slash != std::string_view::npos) {
    const std::string_view prefix = key.substr(0, slash);
    name = key.substr(slash + 1);
    if (prefix.empty() || prefix.size() > kMaxLabelPrefixBytes || !is_dns_subdomain(prefix)) {
      return error(Code::kInvalidArgument,
                   "label key \"{}\": the prefix must be a DNS subdomain in lower case of at most {} characters", key,
                   kMaxLabelPrefixBytes);
    }
  }
  if (name.size() > kMaxLabelPartBytes) {
    return error(Code::kInvalidArgument, "label key \"{}\": the name must be no more than {} characters", key,
                 kMaxLabelPartBytes);
  }
  if (!is_name_part(name)) {
    return error(
        Code::kInvalidArgument,
        "label key \"{}\": the name must consist of letters, digits, '-', '_' and '.', and begin and end with a "
        "letter or digit (such as 'app.kubernetes.io/name')",
        key);
  }
  return {};
}

Status check_label_value(std::string_view value) {
  if (value.size() > kMaxLabelPartBytes) {
    return error(Code::kInvalidArgument, "label value \"{}\": must be no more than {} characters", value,
                 kMaxLabelPartBytes);
  }
  if (!value.empty() && !is_name_part(value)) {
    return error(
        Code::kInvalidArgument,
        "label value \"{}\": must be empty, or consist of letters, digits, '-', '_' and '.', and begin and end with "
        "a letter or digit",
        value);
  }
  return {};
}

std::string_view to_string(SelectorOperator op) {
  switch (op) {
    case SelectorOperator::kIn: return "In";
    case SelectorOperator::kNotIn: return "NotIn";
    case SelectorOperator::kExists: return "Exists";
    case SelectorOperator::kDoesNotExist: return "DoesNotExist";
    case SelectorOperator::kGreaterThan: return "Gt";
    case SelectorOperator::kLessThan: return "Lt";
  }
  return "Unknown";
}

Result<SelectorOperator> parse_selector_operator(std::string_view text) {
  for (const SelectorOperator op :
       {SelectorOperator::kIn, SelectorOperator::kNotIn, SelectorOperator::kExists, SelectorOperator::kDoesNotExist,
        SelectorOperator::kGreaterThan, SelectorOperator::kLessThan}) {
    if (text == to_string(op)) return op;
  }
  return error(Code::kInvalidArgument, "\"{}\" is not one of In, NotIn, Exists, DoesNotExist", text);
}

bool Requirement::matches(const Labels& labels) const {
  const auto found = labels.find(key);
  const bool present = found != labels.end();
  switch (op) {
    case SelectorOperator::kExists: return present;
    case SelectorOperator::kDoesNotExist: return !present;
    case SelectorOperator::kIn: return present && std::binary_search(values.begin(), values.end(), found->second);
    case SelectorOperator::kNotIn: return !present || !std::binary_search(values.begin(), values.end(), found->second);
    case SelectorOperator::kGreaterThan:
    case SelectorOperator::kLessThan: {
      if (!present) return false;
      const auto actual = parse_whole_number(found->second);
      const auto bound = parse_whole_number(values.front());
      if (!actual || !bound) return false;
      return op == SelectorOperator::kGreaterThan ? *actual > *bound : *actual < *bound;
    }
  }
  return false;
}

std::string Requirement::to_string() const {
  const auto set = [this](std::string_view word) {
    return fmt::format("{} {} ({})", key, word, fmt::join(values, ","));
  };
  switch (op) {
    case SelectorOperator::kExists: return key;
    case SelectorOperator::kDoesNotExist: return "!" + key;
    case SelectorOperator::kIn: return values.size() == 1 ? key + "=" + values.front() : set("in");
    case SelectorOperator::kNotIn: return values.size() == 1 ? key + "!=" + values.front() : set("notin");
    case SelectorOperator::kGreaterThan: return key + ">" + values.front();
    case SelectorOperator::kLessThan: return key + "<" + values.front();
  }
  return key;
}

Selector::Selector(std::vector<Requirement> requirements) : requirements_(std::move(requirements)) {
  std::sort(requirements_.begin(), requirements_.end());
  requirements_.erase(std::unique(requirements_.begin(), requirements_.end()), requirements_.end());
}

Selector Selector::nothing() {
  Selector selector;
  selector.nothing_ = true;
  return selector;
}

Result<Selector> Selector::of_bounded_size(std::vector<Requirement> requirements) {
  std::size_t values = 0;
  for (const Requirement& requirement : requirements) values += requirement.values.size();
  if (requirements.size() > kMaxSelectorRequirements || values > kMaxSelectorValues) {
    return error(
        Code::kInvalidArgument,
        "label selector: {} requirements with {} values; no more than {} and {} are looked at for every object",
        requirements.size(), values, kMaxSelectorRequirements, kMaxSelectorValues);
  }
  return Selector(std::move(requirements));
}

Result<Selector> Selector::parse(std::string_view text) {
  if (text.size() > kMaxSelectorBytes) {
    return error(Code::kInvalidArgument, "label selector: longer than {} bytes", kMaxSelectorBytes);
  }
  STRAKE_TRY_CONTEXT(std::vector<Requirement> requirements, SelectorParser(text).parse(),
                     "unable to parse the label selector \"{}\"", text);
  return of_bounded_size(std::move(requirements));
}

Result<Selector> Selector::from_labels(const Labels& labels) {
  std::vector<Requirement> requirements;
  for (const auto& [key, value] : labels) {
    STRAKE_TRY(Requirement requirement, checked_requirement({key, SelectorOperator::kIn, {value}}));
    requirements.push_back(std::move(requirement));
  }
  return of_bounded_size(std::move(requirements));
}

Result<Selector> Selector::from_json(const json::Value* selector, AbsentSelector absent) {
  if (selector == nullptr || selector->is_null()) {
    return absent == AbsentSelector::kMatchesNothing ? nothing() : Selector();
  }
  if (!selector->is_object()) {
    return error(Code::kInvalidArgument, "label selector: must be an object, found {}", json::type_name(*selector));
  }
  std::vector<Requirement> requirements;
  if (const json::Value* labels = json::find(*selector, {"matchLabels"}); labels != nullptr && !labels->is_null()) {
    if (!labels->is_object()) return error(Code::kInvalidArgument, "matchLabels: must be an object");
    for (const auto& [key, value] : labels->get_object()) {
      const std::string name(key);
      if (!value.is_string()) return error(Code::kInvalidArgument, "matchLabels[{}]: must be a string", name);
      STRAKE_TRY_CONTEXT(
          Requirement requirement,
          checked_requirement({name, SelectorOperator::kIn, {std::string(json::as_view(value.get_string()))}}),
          "matchLabels");
      requirements.push_back(std::move(requirement));
    }
  }
  if (const json::Value* list = json::find(*selector, {"matchExpressions"}); list != nullptr && !list->is_null()) {
    if (!list->is_array()) return error(Code::kInvalidArgument, "matchExpressions: must be an array");
    for (std::size_t i = 0; i < list->get_array().size(); ++i) {
      STRAKE_TRY_CONTEXT(Requirement requirement, requirement_from_json(list->get_array()[i]), "matchExpressions[{}]",
                         i);
      requirements.push_back(std::move(requirement));
    }
  }
  return of_bounded_size(std::move(requirements));
}

bool Selector::matches(const Labels& labels) const {
  if (nothing_) return false;
  return std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const Requirement& requirement) { return requirement.matches(labels); });
}

std::string Selector::to_string() const {
  if (nothing_) return fmt::format("{},!{}", kContradictoryKey, kContradictoryKey);
  std::string text;
  for (const Requirement& requirement : requirements_) {
    if (!text.empty()) text += ',';
    text += requirement.to_string();
  }
  return text;
}

}  // namespace strake::kube
