// Boot artifacts as files in a folder: fetched from the nearest place, checked, perhaps unpacked.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/fd.h"
#include "codec/compress.h"
#include "oci/partial_file.h"
#include "release/boot_artifacts.h"

namespace strake::release {

namespace {

constexpr std::size_t kCopyBytes = 256u << 10;

Status feed(codec::Source& source, const std::function<Status(std::span<const std::byte>)>& take,
            const std::stop_token& stop) {
  std::vector<std::byte> buffer(kCopyBytes);
  for (;;) {
    if (stop.stop_requested()) return error(Code::kCancelled, "it was cancelled");
    STRAKE_TRY(const std::size_t got, source.read(buffer));
    if (got == 0) return {};
    STRAKE_CHECK_OK(take(std::span<const std::byte>(buffer).first(got)));
  }
}

Result<codec::Digest> hash_file(const std::filesystem::path& path, codec::Digest::Algorithm algorithm,
                                const std::stop_token& stop) {
  STRAKE_TRY(const Fd fd, open_file(path, O_RDONLY));
  codec::FdSource source(fd.get(), path.string());
  codec::Hasher hasher(algorithm);
  const auto update = [&](std::span<const std::byte> bytes) -> Status {
    hasher.update(bytes);
    return {};
  };
  STRAKE_CHECK_OK(feed(source, update, stop).context("reading {}", path.string()));
  return std::move(hasher).finish();
}

/// The nearest place that has the file.
class ArtifactOrigin {
 public:
  static Result<std::unique_ptr<ArtifactOrigin>> find(const ReleasePlace& place, const ArtifactDownloads& downloads,
                                                      const BootArtifact& artifact, oci::BlobCache* cache,
                                                      runtime::Runtime& runtime, const runtime::Call& call) {
    std::unique_ptr<ArtifactOrigin> origin(new ArtifactOrigin(downloads, artifact, runtime));
    const Result<PlacedArtifact> beside = find_artifact(place, artifact, call);
    if (!beside.ok() && beside.error().code() != Code::kNotFound) return beside.error();
    if (beside.ok()) {
      origin->source_ = beside->source;
      origin->file_.size = beside->file.size;
      origin->outcome_ = DownloadOutcome::kFromRelease;
    } else if (const std::optional<oci::Descriptor> cached = find_cached(cache, artifact)) {
      origin->cached_.emplace(origin->location_, *cache);
      origin->source_ = &*origin->cached_;
      origin->file_.size = cached->size;
      origin->outcome_ = DownloadOutcome::kFromCache;
    } else {
      STRAKE_TRY(origin->file_.size, downloads.size(artifact.location, call));
    }
    return origin;
  }

  const oci::ImageSource& source() const { return *source_; }
  const oci::Descriptor& file() const { return file_; }
  DownloadOutcome outcome() const { return outcome_; }

 private:
  ArtifactOrigin(const ArtifactDownloads& downloads, const BootArtifact& artifact, runtime::Runtime& runtime)
      : location_(downloads, {artifact}, runtime),
        source_(&location_),
        file_{std::string(kBootArtifactType), artifact.digest, 0} {}

