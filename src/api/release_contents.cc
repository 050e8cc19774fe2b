#include "api/release_contents.h"

namespace strake::api {

namespace {

constexpr std::string_view kReleaseImageKey = "releaseImage";
constexpr std::string_view kReleaseVersionKey = "releaseVersion";
constexpr std::string_view kBaseConfigsKey = "baseConfigs";
constexpr std::string_view kOsImagesKey = "osImages";

Result<json::Value> parsed_key(const json::Value& config_map, std::string_view key) {
  const auto text = json::find_string(config_map, {"data", key});
  if (!text) return error(Code::kInvalidArgument, "data.{}: missing", key);
  STRAKE_TRY_CONTEXT(json::Value value, json::parse(*text), "data.{}", key);
  return value;
}

Result<std::optional<OsImageFacts>> parse_facts(const json::Value& entry) {
  if (entry.is_null()) return std::optional<OsImageFacts>();
  OsImageFacts facts;
  const auto image = json::find_string(entry, {"image"});
  const json::Value* files = json::find(entry, {"files"});
  if (!image || files == nullptr || !files->is_array()) {
    return error(Code::kInvalidArgument, "data.{}: expected an image and a list of files", kOsImagesKey);
  }
  facts.image = *image;
  for (const json::Value& file : files->get_array()) {
    if (file.is_string()) facts.files.emplace(json::as_view(file.get_string()));
  }
  return std::optional(std::move(facts));
}

}  // namespace

json::Object release_contents_data(const ReleaseContents& contents) {
  json::Object configs;
  for (const auto& [role, spec] : contents.base_configs) configs[role] = spec;
  json::Array images;
  for (const auto& facts : contents.os_images) {
    if (!facts) {
      images.emplace_back(nullptr);
      continue;
    }
    json::Array files;
    for (const std::string& file : facts->files) files.emplace_back(file);
    images.push_back(json::Object{{"image", facts->image}, {"files", std::move(files)}});
  }
  return json::Object{{kReleaseImageKey, contents.release_image},
                      {kReleaseVersionKey, contents.release_version},
                      {kBaseConfigsKey, json::write(json::Value(std::move(configs)))},
                      {kOsImagesKey, json::write(json::Value(std::move(images)))}};
}

Result<ReleaseContents> parse_release_contents(const json::Value& config_map) {
  ReleaseContents contents;
  contents.release_image = json::find_string(config_map, {"data", kReleaseImageKey}).value_or("");
  contents.release_version = json::find_string(config_map, {"data", kReleaseVersionKey}).value_or("");
  STRAKE_TRY(json::Value configs, parsed_key(config_map, kBaseConfigsKey));
  if (!configs.is_object()) return error(Code::kInvalidArgument, "data.{}: expected an object", kBaseConfigsKey);
  for (auto& [role, spec] : configs.get_object()) {
    if (!spec.is_object() || json::find(spec, {"config"}) == nullptr) {
      return error(Code::kInvalidArgument, "data.{}: {} has no config", kBaseConfigsKey, std::string_view(role));
    }
    contents.base_configs.emplace(role, std::move(spec));
  }
  STRAKE_TRY(const json::Value images, parsed_key(config_map, kOsImagesKey));
  if (!images.is_array()) return error(Code::kInvalidArgument, "data.{}: expected a list", kOsImagesKey);
  contents.os_images.reserve(images.get_array().size());
  for (const json::Value& entry : images.get_array()) {
    STRAKE_TRY(auto facts, parse_facts(entry));
    contents.os_images.push_back(std::move(facts));
  }
  return contents;
}

}  // namespace strake::api
