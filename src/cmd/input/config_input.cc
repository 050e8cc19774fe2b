#include "cmd/input/config_input.h"

#include <algorithm>
#include <filesystem>

#include "api/kinds.h"
#include "cmd/input/butane_input.h"
#include "cmd/input/text_input.h"
#include "codec/yaml.h"

namespace strake::cmd {

namespace {

bool has_config_suffix(const std::filesystem::path& path) {
  const std::string suffix = path.extension().string();
  return suffix == ".yaml" || suffix == ".yml" || suffix == ".json" || suffix == ".bu";
}

/// The manifests of a directory, and what in it was not read.
struct FoundFiles {
  std::vector<std::string> files = {};
  std::vector<std::string> skipped_folders = {};
};

Status collect_files(const std::filesystem::path& directory, bool recursive, int depth, FoundFiles& found) {
  constexpr int kMaxDepth = 64;
  if (depth > kMaxDepth) {
    return error(Code::kExhausted, "{} is nested in more than {} folders", directory.string(), kMaxDepth);
  }
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(directory, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::filesystem::path& path = entry->path();
    std::error_code ignored;  // what cannot be looked at is no folder and no file
    // A link to a folder could lead round in circles.
    const bool is_folder = entry->is_directory(ignored) && !entry->is_symlink(ignored);
    if (is_folder && !path.filename().string().starts_with('.')) {
      if (recursive) {
        STRAKE_CHECK_OK(collect_files(path, true, depth + 1, found));
      } else {
        found.skipped_folders.push_back(path.string());
      }
    } else if (has_config_suffix(path) && entry->is_regular_file(ignored)) {
      found.files.push_back(path.string());
    }
  }
  if (failure) return error(Code::kIo, "reading directory {}: {}", directory.string(), failure.message());
  return {};
}

/// By name, so that the result does not depend on the file system's order.
Result<FoundFiles> files_at(const std::string& path, const ConfigInputOptions& options) {
  std::error_code failure;
  if (path == kStandardInputPath || !std::filesystem::is_directory(path, failure)) return FoundFiles{{path}};
  FoundFiles found;
  STRAKE_CHECK_OK(collect_files(path, options.recursive, 0, found));
  if (found.files.empty() && !options.may_be_empty) {
    return error(Code::kNotFound, "{} holds no *.yaml, *.yml, *.json or *.bu file{}", path,
                 found.skipped_folders.empty() ? "" : "; -R reads the folders in it");
  }
  std::ranges::sort(found.files);
  std::ranges::sort(found.skipped_folders);
  return found;
}

bool is_kind(const kube::Object& object, const kube::Resource& resource) {
  return object.kind() == resource.kind && object.api_version().starts_with(resource.group + "/");
}

/// Of the platform, read by nobody here but to say that the platform makes files or OS images of them.
const kube::Resource kPlatformSettings[] = {
    {"config.openshift.io", "v1", "Node", "nodes", false},
    {"config.openshift.io", "v1", "APIServer", "apiservers", false},
    {"config.openshift.io", "v1", "FeatureGate", "featuregates", false},
    {"config.openshift.io", "v1", "Proxy", "proxies", false},
    {"machineconfiguration.openshift.io", "v1", "PinnedImageSet", "pinnedimagesets", false},
    api::kMachineOsConfig,
};

std::string why_passed_over(const kube::Object& object) {
  if (object.kind().empty()) return "it has no kind";
  if (object.kind() == "Kustomization") {
    return "a Kustomization is not built here; give what it builds: kustomize build DIR | strake ... -";
  }
  std::vector<const kube::Resource*> all{&api::kMachineConfig,        &api::kMachineConfigPool,
                                         &api::kKubeletConfig,        &api::kContainerRuntimeConfig,
                                         &api::kControllerConfig,     &api::kOsImageStream,
                                         &api::kMachineConfiguration, &api::kImageDigestMirrorSet,
                                         &api::kImageTagMirrorSet,    &api::kImageContentSourcePolicy,
                                         &api::kImageConfig,          &api::kClusterImagePolicy,
                                         &api::kImagePolicy};
  for (const kube::Resource& setting : kPlatformSettings) all.push_back(&setting);
  for (const kube::Resource* known : all) {
    // Nodes of the cluster and Nodes of the platform's settings are two things.
    if (known->kind != object.kind() || object.api_version() == "v1") continue;
    return fmt::format("{} {} has apiVersion '{}' where {}/{} is expected", object.kind(), object.name(),
                       object.api_version(), known->group, known->version);
  }
  return fmt::format("{} {} is nothing a MachineConfig is made of", object.kind(), object.name());
}

/// Sorts objects into the set they belong to.
class Collector {
 public:
  explicit Collector(ConfigFiles& files) : files_(files) {}

