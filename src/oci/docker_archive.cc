#include "oci/docker_archive.h"

#include <algorithm>
#include <array>

#include "codec/archive_path.h"
#include "codec/compress.h"
#include "oci/file_store.h"
#include "oci/reference.h"

namespace strake::oci {

namespace {

constexpr std::size_t kMaxArchiveImages = 4096;

Result<std::string> member_name(const json::Value* value, std::string_view field) {
  if (value == nullptr || !value->is_string()) return error(Code::kCorrupt, "{}: expected the name of a file", field);
  return codec::clean_archive_path(json::as_view(value->get_string())).context("{}", field);
}

/// Tags as they were saved, completed, so that "busybox:1" finds "docker.io/library/busybox:1".
std::string complete_tag(std::string_view text) {
  const Result<Reference> reference = parse_reference(text);
  if (!reference.ok()) return std::string(text);
  return fmt::format("{}:{}", reference->name(), reference->tag.empty() ? "latest" : reference->tag);
}

}  // namespace

Result<DockerArchive> DockerArchive::open(const std::filesystem::path& archive) {
  STRAKE_TRY(std::shared_ptr<const FileStore> files, ArchiveFiles::scan(archive));
  DockerArchive opened(std::move(files));
  const auto read = [&]() -> Status {
    STRAKE_TRY(const std::string text, opened.files_->read("manifest.json", kMaxManifestBytes));
    STRAKE_TRY_CONTEXT(const json::Value list, json::parse(text), "manifest.json");
    if (!list.is_array() || list.get_array().size() > kMaxArchiveImages) {
      return error(Code::kCorrupt, "manifest.json: expected a list of at most {} images", kMaxArchiveImages);
    }
    for (std::size_t i = 0; i < list.get_array().size(); ++i) {
      STRAKE_CHECK_OK(opened.add_image(list.get_array()[i]).context("manifest.json [{}]", i));
    }
    return {};
  };
  STRAKE_CHECK_OK(read().context("opening docker archive {}", archive.string()));
  return opened;
}

Status DockerArchive::add_image(const json::Value& entry) {
  STRAKE_TRY(const std::string config_name, member_name(json::find(entry, {"Config"}), "Config"));
  STRAKE_TRY_CONTEXT(const std::string config_text, files_->read(config_name, kMaxConfigBytes), "Config");
  STRAKE_TRY_CONTEXT(const ImageConfig config, parse_image_config(config_text), "image config {}", config_name);
  const json::Value* layers = json::find(entry, {"Layers"});
  if (layers == nullptr || !layers->is_array()) return error(Code::kCorrupt, "Layers: expected a list");
  if (layers->get_array().size() != config.diff_ids.size() || config.diff_ids.size() > kMaxLayers) {
    return error(Code::kCorrupt, "Layers: {} files for the {} layers of {} (at most {} are read)",
                 layers->get_array().size(), config.diff_ids.size(), config_name, kMaxLayers);
  }
  json::Array layer_list;
  for (std::size_t i = 0; i < config.diff_ids.size(); ++i) {
    STRAKE_TRY(const std::string member, member_name(&layers->get_array()[i], fmt::format("Layers[{}]", i)));
    STRAKE_TRY_CONTEXT(const Descriptor layer, describe_layer(member, config.diff_ids[i]), "Layers[{}]", i);
    layer_list.push_back(layer.to_json());
  }
  const Descriptor config_blob{std::string(media_type::kOciConfig), codec::Digest::sha256_of(config_text),
                               config_text.size()};
  members_.emplace(config_blob.digest, config_name);
  std::string document = json::write_canonical(json::Object{{"schemaVersion", 2},
                                                            {"mediaType", media_type::kOciManifest},
                                                            {"config", config_blob.to_json()},
                                                            {"layers", std::move(layer_list)}});
  Image image{{std::string(media_type::kOciManifest), codec::Digest::sha256_of(document), document.size()}, {}};
  image.manifest.platform = config.platform;
  if (const json::Value* tags = json::find(entry, {"RepoTags"}); tags != nullptr && tags->is_array()) {
    for (const json::Value& tag : tags->get_array()) {
      if (tag.is_string()) image.tags.push_back(complete_tag(json::as_view(tag.get_string())));
    }
  }
  if (!image.tags.empty()) image.manifest.annotations[std::string(kRefNameAnnotation)] = image.tags.front();
  documents_.emplace(image.manifest.digest, std::move(document));
  images_.push_back(std::move(image));
  return {};
}

/// A plain layer is what its diff id says, and is checked when it is read. A compressed one must be hashed now: nothing
/// in the archive says what its bytes are.
Result<Descriptor> DockerArchive::describe_layer(const std::string& member, const codec::Digest& diff_id) {
  Result<StoredFile> file = files_->open(member);
  if (!file.ok() && file.error().code() == Code::kNotFound) {
    return error(Code::kNotFound, "{} (links between layers, as very old versions of docker wrote them, are not read)",
                 file.error().message());
  }
  if (!file.ok()) return std::move(file).error();
  std::array<std::byte, codec::kCompressionMagicBytes> magic{};
  STRAKE_TRY(const std::size_t length, codec::read_full(*file->content, magic));
  const codec::Compression compression = codec::detect_compression(std::span(magic).first(length));
  Descriptor layer{std::string(media_type::kOciLayer), diff_id, file->size};
  if (compression != codec::Compression::kNone) {
    STRAKE_TRY(const StoredFile again, files_->open(member));
    codec::HashingSource hashed(*again.content);
    STRAKE_TRY(layer.digest, hashed.finish());
    layer.media_type = compression == codec::Compression::kZstd ? media_type::kOciLayerZstd : media_type::kOciLayerGzip;
  }
  members_.emplace(layer.digest, member);
  return layer;
}

std::string DockerArchive::description() const { return fmt::format("docker archive {}", files_->location()); }

Result<std::vector<Descriptor>> DockerArchive::find_entries(std::string_view reference, const runtime::Call&) const {
  std::vector<Descriptor> all, matching;
  const std::string wanted = complete_tag(reference);
  for (const Image& image : images_) {
    all.push_back(image.manifest);
    const bool tagged = std::find(image.tags.begin(), image.tags.end(), wanted) != image.tags.end();
    if (reference.empty() || tagged || image.manifest.digest.to_string() == reference) {
      matching.push_back(image.manifest);
    }
  }
  if (!matching.empty()) return matching;
  return error(Code::kNotFound, "{} has no image '{}' (it has: {})", description(), reference, entry_names(all))
      .with_verdict(Verdict::kAbsent);
}

Result<std::unique_ptr<BlobSource>> DockerArchive::open_blob(const Descriptor& descriptor, const runtime::Call&) const {
  const std::string digest = descriptor.digest.to_string();
  if (const auto document = documents_.find(descriptor.digest); document != documents_.end()) {
    return std::make_unique<BlobSource>(make_text_source(document->second), digest, descriptor);
  }
  const auto member = members_.find(descriptor.digest);
  if (member == members_.end()) return error(Code::kNotFound, "{} has no blob {}", description(), digest);
  STRAKE_TRY(StoredFile file, files_->open(member->second));
  return std::make_unique<BlobSource>(std::move(file.content), std::move(file.name), descriptor);
}

}  // namespace strake::oci
