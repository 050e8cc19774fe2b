#include "render/workload.h"

#include <algorithm>
#include <random>

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "base/fd.h"
#include "codec/data_url.h"
#include "codec/yaml.h"

namespace strake::bench {

namespace {

constexpr std::size_t kFileBytes = 1024;

std::string file_contents(std::mt19937& random) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789 =_/.\n";
  std::string text;
  for (std::size_t i = 0; i < kFileBytes; ++i) text += kLetters[random() % kLetters.size()];
  return text;
}

}  // namespace

std::string Shape::to_string() const {
  return fmt::format("{}x{} {}", configs, files_each, overlapping ? "overlapping" : "distinct");
}

std::vector<kube::ObjectPtr> make_configs(const Shape& shape) {
  std::mt19937 random(1);
  std::vector<kube::ObjectPtr> configs;
  for (int c = 0; c < shape.configs; ++c) {
    json::Array files;
    for (int f = 0; f < shape.files_each; ++f) {
      const std::string contents = file_contents(random);
      const std::string source = f % 2 == c % 2 ? codec::encode_data_url(contents)
                                                : codec::encode_base64_data_url(contents, "text/plain;charset=utf-8");
      const std::string path =
          shape.overlapping ? fmt::format("/etc/bench/{}.conf", f) : fmt::format("/etc/bench/{}/{}.conf", c, f);
      files.push_back(json::Object{{"path", path}, {"mode", 420}, {"contents", json::Object{{"source", source}}}});
    }
    kube::Object config(api::kMachineConfig, {"", fmt::format("{:04}-bench", c)});
    config.set_label(api::label::kRole, "worker");
    config.json().get_object()["spec"] =
        json::Object{{"config", json::Object{{"ignition", json::Object{{"version", "3.2.0"}}},
                                             {"storage", json::Object{{"files", std::move(files)}}}}}};
    configs.push_back(std::make_shared<const kube::Object>(std::move(config)));
  }
  return configs;
}

machineconfig::RenderInput render_input(std::vector<kube::ObjectPtr> configs) {
  kube::Object pool(api::kMachineConfigPool, {"", "worker"});
  json::ensure(pool.json(), {"spec", "machineConfigSelector", "matchLabels"}) =
      json::Object{{api::label::kRole, "worker"}};
  machineconfig::RenderInput input;
  input.pool = std::make_shared<const kube::Object>(std::move(pool));
  input.configs = std::move(configs);
  input.size_limit = std::nullopt;
  return input;
}

Status write_files(const std::vector<kube::ObjectPtr>& configs, const std::filesystem::path& folder) {
  for (const kube::ObjectPtr& config : configs) {
    STRAKE_TRY(const std::string text, yaml::emit(config->json()));
    STRAKE_CHECK_OK(write_file_atomic(folder / (config->name() + ".yaml"), text, 0644));
  }
  return {};
}

Result<std::vector<kube::ObjectPtr>> read_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<kube::ObjectPtr> configs;
  for (const std::filesystem::path& path : paths) {
    STRAKE_TRY(const std::string text, read_file(path, yaml::ParseLimits().max_bytes));
    STRAKE_TRY_CONTEXT(json::Value value, yaml::parse(text), "{}", path.string());
    configs.push_back(std::make_shared<const kube::Object>(std::move(value)));
  }
  return configs;
}

}  // namespace strake::bench
