// Whatever parses is an object within the limits that survives being written and read, as JSON
// and as TOML.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json.h"
#include "codec/toml.h"

namespace {

using namespace strake;

struct Extent {
  std::size_t nodes = 0;
  std::size_t depth = 0;
};

void measure(const json::Value& value, std::size_t depth, Extent& extent) {
  ++extent.nodes;
  extent.depth = std::max(extent.depth, depth);
  if (const json::Object* object = value.if_object()) {
    for (const auto& member : *object) measure(member.value(), depth + 1, extent);
  } else if (const json::Array* array = value.if_array()) {
    for (const json::Value& element : *array) measure(element, depth + 1, extent);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const toml::ParseLimits limits{.max_bytes = 1u << 20, .max_depth = 30, .max_nodes = 5'000};
  const auto document = toml::parse(text, limits);
  if (!document.ok()) {
    STRAKE_INVARIANT(!document.error().message().empty());
    return 0;
  }
  STRAKE_INVARIANT(document->is_object());
  Extent extent;
  measure(*document, 0, extent);
  STRAKE_INVARIANT(extent.nodes <= limits.max_nodes && extent.depth <= limits.max_depth);
  const std::string written = json::write(*document);
  const auto again = json::parse(written);
  STRAKE_INVARIANT(again.ok());
  STRAKE_INVARIANT(json::write(*again) == written);
  const auto as_toml = toml::parse(toml::emit(document->get_object()));
  STRAKE_INVARIANT(as_toml.ok());
  STRAKE_INVARIANT(json::write_canonical(*as_toml) == json::write_canonical(*document));
  return 0;
}
