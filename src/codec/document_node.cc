#include "codec/document_node.h"

#include <algorithm>

namespace strake::json {

Error DocumentNode::wrong(std::string_view what) const {
  return error(Code::kInvalidArgument, "{}: {}", path_.empty() ? "document" : path_, what);
}

Error DocumentNode::expected(std::string_view what) const {
  return wrong(fmt::format("expected {}, found {}", what, type_name(value_)));
}

std::string DocumentNode::join(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

Result<const Value*> DocumentNode::member(std::string_view name) const {
  const Value* none = nullptr;
  if (value_.is_null()) return none;
  if (!value_.is_object()) return expected("an object");
  return find(value_, {name});
}

Result<std::string> DocumentNode::text(std::string_view name) const {
  STRAKE_TRY(const Value* found, member(name));
  if (found == nullptr || found->is_null()) return std::string();
  const DocumentNode node(*found, join(name));
  if (!found->is_string()) return node.expected("a string");
  const std::string_view text = as_view(found->get_string());
  const bool odd = std::any_of(text.begin(), text.end(), [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return code < 0x20 || code == 0x7f;
  });
  if (odd) return node.wrong("contains control characters");
  return std::string(text);
}

Result<std::string> DocumentNode::required_text(std::string_view name) const {
  STRAKE_TRY(std::string found, text(name));
  if (found.empty()) return error(Code::kInvalidArgument, "{}: missing", join(name));
  return found;
}

}  // namespace strake::json
