// The aleph: the file in which a machine keeps which image it was first installed from, whatever it runs today.
//
//   create_disk.sh   {"build", "ref", "ostree-commit", "imgid"}                            2019 to 2024
//   osbuild          {"osbuild-version", "version", "ref", "ostree-commit"}, with "container-image" when made from one
//   bootc            {"image" or "target-image", "version", "timestamp", "kernel", "selinux", "digest", "labels"}
//
// It lies at the top of the physical root under one of three names, the newer ones being what older ones link to.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/result.h"

namespace strake::stream {

inline constexpr std::size_t kMaxAlephBytes = 1u << 20;
/// In the order in which they are looked for.
inline constexpr std::array<std::string_view, 3> kAlephNames{".coreos-aleph-version.json", ".aleph-version.json",
                                                             ".bootc-aleph.json"};

struct Aleph {
  std::string version;        ///< never empty; OsVersion::parse reads those of CoreOS
  std::string image;          ///< the container or disk image it came from, as the file says it; may be empty
  std::string image_digest;   ///< empty: the file does not say
  std::string ostree_commit;  ///< empty: the file does not say
};

/// kInvalidArgument: no aleph, or one that names no version.
Result<Aleph> parse_aleph(std::string_view json_text);

}  // namespace strake::stream
