// Any bytes: a package with name, version and release, or damage; never more than what the bytes hold.
#include <cstdint>

#include "packages/rpm_header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake;
  using namespace strake::packages;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto package = package_of_rpm_header(bytes);
  if (!package.ok()) {
    STRAKE_INVARIANT(package.error().code() == Code::kCorrupt);
    return 0;
  }
  for (const std::string* text : {&package->name, &package->version, &package->release}) {
    STRAKE_INVARIANT(!text->empty() && bytes.find(*text) != bytes.npos);
  }
  STRAKE_INVARIANT(compare_versions(PackageSystem::kRpm, *package, *package) == 0);
  STRAKE_INVARIANT(diff_packages(PackageSystem::kRpm, {*package}, {*package}).empty());
  return 0;
}
