#include "ignition/version.h"

#include "codec/semver.h"

namespace strake::ignition {

std::string to_string(SpecVersion version) { return fmt::format("{}.{}.0", version.major, version.minor); }

std::string supported_versions() {
  std::string list;
  for (const SpecVersion known : kKnownVersions) {
    if (known < SpecVersion{2, 2}) continue;
    list += fmt::format("{}{}.{}", list.empty() ? "" : ",", known.major, known.minor);
  }
  return list;
}

Result<SpecVersion> parse_spec_version(std::string_view text) {
  for (const SpecVersion known : kKnownVersions) {
    if (text == to_string(known)) return known;
  }
  if (!codec::SemVer::parse(text).ok()) {
    return error(Code::kInvalidArgument, "invalid config version (couldn't parse)");
  }
  return error(Code::kUnsupported, "unsupported config version");
}

}  // namespace strake::ignition
