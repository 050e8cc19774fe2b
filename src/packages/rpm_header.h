// RpmHeader: the tagged values rpm keeps for a package, as they lie in its database.
//
//   u32 entries, u32 store bytes          all numbers big-endian
//   entries x (u32 tag, u32 type, u32 offset, u32 count)
//   store                                 the values, found by offset
//
// A tag may be there twice: what was signed when the package was built, and what was added when it was installed. The
// later one counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "packages/packages.h"

namespace strake::packages {

inline constexpr std::uint32_t kMaxRpmHeaderEntries = 65'535;         ///< as rpm itself
inline constexpr std::uint32_t kMaxRpmHeaderStoreBytes = 256u << 20;  ///< as rpm itself

enum class RpmTag : std::uint32_t {
  kName = 1000,
  kVersion = 1001,
  kRelease = 1002,
  kEpoch = 1003,
  kInstallTime = 1008,
  kSize = 1009,
  kArchitecture = 1022,
  kSourcePackage = 1044,
  kLongSize = 5009,  ///< instead of kSize where 32 bits are not enough
};

class RpmHeader {
 public:
  /// `bytes` must outlive the header. Checks every entry of the index; damage is kCorrupt and names the entry.
  static Result<RpmHeader> parse(std::string_view bytes);

  /// nullopt: the tag is not there. Another type than asked for is kCorrupt.
  Result<std::optional<std::string_view>> text(RpmTag tag) const;
  Result<std::optional<std::uint64_t>> number(RpmTag tag) const;

 private:
  struct Entry {
    std::uint32_t tag, type, offset, count;
  };

  RpmHeader(std::string_view index, std::string_view store) : index_(index), store_(store) {}
  Entry entry(std::uint32_t number) const;
  std::optional<Entry> find(RpmTag tag) const;

  std::string_view index_, store_;
};

/// Name, version and release must be there; everything else may be missing.
Result<Package> package_of_rpm_header(std::string_view bytes);

}  // namespace strake::packages
