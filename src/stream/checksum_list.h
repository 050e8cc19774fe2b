// The list of checksums (sha256sum.txt) of a mirror's folder of boot images, read as a stream.
//
// It lists each file under a name with the version and one without. Nothing is guessed from the version: every location
// is a name that was listed.
#pragma once

#include <string_view>

#include "codec/json.h"

namespace strake::stream {

inline constexpr std::string_view kChecksumList = "sha256sum.txt";

/// `build`: the release of everything in the folder; `label`: what the stream calls itself.
Result<json::Value> stream_of_checksums(std::string_view sha256sum_text, std::string_view folder_url,
                                        std::string_view build, std::string_view label, std::string_view rpm_arch);

}  // namespace strake::stream
