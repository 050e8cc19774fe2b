#include "configserver/accept.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "base/text.h"
#include "codec/semver.h"

namespace strake::configserver {

namespace {

using ignition::SpecVersion;

constexpr std::string_view kIgnitionSubtype = "vnd.coreos.ignition+json";
/// More than any client sends; a longer list is not worth reading.
constexpr std::size_t kMaxRanges = 64;

struct MediaRange {
  std::string_view subtype;
  double quality = 1.0;
  std::optional<codec::SemVer> version;
};

std::optional<double> read_quality(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// Nothing: the field as a whole cannot be read.
std::optional<MediaRange> read_range(std::string_view text) {
  const std::string_view type = trimmed(take_until(text, ';'));
  const std::size_t slash = type.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  MediaRange range;
  range.subtype = type.substr(slash + 1);
  while (!text.empty()) {
    const std::string_view parameter = trimmed(take_until(text, ';'));
    const std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view name = parameter.substr(0, equals), value = parameter.substr(equals + 1);
    if (name == "q") {
      const auto quality = read_quality(value);
      if (!quality) return std::nullopt;
      range.quality = *quality;
    } else if (name == "version") {
      // "1", or one in quotes, is no version to those who invented this; such a range asks for nothing in particular.
      if (auto version = codec::SemVer::parse(value); version.ok()) range.version = *std::move(version);
    }
  }
  return range;
}

std::vector<MediaRange> read_ranges(std::string_view accept) {
  std::vector<MediaRange> ranges;
  for (const std::string_view piece : split(accept, ',')) {
    const auto range = read_range(piece);
    if (!range || ranges.size() == kMaxRanges) return {};
    ranges.push_back(*range);
  }
  std::ranges::stable_sort(ranges, std::ranges::greater{}, &MediaRange::quality);
  return ranges;
}

}  // namespace

Result<SpecVersion> negotiate(std::string_view accept) {
  for (const MediaRange& range : read_ranges(accept)) {
    if (range.subtype != kIgnitionSubtype || !range.version) continue;
    const codec::SemVer& asked = *range.version;
    if (asked.major == 2 && asked.minor >= 2) return kOldestServed;
    const auto latest_minor = static_cast<std::uint64_t>(ignition::kLatestVersion.minor);
    if (asked.major == 3) return SpecVersion{3, static_cast<int>(std::min(asked.minor, latest_minor))};
    return error(Code::kUnsupported, "Ignition {}.{} is not served; {} are", asked.major, asked.minor,
                 ignition::supported_versions());
  }
  return kOldestServed;
}

}  // namespace strake::configserver
