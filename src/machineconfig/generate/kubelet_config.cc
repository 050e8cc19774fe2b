#include "machineconfig/generate/kubelet_config.h"

#include <algorithm>
#include <array>

#include "api/config_generator.h"
#include "api/machine_config_pool.h"
#include "api/node_annotations.h"
#include "codec/yaml.h"
#include "kube/selector.h"
#include "machineconfig/generate/kubelet_fields.h"
#include "machineconfig/generate/tls_profile.h"

namespace strake::machineconfig {

namespace {

/// What any cluster's kubelet can start with; addresses of a cluster's DNS are its own.
constexpr std::string_view kSmallKubeletConf = R"(kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  x509: {clientCAFile: /etc/kubernetes/kubelet-ca.crt}
  anonymous: {enabled: false}
cgroupDriver: systemd
cgroupRoot: /
clusterDomain: cluster.local
containerLogMaxSize: 50Mi
failSwapOn: false
memorySwap: {swapBehavior: NoSwap}
maxPods: 250
podPidsLimit: 4096
rotateCertificates: true
serializeImagePulls: false
serverTLSBootstrap: true
staticPodPath: /etc/kubernetes/manifests
systemCgroups: /system.slice
tlsMinVersion: VersionTLS12
)";

struct ForbiddenField {
  std::string_view section;  ///< "" at the top
  std::string_view name;
};
constexpr ForbiddenField kForbiddenFields[] = {
    {"", "cgroupDriver"}, {"", "clusterDNS"}, {"", "clusterDomain"},
    {"", "featureGates"}, {"", "failSwapOn"}, {"memorySwap", "swapBehavior"},
};

/// Reserved for the system by these names in the environment file, and this much unless somebody says otherwise.
struct SizedResource {
  std::string_view name;
  std::string_view variable;
  std::string_view usual;
};
constexpr SizedResource kSizedResources[] = {{"memory", "SYSTEM_RESERVED_MEMORY", "1Gi"},
                                             {"cpu", "SYSTEM_RESERVED_CPU", "500m"},
                                             {"ephemeral-storage", "SYSTEM_RESERVED_ES", "1Gi"}};

bool is_set(const json::Object& object, std::string_view name) {
  const json::Value* value = object.if_contains(name);
  return value != nullptr && !value->is_null();
}

std::string text_member(const json::Object& object, std::string_view name) {
  const json::Value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(json::as_view(value->get_string())) : "";
}

Status check_forbidden(const json::Object& settings, const kube::Object& pool) {
  for (const ForbiddenField& field : kForbiddenFields) {
    const json::Object* section = &settings;
    if (!field.section.empty()) {
      const json::Value* inner = settings.if_contains(field.section);
      section = inner == nullptr ? nullptr : inner->if_object();
    }
    if (section == nullptr || !is_set(*section, field.name)) continue;
    return error(Code::kInvalidArgument,
                 "spec.kubeletConfig.{}{}{}: the cluster decides it, so it may not be set here; remove it",
                 field.section, field.section.empty() ? "" : ".", field.name);
  }
  if (is_set(settings, "staticPodPath")) {
    const bool closed = is_control_plane_pool(pool);
    if (closed || !text_member(settings, "staticPodPath").empty()) {
      return error(Code::kInvalidArgument, "spec.kubeletConfig.staticPodPath: pool {} {}; remove it", pool.name(),
                   closed ? "is of the control plane, whose static pods must go on running"
                          : "may only switch static pods off, with an empty path");
    }
  }
  return {};
}

void lay_over(json::Object& base, const json::Object& over) {
  for (const auto& member : over) {
    const json::Value& value = member.value();
    if (value.is_null()) continue;
    json::Value& place = base[member.key()];
    if (value.is_object() && place.is_object()) {
      lay_over(place.get_object(), value.get_object());
    } else {
      place = value;
    }
  }
}

/// A list of CPUs takes the place of an amount, and of the group that would enforce it.
void make_room_for_reserved_cpus(json::Object& conf) {
  if (text_member(conf, "reservedSystemCPUs").empty()) return;
  conf.erase("systemReservedCgroup");
  json::Value* enforced = conf.if_contains("enforceNodeAllocatable");
  if (enforced == nullptr || !enforced->is_array()) return;
  json::Array kept;
  for (const json::Value& name : enforced->get_array()) {
    if (!name.is_string() || name.get_string() != "system-reserved") kept.push_back(name);
  }
  *enforced = std::move(kept);
}

Status check_system_groups(const json::Object& conf) {
  const std::string reserved = text_member(conf, "systemReservedCgroup");
  const std::string groups = text_member(conf, "systemCgroups");
  if (reserved.empty() || reserved == groups) return {};
  return error(Code::kInvalidArgument, "spec.kubeletConfig: systemReservedCgroup ({}) must match systemCgroups ({})",
               reserved, groups);
}

/// The image's own service sizes the reservation, from a file of its own.
struct NodeSizing {
  bool asked = false;
  bool automatic = false;
  std::string text{};
};

Result<NodeSizing> take_node_sizing(const api::ConfigGeneratorView& view, json::Object& settings) {
  NodeSizing sizing;
  if (const json::Value* automatic = view.auto_sizing_reserved(); automatic != nullptr && automatic->is_bool()) {
    sizing.asked = true;
    sizing.automatic = automatic->get_bool();
  }
  if (sizing.automatic && is_set(settings, "systemReserved")) {
    return error(Code::kInvalidArgument,
                 "spec.kubeletConfig.systemReserved stands beside autoSizingReserved: true; keep one");
  }
  sizing.text = fmt::format("NODE_SIZING_ENABLED={}\n", sizing.automatic);
  json::Value* reserved = settings.if_contains("systemReserved");
  json::Object* amounts = reserved == nullptr ? nullptr : reserved->if_object();
  for (const SizedResource& resource : kSizedResources) {
    std::string amount(resource.usual);
    if (amounts != nullptr && is_set(*amounts, resource.name)) {
      amount = text_member(*amounts, resource.name);
      amounts->erase(resource.name);
      sizing.asked = true;
    }
    sizing.text += fmt::format("{}={}\n", resource.variable, amount);
  }
  if (amounts != nullptr && amounts->empty()) settings.erase("systemReserved");
  return sizing;
}

Status check_settings_header(const json::Object& settings) {
  for (const auto& [name, expected] :
       {std::pair{"kind", "KubeletConfiguration"}, {"apiVersion", "kubelet.config.k8s.io/v1beta1"}}) {
    if (is_set(settings, name) && text_member(settings, name) != expected) {
      return error(Code::kInvalidArgument, "spec.kubeletConfig.{}: '{}' where {} is expected", name,
                   text_member(settings, name), expected);
    }
  }
  return {};
}

Result<json::Object> base_conf(const KubeletInput& input, bool& small) {
  small = !input.base;
  if (small && input.config->annotation(kKubeletBaseAnnotation) != kSmallKubeletBase) {
    return error(Code::kNotFound,
                 "no base MachineConfig (00-*, 01-*) of pool {} has {}, so there is nothing to lay the settings over; "
                 "add one that configures the kubelet, or annotate the KubeletConfig with {}={} to start from a small "
                 "base (not where kubeadm runs the kubelet: it keeps the kubelet's credentials under that name)",
                 input.pool->name(), kKubeletConfPath, kKubeletBaseAnnotation, kSmallKubeletBase);
  }
  STRAKE_TRY_CONTEXT(json::Value conf, yaml::parse(small ? kSmallKubeletConf : *input.base),
                     "{} of the base configs of pool {}", kKubeletConfPath, input.pool->name());
  if (!conf.is_object()) {
    return error(Code::kInvalidArgument, "{} of the base configs of pool {} is not a map", kKubeletConfPath,
                 input.pool->name());
  }
  return std::move(conf.get_object());
}

Result<json::Object> user_settings(const api::ConfigGeneratorView& view) {
  const json::Value* raw = view.kubelet_settings();
  if (raw == nullptr || raw->is_null()) return json::Object();
  if (!raw->is_object()) return error(Code::kInvalidArgument, "spec.kubeletConfig: expected a map");
  return raw->get_object();
}

}  // namespace

