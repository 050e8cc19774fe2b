// Semantic Versioning 2.0.0: parse and compare.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace strake::codec {

struct SemVer {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::uint64_t patch = 0;
  std::vector<std::string> prerelease;  ///< the identifiers between the dots
  std::string build;                    ///< without the `+`; says nothing about order

  /// Exactly the grammar of the specification: no leading `v`, no missing parts, no leading zeros.
  static Result<SemVer> parse(std::string_view text);

  std::string to_string() const;
  bool is_prerelease() const { return !prerelease.empty(); }

  /// Precedence (section 11). Versions that differ only in build metadata are equivalent, hence weak.
  std::weak_ordering operator<=>(const SemVer& other) const;
  bool operator==(const SemVer& other) const { return (*this <=> other) == 0; }
};

}  // namespace strake::codec
