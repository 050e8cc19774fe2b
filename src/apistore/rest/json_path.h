// The JSONPath of printer columns: the part of the language CustomResourceDefinitions use.
//
//   .status.conditions[?(@.type=="Ready")].status     filters compare with == or !=, or ask whether a field exists
//   .metadata.labels.example\.com/zone                a backslash keeps the next character in the name
//   .metadata.labels['example.com/zone']              so do quotes
//   .spec.items[0].name, .spec.items[-1], [*], .*     list positions and everything
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace strake::apistore::rest {

class JsonPath {
 public:
  /// kInvalidArgument names the column where the text cannot be understood.
  static Result<JsonPath> parse(std::string_view text);

  /// The first value the path leads to, or null.
  const json::Value* first(const json::Value& root) const;

 private:
  enum class StepKind { kField, kIndex, kEverything, kFilter };
  enum class Comparison { kExists, kEqual, kNotEqual };
  struct Step {
    StepKind kind = StepKind::kField;
    std::string field = {};
    std::int64_t index = 0;
    Comparison comparison = Comparison::kExists;
    std::vector<Step> inner = {};  ///< of a filter: the path behind '@'
    json::Value literal = {};
  };
  class Parser;

  static const json::Value* walk(const json::Value& value, const std::vector<Step>& steps, std::size_t from);
  static bool accepts(const Step& filter, const json::Value& candidate);

  std::vector<Step> steps_;
};

}  // namespace strake::apistore::rest