std::string_view small_kubelet_conf() { return kSmallKubeletConf; }

std::string usual_node_sizing() {
  std::string text = "NODE_SIZING_ENABLED=false\n";
  for (const SizedResource& resource : kSizedResources) {
    text += fmt::format("{}={}\n", resource.variable, resource.usual);
  }
  return text;
}

bool is_control_plane_pool(const kube::Object& pool) {
  if (pool.name() == api::kMasterPool || pool.name() == api::kArbiterPool) return true;
  const auto selector = kube::Selector::from_json(api::MachineConfigPoolView(pool.json()).node_selector(),
                                                  kube::AbsentSelector::kMatchesNothing);
  if (!selector.ok()) return false;
  for (const std::string_view role : {"master", "control-plane", "arbiter"}) {
    if (selector->matches({{fmt::format("{}{}", api::label::kNodeRolePrefix, role), ""}})) return true;
  }
  return false;
}

Result<std::vector<GeneratedFile>> generate_kubelet_config(const KubeletInput& input) {
  const api::ConfigGeneratorView view(input.config->json());
  if (view.gomaxprocs_behavior() != nullptr) {
    return error(Code::kUnsupported, "spec.systemGomaxprocsBehavior: Strake does not know it; remove it");
  }
  STRAKE_TRY(json::Object settings, user_settings(view));
  STRAKE_CHECK_OK(check_settings_header(settings));
  STRAKE_CHECK_OK(check_forbidden(settings, *input.pool));
  STRAKE_CHECK_OK(check_kubelet_fields(settings));
  bool small = false;
  STRAKE_TRY(json::Object conf, base_conf(input, small));
  json::Object untouched = settings;
  STRAKE_TRY(const NodeSizing sizing, take_node_sizing(view, settings));
  if (small && sizing.automatic) {
    return error(Code::kUnsupported,
                 "spec.autoSizingReserved: the small base has no service that sizes nodes; set systemReserved");
  }
  if (const json::Value* profile = view.tls_security_profile(); profile != nullptr && !profile->is_null()) {
    STRAKE_TRY(const TlsSettings tls, tls_settings(*profile));
    conf["tlsMinVersion"] = tls.min_version;
    json::Array ciphers;
    for (const std::string& cipher : tls.ciphers) ciphers.emplace_back(cipher);
    conf["tlsCipherSuites"] = std::move(ciphers);
  }
  lay_over(conf, small ? untouched : settings);
  make_room_for_reserved_cpus(conf);
  STRAKE_CHECK_OK(check_system_groups(conf));

  std::vector<GeneratedFile> files;
  STRAKE_TRY_CONTEXT(std::string text, yaml::emit(json::Value(std::move(conf))), "spec.kubeletConfig");
  files.push_back({std::string(kKubeletConfPath), std::move(text)});
  if (const json::Value* level = view.log_level(); level != nullptr && level->is_int64()) {
    constexpr std::int64_t kHighestLogLevel = 10;
    if (level->get_int64() < 0 || level->get_int64() > kHighestLogLevel) {
      return error(Code::kInvalidArgument, "spec.logLevel: {} is not from 0 to {}", level->get_int64(),
                   kHighestLogLevel);
    }
    files.push_back({std::string(kKubeletLoggingPath),
                     fmt::format("[Service]\nEnvironment=\"KUBELET_LOG_LEVEL={}\"\n", level->get_int64())});
  }
  if (sizing.asked && !small) files.push_back({std::string(kNodeSizingPath), sizing.text});
  return files;
}

}  // namespace strake::machineconfig
