// The schemas of the embedded CRDs, for tests: is a path declared, does an object use undeclared members?
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/embedded_file.h"
#include "base/result.h"
#include "codec/json.h"

namespace strake::api::testing {

struct Crd {
  std::string file;
  json::Value document;

  std::string text(std::initializer_list<std::string_view> path) const {
    return json::find_string(document, path).value_or("");
  }
  std::string plural() const { return text({"spec", "names", "plural"}); }
  /// "plural.group", or "plural" for the core group.
  std::string qualified_kind() const;
  const json::Value& version() const;
  const json::Value& schema() const;
};

/// Every file of deploy/crds, from the embedded copies.
Result<std::vector<Crd>> load_crds();
Result<Crd> load_crd(std::string_view qualified_kind);
Result<Crd> parse_crd(const EmbeddedFile& file);

/// The schema of a dotted path ("[]" steps into list items), or nullptr. What is only tolerated by
/// x-kubernetes-preserve-unknown-fields is not declared.
const json::Value* schema_at(const json::Value& schema, std::string_view path);

/// Paths of members that the schema does not declare, outside metadata and free-form parts.
std::vector<std::string> undeclared_members(const json::Value& schema, const json::Value& object);

}  // namespace strake::api::testing
