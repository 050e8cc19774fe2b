#include "ignition/version.h"

#include "codec/semver.h"

namespace strake::ignition {

std::string to_string(SpecVersion version) { return fmt::format("{}.{}.0", version.major, version.minor); }

Result<SpecVersion> parse_spec_version(std::string_view text) {
  for (int minor = 0; minor <= kLatestVersion.minor; ++minor) {
    const SpecVersion known{kLatestVersion.major, minor};
    if (text == to_string(known)) return known;
  }
  if (!codec::SemVer::parse(text).ok()) {
    return error(Code::kInvalidArgument, "invalid config version (couldn't parse)");
  }
  return error(Code::kUnsupported, "unsupported config version");
}

}  // namespace strake::ignition
