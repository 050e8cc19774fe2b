// Settings of KubeletConfigs and what becomes of them: the table of the unit tests, and of the judge that asks
// Kubernetes' own validation.
#pragma once

#include <string_view>

namespace strake::machineconfig::builders {

/// A base file as a platform's base configs have it.
inline constexpr std::string_view kKubeletBase = R"(kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous: {enabled: false}
  x509: {clientCAFile: /etc/kubernetes/kubelet-ca.crt}
cgroupDriver: systemd
cgroupRoot: /
clusterDNS: [172.30.0.10]
clusterDomain: cluster.local
maxPods: 250
systemCgroups: /system.slice
systemReserved: {ephemeral-storage: 1Gi}
systemReservedCgroup: /system.slice
enforceNodeAllocatable: [pods, system-reserved]
staticPodPath: /etc/kubernetes/manifests
)";

enum class KubernetesSays { kYes, kNo, kNotAsked };

struct KubeletCase {
  const char* name;
  const char* settings;  ///< spec.kubeletConfig as JSON
  const char* refusal;   ///< a part of what we say; "" when we take it
  KubernetesSays kubernetes;
};

inline constexpr KubeletCase kKubeletCases[] = {
    {"nothing", R"({})", "", KubernetesSays::kYes},
    {"pods", R"({"maxPods":500,"podsPerCore":0,"podPidsLimit":-1})", "", KubernetesSays::kYes},
    {"eviction",
     R"({"evictionHard":{"memory.available":"200Mi","nodefs.available":"10%"},"evictionPressureTransitionPeriod":"0s"})",
     "", KubernetesSays::kYes},
    {"cpu manager", R"({"cpuManagerPolicy":"static","reservedSystemCPUs":"0-1","cpuManagerReconcilePeriod":"5s"})", "",
     KubernetesSays::kYes},
    {"topology", R"({"topologyManagerPolicy":"single-numa-node","topologyManagerScope":"pod"})", "",
     KubernetesSays::kYes},
    {"collecting images",
     R"({"imageGCHighThresholdPercent":80,"imageGCLowThresholdPercent":60,"imageMinimumGCAge":"5m"})", "",
     KubernetesSays::kYes},
    {"rates", R"({"kubeAPIQPS":200,"kubeAPIBurst":400,"registryPullQPS":0,"eventRecordQPS":50,"eventBurst":100})", "",
     KubernetesSays::kYes},
    {"reserved", R"({"systemReserved":{"memory":"2Gi","cpu":"1"},"kubeReserved":{"cpu":"500m"}})", "",
     KubernetesSays::kYes},
    {"flags", R"({"protectKernelDefaults":false,"serializeImagePulls":false,"rotateCertificates":true})", "",
     KubernetesSays::kYes},
    {"shutdown", R"({"shutdownGracePeriod":"60s","shutdownGracePeriodCriticalPods":"10s"})", "", KubernetesSays::kYes},
    {"logs", R"({"containerLogMaxFiles":7,"containerLogMaxSize":"100Mi"})", "", KubernetesSays::kYes},
    {"static pods off", R"({"staticPodPath":""})", "", KubernetesSays::kYes},

    {"a word for a number", R"({"maxPods":"many"})", "spec.kubeletConfig.maxPods: \"many\" is not a whole number",
     KubernetesSays::kNo},
    {"too few", R"({"maxPods":-1})", "maxPods: -1 is not a whole number of at least 0", KubernetesSays::kNo},
    {"too many", R"({"maxPods":3000000000})", "maxPods: 3000000000 is not", KubernetesSays::kNo},
    {"a fraction", R"({"maxPods":2.5})", "maxPods: 2.5", KubernetesSays::kNo},
    {"percent", R"({"imageGCHighThresholdPercent":101})", "is not a whole number from 0 to 100", KubernetesSays::kNo},
    {"burst", R"({"kubeAPIBurst":-1})", "kubeAPIBurst: -1", KubernetesSays::kNo},
    {"score", R"({"oomScoreAdj":1001})", "oomScoreAdj: 1001 is not a whole number from -1000 to 1000",
     KubernetesSays::kNo},
    {"port", R"({"port":0})", "port: 0", KubernetesSays::kNotAsked},
    {"read-only port", R"({"readOnlyPort":70000})", "readOnlyPort: 70000", KubernetesSays::kNo},
    {"lease", R"({"nodeLeaseDurationSeconds":-5})", "nodeLeaseDurationSeconds: -5", KubernetesSays::kNo},
    {"log files", R"({"containerLogMaxFiles":1})", "containerLogMaxFiles: 1", KubernetesSays::kNo},
    {"flag", R"({"serializeImagePulls":"no"})", "serializeImagePulls: \"no\" is not true or false",
     KubernetesSays::kNo},
    {"duration", R"({"syncFrequency":"10"})", "syncFrequency: \"10\" is not a duration", KubernetesSays::kNo},
    {"duration as a number", R"({"nodeStatusUpdateFrequency":10})", "nodeStatusUpdateFrequency: 10",
     KubernetesSays::kNo},
    {"choice", R"({"topologyManagerPolicy":"some-numa"})",
     "topologyManagerPolicy: \"some-numa\" is not one of none, best-", KubernetesSays::kNo},
    {"scope", R"({"topologyManagerScope":"node"})", "topologyManagerScope", KubernetesSays::kNo},
    {"hairpin", R"({"hairpinMode":"hairpin"})", "hairpinMode", KubernetesSays::kNo},
    {"list for a map", R"({"evictionHard":["10%"]})", "evictionHard: [\"10%\"] is not a map", KubernetesSays::kNo},
    {"amount", R"({"kubeReserved":{"memory":"much"}})", "kubeReserved.memory: \"much\" is not an amount",
     KubernetesSays::kNotAsked},

    {"cgroup driver", R"({"cgroupDriver":"cgroupfs"})", "spec.kubeletConfig.cgroupDriver: the cluster decides it",
     KubernetesSays::kNotAsked},
    {"DNS", R"({"clusterDNS":["1.1.1.1"]})", "spec.kubeletConfig.clusterDNS:", KubernetesSays::kNotAsked},
    {"domain", R"({"clusterDomain":"x"})", "spec.kubeletConfig.clusterDomain:", KubernetesSays::kNotAsked},
    {"gates", R"({"featureGates":{"A":true}})", "spec.kubeletConfig.featureGates:", KubernetesSays::kNotAsked},
    {"swap", R"({"failSwapOn":false})", "spec.kubeletConfig.failSwapOn:", KubernetesSays::kNotAsked},
    {"swap behaviour", R"({"memorySwap":{"swapBehavior":"LimitedSwap"}})",
     "spec.kubeletConfig.memorySwap.swapBehavior:", KubernetesSays::kNotAsked},
    {"static pods", R"({"staticPodPath":"/mnt"})", "staticPodPath: pool worker may only switch static pods off",
     KubernetesSays::kNotAsked},
    {"groups", R"({"systemCgroups":"/foo.slice"})",
     "systemReservedCgroup (/system.slice) must match systemCgroups (/foo.slice)", KubernetesSays::kNotAsked},
    {"kind", R"({"kind":"Pod"})", "spec.kubeletConfig.kind: 'Pod' where KubeletConfiguration is expected",
     KubernetesSays::kNotAsked},
};

}  // namespace strake::machineconfig::builders
