// The fields of built-in kinds that are not patched the default way, from the Kubernetes 1.34 API types.
// A list that is absent here is replaced as a whole: spec.taints of a Node, spec.tolerations of a Pod.
#include <algorithm>
#include <array>
#include <string_view>

#include "codec/strategic_merge.h"

namespace strake::json {
namespace {

using enum MergeRule;

constexpr std::array kMetadataFields = {
    MergeField{"metadata.ownerReferences", kMergeByKey, "uid"},
    MergeField{"metadata.finalizers", kMergeValues},
};

constexpr std::array kNodeFields = {
    MergeField{"metadata.ownerReferences", kMergeByKey, "uid"},
    MergeField{"metadata.finalizers", kMergeValues},
    MergeField{"spec.podCIDRs", kMergeValues},
    MergeField{"status.conditions", kMergeByKey, "type"},
    MergeField{"status.addresses", kMergeByKey, "type"},
};

constexpr std::array kNamespaceFields = {
    MergeField{"metadata.ownerReferences", kMergeByKey, "uid"},
    MergeField{"metadata.finalizers", kMergeValues},
    MergeField{"status.conditions", kMergeByKey, "type"},
};

constexpr std::array kPodDisruptionBudgetFields = {
    MergeField{"metadata.ownerReferences", kMergeByKey, "uid"},
    MergeField{"metadata.finalizers", kMergeValues},
    MergeField{"spec.selector", kReplaceObject},
    MergeField{"status.conditions", kMergeByKey, "type"},
};

constexpr std::array kPodFields = {
    MergeField{"metadata.ownerReferences", kMergeByKey, "uid"},
    MergeField{"metadata.finalizers", kMergeValues},
    MergeField{"spec.volumes", kMergeByKey, "name"},
    MergeField{"spec.volumes[].ephemeral.volumeClaimTemplate.metadata.ownerReferences", kMergeByKey, "uid"},
    MergeField{"spec.volumes[].ephemeral.volumeClaimTemplate.metadata.finalizers", kMergeValues},
    MergeField{"spec.initContainers", kMergeByKey, "name"},
    MergeField{"spec.initContainers[].ports", kMergeByKey, "containerPort"},
    MergeField{"spec.initContainers[].env", kMergeByKey, "name"},
    MergeField{"spec.initContainers[].volumeMounts", kMergeByKey, "mountPath"},
    MergeField{"spec.initContainers[].volumeDevices", kMergeByKey, "devicePath"},
    MergeField{"spec.containers", kMergeByKey, "name"},
    MergeField{"spec.containers[].ports", kMergeByKey, "containerPort"},
    MergeField{"spec.containers[].env", kMergeByKey, "name"},
    MergeField{"spec.containers[].volumeMounts", kMergeByKey, "mountPath"},
    MergeField{"spec.containers[].volumeDevices", kMergeByKey, "devicePath"},
    MergeField{"spec.ephemeralContainers", kMergeByKey, "name"},
    MergeField{"spec.ephemeralContainers[].ports", kMergeByKey, "containerPort"},
    MergeField{"spec.ephemeralContainers[].env", kMergeByKey, "name"},
    MergeField{"spec.ephemeralContainers[].volumeMounts", kMergeByKey, "mountPath"},
    MergeField{"spec.ephemeralContainers[].volumeDevices", kMergeByKey, "devicePath"},
    MergeField{"spec.imagePullSecrets", kMergeByKey, "name"},
    MergeField{"spec.hostAliases", kMergeByKey, "ip"},
    MergeField{"spec.topologySpreadConstraints", kMergeByKey, "topologyKey"},
    MergeField{"spec.schedulingGates", kMergeByKey, "name"},
    MergeField{"spec.resourceClaims", kMergeByKey, "name"},
    MergeField{"status.conditions", kMergeByKey, "type"},
    MergeField{"status.hostIPs", kMergeByKey, "ip"},
    MergeField{"status.podIPs", kMergeByKey, "ip"},
    MergeField{"status.resourceClaimStatuses", kMergeByKey, "name"},
};

struct KindSchema {
  std::string_view api_version;
  std::string_view kind;
  MergeSchema schema;
};

constexpr std::array kKindSchemas = {
    KindSchema{"v1", "Node", {kNodeFields}},
    KindSchema{"v1", "Pod", {kPodFields}},
    KindSchema{"v1", "Secret", {kMetadataFields}},
    KindSchema{"v1", "ConfigMap", {kMetadataFields}},
    KindSchema{"v1", "Event", {kMetadataFields}},
    KindSchema{"v1", "Namespace", {kNamespaceFields}},
    KindSchema{"events.k8s.io/v1", "Event", {kMetadataFields}},
    KindSchema{"coordination.k8s.io/v1", "Lease", {kMetadataFields}},
    KindSchema{"policy/v1", "PodDisruptionBudget", {kPodDisruptionBudgetFields}},
};

}  // namespace

const MergeSchema* merge_schema_for(std::string_view api_version, std::string_view kind) {
  const auto found = std::find_if(kKindSchemas.begin(), kKindSchemas.end(), [&](const KindSchema& entry) {
    return entry.api_version == api_version && entry.kind == kind;
  });
  return found == kKindSchemas.end() ? nullptr : &found->schema;
}

}  // namespace strake::json