  Status add(kube::Object object, const SourceLines::Origin& origin) {
    if (object.kind() == "List" || object.kind().ends_with("List")) return add_list(object, origin);
    machineconfig::ConfigSet& set = files_.set;
    for (const auto& [resource, list] : {std::pair{&api::kMachineConfig, &set.configs},
                                         {&api::kMachineConfigPool, &set.pools},
                                         {&api::kKubeletConfig, &set.generators},
                                         {&api::kContainerRuntimeConfig, &set.generators},
                                         {&api::kImageDigestMirrorSet, &set.mirror_policies},
                                         {&api::kImageTagMirrorSet, &set.mirror_policies},
                                         {&api::kImageContentSourcePolicy, &set.mirror_policies},
                                         {&api::kClusterImagePolicy, &set.mirror_policies},
                                         {&api::kImagePolicy, &set.mirror_policies},
                                         {&api::kImageConfig, &set.mirror_policies}}) {
      if (is_kind(object, *resource)) return keep(std::move(object), *resource, origin, *list);
    }
    for (const kube::Resource& setting : kPlatformSettings) {
      if (is_kind(object, setting)) return keep(std::move(object), setting, origin, set.mirror_policies);
    }
    for (const auto& [resource, single] : {std::pair{&api::kControllerConfig, &set.controller_config},
                                           {&api::kOsImageStream, &set.os_image_stream},
                                           {&api::kMachineConfiguration, &set.machine_configuration}}) {
      if (!is_kind(object, *resource)) continue;
      STRAKE_CHECK_OK(remember(object, origin));
      *single = std::make_shared<const kube::Object>(std::move(object));
      return {};
    }
    files_.notes.push_back(fmt::format("{}: passed over, {}", origin.to_string(), why_passed_over(object)));
    return {};
  }

  Status add_butane(const ignition::ButaneResult& butane, const SourceLines::Origin& origin) {
    if (butane.report.is_fatal()) return butane_error(origin.path, butane.report);
    for (const ignition::Finding& finding : butane.report.findings) {
      files_.notes.push_back(butane_note(origin.path, finding));
    }
    if (!butane.is_machine_config()) {
      files_.notes.push_back(
          fmt::format("{}: passed over, variant {} gives an Ignition config, which no pool takes; variant openshift "
                      "gives a MachineConfig",
                      origin.to_string(), butane.variant));
      return {};
    }
    if (butane.is_packed) {
      files_.notes.push_back(
          fmt::format("{}: contents are gzipped with other bytes than butane's, so the name of the rendered config "
                      "differs from that of butane's output; nodes get the same files",
                      origin.to_string()));
    }
    return add(machine_config_of(butane), origin);
  }

 private:
  Status add_list(const kube::Object& list, const SourceLines::Origin& origin) {
    const json::Value* items = json::find(list.json(), {"items"});
    if (items == nullptr || !items->is_array()) {
      return error(Code::kInvalidArgument, "{}: items: missing", origin.to_string());
    }
    SourceLines::Origin inside = origin;
    inside.inside.insert(inside.inside.end(), {"items", ""});
    std::size_t index = 0;
    for (const json::Value& item : items->get_array()) {
      inside.inside.back() = fmt::format("[{}]", index++);
      if (!item.is_object()) return error(Code::kInvalidArgument, "{}: not an object", inside.to_string());
      STRAKE_CHECK_OK(add(kube::Object(item), inside));
    }
    return {};
  }

  Status keep(kube::Object object, const kube::Resource& resource, const SourceLines::Origin& origin,
              std::vector<kube::ObjectPtr>& list) {
    // A namespace of what has none is left out by servers too; else one object would be two.
    if (json::Value* metadata = object.json().get_object().if_contains("metadata");
        !resource.namespaced && metadata != nullptr && metadata->is_object()) {
      metadata->get_object().erase("namespace");
    }
    STRAKE_CHECK_OK(remember(object, origin));
    list.push_back(std::make_shared<const kube::Object>(std::move(object)));
    return {};
  }

  Status remember(const kube::Object& object, const SourceLines::Origin& origin) {
    // Far more than a cluster holds; what is small as text is large in memory.
    constexpr std::size_t kMostObjects = 50'000;
    if (++objects_ > kMostObjects) {
      return error(Code::kExhausted, "{}: more than {} objects; give a part of them", origin.to_string(), kMostObjects);
    }
    if (object.name().empty()) return error(Code::kInvalidArgument, "{}: metadata.name: missing", origin.to_string());
    if (files_.sources.add(object, origin)) return {};
    const std::string name = object.key().to_string();
    return error(Code::kInvalidArgument, "{} {} is there twice: {} and {}; remove one of them", object.kind(), name,
                 files_.sources.find_object(object.kind(), name)->to_string(), origin.to_string());
  }

