// Label and field selectors: which objects a list, a watch, a pool or a budget is about.
//
// Label selectors come as text (`tier=web,env in (a,b),!old,size>3`) or as LabelSelector JSON (matchLabels,
// matchExpressions). An empty selector matches everything. An absent one means something else in every API that has
// one, so the caller says what.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace strake::kube {

using Labels = std::map<std::string, std::string>;

/// [prefix/]name: a DNS subdomain of at most 253 characters, and at most 63 of letters, digits, '-', '_' and '.'.
Status check_label_key(std::string_view key);
/// Empty, or at most 63 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit.
Status check_label_value(std::string_view value);

enum class SelectorOperator { kIn, kNotIn, kExists, kDoesNotExist, kGreaterThan, kLessThan };
/// As matchExpressions spell it: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt".
std::string_view to_string(SelectorOperator op);
Result<SelectorOperator> parse_selector_operator(std::string_view text);

struct Requirement {
  std::string key;
  SelectorOperator op = SelectorOperator::kExists;
  std::vector<std::string> values;  ///< sorted, without repetitions

  bool matches(const Labels& labels) const;
  std::string to_string() const;
  auto operator<=>(const Requirement&) const = default;
};

/// A selector is evaluated for every object of a list: what one of a megabyte asks for would take minutes.
inline constexpr std::size_t kMaxSelectorRequirements = 1000;
inline constexpr std::size_t kMaxSelectorValues = 10'000;

enum class AbsentSelector { kMatchesNothing, kMatchesEverything };

class Selector {
 public:
  /// Matches everything.
  Selector() = default;
  static Selector nothing();

  /// The text form; "" matches everything.
  static Result<Selector> parse(std::string_view text);

  /// LabelSelector JSON. nullptr and JSON null are an absent selector; `{}` matches everything.
  static Result<Selector> from_json(const json::Value* selector, AbsentSelector absent);

  /// Exactly these labels.
  static Result<Selector> from_labels(const Labels& labels);

  bool matches(const Labels& labels) const;
  bool matches_everything() const { return !nothing_ && requirements_.empty(); }
  bool matches_nothing() const { return nothing_; }
  const std::vector<Requirement>& requirements() const { return requirements_; }

  /// Canonical text: sorted, `=` and `!=` for single values. A selector of nothing is written as a contradiction,
  /// because no text stands for it and "" would mean the opposite.
  std::string to_string() const;

  bool operator==(const Selector&) const = default;

 private:
  explicit Selector(std::vector<Requirement> requirements);
  static Result<Selector> of_bounded_size(std::vector<Requirement> requirements);

  std::vector<Requirement> requirements_;  ///< sorted
  bool nothing_ = false;
};

/// `metadata.name=x,spec.nodeName!=y`; a backslash escapes comma, equals sign and backslash in values.
class FieldSelector {
 public:
  struct Term {
    std::string field;
    bool equal = true;
    std::string value;
    bool operator==(const Term&) const = default;
  };
  using Getter = std::function<std::string(std::string_view field)>;  ///< "" for an absent field

  FieldSelector() = default;
  static Result<FieldSelector> parse(std::string_view text);

  bool matches(const Getter& field_value) const;
  bool matches_everything() const { return terms_.empty(); }
  const std::vector<Term>& terms() const { return terms_; }

  /// The one value a field must have, if the selector asks for one: lets a store look up instead of scan.
  std::optional<std::string> required_value(std::string_view field) const;

  /// kInvalidArgument for the first field that is not supported.
  Status check_fields(const std::function<bool(std::string_view field)>& supported) const;

  std::string to_string() const;

 private:
  std::vector<Term> terms_;
};

}  // namespace strake::kube
