// Three lines: a document, a patch, another document.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json.h"
#include "codec/json_patch.h"
#include "codec/strategic_merge.h"
#include "codec/testing/merge_schemas.h"

namespace {

using namespace strake;

bool has_null_member(const json::Value& value) {
  if (const json::Object* object = value.if_object()) {
    return std::any_of(object->begin(), object->end(),
                       [](const auto& member) { return member.value().is_null() || has_null_member(member.value()); });
  }
  return false;  // nulls inside lists are values like any other
}

bool has_directive(const json::Value& value) {
  if (const json::Object* object = value.if_object()) {
    return object->contains("$patch") || std::any_of(object->begin(), object->end(),
                                                     [](const auto& member) { return has_directive(member.value()); });
  }
  const json::Array* array = value.if_array();
  return array != nullptr && std::any_of(array->begin(), array->end(), has_directive);
}

void check_readable(const json::Value& value) {
  const auto again = json::parse(json::write(value));
  STRAKE_INVARIANT(again.ok());
  STRAKE_INVARIANT(json::write(*again) == json::write(value));
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = json::parse(take_line(text));
  const auto patch = json::parse(take_line(text));
  const auto other = json::parse(take_line(text));
  if (!document.ok() || !patch.ok()) return 0;

  if (const auto patched = json::apply_json_patch(*document, *patch); patched.ok()) check_readable(*patched);

  const json::Value merged = json::apply_merge_patch(*document, *patch);
  check_readable(merged);
  STRAKE_INVARIANT(json::same_value(json::apply_merge_patch(merged, *patch), merged));

  for (const json::MergeSchema& schema : {json::testing::pod_merge_schema(), json::testing::node_merge_schema(),
                                          json::testing::disruption_budget_merge_schema()}) {
    const auto result = json::apply_strategic_merge(*document, *patch, schema);
    if (!result.ok()) continue;
    check_readable(*result);
    STRAKE_INVARIANT(has_directive(*document) || !has_directive(*result));
  }

  if (other.ok() && !has_null_member(*other)) {
    const json::Value there = json::create_merge_patch(*document, *other);
    STRAKE_INVARIANT(json::same_value(json::apply_merge_patch(*document, there), *other));
  }
  return 0;
}
