// Any text is judged without harm; what is judged valid stays valid when it is written, and merges with nothing to
// itself.
#include <cstdint>
#include <string_view>

#include "ignition/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake;
  const ignition::Checked checked = ignition::check_text(std::string_view(reinterpret_cast<const char*>(data), size));
  if (checked.report.is_fatal()) {
    STRAKE_INVARIANT(checked.config.is_null());
    return 0;
  }
  STRAKE_INVARIANT(!ignition::check_text(json::write(checked.config)).report.is_fatal());
  const auto config = ignition::parse(checked.config);
  if (!config.ok()) return 0;  // valid, and still nothing a node could apply
  STRAKE_INVARIANT(ignition::merge(*config, ignition::empty_config()) == *config);
  STRAKE_INVARIANT(json::write_canonical(ignition::merge(ignition::empty_config(), *config)) ==
                   json::write_canonical(*config));
  return 0;
}
