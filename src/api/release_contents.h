// ConfigMap strake-release: what the present release brings that is made into base MachineConfigs. `release apply`
// writes it, in one object so that nobody reads half of it; the template controller makes MachineConfigs of it once the
// ControllerConfig names the same release image.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace strake::api {

/// In the namespace kMachineConfigNamespace.
inline constexpr std::string_view kReleaseContentsName = "strake-release";

/// A server takes no ConfigMap above 1 MiB.
inline constexpr std::size_t kMaxReleaseContentsBytes = 1'000'000;

/// What is looked for in OS images: base configs differ by it.
inline constexpr std::string_view kAgentProgram = "/usr/bin/strake";
inline constexpr std::string_view kKubeletProgram = "/usr/bin/kubelet";
inline constexpr std::string_view kCrioProgram = "/usr/bin/crio";
inline constexpr std::string_view kContainerdProgram = "/usr/bin/containerd";
inline constexpr std::string_view kPodmanProgram = "/usr/bin/podman";
inline constexpr std::string_view kKubeletUnitFile = "/usr/lib/systemd/system/kubelet.service";
inline constexpr std::string_view kKnownFiles[] = {kAgentProgram,      kKubeletProgram, kCrioProgram,
                                                   kContainerdProgram, kPodmanProgram,  kKubeletUnitFile};

/// One OS image of the release, as it was looked into.
struct OsImageFacts {
  std::string image;            ///< by digest
  std::set<std::string> files;  ///< those of kKnownFiles it has

  bool operator==(const OsImageFacts&) const = default;
};

struct ReleaseContents {
  std::string release_image;                        ///< by digest; of the ControllerConfig it belongs to
  std::string release_version;                      ///< "4.21.0"
  std::map<std::string, json::Value> base_configs;  ///< spec of the release's own 00-<role>, by role
  /// One for each OS stream; nullopt where an image lay elsewhere and nobody could look.
  std::vector<std::optional<OsImageFacts>> os_images;

  bool operator==(const ReleaseContents&) const = default;
};

/// The ConfigMap's data.
json::Object release_contents_data(const ReleaseContents& contents);
/// The same from a ConfigMap; the error names the key.
Result<ReleaseContents> parse_release_contents(const json::Value& config_map);

}  // namespace strake::api
