// Contents as they are put into a config: as a data URL, the shortest of three.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace strake::ignition {

struct Embedded {
  std::string source;
  bool is_packed = false;  ///< gzipped
};

/// Escaped, in base64, or (`may_pack`) gzipped in base64: whichever is shortest, with what it costs to say "gzip".
Embedded embed_contents(std::string_view contents, bool may_pack);

/// Escaped whatever the contents are, as the oldest version does it.
std::string embed_escaped(std::string_view contents);

/// A mode that makes sense only when its decimal digits are read as octal: 644, which is 01204.
bool is_decimal_mode(std::int64_t mode, bool of_directory);

}  // namespace strake::ignition
