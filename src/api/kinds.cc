#include "api/kinds.h"

#include <array>

namespace strake::api {

std::span<const kube::Resource> all_kinds() {
  static const std::array kinds{kMachineConfig,
                                kMachineConfigPool,
                                kMachineConfigNode,
                                kControllerConfig,
                                kOsImageStream,
                                kMachineOsConfig,
                                kMachineOsBuild,
                                kKubeletConfig,
                                kContainerRuntimeConfig,
                                kMachineConfiguration,
                                kMachine,
                                kMachineSet,
                                kControlPlaneMachineSet,
                                kClusterVersion,
                                kClusterOperator,
                                kInfrastructure,
                                kImageDigestMirrorSet,
                                kImageTagMirrorSet,
                                kImageContentSourcePolicy,
                                kClusterImagePolicy,
                                kImagePolicy,
                                kImageConfig,
                                kStrakeConfig};
  return kinds;
}

}  // namespace strake::api
