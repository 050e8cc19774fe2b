// A pattern is read or refused and matched in bounded steps, whatever it and the names are; a name fits itself when its
// special characters are escaped.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.h"
#include "osimage/path_pattern.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake;
  using namespace strake::osimage;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto pattern = PathPattern::parse(take_until(text, '\n'));
  if (!pattern.ok()) return 0;
  PathPattern::State state = pattern->start();
  for (const std::string_view name : split(text, '\n')) {
    state = pattern->step(state, name);
    if (state.size() > pattern->parts().size() + 1) std::abort();
    std::string escaped;
    for (const char character : name) {
      escaped += '\\';
      escaped += character;
    }
    if (!NamePattern(escaped).matches(name)) std::abort();
  }
  return 0;
}
