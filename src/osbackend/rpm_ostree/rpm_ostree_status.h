// What `rpm-ostree status --json` says, as far as it matters here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "osbackend/os_backend.h"

namespace strake::osbackend {

struct RpmOstreeDeployment {
  std::string id;  ///< "rhcos-<commit>.<serial>"
  bool booted = false;
  bool staged = false;
  bool pinned = false;
  std::string version;
  std::optional<ImageReference> image;          ///< nullopt: not made from an image of a registry
  std::vector<std::string> requested_packages;  ///< layered on the image

  KernelType kernel_type() const;
  /// By name: those of which every package is layered.
  std::vector<std::string> extensions() const;
  bool has_package(std::string_view name) const;
};

struct RpmOstreeStatus {
  std::vector<RpmOstreeDeployment> deployments;  ///< in the order in which the boot loader shows them

  /// Places in `deployments`.
  std::size_t booted = 0;
  std::optional<std::size_t> pending;   ///< boots next, staged or not
  std::optional<std::size_t> rollback;  ///< boots when the booted one does not
};

/// Members nobody has heard of are passed over; so are lists that are missing, as older versions leave them out.
Result<RpmOstreeStatus> parse_rpm_ostree_status(std::string_view text);

}  // namespace strake::osbackend
