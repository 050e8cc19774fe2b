#include "machineconfig/generate/runtime_config.h"

#include <algorithm>
#include <array>

#include "api/config_generator.h"
#include "base/text.h"
#include "codec/toml.h"
#include "machineconfig/generate/quantity.h"

namespace strake::machineconfig {

namespace {

constexpr std::int64_t kLeastPids = 20;
constexpr std::int64_t kLeastLogBytes = 8192;  // a log must be larger
constexpr std::array<std::string_view, 7> kLogLevels{"error", "fatal", "panic", "warn", "info", "debug", "trace"};
constexpr std::array<std::string_view, 2> kRuntimes{"crun", "runc"};
constexpr std::size_t kLongestStorePath = 256;
constexpr std::size_t kMostLayerStores = 5;
constexpr std::size_t kMostOtherStores = 10;

constexpr std::string_view kSmallStorageConf = R"([storage]
driver = "overlay"
runroot = "/run/containers/storage"
graphroot = "/var/lib/containers/storage"
[storage.options]
additionalimagestores = []
)";

std::string runtime_field(std::string_view name) { return fmt::format("spec.containerRuntimeConfig.{}", name); }

/// A drop-in of CRI-O with one option, named as the platform names it.
GeneratedFile crio_drop_in(std::string_view field, std::string_view option, json::Value value) {
  return {fmt::format("/etc/crio/crio.conf.d/01-ctrcfg-{}", field),
          toml::emit({{"crio", json::Object{{"runtime", json::Object{{option, std::move(value)}}}}}})};
}

template <std::size_t N>
Status check_one_of(std::string_view field, std::string_view value, const std::array<std::string_view, N>& known) {
  if (std::ranges::find(known, value) != known.end()) return {};
  return error(Code::kInvalidArgument, "{}: '{}' is none of {}", runtime_field(field), value, fmt::join(known, ", "));
}

Status check_store_path(std::string_view path) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
  const auto refused = [&](std::string_view why) {
    return error(Code::kInvalidArgument, "'{}' {}", clip_utf8(path, 80), why);
  };
  if (!path.starts_with('/')) return refused("is not an absolute path");
  if (path.size() > kLongestStorePath) return refused(fmt::format("has more than {} characters", kLongestStorePath));
  if (path.find_first_not_of(kPlain) != std::string_view::npos) {
    return refused("has characters other than letters, digits and / . _ -");
  }
  if (path.find("//") != std::string_view::npos) return refused("has two slashes in a row");
  for (const std::string_view part : split(path, '/')) {
    if (part == "..") return refused("leads upwards");
  }
  return {};
}

/// Paths of the list of stores of this name, each checked.
Result<std::vector<std::string>> store_paths(const json::Value& settings, std::string_view field, std::size_t most) {
  std::vector<std::string> paths;
  const json::Value* list = json::find(settings, {field});
  if (list == nullptr || list->is_null()) return paths;
  if (!list->is_array()) return error(Code::kInvalidArgument, "{}: expected a list", runtime_field(field));
  if (list->get_array().size() > most) {
    return error(Code::kInvalidArgument, "{}: {} stores, the limit is {}", runtime_field(field),
                 list->get_array().size(), most);
  }
  for (std::size_t i = 0; i < list->get_array().size(); ++i) {
    std::string path = json::find_string(list->get_array()[i], {"path"}).value_or("");
    STRAKE_CHECK_OK(check_store_path(path).context("{}[{}].path", runtime_field(field), i));
    if (std::ranges::find(paths, path) != paths.end()) {
      return error(Code::kInvalidArgument, "{}[{}].path: '{}' is there twice", runtime_field(field), i, path);
    }
    paths.push_back(std::move(path));
  }
  return paths;
}

json::Array path_list(const std::vector<std::string>& paths, std::string_view ending = "") {
  json::Array list;
  for (const std::string& path : paths) list.emplace_back(path + std::string(ending));
  return list;
}

/// The text of a quantity, "" when it is absent or comes to nothing; `size` is what it comes to.
Result<std::string> quantity_member(const json::Value& settings, std::string_view field, std::int64_t& size) {
  size = 0;
  const json::Value* value = json::find(settings, {field});
  if (value == nullptr || value->is_null()) return std::string();
  const std::string text = quantity_text(*value);
  STRAKE_TRY_CONTEXT(size, parse_quantity(text), "{}", runtime_field(field));
  return size == 0 ? std::string() : text;
}

