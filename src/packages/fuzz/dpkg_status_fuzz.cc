// Any text: packages in order, none of them without a name, or damage. Both ways of ordering versions agree with
// themselves when the sides are swapped.
#include <cstdint>

#include "packages/packages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake;
  using namespace strake::packages;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto status = read_dpkg_status(text);
  const auto member = read_dpkg_member(text);
  // What is there with a Status field is there without one.
  STRAKE_INVARIANT(!member.ok() || (status.ok() && status->size() <= member->size()));
  if (!member.ok()) return 0;
  for (std::size_t i = 0; i < member->size(); ++i) {
    const Package& package = (*member)[i];
    STRAKE_INVARIANT(!package.name.empty());
    if (i == 0) continue;
    const Package& before = (*member)[i - 1];
    STRAKE_INVARIANT(before.name <= package.name);
    for (const PackageSystem system : {PackageSystem::kRpm, PackageSystem::kDpkg}) {
      STRAKE_INVARIANT(compare_versions(system, before, package) == -compare_versions(system, package, before));
    }
    STRAKE_INVARIANT(before.name != package.name || compare_versions(PackageSystem::kDpkg, before, package) <= 0);
  }
  STRAKE_INVARIANT(diff_packages(PackageSystem::kDpkg, *member, *member).empty());
  return 0;
}
