// Two small, complete releases for demonstrations and tests: B is what A is upgraded to.
//
// Each is an image layout of a few kilobytes with a release image (`release`), an OS image (`os`) and its extensions
// (`extensions`). From A to B: another OS image, one more kernel argument, /etc/strake-sample.conf changed, other AMIs.
// The same release is written with the same bytes every time.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/runtime.h"
#include "release/signature/openpgp_signer.h"

namespace strake::release {

enum class SampleRelease { kA, kB };
std::string_view to_string(SampleRelease sample);  ///< its version, "4.21.0-sample-a"

/// The entry of the layout's index.json that read_payload wants.
inline constexpr std::string_view kSampleReleaseReference = "release";

/// Creates `directory` when needed; a sample already there is written over.
Status write_sample_release(const std::filesystem::path& directory, SampleRelease sample);

/// Puts a signature of the release in the layout beside it, where a mirror has them.
Status sign_sample_release(const std::filesystem::path& directory, const ReleaseSigner& signer,
                           runtime::Runtime& runtime, const runtime::Call& call);

}  // namespace strake::release
