#include "machineconfig/impact/crio_runtime.h"

#include <map>

#include "codec/compress.h"
#include "codec/data_url.h"
#include "codec/toml.h"

namespace strake::machineconfig {

namespace {

constexpr std::string_view kCrioDropins = "/etc/crio/crio.conf.d/";
constexpr std::size_t kMaxCrioFileBytes = 1u << 20;

std::optional<std::string> decoded_contents(const json::Value& file) {
  const auto source = json::find_string(file, {"contents", "source"});
  if (!source || !source->starts_with("data:")) return std::nullopt;
  auto url = codec::parse_data_url(*source);
  if (!url.ok()) return std::nullopt;
  if (json::find_string(file, {"contents", "compression"}) != "gzip") return std::move(url->data);
  auto plain = codec::gunzip(url->data, kMaxCrioFileBytes);
  if (!plain.ok()) return std::nullopt;
  return *std::move(plain);
}

}  // namespace

std::optional<std::string> default_runtime_of(std::string_view text) {
  const auto document = toml::parse(text);
  if (!document.ok()) return std::nullopt;
  return json::find_string(*document, {"crio", "runtime", "default_runtime"});
}

std::optional<RuntimeChoice> crio_default_runtime(const json::Value& ignition) {
  const json::Value* files = json::find(ignition, {"storage", "files"});
  if (files == nullptr || !files->is_array()) return std::nullopt;
  std::map<std::string, const json::Value*> by_path;
  for (const json::Value& file : files->get_array()) {
    const json::Value* path = json::find(file, {"path"});
    if (path == nullptr || !path->is_string()) continue;
    const std::string_view text = json::as_view(path->get_string());
    if (text.starts_with(kCrioDropins)) by_path[std::string(text)] = &file;
  }
  std::optional<RuntimeChoice> choice;
  for (const auto& [path, file] : by_path) {
    const auto contents = decoded_contents(*file);
    if (!contents) continue;
    if (auto runtime = default_runtime_of(*contents)) choice = {*std::move(runtime), path};
  }
  return choice;
}

Status check_runtime_exists(const RuntimeChoice& choice, std::string_view os_stream) {
  if (choice.runtime != "runc" || (os_stream != "rhel-10" && os_stream != "centos-10")) return {};
  return error(Code::kInvalidArgument,
               "file {} makes runc the default runtime of CRI-O, which OS stream {} no longer has; choose crun",
               choice.path, os_stream);
}

}  // namespace strake::machineconfig
