// Merge schemas of a few kinds, as tests and the fuzz target of strategic merge patch need them.
#pragma once

#include "codec/strategic_merge.h"

namespace strake::json::testing {

inline MergeSchema node_merge_schema() {
  using enum MergeRule;
  return {{
      MergeField{"metadata.ownerReferences", kMergeByKey, "uid"},
      MergeField{"metadata.finalizers", kMergeValues},
      MergeField{"spec.podCIDRs", kMergeValues},
      MergeField{"status.conditions", kMergeByKey, "type"},
      MergeField{"status.addresses", kMergeByKey, "type"},
  }};
}

inline MergeSchema disruption_budget_merge_schema() {
  using enum MergeRule;
  return {{
      MergeField{"metadata.ownerReferences", kMergeByKey, "uid"},
      MergeField{"metadata.finalizers", kMergeValues},
      MergeField{"spec.selector", kReplaceObject},
      MergeField{"status.conditions", kMergeByKey, "type"},
  }};
}

inline MergeSchema pod_merge_schema() {
  using enum MergeRule;
  return {{
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
  }};
}

}  // namespace strake::json::testing
