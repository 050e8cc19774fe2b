// Older shapes of boot image metadata, turned into stream documents: the build records of coreos-assembler (meta.json)
// and the installer's rhcos.json made from them (4.1 to 4.9), and bare file names as mirrors list them.
//
// Both are the record of one build for one architecture; they differ in how AMIs are listed and in who names the base
// of relative paths. What a stream has no place for (OSTree commits, container images, sizes) is left out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codec/json.h"

namespace strake::stream {

/// Where a file belongs in a stream: artifacts.<platform>.formats.<format>.<member>.
struct ArtifactPlace {
  std::string platform;
  std::string format;
  std::string member;
};

/// `key` is what the build calls the file ("live-kernel", "metal4k"), `file_name` gives the format. nullopt: the file
/// is nothing a machine boots from. A key this program does not know is taken for a platform.
std::optional<ArtifactPlace> place_of_build_file(std::string_view key, std::string_view file_name);

/// The RPM architecture that stands in a URL or file name as a word of its own; "" when there is none.
std::string architecture_in(std::string_view text);

bool is_build_record(const json::Value& document);

/// `base_url`: where relative paths start when the record does not say; empty leaves them relative.
Result<json::Value> stream_of_build_record(const json::Value& build, std::string_view base_url);

}  // namespace strake::stream
