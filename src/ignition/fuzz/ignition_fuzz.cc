// Any bytes are judged without harm; what is judged valid stays valid when it is written, converts to what its target
// accepts, and merges with nothing to itself.
#include <cstdint>
#include <string_view>

#include "ignition/config.h"

namespace {

using namespace strake;

void convert_to_all(const json::Value& config) {
  for (const ignition::SpecVersion to : ignition::kKnownVersions) {
    const auto converted = ignition::convert(config, to);
    if (!converted.ok()) continue;  // the target cannot express it
    const ignition::Checked checked = ignition::check(*converted);
    STRAKE_INVARIANT(!checked.report.is_fatal());
    STRAKE_INVARIANT(checked.version == to);
    const auto again = ignition::convert(*converted, to);
    STRAKE_INVARIANT(again.ok() && json::write_canonical(*again) == json::write_canonical(*converted));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = ignition::decode_config_bytes(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!text.ok()) return 0;
  const ignition::Checked checked = ignition::check_text(*text);
  if (checked.report.is_fatal()) {
    STRAKE_INVARIANT(checked.config.is_null());
    return 0;
  }
  STRAKE_INVARIANT(!ignition::check_text(json::write(checked.config)).report.is_fatal());
  convert_to_all(checked.config);
  const auto config = ignition::parse(checked.config);
  if (!config.ok()) return 0;  // valid, and still nothing a node could apply
  STRAKE_INVARIANT(ignition::merge(*config, ignition::empty_config()) == *config);
  STRAKE_INVARIANT(json::write_canonical(ignition::merge(ignition::empty_config(), *config)) ==
                   json::write_canonical(*config));
  return 0;
}
