#include "ostree/owner_mapping.h"

#include <algorithm>

namespace strake::ostree {

namespace {

constexpr std::uint32_t kOwnerReadsAndWrites = 0600;
constexpr std::uint32_t kOwnerEnters = 0700;

/// As ostree finds them on a disk: sorted, and without those that have no value. Otherwise it would see another file
/// than was stored.
void keep_storable(Xattrs& xattrs) {
  std::erase_if(xattrs, [](const Xattr& x) {
    return x.value.empty() || x.name.starts_with("security.") || x.name.starts_with("trusted.");
  });
  std::ranges::sort(xattrs);
}

}  // namespace

FileInfo mapped_to(const OwnerMapping& owner, FileInfo info) {
  info.uid = owner.uid;
  info.gid = owner.gid;
  if (!info.is_symlink()) info.mode |= kOwnerReadsAndWrites;
  keep_storable(info.xattrs);
  // Nobody but root may set attributes of a link at all.
  if (info.is_symlink()) info.xattrs.clear();
  return info;
}

DirMeta mapped_to(const OwnerMapping& owner, DirMeta meta) {
  meta.uid = owner.uid;
  meta.gid = owner.gid;
  meta.mode |= kOwnerEnters;
  keep_storable(meta.xattrs);
  return meta;
}

}  // namespace strake::ostree
