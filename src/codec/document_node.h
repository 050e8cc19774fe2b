// One place of a JSON document with the path that leads to it, so that every error can name where it is.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "codec/json.h"

namespace strake::json {

class DocumentNode {
 public:
  explicit DocumentNode(const Value& value, std::string path = {}) : value_(value), path_(std::move(path)) {}

  const Value& value() const { return value_; }
  const std::string& path() const { return path_; }

  /// "architectures.x86_64: expected an object, found array"
  Error expected(std::string_view what) const;
  /// "architectures.x86_64: WHAT"
  Error wrong(std::string_view what) const;

  /// Calls `visit(name, node)` for every member; null counts as empty, as the Go readers of these formats treat it.
  template <typename Visit>
  Status for_each(Visit&& visit) const {
    if (value_.is_null()) return {};
    if (!value_.is_object()) return expected("an object");
    for (const auto& [key, value] : value_.get_object()) {
      const std::string name(key);
      STRAKE_CHECK_OK(visit(name, DocumentNode(value, join(name))));
    }
    return {};
  }

  /// Visits the members of the object at `name`; absent counts as empty.
  template <typename Visit>
  Status for_each_in(std::string_view name, Visit&& visit) const {
    STRAKE_TRY(const Value* found, member(name));
    if (found == nullptr) return {};
    return DocumentNode(*found, join(name)).for_each(std::forward<Visit>(visit));
  }

  /// Visits the items of the list at `name`; absent and null count as empty.
  template <typename Visit>
  Status for_each_item(std::string_view name, Visit&& visit) const {
    STRAKE_TRY(const Value* found, member(name));
    if (found == nullptr || found->is_null()) return {};
    if (!found->is_array()) return DocumentNode(*found, join(name)).expected("a list");
    std::size_t number = 0;
    for (const Value& item : found->get_array()) {
      STRAKE_CHECK_OK(visit(DocumentNode(item, fmt::format("{}[{}]", join(name), number++))));
    }
    return {};
  }

  /// The text at `name`; absent and null give "". Control characters are refused: what is read here is shown on
  /// terminals and pasted into scripts.
  Result<std::string> text(std::string_view name) const;

  /// The same, refused when absent or empty.
  Result<std::string> required_text(std::string_view name) const;

 private:
  /// nullptr when this is an object without such a member, or null.
  Result<const Value*> member(std::string_view name) const;
  std::string join(std::string_view name) const;

  const Value& value_;
  std::string path_;
};

}  // namespace strake::json
