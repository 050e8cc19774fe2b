// Extensions and kernels a MachineConfig may ask for by name, and the packages of the OS each of them means.
#pragma once

#include <span>
#include <string_view>

namespace strake::api {

struct Extension {
  std::string_view name;
  std::span<const std::string_view> packages;
  /// Older releases had it in fewer packages: a machine with these has it too. Empty: there was no such time.
  std::span<const std::string_view> older_packages{};
};

/// All that a MachineConfig may name.
std::span<const Extension> known_extensions();
/// nullptr: there is none of that name.
const Extension* find_extension(std::string_view name);

/// What an OS image has, and what is installed in its place for another kernel.
std::span<const std::string_view> default_kernel_packages();
std::span<const std::string_view> realtime_kernel_packages();
std::span<const std::string_view> large_page_kernel_packages();

}  // namespace strake::api