Status add_storage_conf(const json::Value& settings, const std::string& base, std::vector<GeneratedFile>& files) {
  std::int64_t overlay_bytes = 0;
  STRAKE_TRY(const std::string overlay_size, quantity_member(settings, "overlaySize", overlay_bytes));
  if (overlay_bytes < 0) {
    return error(Code::kInvalidArgument, "{}: {} is less than nothing", runtime_field("overlaySize"), overlay_size);
  }
  STRAKE_TRY(const auto layer_stores, store_paths(settings, "additionalLayerStores", kMostLayerStores));
  STRAKE_TRY(const auto image_stores, store_paths(settings, "additionalImageStores", kMostOtherStores));
  if (overlay_size.empty() && layer_stores.empty() && image_stores.empty()) return {};
  STRAKE_TRY_CONTEXT(json::Value storage, toml::parse(base.empty() ? kSmallStorageConf : base),
                     "{} of the base configs", kStorageConfPath);
  if (!overlay_size.empty()) json::ensure(storage, {"storage", "options", "size"}) = overlay_size;
  if (!image_stores.empty()) {
    json::ensure(storage, {"storage", "options", "additionalimagestores"}) = path_list(image_stores);
  }
  if (!layer_stores.empty()) {
    // With ":ref" the store is asked by the image's reference as well.
    json::ensure(storage, {"storage", "options", "additionallayerstores"}) = path_list(layer_stores, ":ref");
  }
  files.push_back({std::string(kStorageConfPath), toml::emit(storage.get_object())});
  return {};
}

Status add_limits(const json::Value& settings, std::vector<GeneratedFile>& files) {
  if (const json::Value* pids = json::find(settings, {"pidsLimit"}); pids != nullptr && !pids->is_null()) {
    const auto limit = json::find_int(settings, {"pidsLimit"});
    if (!limit || (*limit != 0 && *limit < kLeastPids)) {
      return error(Code::kInvalidArgument, "{}: {} is neither 0 (no limit) nor at least {}", runtime_field("pidsLimit"),
                   json::write(*pids), kLeastPids);
    }
    files.push_back(crio_drop_in("pidsLimit", "pids_limit", *limit));
  }
  std::int64_t log_bytes = 0;
  STRAKE_TRY(const std::string log_size, quantity_member(settings, "logSizeMax", log_bytes));
  if (log_bytes > 0 && log_bytes <= kLeastLogBytes) {
    return error(Code::kInvalidArgument, "{}: {} is not more than {} bytes; a negative size means no limit",
                 runtime_field("logSizeMax"), log_size, kLeastLogBytes);
  }
  if (log_bytes != 0) files.push_back(crio_drop_in("logSizeMax", "log_size_max", log_bytes));
  return {};
}

}  // namespace

Result<std::vector<GeneratedFile>> generate_runtime_config(const kube::Object& config,
                                                           const std::string& base_storage) {
  const json::Value* settings = api::ConfigGeneratorView(config.json()).container_runtime_settings();
  if (settings == nullptr || !settings->is_object()) {
    return error(Code::kInvalidArgument, "spec.containerRuntimeConfig: missing");
  }
  std::vector<GeneratedFile> files;
  STRAKE_CHECK_OK(add_storage_conf(*settings, base_storage, files));
  if (const std::string level = json::find_string(*settings, {"logLevel"}).value_or(""); !level.empty()) {
    STRAKE_CHECK_OK(check_one_of("logLevel", level, kLogLevels));
    files.push_back(crio_drop_in("logLevel", "log_level", json::Value(level)));
  }
  STRAKE_CHECK_OK(add_limits(*settings, files));
  if (const std::string runtime = json::find_string(*settings, {"defaultRuntime"}).value_or(""); !runtime.empty()) {
    STRAKE_CHECK_OK(check_one_of("defaultRuntime", runtime, kRuntimes));
    files.push_back(crio_drop_in("defaultRuntime", "default_runtime", json::Value(runtime)));
  }
  STRAKE_TRY(const auto artifact_stores, store_paths(*settings, "additionalArtifactStores", kMostOtherStores));
  if (!artifact_stores.empty()) {
    files.push_back(crio_drop_in("additionalArtifactStores", "additional_artifact_stores", path_list(artifact_stores)));
  }
  return files;
}

}  // namespace strake::machineconfig
