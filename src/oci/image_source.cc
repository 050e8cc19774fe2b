#include "oci/image_source.h"

#include <array>
#include <set>

#include <fmt/ranges.h>

namespace strake::oci {

namespace {

/// Real images nest one level; more is somebody trying to make us walk.
constexpr int kMaxIndexDepth = 4;
constexpr std::size_t kSkipBytes = 64u << 10;

std::string entry_name(const Descriptor& entry) {
  const auto name = entry.annotations.find(std::string(kRefNameAnnotation));
  return name == entry.annotations.end() ? entry.digest.to_string() : name->second;
}

class TextSource final : public codec::Source {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)), bytes_(text_) {}
  Result<std::size_t> read(std::span<std::byte> into) override { return bytes_.read(into); }

 private:
  std::string text_;
  codec::MemorySource bytes_;
};

std::vector<Descriptor> entries_for(const std::vector<Descriptor>& entries, const Platform& platform) {
  std::vector<Descriptor> matching;
  for (const Descriptor& entry : entries) {
    // An entry that names no platform may be for any: its own content decides.
    if (!entry.platform || platform.accepts(*entry.platform)) matching.push_back(entry);
  }
  return matching;
}

/// "linux/amd64, linux/arm64", each once.
std::string platform_names(const std::vector<Descriptor>& entries) {
  std::set<std::string> names;
  for (const Descriptor& entry : entries) {
    if (entry.platform) names.insert(entry.platform->to_string());
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

bool may_be_elsewhere(const Error& error) {
  switch (error.code()) {
    case Code::kNotFound:
    case Code::kUnauthenticated:
    case Code::kDenied:
    case Code::kUnavailable:
    case Code::kTimeout:
    case Code::kUnsupported:
    case Code::kExhausted:
    case Code::kExpired: return true;
    case Code::kInvalidArgument:
    case Code::kExists:
    case Code::kConflict:
    case Code::kCancelled:
    case Code::kCorrupt:
    case Code::kIo:
    case Code::kInternal: break;
  }
  return false;
}

std::unique_ptr<codec::Source> make_text_source(std::string text) {
  return std::make_unique<TextSource>(std::move(text));
}

std::string referrers_tag(const codec::Digest& digest) {
  return fmt::format("{}-{}", codec::to_string(digest.algorithm()), digest.hex());
}

std::string entry_names(const std::vector<Descriptor>& entries) {
  if (entries.empty()) return "nothing";
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const Descriptor& entry : entries) names.push_back(entry_name(entry));
  return fmt::format("{}", fmt::join(names, ", "));
}

BlobSource::BlobSource(std::unique_ptr<codec::Source> content, std::string name, Descriptor expected)
    : content_(std::move(content)),
      name_(std::move(name)),
      expected_(std::move(expected)),
      hasher_(expected_.digest.algorithm()) {}

Error BlobSource::refuse(Error why) {
  refused_ = why;
  if (why.code() == Code::kCorrupt) {
    for (const auto& callback : std::exchange(on_corrupt_, {})) callback();
  }
  return why;
}

Result<std::size_t> BlobSource::read(std::span<std::byte> into) {
  if (refused_) return *refused_;
  if (ended_) return std::size_t{0};
  Result<std::size_t> got = content_->read(into);
  if (!got.ok()) return refuse(std::move(got).error());
  bytes_read_ += *got;
  if (bytes_read_ > expected_.size) {
    return refuse(
        not_genuine("{} is longer than the {} bytes its descriptor says; fetch it again", name_, expected_.size));
  }
  if (*got > 0) {
    hasher_.update(std::span<const std::byte>(into).first(*got));
    return *got;
  }
  ended_ = true;
  if (bytes_read_ < expected_.size) {
    return refuse(not_genuine("{} ends after {} of {} bytes; fetch it again", name_, bytes_read_, expected_.size));
  }
  const codec::Digest found = std::move(hasher_).finish();
  if (found != expected_.digest) {
    return refuse(not_genuine("{} has digest {}, not {}; it was changed or damaged, fetch it again", name_,
                              found.to_string(), expected_.digest.to_string()));
  }
  return std::size_t{0};
}

Status BlobSource::finish() {
  std::array<std::byte, kSkipBytes> buffer;
  for (;;) {
    STRAKE_TRY(const std::size_t got, read(buffer));
    if (got == 0) return {};
  }
}

Status ImageSource::stream_blob(const Descriptor& descriptor, std::uint64_t offset, const OnData& on_data,
                                const runtime::Call& call) const {
  STRAKE_TRY(const std::unique_ptr<BlobSource> source, open_blob(descriptor, call));
  std::array<std::byte, kSkipBytes> buffer;
  for (;;) {
    STRAKE_TRY(const std::size_t got, source->read(buffer));
    if (got == 0) return {};
    const std::size_t skipped = static_cast<std::size_t>(std::min<std::uint64_t>(offset, got));
    offset -= skipped;
    if (got > skipped) {
      STRAKE_CHECK_OK(on_data({reinterpret_cast<const char*>(buffer.data()) + skipped, got - skipped}));
    }
  }
}

Result<Descriptor> ImageSource::find_entry(std::string_view reference, const runtime::Call& call) const {
  STRAKE_TRY(const std::vector<Descriptor> matching, find_entries(reference, call));
  if (matching.size() == 1) return matching.front();
  return error(Code::kInvalidArgument, "{} has {} images that fit '{}'; name one by digest (it has: {})", description(),
               matching.size(), reference, entry_names(matching));
}

Result<std::optional<Descriptor>> ImageSource::find_companion(std::string_view tag, const runtime::Call& call) const {
  Result<Descriptor> found = find_entry(tag, call);
  if (found.ok()) return std::optional(*std::move(found));
  if (found.error().code() == Code::kNotFound) return std::optional<Descriptor>();
  return std::move(found).error();
}

Result<std::vector<Descriptor>> ImageSource::find_referrers(const codec::Digest& digest,
                                                            const runtime::Call& call) const {
  const std::string tag = referrers_tag(digest);
  STRAKE_TRY(const std::optional<Descriptor> entry, find_companion(tag, call));
  if (!entry) return std::vector<Descriptor>();
  STRAKE_TRY_CONTEXT(const std::string text, read_blob(*entry, kMaxManifestBytes, call), "{}", tag);
  STRAKE_TRY_CONTEXT(Index index, parse_index(text, entry->media_type), "{}", tag);
  return std::move(index.manifests);
}

Result<Descriptor> ImageSource::resolve(std::string_view reference, const Platform& platform,
                                        const runtime::Call& call) const {
  STRAKE_TRY(std::vector<Descriptor> candidates, find_entries(reference, call));
  for (int depth = 0; depth < kMaxIndexDepth; ++depth) {
    const std::vector<Descriptor> offered = std::move(candidates);
    candidates = entries_for(offered, platform);
    if (candidates.empty()) {
      return error(Code::kNotFound, "image '{}' in {} is not built for {} (it is for: {})", reference, description(),
                   platform.to_string(), platform_names(offered))
          .with_verdict(Verdict::kAbsent);
    }
    if (candidates.size() > 1) {
      return error(Code::kInvalidArgument, "{} has {} images for {} that fit '{}'; name one by digest (it has: {})",
                   description(), candidates.size(), platform.to_string(), reference, entry_names(candidates));
    }
    Descriptor only = std::move(candidates.front());
    if (!is_index_type(only.media_type)) return only;
    STRAKE_TRY_CONTEXT(const std::string text, read_blob(only, kMaxManifestBytes, call), "reading index {}",
                       only.digest.to_string());
    STRAKE_TRY_CONTEXT(Index nested, parse_index(text, only.media_type), "index {}", only.digest.to_string());
    candidates = std::move(nested.manifests);
  }
  return error(Code::kInvalidArgument, "image '{}' in {} is nested in more than {} indexes", reference, description(),
               kMaxIndexDepth);
}

Result<Manifest> ImageSource::read_manifest(const Descriptor& descriptor, const runtime::Call& call) const {
  STRAKE_TRY_CONTEXT(const std::string text, read_blob(descriptor, kMaxManifestBytes, call), "reading manifest {}",
                     descriptor.digest.to_string());
  return parse_manifest(text, descriptor.media_type).context("manifest {}", descriptor.digest.to_string());
}

Result<ImageConfig> ImageSource::read_config(const Manifest& manifest, const runtime::Call& call) const {
  const std::string digest = manifest.config.digest.to_string();
  if (manifest.config.media_type != media_type::kOciConfig && manifest.config.media_type != media_type::kDockerConfig) {
    return error(Code::kUnsupported, "config {} has media type {}: this is an artifact, not a container image", digest,
                 manifest.config.media_type);
  }
  STRAKE_TRY_CONTEXT(const std::string text, read_blob(manifest.config, kMaxConfigBytes, call),
                     "reading image config {}", digest);
  STRAKE_TRY_CONTEXT(ImageConfig config, parse_image_config(text), "image config {}", digest);
  if (config.diff_ids.size() != manifest.layers.size()) {
    return error(Code::kCorrupt, "image config {} names {} layers, its manifest {}", digest, config.diff_ids.size(),
                 manifest.layers.size());
  }
  return config;
}

Result<std::string> ImageSource::read_blob(const Descriptor& descriptor, std::size_t max_bytes,
                                           const runtime::Call& call) const {
  if (descriptor.size > max_bytes) {
    return error(Code::kExhausted, "blob {} has {} bytes, more than the {} a reader accepts",
                 descriptor.digest.to_string(), descriptor.size, max_bytes);
  }
  std::string bytes;
  const auto read = [&]() -> Status {
    STRAKE_TRY(const std::unique_ptr<BlobSource> source, open_blob(descriptor, call));
    STRAKE_TRY(bytes, codec::read_all(*source, max_bytes));
    return {};
  };
  STRAKE_CHECK_OK(read_anywhere(descriptor, read));
  return bytes;
}

Status ImageSource::verify_blob(const Descriptor& descriptor, const runtime::Call& call) const {
  return read_anywhere(descriptor, [&]() -> Status {
    STRAKE_TRY(const std::unique_ptr<BlobSource> source, open_blob(descriptor, call));
    return source->finish();
  });
}

Status ImageSource::read_anywhere(const Descriptor& descriptor, const std::function<Status()>& attempt) const {
  for (;;) {
    Status outcome = attempt();
    if (outcome.ok() || outcome.error().code() != Code::kCorrupt) return outcome;
    STRAKE_CHECK_OK(reject_content(descriptor, std::move(outcome).error()));
  }
}

}  // namespace strake::oci
