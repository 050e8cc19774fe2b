// The spec versions of Ignition configs we know.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "base/result.h"

namespace strake::ignition {

struct SpecVersion {
  int major = 3;
  int minor = 0;

  auto operator<=>(const SpecVersion&) const = default;
};

inline constexpr SpecVersion kLatestVersion{3, 5};

/// Oldest first.
inline constexpr SpecVersion kKnownVersions[] = {{2, 0}, {2, 1}, {2, 2}, {3, 0}, {3, 1},
                                                 {3, 2}, {3, 3}, {3, 4}, {3, 5}};

/// "3.5.0"
std::string to_string(SpecVersion version);

/// "2.2,3.0,3.1,3.2,3.3,3.4,3.5": what messages offer. 2.0 and 2.1 are read, but nobody should write them.
std::string supported_versions();

/// Known versions only, written in full. kInvalidArgument when it is not a version at all, kUnsupported when not known.
Result<SpecVersion> parse_spec_version(std::string_view text);

}  // namespace strake::ignition
