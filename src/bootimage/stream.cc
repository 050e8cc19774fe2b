#include "bootimage/stream.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace strake::bootimage {

namespace {

/// Real streams are below 200 KiB; the limit only keeps a broken ConfigMap from costing memory.
constexpr std::size_t kMaxStreamBytes = 8u << 20;

/// One place of the document with the path that leads to it, so that every error can name where it is.
class StreamNode {
 public:
  StreamNode(const json::Value& value, std::string path) : value_(value), path_(std::move(path)) {}

  Error expected(std::string_view what) const {
    return error(Code::kInvalidArgument, "{}: expected {}, found {}", path_.empty() ? "document" : path_, what,
                 json::type_name(value_));
  }

  /// Calls `visit(name, node)` for every member; null counts as empty, as the Go readers of this format treat it.
  template <typename Visit>
  Status for_each(Visit&& visit) const {
    if (value_.is_null()) return {};
    if (!value_.is_object()) return expected("an object");
    for (const auto& [key, value] : value_.get_object()) {
      const std::string name(key);
      STRAKE_CHECK_OK(visit(name, StreamNode(value, join(name))));
    }
    return {};
  }

  /// Visits the members of the object at `name`; absent counts as empty.
  template <typename Visit>
  Status for_each_in(std::string_view name, Visit&& visit) const {
    if (value_.is_null()) return {};
    if (!value_.is_object()) return expected("an object");
    const json::Value* member = json::find(value_, {name});
    if (member == nullptr) return {};
    return StreamNode(*member, join(name)).for_each(std::forward<Visit>(visit));
  }

  /// Absent and null give "".
  Result<std::string> text(std::string_view name) const {
    if (!value_.is_object()) return expected("an object");
    const json::Value* member = json::find(value_, {name});
    if (member == nullptr || member->is_null()) return std::string();
    if (!member->is_string()) return StreamNode(*member, join(name)).expected("a string");
    return std::string(json::as_view(member->get_string()));
  }

  const json::Value& value() const { return value_; }

 private:
  std::string join(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  }

  const json::Value& value_;
  std::string path_;
};

Status read_artifact_platform(const StreamNode& node, ArtifactPlatform& platform) {
  STRAKE_TRY(platform.release, node.text("release"));
  return node.for_each_in("formats", [&](const std::string& format, const StreamNode& members) {
    return members.for_each([&](const std::string& member, const StreamNode& file) -> Status {
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

Status read_stream_architecture(const StreamNode& node, StreamArchitecture& architecture) {
  const auto read_platform = [&](const std::string& name, const StreamNode& entry) -> Status {
    ArtifactPlatform platform;
    STRAKE_CHECK_OK(read_artifact_platform(entry, platform));
    if (!platform.release.empty()) architecture.artifacts.emplace(name, std::move(platform));
    return {};
  };
  STRAKE_CHECK_OK(node.for_each_in("artifacts", read_platform));
  return node.for_each_in("images", [&](const std::string& cloud, const StreamNode& images) -> Status {
    if (cloud != "aws") return {};
    return images.for_each_in("regions", [&](const std::string& region, const StreamNode& entry) -> Status {
      AwsImage image;
      STRAKE_TRY(image.release, entry.text("release"));
      STRAKE_TRY(image.ami, entry.text("image"));
      if (!image.ami.empty()) architecture.aws_regions.emplace(region, std::move(image));
      return {};
    });
  });
}

template <typename Map>
std::string stream_names(const Map& map) {
  if (map.empty()) return "none";
  std::vector<std::string_view> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

template <typename Map>
auto* stream_entry(Map& map, std::string_view name) {
  const auto found = map.find(std::string(name));
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

Result<Stream> parse_stream(std::string_view json_text) {
  json::ParseLimits limits;
  limits.max_bytes = kMaxStreamBytes;
  STRAKE_TRY_CONTEXT(const json::Value document, json::parse(json_text, limits), "parsing stream metadata");
  const StreamNode root(document, "");
  const auto read = [&]() -> Result<Stream> {
    Stream stream;
    STRAKE_TRY(stream.name, root.text("stream"));
    const json::Value* metadata = json::find(document, {"metadata"});
    if (metadata != nullptr && !metadata->is_null()) {
      STRAKE_TRY(stream.last_modified, StreamNode(*metadata, "metadata").text("last-modified"));
    }
    // A document without this member is some other JSON; an empty member is a stream that publishes nothing yet.
    if (json::find(document, {"architectures"}) == nullptr) {
      return error(Code::kInvalidArgument, "architectures: missing; this is not stream metadata");
    }
    STRAKE_CHECK_OK(root.for_each_in("architectures", [&](const std::string& name, const StreamNode& node) {
      return read_stream_architecture(node, stream.architectures[name]);
    }));
    return stream;
  };
  return read().context("reading stream metadata");
}

Result<Stream> stream_of_config_map(const kube::Object& config_map) {
  const std::optional<std::string> text = json::find_string(config_map.json(), {"data", "stream"});
  if (!text) {
    return error(Code::kInvalidArgument,
                 "ConfigMap {} has no data.stream; apply the release again, which publishes its boot image metadata",
                 config_map.key().to_string());
  }
  return parse_stream(*text).context("ConfigMap {}, data.stream", config_map.key().to_string());
}

Result<AwsImage> Stream::aws_image(std::string_view rpm_arch, std::string_view region) const {
  const StreamArchitecture* architecture = stream_entry(architectures, rpm_arch);
  if (architecture == nullptr) {
    return error(Code::kNotFound, "stream '{}' has no architecture {} (it has: {})", name, rpm_arch,
                 stream_names(architectures));
  }
  const AwsImage* image = stream_entry(architecture->aws_regions, region);
  if (image == nullptr) {
    return error(Code::kNotFound, "stream '{}' publishes no {} AMI in region {} (it does in: {})", name, rpm_arch,
                 region, stream_names(architecture->aws_regions));
  }
  return *image;
}

Result<Artifact> Stream::artifact(std::string_view rpm_arch, std::string_view platform, std::string_view format,
                                  std::string_view member) const {
  const StreamArchitecture* architecture = stream_entry(architectures, rpm_arch);
  if (architecture == nullptr) {
    return error(Code::kNotFound, "stream '{}' has no architecture {} (it has: {})", name, rpm_arch,
                 stream_names(architectures));
  }
  const ArtifactPlatform* found = stream_entry(architecture->artifacts, platform);
  if (found == nullptr) {
    return error(Code::kNotFound, "stream '{}' has no {} artifact for {} (it has: {})", name, rpm_arch, platform,
                 stream_names(architecture->artifacts));
  }
  const auto* members = stream_entry(found->formats, format);
  if (members == nullptr) {
    return error(Code::kNotFound, "stream '{}': {} {} has no format {} (it has: {})", name, rpm_arch, platform, format,
                 stream_names(found->formats));
  }
  const Artifact* artifact = stream_entry(*members, member);
  if (artifact == nullptr) {
    return error(Code::kNotFound, "stream '{}': {} {} {} has no {} (it has: {})", name, rpm_arch, platform, format,
                 member, stream_names(*members));
  }
  if (artifact->location.empty() || artifact->sha256.empty()) {
    return error(Code::kInvalidArgument,
                 "stream '{}': {} {} {} {} lacks location or sha256, so it cannot be fetched and checked", name,
                 rpm_arch, platform, format, member);
  }
  return *artifact;
}

std::string rpm_architecture(std::string_view go_arch) {
  if (go_arch == "amd64") return "x86_64";
  if (go_arch == "arm64") return "aarch64";
  return std::string(go_arch);
}

}  // namespace strake::bootimage
