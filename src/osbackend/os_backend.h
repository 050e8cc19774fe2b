// The operating system of one node: what it runs, and how that is changed.
//
// A change is staged, then takes effect at the next boot. Implementations: a record in a sandbox (sandbox_backend.h),
// rpm-ostree (rpm_ostree/), bootc (bootc/) and an ostree sysroot of our own (ostree/) of a real machine.
//
// A machine's kernel command line is never ours alone: the root device, the console and what ostree needs stand on it
// too. So the arguments a config asks for are kept apart from the machine's own, staged beside them, and compared
// without them.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "base/result.h"
#include "base/runtime.h"
#include "osbackend/image_reference.h"

namespace strake::osbackend {

/// Which kernel of its image a machine boots.
enum class KernelType { kDefault, kRealtime, k64kPages };
std::string_view to_string(KernelType type);
/// As spec.kernelType of a MachineConfig says it; "" is the default.
Result<KernelType> parse_kernel_type(std::string_view text);

/// What a config asks of the OS.
struct OsTarget {
  std::optional<ImageReference> image;        ///< nullopt: whatever the machine runs
  std::vector<std::string> kernel_arguments;  ///< ours, one by one
  KernelType kernel_type = KernelType::kDefault;
  std::vector<std::string> extensions;

  bool operator==(const OsTarget&) const = default;
};

/// One bootable state of a machine.
struct Deployment {
  std::optional<ImageReference> image;         ///< nullopt: not made from an image
  std::vector<std::string> kernel_arguments;   ///< ours: those that were staged for a config
  std::vector<std::string> machine_arguments;  ///< the machine's own; not ours to compare or to change
  KernelType kernel_type = KernelType::kDefault;
  std::vector<std::string> extensions;

  bool operator==(const Deployment&) const = default;
};

/// In which respects the deployment is not what the target asks for, each a phrase; none when it is.
std::vector<std::string> differences(const Deployment& deployment, const OsTarget& target);

/// What a backend can change on this machine. What it cannot is refused by name when an update is planned.
struct Capabilities {
  bool image = false;
  bool kernel_arguments = false;
  bool extensions = false;
  std::set<KernelType> kernel_types = {KernelType::kDefault};
};

struct OsStatus {
  Deployment booted;
  std::optional<Deployment> staged;    ///< boots next
  std::optional<Deployment> rollback;  ///< what ran before, or what could not boot
  std::string boot_id;                 ///< another value after every boot
  Capabilities capabilities;
};

/// What the target asks for and this machine's backend cannot change, by name; none when it can do all of it.
std::vector<std::string> beyond_backend(const OsStatus& os, const OsTarget& target);

class OsBackend {
 public:
  virtual ~OsBackend() = default;

  virtual Result<OsStatus> status(const runtime::Call& call) = 0;
  /// On a machine that is new to us: which of the arguments on its command line are ours, although nobody noted it
  /// (Ignition put them there on the first boot). Those of `arguments` that are there; nothing on a machine we know.
  virtual Status adopt_kernel_arguments(const std::vector<std::string>& arguments, const runtime::Call& call) = 0;
  /// Idempotent: staging what is booted drops what was staged; staging what is staged changes nothing. A call that was
  /// cancelled leaves the old or the new state, never half of one. `progress` may be empty.
  virtual Status stage(const OsTarget& target, const ProgressSink& progress, const runtime::Call& call) = 0;
  /// The machine will boot what it runs now. Nothing staged is fine.
  virtual Status drop_staged(const runtime::Call& call) = 0;
  /// Asks for a boot into what is staged. On a real machine the process ends soon after; the caller must be ready for
  /// both.
  virtual Status reboot(const std::string& reason, const runtime::Call& call) = 0;
};

/// The arguments of MachineConfigs one by one: items may hold several, separated by blanks, and double-quoted values.
std::vector<std::string> split_kernel_arguments(const std::vector<std::string>& items);

}  // namespace strake::osbackend
