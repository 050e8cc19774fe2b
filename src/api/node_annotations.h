// The marks through which controllers and agents talk on Node objects, and those on configs and pools. Names and values
// are the platform's: both sides may be somebody else's program.
#pragma once

#include <cstddef>
#include <string_view>

namespace strake::api {

/// On a Node. Written by the agent unless said otherwise.
namespace node_annotation {
inline constexpr std::string_view kPrefix = "machineconfiguration.openshift.io/";
inline constexpr std::string_view kCurrentConfig = "machineconfiguration.openshift.io/currentConfig";
/// By the rollout controller; by the agent only while absent, from what the config server seeded.
inline constexpr std::string_view kDesiredConfig = "machineconfiguration.openshift.io/desiredConfig";
inline constexpr std::string_view kCurrentImage = "machineconfiguration.openshift.io/currentImage";
inline constexpr std::string_view kDesiredImage =
    "machineconfiguration.openshift.io/desiredImage";                                  ///< by the controller
inline constexpr std::string_view kState = "machineconfiguration.openshift.io/state";  ///< NodeState
inline constexpr std::string_view kReason = "machineconfiguration.openshift.io/reason";
inline constexpr std::string_view kPostConfigAction = "machineconfiguration.openshift.io/post-config-action";
/// "drain-<config>" or "uncordon-<config>"; the drain controller echoes it in kLastAppliedDrain when done.
inline constexpr std::string_view kDesiredDrain = "machineconfiguration.openshift.io/desiredDrain";
inline constexpr std::string_view kLastAppliedDrain = "machineconfiguration.openshift.io/lastAppliedDrain";
inline constexpr std::string_view kControlPlaneTopology = "machineconfiguration.openshift.io/controlPlaneTopology";
inline constexpr std::string_view kLastSyncedControllerConfig =
    "machineconfiguration.openshift.io/lastSyncedControllerConfigResourceVersion";
inline constexpr std::string_view kLastObservedServerCa =
    "machineconfiguration.openshift.io/lastObservedServerCAAnnotation";
inline constexpr std::string_view kFinalizeStagedFailure =
    "machineconfiguration.openshift.io/ostree-finalize-staged-failure";
inline constexpr std::string_view kFirstPivotConfig = "machineconfiguration.openshift.io/firstPivotConfig";
inline constexpr std::string_view kCustomPoolLabelsApplied =
    "machineconfiguration.openshift.io/customPoolLabelsApplied";  ///< by the controller
/// Strake's own: what the rollout said the change would cost, and what it did cost.
inline constexpr std::string_view kStrakePrefix = "strake.dev/";
inline constexpr std::string_view kPlannedClass = "strake.dev/planned-class";  ///< by the controller
inline constexpr std::string_view kExecutedClass = "strake.dev/executed-class";
/// By the drain controller: it was us who closed the node, so it is us who open it again.
inline constexpr std::string_view kCordonedByStrake = "strake.dev/cordoned";
}  // namespace node_annotation

/// kReason and kFinalizeStagedFailure are cut to this many characters.
inline constexpr std::size_t kMaxReasonLength = 2000;

inline constexpr std::string_view kDrainVerb = "drain-";
inline constexpr std::string_view kUncordonVerb = "uncordon-";

/// On rendered configs, pools and the ControllerConfig.
namespace config_annotation {
inline constexpr std::string_view kGeneratedByController =
    "machineconfiguration.openshift.io/generated-by-controller-version";
inline constexpr std::string_view kGeneratedByVersion = "machineconfiguration.openshift.io/generated-by-version";
inline constexpr std::string_view kReleaseImageVersion = "machineconfiguration.openshift.io/release-image-version";
inline constexpr std::string_view kOsImageUrlOverridden = "machineconfiguration.openshift.io/os-image-url-overridden";
inline constexpr std::string_view kServiceCaRotate = "machineconfiguration.openshift.io/service-ca-rotate";
/// On a rendered config: the image that was built for it before the cluster was.
inline constexpr std::string_view kPreBuiltImage = "machineconfiguration.openshift.io/pre-built-image";
inline constexpr std::string_view kReleasePayloadImage = "machineconfiguration.openshift.io/release-payload-image";
/// On a KubeletConfig or ContainerRuntimeConfig: the number in the names of its MachineConfigs, "" for none.
inline constexpr std::string_view kConfigNameSuffix = "machineconfiguration.openshift.io/mc-name-suffix";
/// Strake's own, on a generated MachineConfig: what it was made of, "KubeletConfig/small@3" with the generation.
inline constexpr std::string_view kGeneratedFrom = "strake.dev/generated-from";
/// Strake's own, on the ControllerConfig: the release the cluster began with, and who signed the present one.
inline constexpr std::string_view kInstalledVersion = "strake.dev/installed-version";
inline constexpr std::string_view kReleaseSignature = "strake.dev/release-signature";
/// Strake's own, on the ControllerConfig: the base configs there must be, separated by commas.
inline constexpr std::string_view kBaseConfigs = "strake.dev/base-configs";
}  // namespace config_annotation

/// On Secrets with a stub. Strake's own: the Secret a converted copy was made from.
namespace stub_annotation {
inline constexpr std::string_view kConvertedFrom = "strake.dev/stub-converted-from";
}  // namespace stub_annotation

namespace label {
/// On a MachineConfig: the role it is for.
inline constexpr std::string_view kRole = "machineconfiguration.openshift.io/role";
/// On the pools every cluster has; on those an upgrade waits for; one for each pool's name, the prefix + "master".
inline constexpr std::string_view kBuiltInPool = "machineconfiguration.openshift.io/mco-built-in";
inline constexpr std::string_view kRequiredForUpgrade =
    "operator.machineconfiguration.openshift.io/required-for-upgrade";
inline constexpr std::string_view kPoolPrefix = "pools.operator.machineconfiguration.openshift.io/";
/// On machine sets: the OS stream of their boot image.
inline constexpr std::string_view kOsStream = "machineconfiguration.openshift.io/osstream";
/// On Secrets with a stub that the platform writes by itself.
inline constexpr std::string_view kManagedStub =
    "machineconfiguration.openshift.io/managed-ca-bundle-derived-from-configmap";
/// On nodes.
inline constexpr std::string_view kNodeRolePrefix = "node-role.kubernetes.io/";
inline constexpr std::string_view kOs = "kubernetes.io/os";
inline constexpr std::string_view kZone = "topology.kubernetes.io/zone";
}  // namespace label

/// Key of the PreferNoSchedule taint on nodes that are still to be updated.
inline constexpr std::string_view kUpdateInProgressTaint = "UpdateInProgress";

}  // namespace strake::api
