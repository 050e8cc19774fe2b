// Which objects a list, watch or collection is about: label and field selectors, answered from text without parsing
// where possible.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apistore/schema/registry.h"
#include "base/result.h"
#include "codec/json.h"
#include "kube/selector.h"

namespace strake::apistore {

class Selection {
 public:
  /// Everything.
  Selection() = default;
  /// kInvalidArgument for a selector that cannot be read, or a field this kind cannot be selected by.
  static Result<Selection> parse(const Kind& kind, const KindVersion& version, const std::string& label_selector,
                                 const std::string& field_selector);

  bool everything() const { return labels_.matches_everything() && fields_.matches_everything(); }
  /// The one name (or namespace) asked for, if there is one.
  std::optional<std::string> name() const { return fields_.required_value("metadata.name"); }

  bool matches(const json::Value& object) const;
  /// False only when the object cannot match: parsing it would be in vain.
  bool may_match_text(std::string_view text) const;
  /// Both of the above, for stored text.
  Result<bool> matches_text(std::string_view text) const;

 private:
  kube::Selector labels_;
  kube::FieldSelector fields_;
  std::vector<std::string> needles_;  ///< pieces every matching text contains
};

}  // namespace strake::apistore
