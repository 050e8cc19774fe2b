#include "machineconfig/template/template_plan.h"

#include <algorithm>
#include <set>

#include "api/controller_config.h"
#include "api/kinds.h"
#include "api/machine_config.h"
#include "api/machine_config_pool.h"
#include "api/node_annotations.h"
#include "api/release_contents.h"
#include "api/strake_config.h"
#include "base/text.h"
#include "codec/data_url.h"
#include "codec/digest.h"
#include "machineconfig/generate/generate_plan.h"
#include "machineconfig/generate/kubelet_config.h"
#include "machineconfig/template/base_units.h"
#include "machineconfig/template/cluster_files.h"

namespace strake::machineconfig {

namespace {

constexpr std::string_view kTemplateIgnitionVersion = "3.5.0";
/// Says that a machine was set up by its first boot, and as what.
constexpr std::string_view kFirstBootMarker = "/etc/strake/first-boot";

const std::string kFromControllerConfig = fmt::format("ControllerConfig/{}@", api::kControllerConfigName);

std::string base_name(std::string_view role) { return fmt::format("00-{}", role); }
std::string runtime_name(std::string_view role) { return fmt::format("01-{}-container-runtime", role); }
std::string kubelet_name(std::string_view role) { return fmt::format("01-{}-kubelet", role); }

json::Value file_entry(const ClusterFile& file) {
  return json::Object{{"contents", json::Object{{"source", codec::encode_data_url(file.contents)}}},
                      {"mode", file.mode},
                      {"overwrite", true},
                      {"path", file.path}};
}

json::Value unit_entry(const BaseUnit& unit) {
  json::Object entry{{"name", unit.name}};
  if (!unit.contents.empty()) entry["contents"] = unit.contents;
  if (!unit.dropin.empty()) {
    entry["dropins"] = json::Array{json::Object{{"contents", unit.dropin_text}, {"name", unit.dropin}}};
  }
  // A unit that only gets a drop-in is the image's to enable.
  if (!unit.contents.empty()) entry["enabled"] = unit.enabled;
  return entry;
}

json::Object spec_of_parts(const std::vector<ClusterFile>& files, const std::vector<BaseUnit>& units) {
  json::Object config{{"ignition", json::Object{{"version", kTemplateIgnitionVersion}}}};
  json::Array file_entries;
  file_entries.reserve(files.size());
  for (const ClusterFile& file : files) file_entries.push_back(file_entry(file));
  json::Array unit_entries;
  unit_entries.reserve(units.size());
  for (const BaseUnit& unit : units) unit_entries.push_back(unit_entry(unit));
  if (!files.empty()) config["storage"] = json::Object{{"files", std::move(file_entries)}};
  if (!units.empty()) config["systemd"] = json::Object{{"units", std::move(unit_entries)}};
  return json::Object{{"config", std::move(config)}};
}

/// Files of the cluster that the release's own config does not have already.
void add_files(json::Value& spec, const std::vector<ClusterFile>& files) {
  for (const ClusterFile& file : files) {
    json::Value& list = json::ensure(spec, {"config", "storage", "files"});
    if (!list.is_array()) list = json::Array();
    const bool there = std::ranges::any_of(
        list.get_array(), [&](const json::Value& known) { return json::find_string(known, {"path"}) == file.path; });
    if (!there) list.get_array().push_back(file_entry(file));
  }
}

/// By digest, and nothing a unit file would read as more than one word.
Status check_agent_image(const std::string& image) {
  const std::size_t at = image.rfind('@');
  const bool by_digest =
      at != std::string::npos && at > 0 && codec::Digest::parse(std::string_view(image).substr(at + 1)).ok();
  const bool plain = std::ranges::all_of(image, [](char c) {
    return is_alphanumeric(c) || c == '.' || c == '_' || c == ':' || c == '/' || c == '-' || c == '@';
  });
  if (by_digest && plain && is_alphanumeric(image.front())) return {};
  return error(
      Code::kInvalidArgument,
      "StrakeConfig {}: spec.agentImage: '{}' does not name an image by digest (registry/repository@sha256:...), "
      "so machines could run different programs",
      api::kStrakeConfigName, image);
}

class TemplatePlanner {
 public:
  explicit TemplatePlanner(const TemplateInput& input) : input_(input) {}

