// Every comment stands on a line of the text, silences what it names there, and nothing else is made of it.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "machineconfig/lint/lint_comments.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const machineconfig::LintComments comments(text);
  std::size_t lines = 1;
  for (const char c : text) lines += c == '\n' || c == '\r' ? 1 : 0;
  std::size_t last = 0;
  for (const machineconfig::LintComment& comment : comments.comments()) {
    STRAKE_INVARIANT(comment.line > last && comment.line <= lines);
    last = comment.line;
    STRAKE_INVARIANT(!comment.rules.empty());
    for (const std::string& rule : comment.rules) {
      STRAKE_INVARIANT(rule.find_first_of(", \t\r\n") == std::string::npos);
      STRAKE_INVARIANT(comments.silence(rule, comment.line, 1));
    }
    STRAKE_INVARIANT(!comments.silence("no such, rule", comment.line, comment.line + 1));
  }
  return 0;
}
