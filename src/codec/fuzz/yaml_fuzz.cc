// Whatever parses is JSON, stays within the limits, and reads the same when its JSON form is read as YAML.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json.h"
#include "codec/yaml.h"

namespace {

using namespace strake;

std::size_t count_nodes(const json::Value& value) {
  std::size_t count = 1;
  if (const json::Object* object = value.if_object()) {
    for (const auto& member : *object) count += count_nodes(member.value());
  } else if (const json::Array* array = value.if_array()) {
    for (const json::Value& element : *array) count += count_nodes(element);
  }
  return count;
}

/// YAML refuses some characters JSON allows, and keys beyond 1024 characters; it has no negative zero either.
bool is_common_subset(std::string_view json_text) {
  return json_text.size() < 1000 && json_text.find("-0") == std::string_view::npos &&
         std::all_of(json_text.begin(), json_text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const yaml::ParseLimits limits{.max_bytes = 1u << 20, .max_depth = 60, .max_nodes = 10'000};
  const auto documents = yaml::parse_stream(text, limits);
  if (!documents.ok()) {
    STRAKE_INVARIANT(!documents.error().message().empty());
    return 0;
  }
  std::size_t last_line = 0;
  for (const yaml::Document& document : *documents) {
    STRAKE_INVARIANT(document.line > last_line);
    last_line = document.line;
    STRAKE_INVARIANT(count_nodes(document.value) <= limits.max_nodes);

    const std::string written = json::write(document.value);
    const auto as_json = json::parse(written, {.max_depth = limits.max_depth});
    STRAKE_INVARIANT(as_json.ok());
    STRAKE_INVARIANT(json::write(*as_json) == written);
    if (!is_common_subset(written)) continue;
    const auto as_yaml = yaml::parse("---\n" + written);  // the marker keeps it away from the JSON parser
    STRAKE_INVARIANT(as_yaml.ok());
    STRAKE_INVARIANT(json::write(*as_yaml) == written);
  }
  return 0;
}
