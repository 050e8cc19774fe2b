#include "api/os_packages.h"

#include <algorithm>

namespace strake::api {

namespace {

constexpr std::string_view kTwoNodeHa[] = {"pacemaker", "pcs", "fence-agents-all"};
constexpr std::string_view kIpsec[] = {"NetworkManager-libreswan", "libreswan", "openvswitch3.5-ipsec"};
constexpr std::string_view kOlderIpsec[] = {"NetworkManager-libreswan", "libreswan"};
constexpr std::string_view kUsbguard[] = {"usbguard"};
constexpr std::string_view kKerberos[] = {"krb5-workstation", "libkadm5"};
constexpr std::string_view kKernelDevel[] = {"kernel-devel", "kernel-headers"};
constexpr std::string_view kSandboxedContainers[] = {"kata-containers"};
constexpr std::string_view kSysstat[] = {"sysstat"};

constexpr Extension kExtensions[] = {
    {"two-node-ha", kTwoNodeHa, {}},    {"ipsec", kIpsec, kOlderIpsec},
    {"usbguard", kUsbguard, {}},        {"kerberos", kKerberos, {}},
    {"kernel-devel", kKernelDevel, {}}, {"sandboxed-containers", kSandboxedContainers, {}},
    {"sysstat", kSysstat, {}},
};

constexpr std::string_view kDefaultKernel[] = {"kernel", "kernel-core", "kernel-modules", "kernel-modules-core",
                                               "kernel-modules-extra"};
constexpr std::string_view kRealtimeKernel[] = {"kernel-rt-core", "kernel-rt-modules", "kernel-rt-modules-extra"};
constexpr std::string_view kLargePageKernel[] = {"kernel-64k-core", "kernel-64k-modules", "kernel-64k-modules-core",
                                                 "kernel-64k-modules-extra"};

}  // namespace

std::span<const Extension> known_extensions() { return kExtensions; }

const Extension* find_extension(std::string_view name) {
  const auto* found = std::find_if(std::begin(kExtensions), std::end(kExtensions),
                                   [&](const Extension& extension) { return extension.name == name; });
  return found == std::end(kExtensions) ? nullptr : found;
}

std::span<const std::string_view> default_kernel_packages() { return kDefaultKernel; }
std::span<const std::string_view> realtime_kernel_packages() { return kRealtimeKernel; }
std::span<const std::string_view> large_page_kernel_packages() { return kLargePageKernel; }

}  // namespace strake::api
