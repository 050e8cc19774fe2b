// Two texts, split at the first byte 0xFF: a unified diff applied to the first gives the second, unit diffs and the
// search for secrets stay within their bounds.
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/secrets.h"
#include "machineconfig/diff/text_diff.h"
#include "machineconfig/testing/patched.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake::machineconfig;
  const std::string_view both(reinterpret_cast<const char*>(data), size);
  const std::size_t split = both.find('\xFF');
  const std::string_view before = both.substr(0, split);
  const std::string_view after = split == std::string_view::npos ? std::string_view() : both.substr(split + 1);

  const auto hunks = unified_diff(before, after, {.max_lines = 1'000'000, .max_line_bytes = 1'000'000, .context = 3});
  STRAKE_INVARIANT(strake::machineconfig::builders::patched(before, hunks) == after);

  const TextDiffLimits tight{.max_lines = 5, .max_line_bytes = 20, .context = 1};
  constexpr std::size_t kLongestLine = 1 + 40 + 20 + 40;  // mark, column, text, note of what is missing
  for (const auto& lines : {unified_diff(before, after, tight), unit_diff(before, after, tight)}) {
    STRAKE_INVARIANT(lines.size() <= tight.max_lines + 1);
    for (const std::string& line : lines) STRAKE_INVARIANT(line.size() <= kLongestLine);
  }
  STRAKE_INVARIANT(unit_diff(before, after).empty() == (before == after));
  (void)is_unit_text(before);
  // A secret stays one when more text follows on other lines.
  if (strake::find_secret(before))
    STRAKE_INVARIANT(strake::find_secret(std::string(before) + "\nserver a\n").has_value());
  return 0;
}
