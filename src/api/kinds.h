// The kinds that deploy/crds defines, as descriptors. The built-in kinds are in kube/resource.h.
#pragma once

#include <span>
#include <string_view>

#include "kube/resource.h"

namespace strake::api {

inline const kube::Resource kMachineConfig{"machineconfiguration.openshift.io", "v1", "MachineConfig", "machineconfigs",
                                           false};
inline const kube::Resource kMachineConfigPool{"machineconfiguration.openshift.io", "v1", "MachineConfigPool",
                                               "machineconfigpools", false};
inline const kube::Resource kMachineConfigNode{"machineconfiguration.openshift.io", "v1", "MachineConfigNode",
                                               "machineconfignodes", false};
inline const kube::Resource kControllerConfig{"machineconfiguration.openshift.io", "v1", "ControllerConfig",
                                              "controllerconfigs", false};
inline const kube::Resource kOsImageStream{"machineconfiguration.openshift.io", "v1", "OSImageStream", "osimagestreams",
                                           false};
inline const kube::Resource kMachineOsConfig{"machineconfiguration.openshift.io", "v1", "MachineOSConfig",
                                             "machineosconfigs", false};
inline const kube::Resource kMachineOsBuild{"machineconfiguration.openshift.io", "v1", "MachineOSBuild",
                                            "machineosbuilds", false};
inline const kube::Resource kKubeletConfig{"machineconfiguration.openshift.io", "v1", "KubeletConfig", "kubeletconfigs",
                                           false};
inline const kube::Resource kContainerRuntimeConfig{"machineconfiguration.openshift.io", "v1", "ContainerRuntimeConfig",
                                                    "containerruntimeconfigs", false};
inline const kube::Resource kMachineConfiguration{"operator.openshift.io", "v1", "MachineConfiguration",
                                                  "machineconfigurations", false};
inline const kube::Resource kMachine{"machine.openshift.io", "v1beta1", "Machine", "machines", true};
inline const kube::Resource kMachineSet{"machine.openshift.io", "v1beta1", "MachineSet", "machinesets", true};
inline const kube::Resource kControlPlaneMachineSet{"machine.openshift.io", "v1", "ControlPlaneMachineSet",
                                                    "controlplanemachinesets", true};
inline const kube::Resource kClusterVersion{"config.openshift.io", "v1", "ClusterVersion", "clusterversions", false};
inline const kube::Resource kClusterOperator{"config.openshift.io", "v1", "ClusterOperator", "clusteroperators", false};
inline const kube::Resource kInfrastructure{"config.openshift.io", "v1", "Infrastructure", "infrastructures", false};
inline const kube::Resource kImageDigestMirrorSet{"config.openshift.io", "v1", "ImageDigestMirrorSet",
                                                  "imagedigestmirrorsets", false};
inline const kube::Resource kImageTagMirrorSet{"config.openshift.io", "v1", "ImageTagMirrorSet", "imagetagmirrorsets",
                                               false};
inline const kube::Resource kImageContentSourcePolicy{"operator.openshift.io", "v1alpha1", "ImageContentSourcePolicy",
                                                      "imagecontentsourcepolicies", false};
inline const kube::Resource kClusterImagePolicy{"config.openshift.io", "v1", "ClusterImagePolicy",
                                                "clusterimagepolicies", false};
inline const kube::Resource kImagePolicy{"config.openshift.io", "v1", "ImagePolicy", "imagepolicies", true};
inline const kube::Resource kImageConfig{"config.openshift.io", "v1", "Image", "images", false};
inline const kube::Resource kStrakeConfig{"strake.dev", "v1alpha1", "StrakeConfig", "strakeconfigs", false};

/// Of everything that is Strake's own: kinds in clusters, the index of a mirror, JSON that verbs print.
inline constexpr std::string_view kStrakeApiVersion = "strake.dev/v1alpha1";

/// Every kind above.
std::span<const kube::Resource> all_kinds();

/// Names of the singletons.
inline constexpr std::string_view kControllerConfigName = "machine-config-controller";
inline constexpr std::string_view kMachineConfigurationName = "cluster";
inline constexpr std::string_view kOsImageStreamName = "cluster";
inline constexpr std::string_view kInfrastructureName = "cluster";
inline constexpr std::string_view kImageConfigName = "cluster";
inline constexpr std::string_view kClusterVersionName = "version";
inline constexpr std::string_view kStrakeConfigName = "cluster";
/// In kOpenshiftConfigNamespace: credentials of registries, for every machine.
inline constexpr std::string_view kPullSecretName = "pull-secret";

/// Namespaces shared with the platform, and Strake's own (leases, tokens).
inline constexpr std::string_view kMachineConfigNamespace = "openshift-machine-config-operator";
inline constexpr std::string_view kMachineApiNamespace = "openshift-machine-api";
inline constexpr std::string_view kOpenshiftConfigNamespace = "openshift-config";
inline constexpr std::string_view kStrakeNamespace = "strake-system";

/// An agent's user is kAgentUserPrefix + node name, its group kAgentGroup (deploy/rbac).
inline constexpr std::string_view kAgentUserPrefix = "strake:agent:";
inline constexpr std::string_view kAgentGroup = "strake:agents";
/// Who reads what cannot hold a secret, and who reads what can.
inline constexpr std::string_view kViewerGroup = "strake:viewers";
inline constexpr std::string_view kConfigViewerGroup = "strake:config-viewers";

}  // namespace strake::api
