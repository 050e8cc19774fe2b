#include "ignition/butane/dialect.h"

#include <array>
#include <vector>

namespace strake::ignition {

namespace {

constexpr Dialect fcos(std::string_view version, int minor, bool has_boot_device, bool has_grub) {
  return {.variant = "fcos",
          .version = version,
          .spec = {3, minor},
          .has_boot_device = has_boot_device,
          .has_grub = has_grub};
}

/// Until 4.13 on top of fcos 1.3.0, from then on 1.5.0.
constexpr Dialect openshift(std::string_view version, int minor) {
  const bool is_old = minor < 14;
  return {.variant = "openshift",
          .version = version,
          .spec = {3, is_old ? 2 : 4},
          .is_openshift = true,
          .has_boot_device = true,
          .has_grub = !is_old,
          .packs_contents = minor >= 10,
          .takes_password_hash = minor >= 13,
          .takes_special_modes = minor < 10};
}

constexpr std::array kDialects{
    fcos("1.0.0", 0, false, false), fcos("1.1.0", 1, false, false), fcos("1.2.0", 2, false, false),
    fcos("1.3.0", 2, true, false),  fcos("1.4.0", 3, true, false),  fcos("1.5.0", 4, true, true),
    fcos("1.6.0", 5, true, true),   openshift("4.8.0", 8),          openshift("4.9.0", 9),
    openshift("4.10.0", 10),        openshift("4.11.0", 11),        openshift("4.12.0", 12),
    openshift("4.13.0", 13),        openshift("4.14.0", 14),        openshift("4.15.0", 15),
    openshift("4.16.0", 16),        openshift("4.17.0", 17),        openshift("4.18.0", 18)};

}  // namespace

Result<Dialect> find_dialect(std::string_view variant, std::string_view version) {
  std::vector<std::string_view> versions;
  for (const Dialect& dialect : kDialects) {
    if (dialect.variant != variant) continue;
    if (dialect.version == version) return dialect;
    versions.push_back(dialect.version);
  }
  if (versions.empty()) {
    return error(Code::kUnsupported, "variant: '{}' is not taken; known are fcos and openshift", variant);
  }
  return error(Code::kUnsupported, "version: variant {} has no version '{}' here; known are {}", variant, version,
               fmt::join(versions, ", "));
}

}  // namespace strake::ignition
