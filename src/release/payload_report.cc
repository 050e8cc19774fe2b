#include "release/payload_report.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/text.h"
#include "base/text_table.h"

namespace strake::release {

namespace {

constexpr std::string_view kVersionsAnnotation = "io.openshift.build.versions";
constexpr std::string_view kDisplayNamesAnnotation = "io.openshift.build.version-display-names";

using ReportRows = std::vector<std::vector<std::string>>;

/// "a=1,b=2" as pairs; items without an equals sign are passed over.
std::vector<std::pair<std::string, std::string>> annotated_pairs(const Component& component,
                                                                 std::string_view annotation) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const auto found = component.annotations.find(std::string(annotation));
  if (found == component.annotations.end()) return pairs;
  std::string_view rest = found->second;
  while (!rest.empty()) {
    const std::string_view item = take_until(rest, ',');
    const std::size_t equals = item.find('=');
    if (equals != std::string_view::npos) pairs.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  return pairs;
}

std::string shown_digest(const OsStream& stream) {
  return fmt::format("{}{}", stream.image.pull_spec, stream.verified ? "" : " (not hashed)");
}

/// Releases of each architecture's boot images, once each: "x86_64 9.8.20260428-0".
std::string boot_image_releases(const stream::Stream& stream) {
  std::string text;
  for (const auto& [arch, architecture] : stream.architectures) {
    std::map<std::string, bool> releases;
    for (const auto& [name, platform] : architecture.artifacts) releases[platform.release] = true;
    if (!releases.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : "; ", arch, names_in(releases));
  }
  return text.empty() ? "none" : text;
}

json::Value document_or_null(const ReleasePayload& payload, const std::string& name) {
  const auto found = payload.manifests.find(name);
  if (found == payload.manifests.end()) return nullptr;
  Result<json::Value> document = json::parse(found->second);
  return document.ok() ? *std::move(document) : json::Value(nullptr);
}

}  // namespace

std::map<std::string, const stream::Stream*> named_boot_streams(const ReleasePayload& payload) {
  std::map<std::string, const stream::Stream*> streams;
  if (!payload.boot_images) return streams;
  for (const auto& [name, stream] : payload.boot_images->set.by_name) {
    streams[name.empty() ? payload.default_stream : name] = &stream;
  }
  if (payload.boot_images->set.default_stream) {
    streams.emplace(payload.default_stream, &*payload.boot_images->set.default_stream);
  }
  return streams;
}

std::map<std::string, DeclaredVersion> declared_versions(const ReleasePayload& payload) {
  std::map<std::string, DeclaredVersion> versions;
  for (const auto& [tag, component] : payload.components) {
    std::map<std::string, std::string> display_names;
    for (auto& [name, text] : annotated_pairs(component, kDisplayNamesAnnotation)) display_names[name] = text;
    for (const auto& [name, version] : annotated_pairs(component, kVersionsAnnotation)) {
      DeclaredVersion& declared = versions[name];
      if (!declared.version.empty() && declared.version <= version) continue;
      declared = {version, display_names[name]};
    }
  }
  return versions;
}

std::string describe_release(const ReleasePayload& payload) {
  ReportRows head{{"release", payload.version}, {"digest", payload.digest.to_string()}, {"image", payload.pull_spec}};
  for (const auto& [name, declared] : declared_versions(payload)) {
    const std::string note = declared.display_name.empty() ? "" : fmt::format(" ({})", declared.display_name);
    head.push_back({name, declared.version + note});
  }
  if (!payload.previous.empty()) head.push_back({"updates from", fmt::format("{}", fmt::join(payload.previous, " "))});
  if (!payload.next.empty()) head.push_back({"updates to", fmt::format("{}", fmt::join(payload.next, " "))});
  head.push_back({"components", std::to_string(payload.components.size())});
  ReportRows os{{"OS STREAM", "IMAGE"}};
  for (const OsStream& stream : payload.os_streams) {
    os.push_back({stream.name + (stream.name == payload.default_stream ? " (default)" : ""), shown_digest(stream)});
    if (stream.extensions) os.push_back({"  extensions", stream.extensions->pull_spec});
  }
  std::string text = align_columns(head) + "\n" + align_columns(os);
  const auto boot_streams = named_boot_streams(payload);
  if (boot_streams.empty()) return text + "\nThe release carries no boot image data.\n";
  ReportRows boot{{"BOOT IMAGES", "CALLS ITSELF", "RELEASES"}};
  for (const auto& [name, stream] : boot_streams) boot.push_back({name, stream->name, boot_image_releases(*stream)});
  return text + "\n" + align_columns(boot);
}

json::Value release_json(const ReleasePayload& payload) {
  json::Object versions;
  for (const auto& [name, declared] : declared_versions(payload)) {
    versions[name] = json::Object{{"Version", declared.version}, {"DisplayName", declared.display_name}};
  }
  json::Array os_streams;
  for (const OsStream& stream : payload.os_streams) {
    json::Object entry{{"name", stream.name}, {"osImage", stream.image.pull_spec}, {"verified", stream.verified}};
    if (stream.extensions) entry["osExtensionsImage"] = stream.extensions->pull_spec;
    os_streams.push_back(std::move(entry));
  }
  json::Object boot_images;
  for (const auto& [name, stream] : named_boot_streams(payload)) boot_images[name] = stream->document;
  return json::Object{{"image", payload.pull_spec},
                      {"digest", payload.digest.to_string()},
                      {"version", payload.version},
                      {"metadata", document_or_null(payload, "release-metadata")},
                      {"references", document_or_null(payload, "image-references")},
                      {"displayVersions", std::move(versions)},
                      {"defaultStream", payload.default_stream},
                      {"osStreams", std::move(os_streams)},
                      {"bootImages", std::move(boot_images)}};
}

std::string describe_components(const ReleasePayload& payload) {
  ReportRows rows{{"NAME", "IMAGE"}};
  for (const auto& [tag, component] : payload.components) rows.push_back({tag, component.pull_spec});
  return align_columns(rows);
}

json::Value components_json(const ReleasePayload& payload) {
  json::Array items;
  for (const auto& [tag, component] : payload.components) {
    json::Object annotations;
    for (const auto& [name, value] : component.annotations) annotations[name] = value;
    items.push_back(json::Object{{"name", tag},
                                 {"image", component.pull_spec},
                                 {"digest", component.digest.to_string()},
                                 {"annotations", std::move(annotations)}});
  }
  return json::Object{{"items", std::move(items)}};
}

}  // namespace strake::release
