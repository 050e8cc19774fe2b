// The operating system of one node: which image it runs with which kernel arguments, and how that is changed.
//
// A change is staged, then takes effect at the next boot. Implementations: sandbox (sandbox_backend.h); bootc,
// rpm-ostree and ostree follow.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace strake::osbackend {

struct Deployment {
  std::string image;  ///< by digest
  std::vector<std::string> kernel_arguments;

  bool operator==(const Deployment&) const = default;
};

struct OsStatus {
  Deployment booted;
  std::optional<Deployment> staged;  ///< boots next
  std::string boot_id;               ///< another value after every boot
};

class OsBackend {
 public:
  virtual ~OsBackend() = default;

  virtual Result<OsStatus> status() = 0;
  /// Idempotent: staging what is booted drops what was staged; staging what is staged changes nothing.
  virtual Status stage(const Deployment& deployment) = 0;
  /// Asks for a boot into what is staged. On a real machine the process ends soon after; the caller must be ready for
  /// both.
  virtual Status reboot(const std::string& reason) = 0;
};

/// The arguments of MachineConfigs one by one: items may hold several, separated by blanks, and double-quoted values.
std::vector<std::string> split_kernel_arguments(const std::vector<std::string>& items);

}  // namespace strake::osbackend
