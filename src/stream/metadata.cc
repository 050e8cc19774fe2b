#include "stream/metadata.h"

#include "base/text.h"
#include "codec/document_node.h"
#include "codec/hex.h"

namespace strake::stream {

namespace {

constexpr std::string_view kExtensionSection = "rhel-coreos-extensions";
constexpr std::size_t kSha256HexDigits = 64;

Status read_artifact_platform(const json::DocumentNode& node, ArtifactPlatform& platform) {
  STRAKE_TRY(platform.release, node.text("release"));
  return node.for_each_in("formats", [&](const std::string& format, const json::DocumentNode& members) {
    return members.for_each([&](const std::string& member, const json::DocumentNode& file) -> Status {
      Artifact artifact;
      STRAKE_TRY(artifact.location, file.text("location"));
      STRAKE_TRY(artifact.signature, file.text("signature"));
      STRAKE_TRY(artifact.sha256, file.text("sha256"));
      STRAKE_TRY(artifact.uncompressed_sha256, file.text("uncompressed-sha256"));
      platform.formats[format].emplace(member, std::move(artifact));
      return {};
    });
  });
}

Result<CloudImage> read_cloud_image(const json::DocumentNode& node) {
  CloudImage image;
  STRAKE_TRY(image.release, node.text("release"));
  STRAKE_TRY(image.image, node.text("image"));
  STRAKE_TRY(image.digest_ref, node.text("digest-ref"));
  STRAKE_TRY(image.project, node.text("project"));
  STRAKE_TRY(image.family, node.text("family"));
  STRAKE_TRY(image.name, node.text("name"));
  STRAKE_TRY(image.bucket, node.text("bucket"));
  STRAKE_TRY(image.object, node.text("object"));
  STRAKE_TRY(image.url, node.text("url"));
  return image;
}

Status read_cloud_images(const json::DocumentNode& node, CloudImages& images) {
  STRAKE_TRY(CloudImage global, read_cloud_image(node));
  if (!global.reference().empty()) images.global = std::move(global);
  return node.for_each_in("regions", [&](const std::string& region, const json::DocumentNode& entry) -> Status {
    STRAKE_TRY(CloudImage image, read_cloud_image(entry));
    if (!image.reference().empty()) images.regions.emplace(region, std::move(image));
    return {};
  });
}

/// Of a cloud that stands in two sections the first one read counts.
Status read_named_cloud(std::string_view section, const std::string& cloud, const json::DocumentNode& node,
                        StreamArchitecture& architecture) {
  CloudImages images;
  images.section = section;
  STRAKE_CHECK_OK(read_cloud_images(node, images));
  if (images.global || !images.regions.empty()) architecture.images.emplace(cloud, std::move(images));
  return {};
}

Status read_marketplace_plan(const json::DocumentNode& node, MarketplacePlan& plan) {
  return node.for_each([&](const std::string& generation, const json::DocumentNode& entry) -> Status {
    if (generation != "hyperVGen1" && generation != "hyperVGen2") return {};
    if (entry.value().is_null()) return {};
    MarketplaceImage image;
    STRAKE_TRY(image.publisher, entry.required_text("publisher"));
    STRAKE_TRY(image.offer, entry.required_text("offer"));
    STRAKE_TRY(image.sku, entry.required_text("sku"));
    STRAKE_TRY(image.version, entry.required_text("version"));
    (generation == "hyperVGen1" ? plan.gen1 : plan.gen2) = std::move(image);
    return {};
  });
}

Status read_rhel_extension(const std::string& name, const json::DocumentNode& node, StreamArchitecture& architecture) {
  if (name == "azure-disk") {
    STRAKE_TRY(CloudImage disk, read_cloud_image(node));
    if (!disk.reference().empty()) architecture.azure.disk = std::move(disk);
    return {};
  }
  if (name == "aws-winli") return read_named_cloud(kExtensionSection, name, node, architecture);
  if (name != "marketplace") return {};
  return node.for_each_in("azure", [&](const std::string& plan_name, const json::DocumentNode& entry) -> Status {
    MarketplacePlan plan;
    STRAKE_CHECK_OK(read_marketplace_plan(entry, plan));
    if (plan.gen1 || plan.gen2) architecture.azure.plans.emplace(plan_name, std::move(plan));
    return {};
  });
}

Status read_stream_architecture(const json::DocumentNode& node, StreamArchitecture& architecture) {
  const auto read_platform = [&](const std::string& name, const json::DocumentNode& entry) -> Status {
    ArtifactPlatform platform;
    STRAKE_CHECK_OK(read_artifact_platform(entry, platform));
    if (!platform.release.empty()) architecture.artifacts.emplace(name, std::move(platform));
    return {};
  };
  STRAKE_CHECK_OK(node.for_each_in("artifacts", read_platform));
  STRAKE_CHECK_OK(node.for_each_in("images", [&](const std::string& cloud, const json::DocumentNode& entry) {
    return read_named_cloud("images", cloud, entry, architecture);
  }));
  return node.for_each_in(kExtensionSection, [&](const std::string& name, const json::DocumentNode& entry) {
    return read_rhel_extension(name, entry, architecture);
  });
}

Status read_stream(const json::DocumentNode& root, Stream& stream) {
  STRAKE_TRY(stream.name, root.text("stream"));
  if (const json::Value* metadata = json::find(root.value(), {"metadata"})) {
    const json::DocumentNode node(*metadata, "metadata");
    STRAKE_TRY(stream.last_modified, node.text("last-modified"));
    STRAKE_TRY(stream.generator, node.text("generator"));
  }
  // A document without this member is some other JSON; an empty member is a stream that publishes nothing yet.
  if (json::find(root.value(), {"architectures"}) == nullptr) {
    return error(Code::kInvalidArgument, "architectures: missing; this is not stream metadata");
  }
  return root.for_each_in("architectures", [&](const std::string& name, const json::DocumentNode& node) {
    return read_stream_architecture(node, stream.architectures[name]);
  });
}

template <typename Map>
auto* stream_entry(Map& map, std::string_view name) {
  const auto found = map.find(std::string(name));
  return found == map.end() ? nullptr : &found->second;
}

bool is_sha256_hex(std::string_view text) { return text.size() == kSha256HexDigits && codec::is_lower_hex(text); }

}  // namespace

std::string CloudImage::reference() const {
  if (!digest_ref.empty()) return digest_ref;
  if (!image.empty()) return image;
  if (!project.empty() && !name.empty()) return fmt::format("projects/{}/global/images/{}", project, name);
  if (!name.empty()) return name;
  if (!bucket.empty() && !object.empty()) return fmt::format("{}/{}", bucket, object);
  return url;
}

std::string MarketplaceImage::urn() const { return fmt::format("{}:{}:{}:{}", publisher, offer, sku, version); }

Result<Stream> stream_of_document(json::Value document) {
  Stream stream;
  STRAKE_CHECK_OK(read_stream(json::DocumentNode(document), stream).context("reading stream metadata"));
  stream.document = std::move(document);
  return stream;
}

Result<Stream> parse_stream(std::string_view json_text) {
  json::ParseLimits limits;
  limits.max_bytes = kMaxStreamBytes;
  STRAKE_TRY_CONTEXT(json::Value document, json::parse(json_text, limits), "parsing stream metadata");
  return stream_of_document(std::move(document));
}

Result<const StreamArchitecture*> Stream::architecture(std::string_view rpm_arch) const {
  const StreamArchitecture* found = stream_entry(architectures, rpm_arch);
  if (found == nullptr) {
    return error(Code::kNotFound, "stream '{}' has no architecture {} (it has: {})", name, rpm_arch,
                 names_in(architectures));
  }
  return found;
}

Result<CloudImage> Stream::image(std::string_view rpm_arch, std::string_view platform, std::string_view region) const {
  STRAKE_TRY(const StreamArchitecture* found, architecture(rpm_arch));
  const CloudImages* images = stream_entry(found->images, platform);
  if (images == nullptr) {
    return error(Code::kNotFound, "stream '{}' publishes no {} image in cloud {} (it does in: {})", name, rpm_arch,
                 platform, names_in(found->images));
  }
  if (region.empty() && images->global) return *images->global;
  if (const CloudImage* image = stream_entry(images->regions, region)) return *image;
  if (images->regions.empty()) {
    return error(Code::kNotFound, "stream '{}': the {} image of {} is one for all regions; ask for it without a region",
                 name, rpm_arch, platform);
  }
  return error(Code::kNotFound, "stream '{}' publishes no {} {} image in region '{}' (it does in: {})", name, rpm_arch,
               platform, region, names_in(images->regions));
}

Result<CloudImage> Stream::aws_image(std::string_view rpm_arch, std::string_view region) const {
  return image(rpm_arch, "aws", region);
}

Result<Artifact> Stream::artifact(std::string_view rpm_arch, std::string_view platform, std::string_view format,
                                  std::string_view member) const {
  STRAKE_TRY(const StreamArchitecture* found_arch, architecture(rpm_arch));
  const ArtifactPlatform* found = stream_entry(found_arch->artifacts, platform);
  if (found == nullptr) {
    return error(Code::kNotFound, "stream '{}' has no {} artifact for {} (it has: {})", name, rpm_arch, platform,
                 names_in(found_arch->artifacts));
  }
  const auto* members = stream_entry(found->formats, format);
  if (members == nullptr) {
    return error(Code::kNotFound, "stream '{}': {} {} has no format {} (it has: {})", name, rpm_arch, platform, format,
                 names_in(found->formats));
  }
  const Artifact* artifact = stream_entry(*members, member);
  if (artifact == nullptr) {
    return error(Code::kNotFound, "stream '{}': {} {} {} has no {} (it has: {})", name, rpm_arch, platform, format,
                 member, names_in(*members));
  }
  if (artifact->location.empty()) {
    return error(Code::kInvalidArgument, "stream '{}': {} {} {} {}: location is missing, so it cannot be fetched", name,
                 rpm_arch, platform, format, member);
  }
  if (!is_sha256_hex(artifact->sha256)) {
    return error(Code::kInvalidArgument,
                 "stream '{}': {} {} {} {}: sha256 is '{}', expected 64 lower-case hex digits, so it cannot be checked",
                 name, rpm_arch, platform, format, member, artifact->sha256);
  }
  if (!artifact->uncompressed_sha256.empty() && !is_sha256_hex(artifact->uncompressed_sha256)) {
    return error(Code::kInvalidArgument,
                 "stream '{}': {} {} {} {}: uncompressed-sha256 is '{}', expected 64 lower-case hex digits", name,
                 rpm_arch, platform, format, member, artifact->uncompressed_sha256);
  }
  return *artifact;
}

std::string rpm_architecture(std::string_view go_arch) {
  if (go_arch == "amd64") return "x86_64";
  if (go_arch == "arm64") return "aarch64";
  return std::string(go_arch);
}

}  // namespace strake::stream
