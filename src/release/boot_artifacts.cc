#include "release/boot_artifacts.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "base/fd.h"
#include "oci/blob_pipe.h"
#include "oci/registry/registry_protocol.h"
#include "release/artifact_image.h"
#include "release/url_reader.h"

namespace strake::release {

namespace {

void add_platform(const std::string& arch, const std::string& platform, const stream::ArtifactPlatform& entry,
                  std::set<codec::Digest>& seen, BootArtifactList& list, std::optional<Error>& wrong) {
  for (const auto& [format, members] : entry.formats) {
    for (const auto& [member, artifact] : members) {
      const std::string file_name = artifact.location.substr(artifact.location.rfind('/') + 1);
      const std::string label = fmt::format("{} {} {} {}", arch, platform, format, member);
      if (artifact.sha256.empty()) {
        list.without_sum.push_back(label);
        continue;
      }
      Result<codec::Digest> digest = codec::Digest::from_hex(codec::Digest::Algorithm::kSha256, artifact.sha256);
      if (!digest.ok()) {
        if (!wrong) wrong = std::move(digest).error().context(label);
        continue;
      }
      if (!seen.insert(*digest).second) continue;
      BootArtifact found{*std::move(digest), artifact.location, file_name, arch, platform, format, member};
      if (!artifact.uncompressed_sha256.empty()) {
        Result<codec::Digest> inner =
            codec::Digest::from_hex(codec::Digest::Algorithm::kSha256, artifact.uncompressed_sha256);
        if (!inner.ok()) {
          if (!wrong) wrong = std::move(inner).error().context(label + ": uncompressed-sha256");
          continue;
        }
        found.unpacked = *std::move(inner);
      }
      list.artifacts.push_back(std::move(found));
    }
  }
}

std::size_t count_images(const stream::StreamArchitecture& architecture) {
  std::size_t count = architecture.azure.plans.size() + (architecture.azure.disk ? 1 : 0);
  for (const auto& [cloud, images] : architecture.images) count += images.regions.size() + (images.global ? 1 : 0);
  return count;
}

std::string manifest_of_artifact(const BootArtifact& artifact, std::uint64_t size) {
  oci::Descriptor file{std::string(kBootArtifactType), artifact.digest, size};
  file.annotations = {{std::string(kTitleAnnotation), artifact.file_name}};
  return artifact_manifest(
      kBootArtifactType, {file},
      {{"dev.strake.boot-artifact.label", artifact.label()}, {"dev.strake.boot-artifact.location", artifact.location}});
}

/// Of one attempt: short enough that another one fits into the time of patience.
constexpr std::chrono::seconds kSilence{20};

net::CallOptions transfer_call(const runtime::Call& call) {
  net::CallOptions options;
  options.idle_timeout = kSilence;
  options.stop = call.stop;
  return options;
}

Status stream_file(const std::filesystem::path& path, std::uint64_t offset, const oci::ImageSource::OnData& on_data,
                   const std::stop_token& stop) {
  STRAKE_TRY(const Fd fd, open_file(path, O_RDONLY));
  if (::lseek(fd.get(), static_cast<off_t>(offset), SEEK_SET) < 0) return errno_error(errno, path.string());
  codec::FdSource source(fd.get(), path.string());
  std::array<std::byte, 256u << 10> buffer;
  for (;;) {
    if (stop.stop_requested()) return error(Code::kCancelled, "reading {} was cancelled", path.string());
    STRAKE_TRY(const std::size_t got, source.read(buffer));
    if (got == 0) return {};
    STRAKE_CHECK_OK(on_data({reinterpret_cast<const char*>(buffer.data()), got}));
  }
}

Error refused(std::string_view url, int status, const net::Headers& headers, runtime::Runtime& runtime) {
  const Code code = status >= 400 ? net::code_for_status(status) : Code::kUnavailable;
  Error problem = error(code, "{}: the server answered {} {}", url, status, net::reason_phrase(status))
                      .with_verdict(code == Code::kNotFound ? Verdict::kAbsent : Verdict::kNone);
  const auto now = std::chrono::floor<std::chrono::seconds>(runtime.wall_now());
  const auto later = net::retry_time(status, headers, now);
  return later ? std::move(problem).with_retry_after(*later) : std::move(problem);
}

}  // namespace

std::string BootArtifact::label() const { return fmt::format("{} {} {} {}", arch, platform, format, member); }

Result<BootArtifactList> boot_artifacts_of(const stream::StreamSet& streams) {
  std::vector<const stream::Stream*> all;
  if (streams.default_stream) all.push_back(&*streams.default_stream);
  for (const auto& [name, stream] : streams.by_name) all.push_back(&stream);
  BootArtifactList list;
  std::set<codec::Digest> seen;
  std::optional<Error> wrong;
  for (const stream::Stream* stream : all) {
    for (const auto& [arch, architecture] : stream->architectures) {
      for (const auto& [platform, entry] : architecture.artifacts) {
        add_platform(arch, platform, entry, seen, list, wrong);
      }
      list.cloud_images += count_images(architecture);
    }
  }
  if (wrong) return *std::move(wrong);
  std::stable_sort(list.artifacts.begin(), list.artifacts.end(),
                   [](const BootArtifact& a, const BootArtifact& b) { return a.label() < b.label(); });
  return list;
}

std::string boot_artifact_tag(const codec::Digest& digest) {
  return fmt::format("{}-{}.boot", codec::to_string(digest.algorithm()), digest.hex());
}

Result<oci::Descriptor> file_of_tag(const oci::ImageSource& source, const oci::Descriptor& entry, std::string_view tag,
                                    const codec::Digest& digest, const runtime::Call& call) {
  STRAKE_TRY_CONTEXT(const oci::Manifest manifest, source.read_manifest(entry, call), "{}", tag);
  if (manifest.layers.size() == 1 && manifest.layers.front().digest == digest) return manifest.layers.front();
  return not_genuine("{} in {} does not hold the file its tag names", tag, source.description());
}

Result<PlacedArtifact> find_artifact(const ReleasePlace& place, const BootArtifact& artifact,
                                     const runtime::Call& call) {
  const std::string tag = boot_artifact_tag(artifact.digest);
  STRAKE_TRY(const std::optional<oci::Descriptor> entry, place.home().find_companion(tag, call));
  if (!entry) {
    return error(Code::kNotFound, "{} has no {}", place.home().description(), tag).with_verdict(Verdict::kAbsent);
  }
  STRAKE_TRY(oci::Descriptor file, file_of_tag(place.home(), *entry, tag, artifact.digest, call));
  return PlacedArtifact{&place.home(), std::move(file)};
}

Result<ArtifactsBeside> look_beside(const ReleasePlace& place, std::vector<BootArtifact> artifacts,
                                    const runtime::Call& call) {
  ArtifactsBeside sorted;
  for (BootArtifact& artifact : artifacts) {
    STRAKE_TRY(const std::optional<oci::Descriptor> entry,
               place.home().find_companion(boot_artifact_tag(artifact.digest), call));
    (entry ? sorted.beside : sorted.elsewhere).push_back(std::move(artifact));
  }
  return sorted;
}

/// One file on its way, over any number of attempts.
struct ArtifactDownloads::Transfer {
  const std::string& url;
  const oci::ImageSource::OnData& on_data;
  std::uint64_t position;  ///< how much of the file is there
  const oci::TransferHooks& hooks;
  runtime::Runtime& runtime;
  oci::PaceWatch pace;

