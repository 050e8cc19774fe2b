// Whatever a client sends as its Authorization field, what is taken for a token is one: printable, short, and read
// again from the field we would write for it.
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "stub/token.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string_view> lines = split(input, '\n');
  const auto token = stub::bearer_token(lines);
  STRAKE_INVARIANT(lines.size() < 2 || !token.ok());
  if (!token.ok() || !*token) return 0;
  STRAKE_INVARIANT(!(*token)->empty() && (*token)->size() <= stub::kMaxTokenBytes);
  const std::string field = stub::bearer_field(**token);
  const std::string_view again[] = {field};
  STRAKE_INVARIANT(*stub::bearer_token(again) == *token);
  return 0;
}
