#include "oci/layout.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/ranges.h>

namespace strake::oci {

namespace {

constexpr std::size_t kMaxLayoutFileBytes = 4096;
/// Real images nest one level; more is somebody trying to make us walk.
constexpr int kMaxIndexDepth = 4;
constexpr std::size_t kCopyBytes = 64u << 10;

std::filesystem::path blob_path(const std::filesystem::path& directory, const codec::Digest& digest) {
  return directory / "blobs" / std::string(codec::to_string(digest.algorithm())) / digest.hex();
}

std::string entry_name(const Descriptor& entry) {
  const auto name = entry.annotations.find(std::string(kRefNameAnnotation));
  return name == entry.annotations.end() ? entry.digest.to_string() : name->second;
}

std::string entry_names(const Index& index) {
  if (index.manifests.empty()) return "nothing";
  std::vector<std::string> names;
  for (const Descriptor& entry : index.manifests) names.push_back(entry_name(entry));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<Descriptor> entries_for(const std::vector<Descriptor>& entries, const Platform& platform) {
  std::vector<Descriptor> matching;
  for (const Descriptor& entry : entries) {
    // An entry that names no platform may be for any: its own content decides.
    if (!entry.platform || platform.accepts(*entry.platform)) matching.push_back(entry);
  }
  return matching;
}

std::vector<Descriptor> entries_named(const Index& index, std::string_view reference) {
  if (reference.empty()) return index.manifests;
  std::vector<Descriptor> matching;
  for (const Descriptor& entry : index.manifests) {
    const auto name = entry.annotations.find(std::string(kRefNameAnnotation));
    if (entry.digest.to_string() == reference || (name != entry.annotations.end() && name->second == reference)) {
      matching.push_back(entry);
    }
  }
  return matching;
}

}  // namespace

BlobSource::BlobSource(Fd fd, std::string name, Descriptor expected)
    : fd_(std::move(fd)),
      name_(std::move(name)),
      expected_(std::move(expected)),
      file_(fd_.get(), name_),
      hasher_(expected_.digest.algorithm()) {}

Error BlobSource::refuse(Error why) {
  refused_ = why;
  return why;
}

Result<std::size_t> BlobSource::read(std::span<std::byte> into) {
  if (refused_) return *refused_;
  if (ended_) return std::size_t{0};
  Result<std::size_t> got = file_.read(into);
  if (!got.ok()) return refuse(std::move(got).error());
  bytes_read_ += *got;
  if (bytes_read_ > expected_.size) {
    return refuse(error(Code::kCorrupt, "{} is longer than the {} bytes its descriptor says; fetch it again", name_,
                        expected_.size));
  }
  if (*got > 0) {
    hasher_.update(std::span<const std::byte>(into).first(*got));
    return *got;
  }
  ended_ = true;
  if (bytes_read_ < expected_.size) {
    return refuse(
        error(Code::kCorrupt, "{} ends after {} of {} bytes; fetch it again", name_, bytes_read_, expected_.size));
  }
  const codec::Digest found = std::move(hasher_).finish();
  if (found != expected_.digest) {
    return refuse(error(Code::kCorrupt, "{} has digest {}, not {}; it was changed or damaged, fetch it again", name_,
                        found.to_string(), expected_.digest.to_string()));
  }
  return std::size_t{0};
}

Status BlobSource::finish() {
  std::array<std::byte, kCopyBytes> buffer;
  for (;;) {
    STRAKE_TRY(const std::size_t got, read(buffer));
    if (got == 0) return {};
  }
}

Result<Layout> Layout::open(std::filesystem::path directory) {
  const auto read = [&]() -> Result<Layout> {
    STRAKE_TRY(const std::string marker, read_file(directory / "oci-layout", kMaxLayoutFileBytes));
    STRAKE_TRY_CONTEXT(const json::Value layout, json::parse(marker), "oci-layout");
    const std::string version = json::find_string(layout, {"imageLayoutVersion"}).value_or("");
    if (version != "1.0.0") {
      return error(Code::kUnsupported, "oci-layout: imageLayoutVersion is '{}', expected 1.0.0", version);
    }
    STRAKE_TRY(const std::string text, read_file(directory / "index.json", kMaxManifestBytes));
    STRAKE_TRY_CONTEXT(Index index, parse_index(text), "index.json");
    return Layout(directory, std::move(index));
  };
  return read().context("opening image layout {}", directory.string());
}

Result<Descriptor> Layout::find_entry(std::string_view reference) const {
  const std::vector<Descriptor> matching = entries_named(index_, reference);
  if (matching.size() == 1) return matching.front();
  if (matching.empty()) {
    return error(Code::kNotFound, "image layout {} has no image '{}' (it has: {})", directory_.string(), reference,
                 entry_names(index_));
  }
  return error(Code::kInvalidArgument, "image layout {} has {} images that fit '{}'; name one by digest (it has: {})",
               directory_.string(), matching.size(), reference, entry_names(index_));
}

Result<Descriptor> Layout::resolve(std::string_view reference, const Platform& platform) const {
  std::vector<Descriptor> candidates = entries_named(index_, reference);
  if (candidates.empty()) {
    return error(Code::kNotFound, "image layout {} has no image '{}' (it has: {})", directory_.string(), reference,
                 entry_names(index_));
  }
  for (int depth = 0; depth < kMaxIndexDepth; ++depth) {
    candidates = entries_for(candidates, platform);
    if (candidates.empty()) {
      return error(Code::kNotFound, "image '{}' in {} is not built for {}", reference, directory_.string(),
                   platform.to_string());
    }
    if (candidates.size() > 1) {
      return error(Code::kInvalidArgument,
                   "image layout {} has {} images for {} that fit '{}'; name one by digest (it has: {})",
                   directory_.string(), candidates.size(), platform.to_string(), reference, entry_names(index_));
    }
    Descriptor only = std::move(candidates.front());
    if (!is_index_type(only.media_type)) return only;
    STRAKE_TRY_CONTEXT(const std::string text, read_blob(only, kMaxManifestBytes), "reading index {}",
                       only.digest.to_string());
    STRAKE_TRY_CONTEXT(Index nested, parse_index(text, only.media_type), "index {}", only.digest.to_string());
    candidates = std::move(nested.manifests);
  }
  return error(Code::kInvalidArgument, "image '{}' in {} is nested in more than {} indexes", reference,
               directory_.string(), kMaxIndexDepth);
}

Result<Manifest> Layout::read_manifest(const Descriptor& descriptor) const {
  STRAKE_TRY_CONTEXT(const std::string text, read_blob(descriptor, kMaxManifestBytes), "reading manifest {}",
                     descriptor.digest.to_string());
  return parse_manifest(text, descriptor.media_type).context("manifest {}", descriptor.digest.to_string());
}

Result<ImageConfig> Layout::read_config(const Manifest& manifest) const {
  const std::string digest = manifest.config.digest.to_string();
  if (manifest.config.media_type != media_type::kOciConfig && manifest.config.media_type != media_type::kDockerConfig) {
    return error(Code::kUnsupported, "config {} has media type {}: this is an artifact, not a container image", digest,
                 manifest.config.media_type);
  }
  STRAKE_TRY_CONTEXT(const std::string text, read_blob(manifest.config, kMaxConfigBytes), "reading image config {}",
                     digest);
  STRAKE_TRY_CONTEXT(ImageConfig config, parse_image_config(text), "image config {}", digest);
  if (config.diff_ids.size() != manifest.layers.size()) {
    return error(Code::kCorrupt, "image config {} names {} layers, its manifest {}", digest, config.diff_ids.size(),
                 manifest.layers.size());
  }
  return config;
}

Result<std::unique_ptr<BlobSource>> Layout::open_blob(const Descriptor& descriptor) const {
  const std::filesystem::path path = blob_path(directory_, descriptor.digest);
  // Non-blocking, so that a pipe put in place of a blob cannot make us wait for a writer.
  STRAKE_TRY(Fd fd, open_file(path, O_RDONLY | O_NONBLOCK));
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return errno_error(errno, path.string());
  if (!S_ISREG(info.st_mode)) return error(Code::kCorrupt, "{} is not a regular file", path.string());
  if (static_cast<std::uint64_t>(info.st_size) != descriptor.size) {
    return error(Code::kCorrupt, "{} has {} bytes, its descriptor says {}; fetch it again", path.string(), info.st_size,
                 descriptor.size);
  }
  return std::make_unique<BlobSource>(std::move(fd), path.string(), descriptor);
}

Result<std::string> Layout::read_blob(const Descriptor& descriptor, std::size_t max_bytes) const {
  if (descriptor.size > max_bytes) {
    return error(Code::kExhausted, "blob {} has {} bytes, more than the {} a reader accepts",
                 descriptor.digest.to_string(), descriptor.size, max_bytes);
  }
  STRAKE_TRY(const std::unique_ptr<BlobSource> source, open_blob(descriptor));
  return codec::read_all(*source, max_bytes);
}

Status Layout::verify_blob(const Descriptor& descriptor) const {
  STRAKE_TRY(const std::unique_ptr<BlobSource> source, open_blob(descriptor));
  return source->finish();
}

}  // namespace strake::oci