  TemplatePlan run() {
    if (!is_ours()) return std::move(plan_);
    if (const Status made = make(); !made.ok()) {
      plan_.configs.clear();
      plan_.stale.clear();
      const bool waits = made.error().code() == Code::kUnavailable;
      plan_.outcome = waits ? TemplatePlan::Outcome::kWaiting : TemplatePlan::Outcome::kRefused;
      plan_.reason = made.error().to_string();
      return std::move(plan_);
    }
    plan_.outcome = TemplatePlan::Outcome::kReady;
    std::ranges::sort(plan_.configs, {}, [](const kube::Object& config) { return config.name(); });
    find_stale();
    return std::move(plan_);
  }

 private:
  /// A ControllerConfig that somebody else published, another version of Strake included, is not touched; rendering
  /// says what to do about it.
  bool is_ours() const {
    return input_.controller_config && !input_.controller_config->deleting() &&
           input_.controller_config->annotation(api::config_annotation::kGeneratedByVersion) == input_.version;
  }

  Status make() {
    STRAKE_CHECK_OK(read_release());
    STRAKE_TRY(const std::vector<ClusterFile> files,
               cluster_files(*input_.controller_config, input_.pull_secret.get()));
    for (const std::string& role : roles()) {
      const auto own = contents_.base_configs.find(role);
      if (own != contents_.base_configs.end()) {
        json::Value spec = own->second;
        add_files(spec, files);
        add(base_name(role), role, std::move(spec));
      } else {
        STRAKE_CHECK_OK(add_templates(role, files));
      }
    }
    return {};
  }

  /// The base configs and the ControllerConfig are two objects and arrive one after the other.
  Status read_release() {
    const std::string image = api::ControllerConfigView(input_.controller_config->json()).release_image();
    if (!input_.release_contents) {
      return error(Code::kUnavailable,
                   "ConfigMap {}/{} is not there: release {} is being published; when this lasts, apply it again",
                   api::kMachineConfigNamespace, api::kReleaseContentsName, image);
    }
    STRAKE_TRY_CONTEXT(contents_, api::parse_release_contents(input_.release_contents->json()),
                       "ConfigMap {}/{}, which `strake release apply` writes anew", api::kMachineConfigNamespace,
                       api::kReleaseContentsName);
    if (contents_.release_image == image) return {};
    return error(Code::kUnavailable,
                 "ConfigMap {}/{} belongs to release image {}, the cluster is moving to {}; when this lasts, apply the "
                 "release again",
                 api::kMachineConfigNamespace, api::kReleaseContentsName, contents_.release_image, image);
  }

  std::set<std::string> roles() const {
    std::set<std::string> roles{std::string(api::kMasterPool), std::string(api::kWorkerPool)};
    for (const auto& [role, spec] : contents_.base_configs) roles.insert(role);
    for (const kube::ObjectPtr& pool : input_.pools) {
      if (pool->name() == api::kArbiterPool && !pool->deleting()) roles.insert(pool->name());
    }
    return roles;
  }

  /// A pool may run any OS stream of the release, so only what all of them have counts.
  bool every_image_has(std::string_view file) const {
    return !contents_.os_images.empty() &&
           std::ranges::all_of(contents_.os_images, [&](const std::optional<api::OsImageFacts>& facts) {
             return facts && facts->files.contains(std::string(file));
           });
  }

  /// Why the agent cannot be in the OS image.
  std::string image_without_agent() const {
    for (const auto& facts : contents_.os_images) {
      if (facts && !facts->files.contains(std::string(api::kAgentProgram))) {
        return fmt::format("OS image {} has no {}", facts->image, api::kAgentProgram);
      }
    }
    return fmt::format("an OS image of the release lay elsewhere when it was applied, so nobody looked for {} in it",
                       api::kAgentProgram);
  }

