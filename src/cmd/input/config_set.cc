#include "cmd/input/config_set.h"

#include "api/node_annotations.h"
#include "cmd/input/config_input.h"
#include "cmd/input/connection.h"
#include "cmd/input/release_input.h"
#include "cmd/input/text_input.h"
#include "cmd/version.h"
#include "machineconfig/validate.h"

namespace strake::cmd {

namespace {

Result<machineconfig::ReleaseImages> images_of_release(const Invocation& invocation, const std::string& reference) {
  STRAKE_TRY(const release::ReleasePayload payload, read_release(invocation, reference));
  const release::OsStream* stream = payload.find_stream(payload.default_stream);
  if (stream == nullptr) return error(Code::kNotFound, "release {} names no default OS stream", payload.version);
  return machineconfig::ReleaseImages{stream->image.pull_spec, stream->extensions ? stream->extensions->pull_spec : "",
                                      payload.version};
}

}  // namespace

Result<machineconfig::ConfigSet> with_image_options(machineconfig::ConfigSet set, const Invocation& invocation) {
  machineconfig::ReleaseImages images{invocation.value("os-image"), invocation.value("extensions-image"), ""};
  const std::string& release = invocation.value("release");
  if (!machineconfig::lacks_images(set)) {
    if (!release.empty() || !images.os_image.empty() || !images.extensions_image.empty()) {
      invocation.out().warn(
          "the input names its OS images (ControllerConfig or OSImageStream); the options for images are not used");
    }
    return set;
  }
  if (!release.empty()) {
    STRAKE_TRY_CONTEXT(const machineconfig::ReleaseImages published, images_of_release(invocation, release),
                       "--release {}", release);
    if (images.os_image.empty()) images.os_image = published.os_image;
    if (images.extensions_image.empty()) images.extensions_image = published.extensions_image;
    images.release_version = published.release_version;
  }
  if (images.os_image.empty()) {
    invocation.out().warn(
        "no OS image: neither ControllerConfig nor OSImageStream is in the input and --os-image and --release are not "
        "given; osImageURL stays empty, so names differ from a cluster's");
  }
  return machineconfig::with_images(std::move(set), images);
}

machineconfig::GeneratedSet made_if_asked(machineconfig::ConfigSet set, const Invocation& invocation) {
  if (!invocation.is_set(kGeneratedOption.name)) return {std::move(set)};
  return machineconfig::with_generated(std::move(set), std::string(kVersion));
}

Result<machineconfig::ConfigSet> with_generated_option(machineconfig::ConfigSet set, const Invocation& invocation) {
  machineconfig::GeneratedSet made = made_if_asked(std::move(set), invocation);
  if (!made.refusals.empty()) return std::move(made.refusals.front());
  for (const machineconfig::GeneratedNote& note : machineconfig::generated_notes(made.set)) {
    invocation.out().warn(note.to_string());
  }
  return std::move(made.set);
}

Result<ConfigFiles> read_config_input(const Invocation& invocation) {
  ConfigFiles files;
  const std::string& path = invocation.value("filename");
  if (!path.empty()) {
    STRAKE_TRY(files, read_config_files(path, {.recursive = invocation.is_set("recursive"),
                                               .files_dir = invocation.value("files-dir")}));
    for (const std::string& note : files.notes) invocation.out().warn(note);
    if (files.set.configs.empty()) return error(Code::kNotFound, "{} holds no MachineConfig", shown_path(path));
    return files;
  }
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  STRAKE_TRY(files.set, read_config_cluster(*api, cluster_call(runtime, invocation)));
  return files;
}

Result<machineconfig::ConfigSet> read_config_set(const Invocation& invocation) {
  STRAKE_TRY(ConfigFiles files, read_config_input(invocation));
  return std::move(files.set);
}

Error with_place(Error failure, const std::vector<kube::ObjectPtr>& configs, const SourceLines& sources) {
  for (const kube::ObjectPtr& config : configs) {
    if (failure.message().find(config->name()) == std::string::npos) continue;
    const auto refusal = machineconfig::find_refusal(*config);
    if (!refusal || !failure.message().ends_with(refusal->to_string())) continue;
    const SourcePlace place = sources.find({"MachineConfig", config->name(), refusal->steps()});
    if (place.is_known()) return std::move(failure).context(place.to_string());
  }
  return failure;
}

Result<std::vector<kube::ObjectPtr>> chosen_pools(const machineconfig::ConfigSet& set, const std::string& only) {
  std::vector<kube::ObjectPtr> pools = machineconfig::pools_of(set);
  if (pools.empty()) {
    return error(Code::kNotFound, "there is no pool: no MachineConfigPool, and no MachineConfig with the label {}",
                 api::label::kRole);
  }
  if (only.empty()) return pools;
  std::string known;
  for (const kube::ObjectPtr& pool : pools) {
    if (pool->name() == only) return std::vector{pool};
    known += (known.empty() ? "" : ", ") + pool->name();
  }
  return error(Code::kNotFound, "there is no pool '{}'; known are {}", only, known);
}

}  // namespace strake::cmd