  ConfigFiles& files_;
  std::size_t objects_ = 0;
};

Result<kube::ObjectPtr> get_if_there(kube::KubeApi& api, const kube::Resource& resource, std::string_view name,
                                     const kube::Call& call) {
  auto found = api.get(resource, {"", std::string(name)}, call);
  if (found.ok()) return kube::ObjectPtr(std::make_shared<const kube::Object>(*std::move(found)));
  if (found.error().code() == Code::kNotFound) return kube::ObjectPtr();
  return Error(found.error()).context(fmt::format("reading {} {}", resource.kind, name));
}

Status append_all(kube::KubeApi& api, const kube::Resource& resource, std::vector<kube::ObjectPtr>& into,
                  const kube::Call& call) {
  kube::ListOptions options;
  options.limit = 500;
  do {
    auto page = api.list(resource, "", options, call);
    // A cluster without the kind has no object of it.
    if (!page.ok() && page.error().code() == Code::kNotFound) return {};
    if (!page.ok()) return Error(page.error()).context(fmt::format("listing {}", resource.plural));
    for (kube::Object& object : page->items) into.push_back(std::make_shared<const kube::Object>(std::move(object)));
    options.continue_token = page->continue_token;
  } while (!options.continue_token.empty());
  return {};
}

}  // namespace

Result<ConfigFiles> read_config_files(const std::string& path, const ConfigInputOptions& options) {
  ConfigFiles files;
  Collector collector(files);
  STRAKE_TRY(const FoundFiles found, files_at(path, options));
  for (const std::string& folder : found.skipped_folders) {
    files.notes.push_back(fmt::format("{}: passed over, a folder; -R reads it", shown_path(folder)));
  }
  for (const std::string& name : found.files) {
    STRAKE_TRY(const std::string text, files.sources.read(name));
    yaml::ParseLimits limits = input_limits();
    if (options.last_of_duplicate_keys_counts) {
      limits.on_duplicate_key = [&](std::string_view what) {
        files.notes.push_back(fmt::format("{}: {}; the last one counts", shown_path(name), what));
      };
    }
    STRAKE_TRY_CONTEXT(auto documents, yaml::parse_stream(text, limits), "{}", shown_path(name));
    SourceLines::Origin origin{.path = name};
    ButaneReader butane(options.files_dir);
    for (yaml::Document& document : documents) {
      origin.line = document.line;
      origin.is_butane = ignition::is_butane(document.value);
      if (!document.value.is_object()) {
        return error(Code::kInvalidArgument, "{}: the document is not an object", origin.to_string());
      }
      if (origin.is_butane) {
        STRAKE_TRY_CONTEXT(const ignition::ButaneResult translated, butane.translate(text, origin.document), "{}",
                           origin.to_string());
        STRAKE_CHECK_OK(collector.add_butane(translated, origin));
      } else {
        STRAKE_CHECK_OK(collector.add(kube::Object(std::move(document.value)), origin));
      }
      ++origin.document;
    }
  }
  return files;
}

Result<machineconfig::ConfigSet> read_config_cluster(kube::KubeApi& api, const kube::Call& call) {
  machineconfig::ConfigSet set;
  STRAKE_CHECK_OK(append_all(api, api::kMachineConfigPool, set.pools, call));
  STRAKE_CHECK_OK(append_all(api, api::kMachineConfig, set.configs, call));
  STRAKE_CHECK_OK(append_all(api, api::kKubeletConfig, set.generators, call));
  STRAKE_CHECK_OK(append_all(api, api::kContainerRuntimeConfig, set.generators, call));
  STRAKE_CHECK_OK(append_all(api, api::kImageDigestMirrorSet, set.mirror_policies, call));
  STRAKE_CHECK_OK(append_all(api, api::kImageTagMirrorSet, set.mirror_policies, call));
  STRAKE_CHECK_OK(append_all(api, api::kImageContentSourcePolicy, set.mirror_policies, call));
  STRAKE_CHECK_OK(append_all(api, api::kImageConfig, set.mirror_policies, call));
  STRAKE_CHECK_OK(append_all(api, api::kClusterImagePolicy, set.mirror_policies, call));
  STRAKE_CHECK_OK(append_all(api, api::kImagePolicy, set.mirror_policies, call));
  STRAKE_TRY(set.controller_config, get_if_there(api, api::kControllerConfig, api::kControllerConfigName, call));
  STRAKE_TRY(set.os_image_stream, get_if_there(api, api::kOsImageStream, api::kOsImageStreamName, call));
  STRAKE_TRY(set.machine_configuration,
             get_if_there(api, api::kMachineConfiguration, api::kMachineConfigurationName, call));
  return set;
}

Status read_platform_settings(kube::KubeApi& api, machineconfig::ConfigSet& set, const kube::Call& call) {
  for (const kube::Resource& setting : kPlatformSettings) {
    const Status read = append_all(api, setting, set.mirror_policies, call);
    // Who may not see them is told of more differences than there are, never of fewer.
    if (!read.ok() && read.error().code() != Code::kDenied) return read;
  }
  return {};
}

}  // namespace strake::cmd