  Result<AgentSource> agent_source(const std::vector<ClusterFile>& files) const {
    AgentSource agent;
    agent.with_credentials =
        std::ranges::any_of(files, [](const ClusterFile& file) { return file.path == kPullSecretPath; });
    if (every_image_has(api::kAgentProgram)) return agent;
    if (input_.strake_config) agent.image = api::StrakeConfigView(input_.strake_config->json()).agent_image();
    if (agent.image.empty()) {
      return error(Code::kNotFound,
                   "machines would have no agent: {}, and StrakeConfig {} names no image of it; name one by digest in "
                   "spec.agentImage",
                   image_without_agent(), api::kStrakeConfigName);
    }
    STRAKE_CHECK_OK(check_agent_image(agent.image));
    for (const auto& facts : contents_.os_images) {
      if (!facts || facts->files.contains(std::string(api::kPodmanProgram))) continue;
      return error(
          Code::kNotFound,
          "machines would have no agent: OS image {} has neither {} nor {} to run the image of spec.agentImage",
          facts->image, api::kAgentProgram, api::kPodmanProgram);
    }
    return agent;
  }

  Status add_templates(const std::string& role, const std::vector<ClusterFile>& cluster) {
    STRAKE_TRY(const AgentSource agent, agent_source(cluster));
    std::vector<ClusterFile> files{{std::string(kFirstBootMarker), fmt::format("role={}\n", role)}};
    files.insert(files.end(), cluster.begin(), cluster.end());
    add(base_name(role), role, spec_of_parts(files, agent_units(agent)));

    const bool crio = every_image_has(api::kCrioProgram);
    const bool containerd = !crio && every_image_has(api::kContainerdProgram);
    if (crio) add(runtime_name(role), role, spec_of_parts({}, {runtime_hook("crio.service")}));
    if (containerd) add(runtime_name(role), role, spec_of_parts({}, {runtime_hook("containerd.service")}));
    if (!every_image_has(api::kKubeletProgram)) return {};
    // An image with a kubelet.service of its own, kubeadm's for one, has its own ways with the kubelet's files.
    if (every_image_has(api::kKubeletUnitFile)) {
      add(kubelet_name(role), role, spec_of_parts({}, {kubelet_hook()}));
    } else if (crio || containerd) {
      add(kubelet_name(role), role,
          spec_of_parts(kubelet_files(),
                        {crio ? kubelet_unit("/var/run/crio/crio.sock", "crio.service")
                              : kubelet_unit("/run/containerd/containerd.sock", "containerd.service")}));
    }
    return {};
  }

  std::vector<ClusterFile> kubelet_files() const {
    std::string conf(small_kubelet_conf());
    const std::string dns = api::ControllerConfigView(input_.controller_config->json()).cluster_dns_ip();
    if (!dns.empty()) conf += fmt::format("clusterDNS: [{}]\n", json::write(json::Value(dns)));
    return {{std::string(kKubeletConfPath), std::move(conf)}, {std::string(kNodeSizingPath), usual_node_sizing()}};
  }

  void add(const std::string& name, const std::string& role, json::Value spec) {
    kube::Object config(api::kMachineConfig, {"", name});
    config.set_label(api::label::kRole, role);
    config.set_annotation(api::config_annotation::kGeneratedByController, input_.version);
    config.set_annotation(api::config_annotation::kGeneratedFrom, generated_from(*input_.controller_config));
    config.set_annotation(api::config_annotation::kReleaseImageVersion, contents_.release_version);
    config.json().get_object()["spec"] = std::move(spec);
    plan_.configs.push_back(std::move(config));
  }

  void find_stale() {
    std::set<std::string> wanted;
    for (const kube::Object& config : plan_.configs) wanted.insert(config.name());
    for (const kube::ObjectPtr& config : input_.configs) {
      if (is_template_config(*config) && !wanted.contains(config->name())) plan_.stale.push_back(config);
    }
  }

  const TemplateInput& input_;
  api::ReleaseContents contents_;
  TemplatePlan plan_;
};

}  // namespace

bool is_template_config(const kube::Object& config) {
  const std::string role = config.label(api::label::kRole).value_or("");
  const std::string name = config.name();
  if (role.empty() || (name != base_name(role) && name != runtime_name(role) && name != kubelet_name(role)))
    return false;
  return !config.annotation(api::config_annotation::kGeneratedByController).value_or("").empty() &&
         config.annotation(api::config_annotation::kGeneratedFrom).value_or("").starts_with(kFromControllerConfig);
}

TemplatePlan plan_templates(const TemplateInput& input) { return TemplatePlanner(input).run(); }

}  // namespace strake::machineconfig
