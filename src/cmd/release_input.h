// Releases as verbs are given them: in a registry, a layout, an archive.
#pragma once

#include <memory>
#include <string>

#include "cmd/image_access.h"
#include "release/payload.h"

namespace strake::cmd {

inline constexpr std::string_view kReleaseArgumentHelp =
    "the release image: quay.io/org/release:TAG (or @sha256:...), ./FOLDER[:NAME] with an OCI layout, ./FILE with an "
    "archive; oci:, oci-archive:, docker-archive: and docker:// as skopeo has them";

/// The place of a release; valid as long as the access. Contacts nobody.
Result<std::unique_ptr<release::ReleasePlace>> open_release(ImageAccess& access, std::string_view text);

/// The release itself. OS images beside it are hashed to their end where that costs no network; `os_images` asks for it
/// everywhere.
Result<release::ReleasePayload> read_release(ImageAccess& access, const release::ReleasePlace& place,
                                             release::OsImageCheck os_images = release::OsImageCheck::kLabels);

/// Both steps, for verbs that only want to know what is in it.
Result<release::ReleasePayload> read_release(const Invocation& invocation, std::string_view text,
                                             release::OsImageCheck os_images = release::OsImageCheck::kLabels);

}  // namespace strake::cmd
