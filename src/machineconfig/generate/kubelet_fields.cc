#include "machineconfig/generate/kubelet_fields.h"

#include <algorithm>
#include <limits>
#include <span>

#include "base/text.h"
#include "machineconfig/generate/quantity.h"

namespace strake::machineconfig {

namespace {

constexpr std::int64_t kAnyAbove = std::numeric_limits<std::int32_t>::max();

struct KubeletRange {
  std::string_view field;
  std::int64_t least;
  std::int64_t most;
};
constexpr KubeletRange kKubeletRanges[] = {
    {"containerLogMaxFiles", 2, kAnyAbove},
    {"containerLogMaxWorkers", 1, kAnyAbove},
    {"eventBurst", 0, kAnyAbove},
    {"eventRecordQPS", 0, kAnyAbove},
    {"healthzPort", 0, 65535},
    {"imageGCHighThresholdPercent", 0, 100},
    {"imageGCLowThresholdPercent", 0, 100},
    {"kubeAPIBurst", 0, kAnyAbove},
    {"kubeAPIQPS", 0, kAnyAbove},
    {"maxOpenFiles", 0, std::numeric_limits<std::int64_t>::max()},
    {"maxPods", 0, kAnyAbove},
    {"nodeLeaseDurationSeconds", 1, kAnyAbove},
    {"nodeStatusMaxImages", -1, kAnyAbove},
    {"oomScoreAdj", -1000, 1000},
    {"podPidsLimit", -1, std::numeric_limits<std::int64_t>::max()},
    {"podsPerCore", 0, kAnyAbove},
    {"port", 1, 65535},
    {"readOnlyPort", 0, 65535},
    {"registryBurst", 0, kAnyAbove},
    {"registryPullQPS", 0, kAnyAbove},
};

constexpr std::string_view kKubeletFlags[] = {
    "contentionProfiling",
    "cpuCFSQuota",
    "enableContentionProfiling",
    "enableControllerAttachDetach",
    "enableProfilingHandler",
    "enableServer",
    "enableSystemLogHandler",
    "enableSystemLogQuery",
    "localStorageCapacityIsolation",
    "makeIPTablesUtilChains",
    "protectKernelDefaults",
    "registerNode",
    "rotateCertificates",
    "serializeImagePulls",
    "serverTLSBootstrap",
    "useKubeProxy",
};

constexpr std::string_view kKubeletDurations[] = {
    "cpuManagerReconcilePeriod",
    "evictionPressureTransitionPeriod",
    "fileCheckFrequency",
    "httpCheckFrequency",
    "imageMaximumGCAge",
    "imageMinimumGCAge",
    "nodeStatusReportFrequency",
    "nodeStatusUpdateFrequency",
    "runtimeRequestTimeout",
    "shutdownGracePeriod",
    "shutdownGracePeriodCriticalPods",
    "streamingConnectionIdleTimeout",
    "syncFrequency",
    "volumeStatsAggPeriod",
};

struct KubeletChoice {
  std::string_view field;
  std::span<const std::string_view> values;
};
constexpr std::string_view kCpuManagers[] = {"none", "static"};
constexpr std::string_view kMemoryManagers[] = {"None", "Static"};
constexpr std::string_view kTopologyPolicies[] = {"none", "best-effort", "restricted", "single-numa-node"};
constexpr std::string_view kTopologyScopes[] = {"container", "pod"};
constexpr std::string_view kHairpinModes[] = {"promiscuous-bridge", "hairpin-veth", "none"};
constexpr KubeletChoice kKubeletChoices[] = {
    {"cpuManagerPolicy", kCpuManagers},
    {"memoryManagerPolicy", kMemoryManagers},
    {"topologyManagerPolicy", kTopologyPolicies},
    {"topologyManagerScope", kTopologyScopes},
    {"hairpinMode", kHairpinModes},
};

Error kubelet_refusal(std::string_view field, const json::Value& value, std::string_view expected) {
  return error(Code::kInvalidArgument, "spec.kubeletConfig.{}: {} is not {}", field, clip_utf8(json::write(value), 80),
               expected);
}

/// "1h2m3.5s": numbers with units, as Go reads them.
bool is_go_duration(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return true;
  if (text.empty()) return false;
  while (!text.empty()) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    if (digits == 0 || text.substr(0, digits).find_first_of("0123456789") == std::string_view::npos) return false;
    text.remove_prefix(digits);
    const std::size_t unit = std::min(text.find_first_of("0123456789."), text.size());
    const std::string_view name = text.substr(0, unit);
    if (name != "h" && name != "m" && name != "s" && name != "ms" && name != "us" && name != "ns") return false;
    text.remove_prefix(unit);
  }
  return true;
}

/// Of the maps of resources: "memory": "500Mi".
Status check_resource_map(const json::Object& settings, std::string_view field, bool percent_too) {
  const json::Value* map = settings.if_contains(field);
  if (map == nullptr || map->is_null()) return {};
  if (!map->is_object()) return kubelet_refusal(field, *map, "a map");
  for (const auto& member : map->get_object()) {
    const std::string_view key = member.key();
    if (!member.value().is_string()) {
      return kubelet_refusal(fmt::format("{}.{}", field, key), member.value(), "a string");
    }
    std::string_view text = json::as_view(member.value().get_string());
    if (percent_too && text.ends_with('%')) text.remove_suffix(1);
    const auto amount = parse_quantity(text);
    if (!amount.ok() || *amount < 0) {
      return kubelet_refusal(fmt::format("{}.{}", field, key), member.value(),
                             percent_too ? "an amount or a percentage" : "an amount");
    }
  }
  return {};
}

}  // namespace

