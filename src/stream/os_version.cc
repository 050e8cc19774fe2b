#include "stream/os_version.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text.h"

namespace strake::stream {

namespace {

/// From here on a first number is OpenShift's digits run together ("41" to "418"); RHEL's majors are far below.
constexpr std::uint32_t kFirstJoinedOpenShift = 41;
/// RHEL CoreOS began with RHEL 8, OpenShift with CoreOS is 4 and later.
constexpr std::uint32_t kFirstRhelMajor = 7;

constexpr std::uint32_t kFirstCentOsStream = 9;

struct VersionParts {
  std::vector<std::string_view> fields;  ///< between dots and the dash
  bool has_dash = false;                 ///< before the last field
};

std::uint32_t number_of(std::string_view digits) {
  std::uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

bool is_small_number(std::string_view text) { return text.size() <= 6 && is_all_digits(text); }

std::optional<VersionParts> split_version(std::string_view text) {
  VersionParts parts;
  std::size_t start = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] != '.' && text[at] != '-') continue;
    if (parts.has_dash) return std::nullopt;  // a dash stands before the last field alone
    if (at < text.size() && text[at] == '-') {
      if (text.find_first_of(".-", at + 1) != std::string_view::npos) return std::nullopt;
      parts.fields.push_back(text.substr(start, at - start));
      parts.fields.push_back(text.substr(at + 1));
      parts.has_dash = true;
      break;
    }
    parts.fields.push_back(text.substr(start, at - start));
    start = at + 1;
  }
  return parts;
}

std::chrono::year_month_day calendar_day(std::string_view built) {
  return {std::chrono::year(static_cast<int>(number_of(built.substr(0, 4)))),
          std::chrono::month(number_of(built.substr(4, 2))), std::chrono::day(number_of(built.substr(6, 2)))};
}

bool is_build_time(std::string_view text) {
  if (text.size() != 8 && text.size() != 10 && text.size() != 12) return false;
  if (!is_all_digits(text)) return false;
  if (!calendar_day(text).ok() || text < "2018") return false;
  if (text.size() >= 10 && text.substr(8, 2) > "23") return false;
  return text.size() < 12 || text.substr(10, 2) <= "59";
}

/// "415" is 4.15, "42" is 4.2.
MinorVersion joined_openshift(std::string_view digits, std::string_view rhel_digits) {
  // 4.1 wrote all three of its numbers but of RHEL only the major; 4.10 wrote both of RHEL's.
  if (digits == "410" && rhel_digits.size() == 1) return {4, 1};
  return {number_of(digits.substr(0, 1)), number_of(digits.substr(1))};
}

/// "92" is 9.2, "810" is 8.10, "102" is 10.2, "9" is CentOS Stream 9.
MinorVersion joined_rhel(std::string_view digits) {
  const std::size_t major_digits = digits.starts_with('1') && digits.size() > 1 ? 2 : 1;
  MinorVersion version{number_of(digits.substr(0, major_digits)), std::nullopt};
  if (digits.size() > major_digits) version.minor = number_of(digits.substr(major_digits));
  return version;
}

std::optional<OsVersion> fedora_version(const std::vector<std::string_view>& fields) {
  if (fields[1].size() != 8 || !is_build_time(fields[1])) return std::nullopt;
  if (!is_small_number(fields[0]) || !is_small_number(fields[2]) || !is_small_number(fields[3])) return std::nullopt;
  OsVersion version;
  version.fedora = number_of(fields[0]);
  version.built = fields[1];
  version.fedora_stream = number_of(fields[2]);
  version.number = number_of(fields[3]);
  return version;
}