  // Of the present attempt:
  std::uint64_t skip = 0;  ///< a server that knows no ranges sends everything
  std::uint64_t size = 0;  ///< of the whole file; 0: not told
  std::optional<Error> consumer_error = {};

  Status take_head(const net::ResponseHead& head);
  Status take_data(std::string_view data);
};

Status ArtifactDownloads::Transfer::take_head(const net::ResponseHead& head) {
  const bool from_here = head.status == 206 && position > 0;
  if (head.status != 200 && !from_here) return refused(url, head.status, head.headers, runtime);
  skip = from_here ? 0 : position;
  size = oci::parse_decimal(head.headers.get("Content-Length").value_or("")).value_or(0);
  if (from_here) {
    const auto range = oci::parse_content_range(head.headers.get("Content-Range").value_or(""));
    if (range && range->first != position) {
      return error(Code::kCorrupt, "{}: the server answered with byte {} where byte {} was asked for", url,
                   range->first, position);
    }
    size += position;
  }
  pace.begin(runtime.now());
  return {};
}

Status ArtifactDownloads::Transfer::take_data(std::string_view data) {
  const std::size_t received = data.size();
  const std::size_t again = static_cast<std::size_t>(std::min<std::uint64_t>(skip, data.size()));
  skip -= again;
  data.remove_prefix(again);
  if (!data.empty()) {
    position += data.size();
    hooks.bytes(url, position, std::max(size, position));
    Status taken = on_data(data);
    if (!taken.ok()) {
      consumer_error = taken.error();
      return taken;
    }
  }
  return position == size ? Status() : pace.came(received, runtime.now());
}

Result<ArtifactDownloads> ArtifactDownloads::create(runtime::Runtime& runtime, net::ClientOptions options,
                                                    oci::TransferHooks hooks, oci::Patience patience) {
  std::optional<net::ForeignUrlRules> foreign = options.foreign_urls;
  STRAKE_TRY(net::HttpClient client, net::HttpClient::create(std::move(options)));
  return ArtifactDownloads(runtime, std::move(client), std::move(foreign), std::move(hooks), patience);
}

Result<std::uint64_t> ArtifactDownloads::size(const std::string& url, const runtime::Call& call) const {
  STRAKE_CHECK_OK(check(url));
  if (is_file_url(url)) {
    STRAKE_TRY(const std::filesystem::path path, path_of_file_url(url));
    std::error_code failure;
    const std::uint64_t size = std::filesystem::file_size(path, failure);
    if (failure) return errno_error(failure.value(), path.string());
    return size;
  }
  // "identity", so that the length is that of the file and not of a compressed answer.
  const net::Request request{"HEAD", url, {{"Accept-Encoding", "identity"}}, {}};
  net::Response response;
  const auto attempt = [&]() -> Status {
    STRAKE_TRY(response, client_.send(request, transfer_call(call)));
    return response.status == 200 ? Status() : refused(url, response.status, response.headers, *runtime_);
  };
  STRAKE_CHECK_OK(oci::try_patiently(patience_, url, hooks_, *runtime_, call, attempt, [] { return false; }));
  const auto size = oci::parse_decimal(response.headers.get("Content-Length").value_or(""));
  if (!size) return error(Code::kUnsupported, "{}: the server does not say how long the file is", url);
  return *size;
}

Status ArtifactDownloads::stream(const std::string& url, std::uint64_t offset, const oci::ImageSource::OnData& on_data,
                                 const runtime::Call& call) const {
  STRAKE_CHECK_OK(check(url));
  if (is_file_url(url)) {
    STRAKE_TRY(const std::filesystem::path path, path_of_file_url(url));
    return stream_file(path, offset, on_data, call.stop);
  }
  Transfer transfer{url, on_data, offset, hooks_, *runtime_, oci::PaceWatch(patience_.limit)};
  std::uint64_t before = offset;
  const auto attempt = [&]() -> Status {
    before = transfer.position;
    Status outcome = stream_once(transfer, call);
    if (!transfer.consumer_error) return outcome;
    // Whoever takes the bytes failed, and has had some of them: fetching again cannot help.
    Error& consumer = *transfer.consumer_error;
    if (!net::is_retryable(consumer)) return std::move(consumer);
    return error(Code::kIo, "{}", consumer.to_string());
  };
  const auto progressed = [&] { return transfer.position > before && !transfer.pace.trickles(); };
  return oci::try_patiently(patience_, url, hooks_, *runtime_, call, attempt, progressed);
}

Status ArtifactDownloads::stream_once(Transfer& transfer, const runtime::Call& call) const {
  net::Request request{"GET", transfer.url, {{"Accept-Encoding", "identity"}}, {}};
  if (transfer.position > 0) request.headers.add("Range", fmt::format("bytes={}-", transfer.position));
  STRAKE_TRY([[maybe_unused]] const net::ResponseHead head,
             client_.stream(
                 request, [&](const net::ResponseHead& answer) { return transfer.take_head(answer); },
                 [&](std::string_view data) { return transfer.take_data(data); }, transfer_call(call)));
  return {};
}

std::optional<oci::Descriptor> find_cached(const oci::BlobCache* cache, const BootArtifact& artifact) {
  if (cache == nullptr) return std::nullopt;
  const std::optional<std::uint64_t> size = cache->size_of(artifact.digest);
  if (!size) return std::nullopt;
  return oci::Descriptor{std::string(kBootArtifactType), artifact.digest, *size};
}

Status verify_download(const ArtifactDownloads& downloads, const BootArtifact& artifact, oci::BlobCache* cache,
                       runtime::Runtime& runtime, const runtime::Call& call) {
  if (cache != nullptr) {
    STRAKE_TRY(const std::uint64_t size, downloads.size(artifact.location, call));
    const ArtifactSource source(downloads, {artifact}, runtime);
    const oci::Descriptor file{std::string(kBootArtifactType), artifact.digest, size};
    const Result<std::unique_ptr<oci::BlobSource>> kept = cache->fetch(source, file, call);
    if (kept.ok() || kept.error().code() != Code::kExhausted) return kept.ok() ? Status() : kept.error();
  }
  codec::Hasher hasher(artifact.digest.algorithm());
  const auto update = [&](std::string_view data) -> Status {
    hasher.update(data);
    return {};
  };
  STRAKE_CHECK_OK(downloads.stream(artifact.location, 0, update, call));
  const codec::Digest found = std::move(hasher).finish();
  if (found == artifact.digest) return {};
  return not_genuine("{} has SHA-256 {}, the release says {}", artifact.location, found.hex(), artifact.digest.hex());
}

ArtifactSource::ArtifactSource(const ArtifactDownloads& downloads, std::vector<BootArtifact> artifacts,
                               runtime::Runtime& runtime)
    : downloads_(downloads), runtime_(runtime) {
  for (BootArtifact& artifact : artifacts) artifacts_.emplace(artifact.digest, std::move(artifact));
  documents_.emplace(empty_config().digest, kEmptyConfig);
}

Result<std::vector<oci::Descriptor>> ArtifactSource::find_entries(std::string_view reference,
                                                                  const runtime::Call& call) const {
  for (const auto& [digest, artifact] : artifacts_) {
    if (reference != boot_artifact_tag(digest)) continue;
    STRAKE_TRY(const std::uint64_t size, downloads_.size(artifact.location, call));
    std::string manifest = manifest_of_artifact(artifact, size);
    oci::Descriptor entry = manifest_descriptor(manifest);
    const std::scoped_lock lock(mutex_);
    documents_.insert_or_assign(entry.digest, std::move(manifest));
    return std::vector{std::move(entry)};
  }
  return error(Code::kNotFound, "the release names no boot artifact {}", reference);
}

Result<std::unique_ptr<oci::BlobSource>> ArtifactSource::open_blob(const oci::Descriptor& descriptor,
                                                                   const runtime::Call& call) const {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto document = documents_.find(descriptor.digest); document != documents_.end()) {
      return std::make_unique<oci::BlobSource>(oci::make_text_source(document->second), "boot artifact manifest",
                                               descriptor);
    }
  }
  const auto found = artifacts_.find(descriptor.digest);
  if (found == artifacts_.end()) {
    return error(Code::kNotFound, "{} is no boot artifact of the release", descriptor.digest.to_string());
  }
  const auto produce = [this, url = found->second.location](const OnData& on_data, const runtime::Call& own) {
    return downloads_.stream(url, 0, on_data, own);
  };
  return std::make_unique<oci::BlobSource>(oci::make_pipe(runtime_, "download", produce, call), found->second.location,
                                           descriptor);
}

Status ArtifactSource::stream_blob(const oci::Descriptor& descriptor, std::uint64_t offset, const OnData& on_data,
                                   const runtime::Call& call) const {
  const auto found = artifacts_.find(descriptor.digest);
  if (found == artifacts_.end()) return ImageSource::stream_blob(descriptor, offset, on_data, call);
  return downloads_.stream(found->second.location, offset, on_data, call);
}

}  // namespace strake::release
