// OwnerMapping: an OS in a repository that belongs to an ordinary user, who can give files to nobody else.
//
// What is stored is then another tree than the image's: each object is compared with the image's checksum first, and
// stored under the checksum of what it became. The image's own commit is recorded beside it.
#pragma once

#include <cstdint>

#include "ostree/objects.h"

namespace strake::ostree {

struct OwnerMapping {
  std::uint32_t uid = 0;  ///< who everything is given to
  std::uint32_t gid = 0;

  bool operator==(const OwnerMapping&) const = default;
};

/// The owner is the mapping's, who may read and write what is his (a file of mode 0 would block every later clean-up);
/// attributes only root may set are left out. Set-user-id bits stay.
FileInfo mapped_to(const OwnerMapping& owner, FileInfo info);
DirMeta mapped_to(const OwnerMapping& owner, DirMeta meta);

}  // namespace strake::ostree
