// How the verbs of `os` name and open what they look into.
#pragma once

#include <memory>
#include <string_view>

#include "cmd/input/image_access.h"
#include "osimage/os_image.h"
#include "release/payload.h"

namespace strake::cmd {

inline constexpr std::string_view kOsImageArgumentHelp =
    "an image (quay.io/org/os:TAG, ./FOLDER[:NAME], ./FILE, oci:, oci-archive:, docker-archive:, docker://), "
    "release:REF[#COMPONENT] for the OS image of a release, or ostree:REPOSITORY[:REF] for a repository on disk";
inline constexpr ArgumentSpec kOsImageArgument{"IMAGE", kOsImageArgumentHelp};

inline constexpr OptionSpec kOsOptions[] = {
    kImageArchOption,
    {"base", "", "of an ostree-native image: only the ostree commit, without the layers built on it"},
};

inline constexpr ExitMeaning kPathAbsent{kExitBlocked,
                                         "there is no such path; the message names the folder that exists"};

/// Says of what form the image is when it cannot be opened as one; warns of what the importer would drop.
Result<std::unique_ptr<osimage::OsImage>> open_os_image(ImageAccess& access, const Invocation& invocation,
                                                        std::string_view image);

/// The image of a component as an OS: where the release lies, which in a mirror is not where its name points. `place`
/// must outlive it.
Result<std::unique_ptr<osimage::OsImage>> open_component_os(ImageAccess& access, const release::ReleasePlace& place,
                                                            const release::Component& component);

}  // namespace strake::cmd