Status check_kubelet_fields(const json::Object& settings) {
  const auto present = [&](std::string_view field) -> const json::Value* {
    const json::Value* value = settings.if_contains(field);
    return value == nullptr || value->is_null() ? nullptr : value;
  };
  for (const KubeletRange& range : kKubeletRanges) {
    const json::Value* value = present(range.field);
    if (value == nullptr) continue;
    if (value->is_int64() && value->get_int64() >= range.least && value->get_int64() <= range.most) continue;
    const std::string expected = range.most >= kAnyAbove
                                     ? fmt::format("a whole number of at least {}", range.least)
                                     : fmt::format("a whole number from {} to {}", range.least, range.most);
    return kubelet_refusal(range.field, *value, expected);
  }
  for (const std::string_view field : kKubeletFlags) {
    if (const json::Value* value = present(field); value != nullptr && !value->is_bool()) {
      return kubelet_refusal(field, *value, "true or false");
    }
  }
  for (const std::string_view field : kKubeletDurations) {
    const json::Value* value = present(field);
    if (value == nullptr) continue;
    if (!value->is_string() || !is_go_duration(json::as_view(value->get_string()))) {
      return kubelet_refusal(field, *value, "a duration such as 10s or 1h30m");
    }
  }
  for (const KubeletChoice& choice : kKubeletChoices) {
    const json::Value* value = present(choice.field);
    if (value == nullptr ||
        (value->is_string() &&
         std::ranges::find(choice.values, json::as_view(value->get_string())) != choice.values.end())) {
      continue;
    }
    return kubelet_refusal(choice.field, *value, fmt::format("one of {}", fmt::join(choice.values, ", ")));
  }
  STRAKE_CHECK_OK(check_resource_map(settings, "systemReserved", false));
  STRAKE_CHECK_OK(check_resource_map(settings, "kubeReserved", false));
  STRAKE_CHECK_OK(check_resource_map(settings, "evictionHard", true));
  STRAKE_CHECK_OK(check_resource_map(settings, "evictionSoft", true));
  return check_resource_map(settings, "evictionMinimumReclaim", true);
}

}  // namespace strake::machineconfig