std::optional<OsVersion> rhel_version(const std::vector<std::string_view>& fields) {
  if (!is_small_number(fields[0]) || !is_small_number(fields[1]) || !is_build_time(fields[2])) return std::nullopt;
  if (fields.size() == 4 && !is_small_number(fields[3])) return std::nullopt;
  OsVersion version;
  version.built = fields[2];
  if (fields.size() == 4) version.number = number_of(fields[3]);
  const std::uint32_t first = number_of(fields[0]);
  if (first >= kFirstJoinedOpenShift) {
    version.openshift = joined_openshift(fields[0], fields[1]);
    version.rhel = joined_rhel(fields[1]);
    return version;
  }
  (first >= kFirstRhelMajor ? version.rhel : version.openshift) = MinorVersion{first, number_of(fields[1])};
  return version;
}

std::partial_ordering ordered_by_known(const auto& a, const auto& b) {
  if (!a || !b) return std::partial_ordering::equivalent;
  return *a <=> *b;
}

}  // namespace

std::string MinorVersion::to_string() const {
  return minor ? fmt::format("{}.{}", major, *minor) : fmt::format("{}", major);
}

std::weak_ordering MinorVersion::operator<=>(const MinorVersion& other) const {
  if (major != other.major) return major <=> other.major;
  if (!minor || !other.minor) return std::weak_ordering::equivalent;
  return *minor <=> *other.minor;
}

Result<OsVersion> OsVersion::parse(std::string_view text) {
  std::optional<OsVersion> version;
  if (text.size() <= kMaxOsVersionBytes) {
    const std::optional<VersionParts> parts = split_version(text);
    if (parts && parts->fields.size() == 4 && !parts->has_dash) version = fedora_version(parts->fields);
    if (parts && !version && (parts->fields.size() == 3 || parts->fields.size() == 4) &&
        (parts->fields.size() == 4 || !parts->has_dash)) {
      version = rhel_version(parts->fields);
    }
  }
  if (version) return *std::move(version);
  return error(Code::kInvalidArgument,
               "'{}' is no version of CoreOS such as 9.8.20260428-0, 415.92.202311241643-0 or 37.20230401.3.0",
               text.substr(0, kMaxOsVersionBytes));
}

std::chrono::sys_days OsVersion::day() const { return calendar_day(built); }

std::string OsVersion::describe() const {
  std::string os;
  if (fedora) os = fmt::format("Fedora {}", *fedora);
  // The first RHEL CoreOS named no minor release either, before CentOS Stream had a CoreOS.
  const bool is_centos = rhel && !rhel->minor && rhel->major >= kFirstCentOsStream;
  if (rhel) os = fmt::format("{} {}", is_centos ? "CentOS Stream" : "RHEL", rhel->to_string());
  if (openshift) os += fmt::format("{}OpenShift {}", os.empty() ? "for " : " of ", openshift->to_string());
  return fmt::format("{}, built {}-{}-{}", os, built.substr(0, 4), built.substr(4, 2), built.substr(6, 2));
}

std::partial_ordering OsVersion::operator<=>(const OsVersion& other) const {
  if (fedora.has_value() != other.fedora.has_value()) return std::partial_ordering::unordered;
  if (const auto order = ordered_by_known(fedora, other.fedora); order != 0) return order;
  if (const auto order = ordered_by_known(rhel, other.rhel); order != 0) return order;
  // Numbers of different kinds say nothing about each other; the OS alone says it better where both name it.
  if (!rhel || !other.rhel) {
    if (const auto order = ordered_by_known(openshift, other.openshift); order != 0) return order;
  }
  const std::size_t said_by_both = std::min(built.size(), other.built.size());
  if (const auto order = built.substr(0, said_by_both) <=> other.built.substr(0, said_by_both); order != 0) {
    return order;
  }
  if (fedora_stream != other.fedora_stream) return std::partial_ordering::unordered;
  // Builds are numbered within the time that is written out.
  if (built.size() != other.built.size()) return std::partial_ordering::equivalent;
  return ordered_by_known(number, other.number);
}

std::string os_version_note(std::string_view version) {
  const Result<OsVersion> parsed = OsVersion::parse(version);
  return parsed.ok() ? fmt::format(" ({})", parsed->describe()) : "";
}

}  // namespace strake::stream
