#include "machineconfig/generate/generated_config.h"

#include <array>

#include "api/kinds.h"
#include "api/machine_config.h"
#include "api/node_annotations.h"
#include "codec/compress.h"
#include "codec/data_url.h"
#include "machineconfig/merge/comparable_spec.h"

namespace strake::machineconfig {

namespace {

constexpr std::string_view kGeneratedPrefix = "99-";
constexpr std::string_view kGeneratedMiddle = "-generated-";
constexpr std::string_view kGeneratedIgnitionVersion = "3.5.0";
constexpr std::size_t kMaxBaseFileBytes = 1u << 20;

std::optional<std::string> contents_of(const json::Value& file) {
  const auto source = json::find_string(file, {"contents", "source"});
  if (!source || !source->starts_with("data:")) return std::nullopt;
  auto url = codec::parse_data_url(*source);
  if (!url.ok()) return std::nullopt;
  if (json::find_string(file, {"contents", "compression"}).value_or("") != "gzip") return std::move(url->data);
  auto plain = codec::gunzip(url->data, kMaxBaseFileBytes);
  if (!plain.ok()) return std::nullopt;
  return *std::move(plain);
}

}  // namespace

bool is_base_config(std::string_view name) { return name.starts_with("00-") || name.starts_with("01-"); }

std::string_view to_string(GeneratedKind kind) {
  switch (kind) {
    case GeneratedKind::kRegistries: return "registries";
    case GeneratedKind::kContainerRuntime: return "containerruntime";
    case GeneratedKind::kKubelet: return "kubelet";
  }
  return "unknown";
}

std::string generated_name(std::string_view pool, GeneratedKind kind, std::string_view suffix) {
  return fmt::format("{}{}{}{}{}{}", kGeneratedPrefix, pool, kGeneratedMiddle, to_string(kind),
                     suffix.empty() ? "" : "-", suffix);
}

std::optional<GeneratedName> parse_generated_name(std::string_view name) {
  if (!name.starts_with(kGeneratedPrefix)) return std::nullopt;
  name.remove_prefix(kGeneratedPrefix.size());
  const std::size_t middle = name.rfind(kGeneratedMiddle);
  if (middle == std::string_view::npos || middle == 0) return std::nullopt;
  const std::string_view pool = name.substr(0, middle);
  const std::string_view rest = name.substr(middle + kGeneratedMiddle.size());
  for (const GeneratedKind kind :
       {GeneratedKind::kRegistries, GeneratedKind::kContainerRuntime, GeneratedKind::kKubelet}) {
    if (!rest.starts_with(to_string(kind))) continue;
    std::string_view suffix = rest.substr(to_string(kind).size());
    if (suffix.empty()) return GeneratedName{std::string(pool), kind, ""};
    if (kind == GeneratedKind::kRegistries || suffix.size() != 2 || suffix[0] != '-') return std::nullopt;
    suffix.remove_prefix(1);
    if (suffix[0] < '1' || suffix[0] > '0' + kMaxGeneratedSuffix) return std::nullopt;
    return GeneratedName{std::string(pool), kind, std::string(suffix)};
  }
  return std::nullopt;
}

kube::Object generated_config(const std::string& name, const std::string& role, const std::vector<GeneratedFile>& files,
                              const std::string& version) {
  kube::Object config(api::kMachineConfig, {"", name});
  config.set_label(api::label::kRole, role);
  config.set_annotation(api::config_annotation::kGeneratedByController, version);
  json::Array entries;
  for (const GeneratedFile& file : files) {
    entries.push_back(json::Object{
        {"contents",
         json::Object{{"source", codec::encode_base64_data_url(file.contents, "text/plain;charset=utf-8")}}},
        {"mode", 0644},
        {"overwrite", true},
        {"path", file.path}});
  }
  json::Object ignition{{"ignition", json::Object{{"version", kGeneratedIgnitionVersion}}}};
  ignition["storage"] = json::Object{{"files", std::move(entries)}};
  api::MachineConfigEdit(config.json()).set_config(std::move(ignition));
  return config;
}

std::vector<GeneratedFile> files_in(const kube::Object& config) {
  std::vector<GeneratedFile> files;
  const json::Value* ignition = api::MachineConfigView(config.json()).config();
  if (ignition == nullptr) return files;
  for (const json::Value& file : items_at(*ignition, {"storage", "files"})) {
    auto contents = contents_of(file);
    if (contents) files.push_back({json::find_string(file, {"path"}).value_or(""), *std::move(contents)});
  }
  return files;
}

std::optional<std::string> base_file(const std::vector<kube::ObjectPtr>& selected, std::string_view path) {
  std::optional<std::string> found;
  for (const kube::ObjectPtr& config : selected) {
    if (!is_base_config(config->name())) continue;
    const json::Value* ignition = api::MachineConfigView(config->json()).config();
    if (ignition == nullptr) continue;
    for (const json::Value& file : items_at(*ignition, {"storage", "files"})) {
      if (json::find_string(file, {"path"}) == path) found = contents_of(file);
    }
  }
  return found;
}

}  // namespace strake::machineconfig
