#include "codec/semver.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include <fmt/ranges.h>

#include "base/text.h"

namespace strake::codec {
namespace {

constexpr std::size_t kMaxVersionLength = 256;

Error bad_version(std::string_view text, std::string_view why) {
  return error(Code::kInvalidArgument, "`{}` is not a version like 4.18.2 or 4.19.0-rc.1: {}",
               text.substr(0, kMaxVersionLength), why);
}

Result<std::uint64_t> parse_version_number(std::string_view whole, std::string_view digits, std::string_view part) {
  if (!is_all_digits(digits)) return bad_version(whole, fmt::format("the {} number is missing or not a number", part));
  if (digits.size() > 1 && digits.front() == '0') {
    return bad_version(whole, fmt::format("the {} number starts with 0", part));
  }
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failure != std::errc{}) return bad_version(whole, fmt::format("the {} number is too large", part));
  return value;
}

bool is_version_identifier(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return is_alphanumeric(c) || c == '-'; });
}

/// Numbers before words, numbers by value, words bytewise. Numbers may be longer than any integer type.
std::weak_ordering compare_identifiers(const std::string& a, const std::string& b) {
  const bool a_is_number = is_all_digits(a);
  const bool b_is_number = is_all_digits(b);
  if (a_is_number != b_is_number) return a_is_number ? std::weak_ordering::less : std::weak_ordering::greater;
  if (a_is_number && a.size() != b.size()) return a.size() <=> b.size();
  return a.compare(b) <=> 0;
}

}  // namespace

Result<SemVer> SemVer::parse(std::string_view text) {
  if (text.size() > kMaxVersionLength) return bad_version(text, "it is too long");
  std::string_view rest = text;
  SemVer version;
  if (const std::size_t plus = rest.find('+'); plus != std::string_view::npos) {
    for (std::string_view part : split(rest.substr(plus + 1), '.')) {
      if (!is_version_identifier(part)) return bad_version(text, "the part behind `+` is malformed");
    }
    version.build = rest.substr(plus + 1);
    rest = rest.substr(0, plus);
  }
  if (const std::size_t dash = rest.find('-'); dash != std::string_view::npos) {
    for (std::string_view part : split(rest.substr(dash + 1), '.')) {
      if (!is_version_identifier(part)) return bad_version(text, "the part behind `-` is malformed");
      if (is_all_digits(part) && part.size() > 1 && part.front() == '0') {
        return bad_version(text, "a number behind `-` starts with 0");
      }
      version.prerelease.emplace_back(part);
    }
    rest = rest.substr(0, dash);
  }
  const auto numbers = split(rest, '.');
  if (numbers.size() != 3) return bad_version(text, "it must have three numbers");
  STRAKE_TRY(version.major, parse_version_number(text, numbers[0], "major"));
  STRAKE_TRY(version.minor, parse_version_number(text, numbers[1], "minor"));
  STRAKE_TRY(version.patch, parse_version_number(text, numbers[2], "patch"));
  return version;
}

std::string SemVer::to_string() const {
  std::string out = fmt::format("{}.{}.{}", major, minor, patch);
  if (!prerelease.empty()) out += fmt::format("-{}", fmt::join(prerelease, "."));
  if (!build.empty()) out += fmt::format("+{}", build);
  return out;
}

std::weak_ordering SemVer::operator<=>(const SemVer& other) const {
  if (const auto order = major <=> other.major; order != 0) return order;
  if (const auto order = minor <=> other.minor; order != 0) return order;
  if (const auto order = patch <=> other.patch; order != 0) return order;
  if (prerelease.empty() || other.prerelease.empty()) {
    return prerelease.empty() <=> other.prerelease.empty();  // a release comes after its own prereleases
  }
  for (std::size_t i = 0; i < std::min(prerelease.size(), other.prerelease.size()); ++i) {
    if (const auto order = compare_identifiers(prerelease[i], other.prerelease[i]); order != 0) return order;
  }
  return prerelease.size() <=> other.prerelease.size();
}

}  // namespace strake::codec
