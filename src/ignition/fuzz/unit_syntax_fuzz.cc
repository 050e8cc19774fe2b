// Any text is read as a unit of any kind without harm, and says nothing of its values.
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "ignition/unit_syntax/unit_syntax.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake::ignition;
  constexpr std::string_view kNames[] = {"a.service", "a.socket", "a.timer", "a.mount",  "a.automount",
                                         "a.path",    "a.swap",   "a.slice", "a.target", "a@.service"};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view name : kNames) {
    for (const UnitPart part : {UnitPart::kWhole, UnitPart::kDropin}) {
      std::size_t line = 0;
      bool is_whole = false;
      for (const UnitProblem& problem : check_unit_syntax(name, text, part)) {
        STRAKE_INVARIANT(!problem.message.empty());
        STRAKE_INVARIANT(problem.line == 0 || (!is_whole && problem.line >= line));
        is_whole = problem.line == 0;
        line = problem.line;
      }
    }
  }
  return 0;
}