  ArtifactSource location_;
  std::optional<oci::CachedSource> cached_;
  const oci::ImageSource* source_;
  oci::Descriptor file_;
  DownloadOutcome outcome_ = DownloadOutcome::kFromLocation;
};

/// The name comes from a URL: nothing in it may lead out of the folder.
Status require_file_name(const BootArtifact& artifact, std::string_view name) {
  if (name.empty() || name.starts_with('.') || name.find('/') != std::string_view::npos) {
    return error(Code::kInvalidArgument, "'{}' is no name for a file", artifact.location);
  }
  return {};
}

Status make_download_folder(const std::filesystem::path& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  return failure ? Status(errno_error(failure.value(), folder.string())) : Status();
}

/// Whether the file is there with this content; one with another is removed.
Result<bool> has_file(const std::filesystem::path& path, const codec::Digest& digest, const std::stop_token& stop) {
  std::error_code failure;
  if (!std::filesystem::exists(path, failure)) return false;
  STRAKE_TRY(const codec::Digest found, hash_file(path, digest.algorithm(), stop));
  if (found == digest) return true;
  std::filesystem::remove(path, failure);
  if (failure) return errno_error(failure.value(), path.string());
  return false;
}

/// Into the descriptor, from its start. Nothing of it counts before both digests were right.
Status unpack_into(const ArtifactOrigin& origin, const BootArtifact& artifact, const Fd& fd,
                   const std::filesystem::path& path, const runtime::Call& call) {
  return origin.source().read_anywhere(origin.file(), [&]() -> Status {
    if (::ftruncate(fd.get(), 0) != 0 || ::lseek(fd.get(), 0, SEEK_SET) < 0) return errno_error(errno, path.string());
    STRAKE_TRY(const std::unique_ptr<oci::BlobSource> packed, origin.source().open_blob(origin.file(), call));
    codec::FdSink sink(fd.get(), path.string());
    codec::Hasher hasher(codec::Digest::Algorithm::kSha256);
    const auto unpack = [&]() -> Status {
      STRAKE_TRY(const std::unique_ptr<codec::Source> plain, codec::make_detecting_decompressor(*packed));
      const auto take = [&](std::span<const std::byte> bytes) -> Status {
        hasher.update(bytes);
        return sink.write(bytes);
      };
      return feed(*plain, take, call.stop);
    };
    Status outcome = unpack();
    // Damage that the unpacking met first is mostly that of the file: its own checksum says the cause.
    if (outcome.ok() || outcome.error().code() == Code::kCorrupt) STRAKE_CHECK_OK(packed->finish());
    STRAKE_CHECK_OK(std::move(outcome));
    const codec::Digest found = std::move(hasher).finish();
    if (!artifact.unpacked || found == *artifact.unpacked) return {};
    return error(Code::kDenied, "{} unpacks to SHA-256 {}, the release says {}", artifact.location, found.hex(),
                 artifact.unpacked->hex())
        .with_verdict(Verdict::kNotGenuine);
  });
}

}  // namespace

std::optional<std::string> unpacked_name(std::string_view file_name) {
  for (const std::string_view suffix : {".gz", ".xz", ".zst"}) {
    if (file_name.ends_with(suffix)) return std::string(file_name.substr(0, file_name.size() - suffix.size()));
  }
  return std::nullopt;
}

Result<DownloadOutcome> download_artifact(const ReleasePlace& place, const ArtifactDownloads& downloads,
                                          const BootArtifact& artifact, const std::filesystem::path& folder,
                                          oci::BlobCache* cache, runtime::Runtime& runtime, const runtime::Call& call) {
  STRAKE_CHECK_OK(require_file_name(artifact, artifact.file_name));
  STRAKE_CHECK_OK(make_download_folder(folder));
  const oci::BlobFilePaths paths{folder / fmt::format(".{}.partial", artifact.digest.hex()),
                                 folder / artifact.file_name};
  STRAKE_TRY(const bool present, has_file(paths.complete, artifact.digest, call.stop));
  if (present) return DownloadOutcome::kPresent;
  STRAKE_TRY(const auto origin, ArtifactOrigin::find(place, downloads, artifact, cache, runtime, call));
  const oci::FillBlob fill = [&](std::uint64_t offset, const oci::ImageSource::OnData& on_data) {
    return origin->source().stream_blob(origin->file(), offset, on_data, call);
  };
  STRAKE_TRY([[maybe_unused]] const oci::FileFetch fetched,
             oci::fetch_to_file(paths, origin->file(), fill, runtime, call));
  return origin->outcome();
}

Result<DownloadOutcome> download_unpacked(const ReleasePlace& place, const ArtifactDownloads& downloads,
                                          const BootArtifact& artifact, const std::filesystem::path& folder,
                                          oci::BlobCache* cache, runtime::Runtime& runtime, const runtime::Call& call) {
  const std::optional<std::string> name = unpacked_name(artifact.file_name);
  if (!name) return download_artifact(place, downloads, artifact, folder, cache, runtime, call);
  STRAKE_CHECK_OK(require_file_name(artifact, *name));
  STRAKE_CHECK_OK(make_download_folder(folder));
  const std::filesystem::path target = folder / *name;
  if (artifact.unpacked) {
    STRAKE_TRY(const bool present, has_file(target, *artifact.unpacked, call.stop));
    if (present) return DownloadOutcome::kPresent;
  }
  STRAKE_TRY(const auto origin, ArtifactOrigin::find(place, downloads, artifact, cache, runtime, call));
  const std::filesystem::path partial = folder / fmt::format(".{}.unpacking", artifact.digest.hex());
  STRAKE_TRY(const Fd fd, open_file(partial, O_RDWR | O_CREAT | O_NOFOLLOW, 0644));
  STRAKE_CHECK_OK(oci::lock_file(fd, runtime, call).context("{}", partial.string()));
  Status outcome = unpack_into(*origin, artifact, fd, partial, call);
  if (outcome.ok() && ::fsync(fd.get()) != 0) outcome = errno_error(errno, partial.string());
  if (outcome.ok() && ::rename(partial.c_str(), target.c_str()) != 0) outcome = errno_error(errno, target.string());
  if (!outcome.ok()) {
    ::unlink(partial.c_str());
    return std::move(outcome).error();
  }
  return origin->outcome();
}

}  // namespace strake::release
