#include "configserver/assembly.h"

#include <algorithm>

#include "api/controller_config.h"
#include "api/machine_config.h"
#include "api/node.h"
#include "api/node_annotations.h"
#include "codec/base64.h"
#include "codec/data_url.h"
#include "codec/json_indent.h"
#include "ignition/config.h"

namespace strake::configserver {

namespace {

using ignition::SpecVersion;

/// From here on Ignition itself sets kernel arguments.
constexpr SpecVersion kFirstWithKernelArguments{3, 3};

json::Array& files_in(json::Value& config) {
  json::Value& files = json::ensure(config, {"storage", "files"});
  if (!files.is_array()) files = json::Array{};
  return files.get_array();
}

json::Object file_entry(std::string_view path, std::string_view contents) {
  return {{"path", path},
          {"mode", 0644},
          {"overwrite", true},
          {"contents", json::Object{{"source", codec::encode_data_url(contents)}}}};
}

void append_file(json::Value& config, std::string_view path, std::string_view contents) {
  files_in(config).push_back(file_entry(path, contents));
}

/// An entry the config has keeps its mode and owner; nothing to say leaves it as it is.
void set_file(json::Value& config, std::string_view path, std::string_view contents) {
  if (contents.empty()) return;
  json::Array& files = files_in(config);
  const auto known =
      std::ranges::find_if(files, [&](const json::Value& file) { return json::find_string(file, {"path"}) == path; });
  if (known == files.end()) return append_file(config, path, contents);
  // The hash and the compression were those of the contents that go.
  json::ensure(*known, {"contents"}) = json::Object{{"source", codec::encode_data_url(contents)}};
}

/// Machines whose Ignition does not set kernel arguments get them from the agent, with those of the MachineConfig.
Status migrate_kernel_arguments(json::Value& config, kube::Object& machine_config) {
  const json::Value* removed = json::find(config, {"kernelArguments", "shouldNotExist"});
  if (removed != nullptr && removed->is_array() && !removed->get_array().empty()) {
    return error(Code::kUnsupported,
                 "spec.config.kernelArguments.shouldNotExist: Ignition before {} cannot remove kernel arguments, and "
                 "nothing else on the machine will",
                 ignition::to_string(kFirstWithKernelArguments));
  }
  std::vector<std::string> arguments = api::MachineConfigView(machine_config.json()).kernel_arguments();
  if (const json::Value* added = json::find(config, {"kernelArguments", "shouldExist"}); added && added->is_array()) {
    for (const json::Value& argument : added->get_array()) {
      if (argument.is_string()) arguments.emplace_back(json::as_view(argument.get_string()));
    }
    api::MachineConfigEdit(machine_config.json()).set_kernel_arguments(arguments);
  }
  config.get_object().erase("kernelArguments");
  return {};
}

/// What the Node begins with, so that controllers know what it runs before its agent speaks.
std::string first_annotations(const AssemblyInput& input) {
  using namespace api::node_annotation;
  const std::string name = input.config->name();
  json::Object annotations{{kCurrentConfig, name},
                           {kDesiredConfig, name},
                           {kFirstPivotConfig, name},
                           {kState, api::to_string(api::NodeState::kDone)}};
  const std::string image =
      input.config->annotation(api::config_annotation::kPreBuiltImage).value_or(input.layered_image);
  if (!image.empty()) {
    annotations[kCurrentImage] = image;
    annotations[kDesiredImage] = image;
  }
  return json::write_canonical(annotations);
}

/// The object as it would be written anew: without what only a server's own copy has.
kube::Object for_the_machine(const kube::Object& config) {
  kube::Object copy = config;
  if (json::Value* metadata = json::find(copy.json(), {"metadata"}); metadata != nullptr && metadata->is_object()) {
    for (const char* member : {"creationTimestamp", "managedFields"}) metadata->get_object().erase(member);
  }
  return copy;
}

std::string encapsulated(const kube::Object& machine_config, SpecVersion version) {
  json::Value copy = machine_config.json();
  api::MachineConfigEdit(copy).set_config(
      json::Object{{"ignition", json::Object{{"version", ignition::to_string(version)}}}});
  return json::write(copy);
}

Result<std::string> decoded_bundle(const std::string& base64, std::string_view field) {
  STRAKE_TRY_CONTEXT(std::string bundle, codec::decode_base64(base64), "ControllerConfig spec.{}", field);
  return bundle;
}

Status add_authorities(json::Value& config, const kube::ObjectPtr& controller_config) {
  if (!controller_config) return {};
  const api::ControllerConfigView cluster(controller_config->json());
  STRAKE_TRY(const std::string api_server,
             decoded_bundle(cluster.api_server_ca_base64(), "kubeAPIServerServingCAData"));
  STRAKE_TRY(const std::string cloud, decoded_bundle(cluster.cloud_ca_base64(), "cloudProviderCAData"));
  set_file(config, machine_path::kApiServerCa, api_server);
  set_file(config, machine_path::kCloudCa, cloud);
  return {};
}

}  // namespace

Result<std::string> assemble(const AssemblyInput& input, SpecVersion version) {
  kube::Object machine_config = for_the_machine(*input.config);
  const json::Value* own = api::MachineConfigView(input.config->json()).config();
  json::Value config = ignition::empty_config();
  if (own != nullptr && !own->is_null()) {
    STRAKE_TRY_CONTEXT(config, ignition::parse(*own), "MachineConfig {}: spec.config", input.config->name());
  }
  if (version < kFirstWithKernelArguments) {
    STRAKE_CHECK_OK(migrate_kernel_arguments(config, machine_config).context("MachineConfig {}", input.config->name()));
  }
  STRAKE_CHECK_OK(add_authorities(config, input.controller_config));
  append_file(config, machine_path::kNodeAnnotations, first_annotations(input));
  if (!input.layered_image.empty()) {
    api::MachineConfigEdit(machine_config.json()).set_os_image_url(input.layered_image);
  }
  append_file(config, machine_path::kKubeconfig, input.kubeconfig);
  append_file(config, machine_path::kConfigContent, json::write_indented(machine_config.json(), 4));
  for (const auto& [registry, pem] : input.registry_authorities) {
    append_file(config, fmt::format("/etc/docker/certs.d/{}/ca.crt", registry), pem);
  }
  append_file(config, machine_path::kEncapsulated,
              encapsulated(machine_config, input.bootstrap ? ignition::kLatestVersion : version));
  STRAKE_TRY_CONTEXT(const json::Value served, ignition::convert(config, version), "MachineConfig {} as Ignition {}",
                     input.config->name(), ignition::to_string(version));
  return json::write(served);
}

}  // namespace strake::configserver
