#include <filesystem>

#include "base/fd.h"
#include "base/private_folder.h"
#include "cmd/cli/commands.h"
#include "cmd/input/butane_input.h"
#include "cmd/input/config_input.h"
#include "cmd/input/config_set.h"
#include "cmd/input/connection.h"
#include "cmd/input/image_access.h"
#include "cmd/input/text_input.h"
#include "cmd/version.h"
#include "codec/json_indent.h"
#include "codec/yaml.h"
#include "machineconfig/render/rendered_size.h"

namespace strake::cmd {

namespace {

constexpr OptionSpec kRenderOwnOptions[] = {
    kFilesOption,
    kRecursiveOption,
    kFilesDirOption,
    {"pool", "NAME", "only this pool"},
    kOsImageOption,
    kExtensionsImageOption,
    kReleaseOption,
    kGeneratedOption,
    {"no-size-limit", "", "render configs that no API server would take"},
    {"o,output", "FORMAT", "yaml, json, name, or dir=PATH: one file a pool", "yaml"},
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption};
constexpr auto kRenderOptions = join_options(kRenderOwnOptions, kImageOptions);

Status write_to_directory(const std::filesystem::path& directory, const std::vector<kube::Object>& rendered,
                          Output& out) {
  // A folder made here is for its owner only, and so is every file wherever it is put: rendered configs hold secrets.
  if (!std::filesystem::exists(directory)) STRAKE_CHECK_OK(claim_private_folder(directory));
  for (const kube::Object& config : rendered) {
    STRAKE_TRY(const std::string text, yaml::emit(config.json()));
    const std::filesystem::path file = directory / (config.name() + ".yaml");
    STRAKE_CHECK_OK(write_file_atomic(file, text, 0600));
    out.text(file.string() + "\n");
  }
  return {};
}

Status print_rendered(const std::string& format, std::vector<kube::Object> rendered, Output& out) {
  if (format == "name") {
    for (const kube::Object& config : rendered) out.text(config.name() + "\n");
    return {};
  }
  if (format == "json") {
    const auto print = [&](const json::Value& value) {
      json::write_indented_to(value, 2, [&](std::string_view part) { out.document(part); });
    };
    if (rendered.size() == 1) {
      print(rendered.front().json());
      return {};
    }
    json::Array items;
    for (kube::Object& config : rendered) items.push_back(std::move(config.json()));
    print(json::Object{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}});
    return {};
  }
  bool first = true;
  for (const kube::Object& config : rendered) {
    if (!first) out.document("---\n");
    first = false;
    // Part by part: the whole text beside the object would double what a large config takes.
    STRAKE_CHECK_OK(yaml::emit_to(config.json(), [&](std::string_view part) { out.document(part); }));
  }
  return {};
}

/// The input goes when this returns: of a large one only the result stays in memory while it is written.
Result<std::vector<kube::Object>> render_pools(const Invocation& invocation) {
  STRAKE_TRY(const ConfigFiles files, read_config_input(invocation));
  STRAKE_TRY(machineconfig::ConfigSet set, with_image_options(files.set, invocation));
  STRAKE_TRY(set, with_generated_option(std::move(set), invocation));
  STRAKE_TRY(const auto pools, chosen_pools(set, invocation.value("pool")));
  std::vector<kube::Object> rendered;
  for (const kube::ObjectPtr& pool : pools) {
    machineconfig::RenderInput input = machineconfig::render_input(set, pool);
    input.version = kVersion;
    if (invocation.is_set("no-size-limit")) input.size_limit = std::nullopt;
    STRAKE_TRY(machineconfig::RenderPlan plan,
               placed(machineconfig::render_pool(input).context("pool {}", pool->name()), files));
    if (plan.size_bytes > machineconfig::kLargeRenderedBytes) {
      invocation.out().warn(fmt::format("{} has {} bytes; API servers take {} at most", plan.rendered.name(),
                                        plan.size_bytes, machineconfig::kMaxRenderedBytes));
    }
    rendered.push_back(std::move(plan.rendered));
  }
  return rendered;
}

Result<int> run_render(const Invocation& invocation) {
  constexpr std::string_view kDirectoryFormat = "dir=";
  const std::string& format = invocation.value("output");
  const bool to_directory = format.starts_with(kDirectoryFormat) && format.size() > kDirectoryFormat.size();
  if (!to_directory && format != "yaml" && format != "json" && format != "name") {
    return error(Code::kInvalidArgument, "-o {}: use yaml, json, name or dir=PATH", format);
  }
  STRAKE_TRY(std::vector<kube::Object> rendered, render_pools(invocation));
  if (to_directory) {
    STRAKE_CHECK_OK(write_to_directory(format.substr(kDirectoryFormat.size()), rendered, invocation.out()));
  } else {
    STRAKE_CHECK_OK(print_rendered(format, std::move(rendered), invocation.out()));
  }
  return kExitOk;
}

constexpr ExitMeaning kRenderExits[] = {{kExitOk, "rendered"},
                                        kImageAbsent,
                                        {kExitError, "a MachineConfig is refused or the input could not be read"},
                                        kServerOrRegistryUnreachable,
                                        kImageNotGenuine};

}  // namespace

const CommandSpec kRenderCommand{
    "render",
    "Merge MachineConfigs into the rendered config of each pool, as the cluster would.",
    "From -f: pools are the MachineConfigPools in the input, else one for every role a MachineConfig is labelled with, "
    "a custom one inheriting worker; OS images come from the ControllerConfig or OSImageStream in the input, else from "
    "the options. Without -f: what the cluster holds. Names are the Machine Config Operator's, byte for byte; nothing "
    "is written to a cluster.\n\n"
    "A cluster also makes MachineConfigs (99-<pool>-generated-...) of KubeletConfigs, ContainerRuntimeConfigs, mirror "
    "sets, image policies and the Image config. Where the input lacks one, or has one that a cluster would change, a "
    "warning names it and what to do; --generated adds what Strake makes of them where it is the whole stack. The "
    "Machine Config Operator's own may differ in their bytes: those in the input stay.\n\n"
    "  strake render -f manifests/ -o name\n"
    "  strake render -f manifests/ --pool infra --os-image quay.io/example/os@sha256:...\n"
    "  strake render -f manifests/ --generated -o name   as on a cluster that Strake manages alone\n"
    "  strake render -o dir=/tmp/rendered            the cluster's pools, one file each",
    {},
    kRenderOptions,
    run_render,
    kRenderExits};

}  // namespace strake::cmd
