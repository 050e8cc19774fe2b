#include "release/payload.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "api/machine_config.h"
#include "api/release_contents.h"
#include "base/text.h"
#include "codec/yaml.h"
#include "oci/image_files.h"
#include "oci/layout.h"

namespace strake::release {

namespace {

constexpr std::string_view kManifestFolder = "release-manifests/";
constexpr std::string_view kImageReferences = "image-references";
constexpr std::string_view kReleaseMetadata = "release-metadata";
constexpr std::string_view kBootImagesManifest = "0000_50_installer_coreos-bootimages.yaml";
constexpr std::string_view kBaseConfigPrefix = "0000_80_strake_00-";
constexpr std::string_view kYamlSuffix = ".yaml";
constexpr std::string_view kStreamClassLabel = "io.openshift.os.streamclass";
constexpr std::string_view kExtensionsSuffix = "-extensions";
constexpr std::string_view kMachineOsContent = "machine-os-content";
constexpr std::string_view kMachineOsContentStream = "rhel-8";

/// The largest real payloads have about 1000 manifests and 25 MiB.
constexpr oci::FileLimits kManifestLimits{
    .max_files = 10'000, .max_file_bytes = 16u << 20, .max_total_bytes = 128u << 20};

std::string text_or_empty(const json::Value& value, std::initializer_list<std::string_view> path) {
  return json::find_string(value, path).value_or("");
}

Status expect_kind(const json::Value& object, std::string_view api_version, std::string_view kind) {
  const std::string found_version = text_or_empty(object, {"apiVersion"});
  const std::string found_kind = text_or_empty(object, {"kind"});
  if (found_version == api_version && found_kind == kind) return {};
  return error(Code::kInvalidArgument, "expected {} {}, found '{}' '{}'", api_version, kind, found_version, found_kind);
}

Result<Component> parse_component(const json::Value& tag) {
  const std::string name = text_or_empty(tag, {"name"});
  if (name.empty()) return error(Code::kInvalidArgument, "name: missing");
  const std::string kind = text_or_empty(tag, {"from", "kind"});
  if (kind != "DockerImage")
    return error(Code::kInvalidArgument, "'{}': from.kind is '{}', expected DockerImage", name, kind);
  const std::string pull_spec = text_or_empty(tag, {"from", "name"});
  const std::size_t at = pull_spec.rfind('@');
  if (at == std::string::npos || at == 0) {
    return error(Code::kInvalidArgument,
                 "'{}': from.name '{}' is not by digest, so it could change later; rebuild the release with digests",
                 name, pull_spec);
  }
  STRAKE_TRY_CONTEXT(codec::Digest digest, codec::Digest::parse(std::string_view(pull_spec).substr(at + 1)),
                     "'{}': from.name '{}'", name, pull_spec);
  Component component{name, pull_spec, std::move(digest), {}};
  if (const json::Value* annotations = json::find(tag, {"annotations"});
      annotations != nullptr && annotations->is_object()) {
    for (const auto& [key, value] : annotations->get_object()) {
      if (value.is_string()) component.annotations.emplace(key, json::as_view(value.get_string()));
    }
  }
  return component;
}

const std::string* find_manifest(const ReleasePayload& payload, std::string_view name) {
  const auto found = payload.manifests.find(std::string(name));
  return found == payload.manifests.end() ? nullptr : &found->second;
}

/// Edges of the update graph as the release's own metadata has them; absent and null are none.
Result<std::vector<std::string>> version_list(const json::Value& metadata, std::string_view member) {
  std::vector<std::string> versions;
  const json::Value* list = json::find(metadata, {member});
  if (list == nullptr || list->is_null()) return versions;
  if (!list->is_array()) return error(Code::kInvalidArgument, "{}: expected a list", member);
  for (const json::Value& version : list->get_array()) {
    if (!version.is_string()) return error(Code::kInvalidArgument, "{}: expected versions as text", member);
    versions.emplace_back(json::as_view(version.get_string()));
  }
  return versions;
}

Status read_version(ReleasePayload& payload, const std::string& references_name) {
  payload.version = references_name;
  if (const std::string* text = find_manifest(payload, kReleaseMetadata)) {
    STRAKE_TRY_CONTEXT(const json::Value metadata, json::parse(*text), "release-metadata");
    const std::string kind = text_or_empty(metadata, {"kind"});
    if (kind != "cincinnati-metadata-v0") {
      return error(Code::kInvalidArgument, "release-metadata: kind is '{}', expected cincinnati-metadata-v0", kind);
    }
    const std::string version = text_or_empty(metadata, {"version"});
    if (!version.empty()) payload.version = version;
    STRAKE_TRY_CONTEXT(payload.previous, version_list(metadata, "previous"), "release-metadata");
    STRAKE_TRY_CONTEXT(payload.next, version_list(metadata, "next"), "release-metadata");
  }
  if (payload.version.empty()) {
    return error(Code::kInvalidArgument,
                 "the release has no version: neither release-metadata nor image-references names one");
  }
  return {};
}

/// What is known of an image that lies beside the release; nullopt when it lies elsewhere.
class OsImageReader {
 public:
  OsImageReader(const ReleasePlace& place, const PayloadOptions& options, runtime::Runtime& runtime,
                const runtime::Call& call)
      : place_(place), options_(options), runtime_(runtime), call_(call) {}

  struct Image {
    std::map<std::string, std::string> labels;
    std::optional<std::set<std::string>> known_files;
  };
  enum class Look { kOutside, kInside };
  Result<std::optional<Image>> read(const Component& image, Look look) const {
    // Where that costs no network, everywhere; else it is no reason to reach out.
    const Search search = place_.is_local() ? Search::kEverywhere : Search::kHome;
    const Result<PlacedImage> found = place_.find_image(image.pull_spec, search, call_);
    if (!found.ok() && oci::may_be_elsewhere(found.error())) return std::optional<Image>();
    if (!found.ok()) return found.error();
    STRAKE_TRY(const oci::Descriptor descriptor,
               found->source->resolve(image.digest.to_string(), options_.platform, call_));
    STRAKE_TRY(const oci::Manifest manifest, found->source->read_manifest(descriptor, call_));
    STRAKE_TRY(oci::ImageConfig config, found->source->read_config(manifest, call_));
    Image known{std::move(config.labels), std::nullopt};
    if (hashes_layers() && look == Look::kInside) {
      // Reading the files of all layers hashes them as well.
      STRAKE_TRY(const oci::ImageFiles files, oci::ImageFiles::read(*found->source, manifest, {}, runtime_, call_));
      known.known_files.emplace();
      for (const std::string_view path : api::kKnownFiles) {
        if (files.resolve(path, oci::SymbolicLinks::kFollow).ok()) known.known_files->emplace(path);
      }
    } else if (hashes_layers()) {
      STRAKE_CHECK_OK(oci::verify_layers(*found->source, manifest));
    }
    return std::optional(std::move(known));
  }
  bool hashes_layers() const { return options_.os_images == OsImageCheck::kLayers; }

 private:
  const ReleasePlace& place_;
  const PayloadOptions& options_;
  runtime::Runtime& runtime_;
  const runtime::Call& call_;
};

Status read_os_streams(ReleasePayload& payload, const OsImageReader& images) {
  using Look = OsImageReader::Look;
  for (const auto& [tag, component] : payload.components) {
    const std::optional<std::string> by_tag = stream_of_os_tag(tag);
    if (!by_tag) continue;
    STRAKE_TRY_CONTEXT(auto known, images.read(component, Look::kInside), "OS image '{}' ({})", tag,
                       component.pull_spec);
    OsStream stream{*by_tag, component, std::nullopt, known.has_value() && images.hashes_layers()};
    if (known) {
      if (const auto label = known->labels.find(std::string(kStreamClassLabel)); label != known->labels.end())
        stream.name = label->second;
      stream.known_files = std::move(known->known_files);
    }
    if (payload.find_stream(stream.name) != nullptr) {
      return error(Code::kInvalidArgument, "image-references: '{}' is a second OS image for stream {}", tag,
                   stream.name);
    }
    const auto extensions = payload.components.find(fmt::format("{}{}", tag, kExtensionsSuffix));
    if (extensions != payload.components.end()) {
      STRAKE_TRY_CONTEXT([[maybe_unused]] const auto read, images.read(extensions->second, Look::kOutside),
                         "extensions image '{}' ({})", extensions->first, extensions->second.pull_spec);
      stream.extensions = extensions->second;
    }
    payload.os_streams.push_back(std::move(stream));
  }
  // Releases before 4.12 ship their OS under one name without a stream; 4.12 has both, and the newer one counts.
  if (const auto old = payload.components.find(std::string(kMachineOsContent));
      old != payload.components.end() && payload.os_streams.empty()) {
    // Its files are an ostree repository inside, so looking for files would find none.
    STRAKE_TRY_CONTEXT(const auto known, images.read(old->second, Look::kOutside), "OS image '{}' ({})", old->first,
                       old->second.pull_spec);
    payload.os_streams.push_back(
        {std::string(kMachineOsContentStream), old->second, std::nullopt, known.has_value() && images.hashes_layers()});
  }
  if (payload.os_streams.empty()) {
    return error(
        Code::kInvalidArgument,
        "image-references names no OS image (rhel-coreos, stream-coreos, fedora-coreos or machine-os-content)");
  }
  std::sort(payload.os_streams.begin(), payload.os_streams.end(),
            [](const OsStream& a, const OsStream& b) { return a.name < b.name; });

  // The platform's rule: releases 4.x stay on rhel-9; where the preferred stream is not offered there is nothing to
  // prefer.
  const std::string_view preferred = payload.version.starts_with("4.") ? "rhel-9" : "rhel-10";
  payload.default_stream =
      payload.find_stream(preferred) != nullptr ? std::string(preferred) : payload.os_streams.front().name;
  return {};
}

Status read_boot_images(ReleasePayload& payload) {
  const std::string* text = find_manifest(payload, kBootImagesManifest);
  if (text == nullptr) return {};
  STRAKE_TRY(const json::Value config_map, yaml::parse(*text));
  STRAKE_CHECK_OK(expect_kind(config_map, "v1", "ConfigMap"));
  BootImages images{text_or_empty(config_map, {"data", "stream"}), text_or_empty(config_map, {"data", "streams"}), {}};
  if (images.stream.empty()) return error(Code::kInvalidArgument, "data.stream: missing");
  STRAKE_TRY(images.set, stream::streams_of_texts(images.stream, images.streams));
  payload.boot_images = std::move(images);
  return {};
}

Result<json::Value> parse_base_config(const std::string& text, std::string_view role) {
  STRAKE_TRY(json::Value object, yaml::parse(text));
  STRAKE_CHECK_OK(expect_kind(object, "machineconfiguration.openshift.io/v1", "MachineConfig"));
  const std::string name = text_or_empty(object, {"metadata", "name"});
  if (name != fmt::format("00-{}", role)) {
    return error(Code::kInvalidArgument, "metadata.name is '{}', but the file's name says 00-{}", name, role);
  }
  const api::MachineConfigView config(object);
  if (config.ignition_version().empty()) {
    return error(Code::kInvalidArgument, "spec.config.ignition.version: missing");
  }
  if (!config.os_image_url().empty()) {
    return error(Code::kInvalidArgument,
                 "spec.osImageURL: a base config must not choose the OS image; the release does");
  }
  return std::move(object.get_object()["spec"]);
}

Status read_base_configs(ReleasePayload& payload) {
  for (const auto& [file, text] : payload.manifests) {
    if (!file.starts_with(kBaseConfigPrefix) || !file.ends_with(kYamlSuffix)) continue;
    const std::string role =
        file.substr(kBaseConfigPrefix.size(), file.size() - kBaseConfigPrefix.size() - kYamlSuffix.size());
    if (role.empty()) return error(Code::kInvalidArgument, "{}: the file's name has no role", file);
    STRAKE_TRY_CONTEXT(json::Value spec, parse_base_config(text, role), "{}", file);
    payload.base_configs.emplace(role, std::move(spec));
  }
  return {};
}

/// The files of release-manifests/, by name.
Result<std::map<std::string, std::string>> read_manifest_files(const oci::ImageSource& source,
                                                               const oci::Manifest& manifest, oci::BlobCache* cache,
                                                               runtime::Runtime& runtime, const runtime::Call& call) {
  STRAKE_TRY(const oci::ImageFiles image,
             oci::ImageFiles::read(source, manifest, {.cache = cache, .parallel = 4}, runtime, call));
  std::vector<std::string> paths;
  for (auto it = image.files().lower_bound(kManifestFolder);
       it != image.files().end() && it->first.starts_with(kManifestFolder); ++it) {
    if (it->second.tar.type == codec::TarEntryType::kFile) paths.push_back(it->first);
  }
  STRAKE_TRY(auto files,
             image.read_files({source, manifest, cache}, paths, oci::SymbolicLinks::kKeep, kManifestLimits, call));
  std::map<std::string, std::string> by_name;
  for (auto& [path, text] : files) by_name.emplace(path.substr(kManifestFolder.size()), std::move(text));
  return by_name;
}

Result<ReleasePayload> read_payload_from(const ReleasePlace& place, const PayloadOptions& options,
                                         runtime::Runtime& runtime, const runtime::Call& call) {
  // The nodes pull what the entry says: for an image of several platforms that is the list.
  STRAKE_TRY(const PlacedImage release, place.find_release(call));
  STRAKE_TRY(const oci::Descriptor descriptor,
             release.source->resolve(release.entry.digest.to_string(), options.platform, call));
  STRAKE_TRY(const oci::Manifest manifest, release.source->read_manifest(descriptor, call));
  STRAKE_TRY([[maybe_unused]] const oci::ImageConfig config, release.source->read_config(manifest, call));

  ReleasePayload payload{
      .version = {},
      .digest = release.entry.digest,
      .pull_spec = fmt::format("{}@{}", place.repository_of(release.entry), release.entry.digest.to_string()),
      .components = {},
      .os_streams = {},
      .default_stream = {},
      .previous = {},
      .next = {},
      .boot_images = std::nullopt,
      .base_configs = {},
      .manifests = {}};
  STRAKE_TRY(payload.manifests, read_manifest_files(*release.source, manifest, options.cache, runtime, call));

  const std::string* references_text = find_manifest(payload, kImageReferences);
  if (references_text == nullptr) {
    return error(Code::kInvalidArgument, "the image has no {}{}: it is not a release image", kManifestFolder,
                 kImageReferences);
  }
  STRAKE_TRY_CONTEXT(ImageReferences references, parse_image_references(*references_text), "{}", kImageReferences);
  payload.components = std::move(references.components);
  STRAKE_CHECK_OK(read_version(payload, references.name));
  STRAKE_CHECK_OK(read_os_streams(payload, OsImageReader(place, options, runtime, call)));
  STRAKE_CHECK_OK(read_boot_images(payload).context("{}", kBootImagesManifest));
  STRAKE_CHECK_OK(read_base_configs(payload));
  return payload;
}

}  // namespace

const OsStream* ReleasePayload::find_stream(std::string_view name) const {
  const auto found =
      std::find_if(os_streams.begin(), os_streams.end(), [&](const OsStream& stream) { return stream.name == name; });
  return found == os_streams.end() ? nullptr : &*found;
}

Result<const Component*> ReleasePayload::component(const std::string& tag) const {
  const auto found = components.find(tag);
  if (found != components.end()) return &found->second;
  return error(Code::kNotFound, "release {} has no component {} (it has: {})", version, tag, names_in(components));
}

std::optional<std::string> stream_of_os_tag(std::string_view tag) {
  struct Family {
    std::string_view tag;
    std::string_view stream;
    std::string_view without_number;  ///< the stream when the tag has no version
  };
  constexpr Family kFamilies[] = {{"rhel-coreos", "rhel", "rhel-9"},
                                  {"stream-coreos", "centos", "centos-10"},
                                  {"fedora-coreos", "fedora", "fedora"}};
  for (const Family& family : kFamilies) {
    if (tag == family.tag) return std::string(family.without_number);
    if (!tag.starts_with(family.tag) || tag.size() < family.tag.size() + 2 || tag[family.tag.size()] != '-') continue;
    const std::string_view number = tag.substr(family.tag.size() + 1);
    if (number.find_first_not_of("0123456789.") == std::string_view::npos)
      return fmt::format("{}-{}", family.stream, number);
  }
  return std::nullopt;
}

Result<ImageReferences> parse_image_references(std::string_view text) {
  STRAKE_TRY(const json::Value document, json::parse(text));
  STRAKE_CHECK_OK(expect_kind(document, "image.openshift.io/v1", "ImageStream"));
  const json::Value* tags = json::find(document, {"spec", "tags"});
  if (tags == nullptr || !tags->is_array()) return error(Code::kInvalidArgument, "spec.tags: expected an array");
  ImageReferences references;
  references.name = text_or_empty(document, {"metadata", "name"});
  for (std::size_t i = 0; i < tags->get_array().size(); ++i) {
    STRAKE_TRY_CONTEXT(Component component, parse_component(tags->get_array()[i]), "spec.tags[{}]", i);
    const std::string tag = component.tag;
    if (!references.components.emplace(tag, std::move(component)).second) {
      return error(Code::kInvalidArgument, "spec.tags[{}]: '{}' appears twice", i, tag);
    }
  }
  return references;
}

Result<ReleasePayload> read_payload(const ReleasePlace& place, const PayloadOptions& options, runtime::Runtime& runtime,
                                    const runtime::Call& call) {
  return read_payload_from(place, options, runtime, call).context("reading release {}", place.description());
}

Result<ReleasePayload> read_payload_of_layout(const std::filesystem::path& directory, std::string_view reference,
                                              const oci::Platform& platform) {
  STRAKE_TRY(oci::Layout layout, oci::Layout::open(directory));
  const ReleasePlace place(std::make_unique<oci::Layout>(std::move(layout)), std::string(reference));
  runtime::ThreadRuntime runtime;
  return read_payload(place, {.platform = platform}, runtime, {});
}

}  // namespace strake::release
