// Whatever parses must print to text that parses to the same selector, and matching must not crash.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kube/selector.h"

using strake::kube::FieldSelector;
using strake::kube::Selector;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto selector = Selector::parse(text); selector.ok()) {
    const auto again = Selector::parse(selector->to_string());
    require(again.ok() && *again == *selector);
    (void)selector->matches({{"tier", "web"}, {"size", "3"}});
  }
  if (const auto selector = FieldSelector::parse(text); selector.ok()) {
    const auto again = FieldSelector::parse(selector->to_string());
    require(again.ok() && again->terms() == selector->terms());
    (void)selector->matches([](std::string_view field) { return std::string(field); });
  }
  if (const auto value = strake::json::parse(text); value.ok()) {
    const auto selector = Selector::from_json(&*value, strake::kube::AbsentSelector::kMatchesNothing);
    if (selector.ok() && !selector->matches_nothing()) {
      const auto again = Selector::parse(selector->to_string());
      require(again.ok() && *again == *selector);
    }
  }
  return 0;
}
