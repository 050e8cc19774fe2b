#include "apistore/rest/json_path.h"

#include <charconv>

#include "codec/json_patch.h"

namespace strake::apistore::rest {

namespace {

constexpr std::size_t kMaxPathBytes = 4096;
constexpr std::size_t kMaxPathSteps = 64;

}  // namespace

class JsonPath::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  /// Steps up to the end of the text or, inside a filter, up to what cannot belong to a path.
  Result<std::vector<Step>> steps(bool in_filter) {
    std::vector<Step> steps;
    while (!at_end()) {
      if (steps.size() == kMaxPathSteps) return problem("more than {} steps", kMaxPathSteps);
      if (peek() == '.') {
        ++at_;
        if (at_end()) return problem("a field name is missing after the dot");
        if (peek() == '[') continue;  // ".[0]" is read as "[0]"
        STRAKE_TRY(Step step, field(in_filter));
        steps.push_back(std::move(step));
      } else if (peek() == '[') {
        STRAKE_TRY(Step step, bracket(in_filter));
        steps.push_back(std::move(step));
      } else if (in_filter) {
        break;
      } else {
        return problem("expected '.' or '['");
      }
    }
    return steps;
  }

 private:
  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return text_[at_]; }
  bool take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void skip_blanks() {
    while (!at_end() && peek() == ' ') ++at_;
  }

  template <typename... Args>
  Error problem(fmt::format_string<Args...> what, Args&&... args) const {
    return error(Code::kInvalidArgument, "JSONPath '{}' column {}: {}", text_, at_ + 1,
                 fmt::format(what, std::forward<Args>(args)...));
  }

  Result<Step> field(bool in_filter) {
    if (take("*")) return Step{.kind = StepKind::kEverything};
    Step step;
    const std::string_view ends = in_filter ? ".[]()=!<> " : ".[";
    while (!at_end() && ends.find(peek()) == std::string_view::npos) {
      if (peek() == '\\') {
        if (++at_ == text_.size()) return problem("nothing follows the backslash");
      }
      step.field += text_[at_++];
    }
    if (step.field.empty()) return problem("a field name is missing");
    return step;
  }

  Result<Step> bracket(bool in_filter) {
    ++at_;
    if (take("*]")) return Step{.kind = StepKind::kEverything};
    if (take("?(")) {
      if (in_filter) return problem("a filter inside a filter is not supported");
      return filter();
    }
    if (!at_end() && (peek() == '\'' || peek() == '"')) {
      STRAKE_TRY(std::string name, quoted());
      if (!take("]")) return problem("expected ']'");
      return Step{.kind = StepKind::kField, .field = std::move(name)};
    }
    std::int64_t index = 0;
    const auto [end, failure] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), index);
    if (failure != std::errc()) return problem("expected a list position, a quoted name, '*' or a filter");
    at_ = static_cast<std::size_t>(end - text_.data());
    if (!take("]")) return problem("expected ']'; slices and unions are not supported");
    return Step{.kind = StepKind::kIndex, .index = index};
  }

  Result<Step> filter() {
    Step step{.kind = StepKind::kFilter};
    skip_blanks();
    if (!take("@")) return problem("expected '@'");
    STRAKE_TRY(step.inner, steps(true));
    skip_blanks();
    if (take(")]")) return step;
    if (take("==")) {
      step.comparison = Comparison::kEqual;
    } else if (take("!=")) {
      step.comparison = Comparison::kNotEqual;
    } else {
      return problem("expected '==', '!=' or ')]'");
    }
    skip_blanks();
    STRAKE_TRY(step.literal, literal());
    skip_blanks();
    if (!take(")]")) return problem("expected ')]'");
    return step;
  }

  Result<json::Value> literal() {
    if (at_end()) return problem("a value is missing");
    if (peek() == '\'' || peek() == '"') {
      STRAKE_TRY(const std::string text, quoted());
      return json::Value(text);
    }
    const std::size_t start = at_;
    while (!at_end() && peek() != ')' && peek() != ' ') ++at_;
    auto value = json::parse(text_.substr(start, at_ - start));
    if (!value.ok() || value->is_structured()) {
      at_ = start;
      return problem("expected a quoted text, a number, true, false or null");
    }
    return *std::move(value);
  }

  Result<std::string> quoted() {
    const char quote = text_[at_++];
    std::string content;
    while (!at_end() && peek() != quote) {
      if (peek() == '\\' && at_ + 1 < text_.size()) ++at_;
      content += text_[at_++];
    }
    if (at_end()) return problem("the closing quote is missing");
    ++at_;
    return content;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Result<JsonPath> JsonPath::parse(std::string_view text) {
  if (text.size() > kMaxPathBytes)
    return error(Code::kInvalidArgument, "a JSONPath has more than {} bytes", kMaxPathBytes);
  JsonPath path;
  STRAKE_TRY(path.steps_, Parser(text).steps(false));
  if (path.steps_.empty()) return error(Code::kInvalidArgument, "a JSONPath is empty");
  return path;
}

const json::Value* JsonPath::first(const json::Value& root) const { return walk(root, steps_, 0); }

bool JsonPath::accepts(const Step& filter, const json::Value& candidate) {
  const json::Value* found = walk(candidate, filter.inner, 0);
  switch (filter.comparison) {
    case Comparison::kExists: return found != nullptr;
    case Comparison::kEqual: return found != nullptr && json::same_value(*found, filter.literal);
    case Comparison::kNotEqual: return found != nullptr && !json::same_value(*found, filter.literal);
  }
  return false;
}

const json::Value* JsonPath::walk(const json::Value& value, const std::vector<Step>& steps, std::size_t from) {
  if (from == steps.size()) return &value;
  const Step& step = steps[from];
  switch (step.kind) {
    case StepKind::kField: {
      if (!value.is_object()) return nullptr;
      const json::Value* member = value.get_object().if_contains(step.field);
      return member == nullptr ? nullptr : walk(*member, steps, from + 1);
    }
    case StepKind::kIndex: {
      if (!value.is_array()) return nullptr;
      const auto size = static_cast<std::int64_t>(value.get_array().size());
      const std::int64_t index = step.index < 0 ? size + step.index : step.index;
      if (index < 0 || index >= size) return nullptr;
      return walk(value.get_array()[static_cast<std::size_t>(index)], steps, from + 1);
    }
    case StepKind::kEverything:
      if (value.is_object()) {
        for (const auto& member : value.get_object()) {
          if (const json::Value* found = walk(member.value(), steps, from + 1); found != nullptr) return found;
        }
        return nullptr;
      }
      [[fallthrough]];
    case StepKind::kFilter:
      if (!value.is_array()) return nullptr;
      for (const json::Value& element : value.get_array()) {
        if (step.kind == StepKind::kFilter && !accepts(step, element)) continue;
        if (const json::Value* found = walk(element, steps, from + 1); found != nullptr) return found;
      }
      return nullptr;
  }
  return nullptr;
}

}  // namespace strake::apistore::rest
