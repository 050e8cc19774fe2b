// Versions of CoreOS as every era wrote them, read into values that can be compared.
//
//   9.8.20260428-0          RHEL 9.8, built that day, number 0: since OpenShift 4.19; CentOS Stream CoreOS too
//   415.92.202311241643-0   OpenShift 4.15, RHEL 9.2, to the minute: up to 4.18
//   43.81.201912131630.0    the same with a dot, up to 4.3; 42.80.20190725.1 to the day; 410.8.20190520.0 is 4.1, RHEL
//   8 413.9.202302130811-0    CentOS Stream 9, which has no minor release 37.20230401.3.0         Fedora 37, that day,
//   stream 3 (stable), number 0 9.6.2026030314          of a marketplace: to the hour or to the day, without a number
//   4.18.2026012111         of a marketplace, by the version of OpenShift
//
// What a version does not say is absent, never zero: "9.6.20251015" and "9.6.20251015-0" may be the same image.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace strake::stream {

inline constexpr std::size_t kMaxOsVersionBytes = 64;

/// "9.2", "4.15"; "9" where there is no minor release.
struct MinorVersion {
  std::uint32_t major = 0;
  std::optional<std::uint32_t> minor;

  std::string to_string() const;
  /// Compared as far as both go: "9" and "9.2" are equivalent.
  std::weak_ordering operator<=>(const MinorVersion& other) const;
  bool operator==(const MinorVersion& other) const { return (*this <=> other) == 0; }
};

struct OsVersion {
  std::optional<MinorVersion> openshift;  ///< of which it was built for
  std::optional<MinorVersion> rhel;       ///< RHEL or CentOS Stream
  std::optional<std::uint32_t> fedora;
  std::string built;  ///< YYYYMMDD, YYYYMMDDHH or YYYYMMDDHHmm
  std::optional<std::uint32_t> fedora_stream;
  std::optional<std::uint32_t> number;  ///< of the build at that time

  /// kInvalidArgument: none of the forms above, or a date no calendar has.
  static Result<OsVersion> parse(std::string_view text);

  std::chrono::sys_days day() const;
  /// "RHEL 9.2 of OpenShift 4.15, built 2023-11-24"
  std::string describe() const;

  /// Older is less: by release of the OS (else of OpenShift), then by time, then by number, each as far as both say it.
  /// unordered: Fedora and RHEL, or two streams of Fedora built at one time.
  std::partial_ordering operator<=>(const OsVersion& other) const;
  bool operator==(const OsVersion& other) const { return (*this <=> other) == 0; }
};

/// " (RHEL 9.2 of OpenShift 4.15, built 2023-11-24)" to stand behind a version; "" when it is of no known form.
std::string os_version_note(std::string_view version);

}  // namespace strake::stream
