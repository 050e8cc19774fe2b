#include "oci/image_target.h"

#include <optional>
#include <system_error>

#include "oci/file_store.h"
#include "oci/partial_file.h"

namespace strake::oci {

Result<std::unique_ptr<RegistryTarget>> RegistryTarget::open(const Reference& reference, Registries& registries,
                                                             std::string mount_from) {
  // Mirrors are for fetching: a push goes where the name says.
  STRAKE_TRY(std::shared_ptr<RegistryClient> client, registries.client(reference.registry));
  return std::unique_ptr<RegistryTarget>(
      new RegistryTarget(std::move(client), reference.repository, std::move(mount_from)));
}

std::string RegistryTarget::description() const {
  return fmt::format("repository {}/{}", client_->registry(), repository_);
}

Result<BlobOutcome> RegistryTarget::put_blob(const ImageSource& from, const Descriptor& descriptor,
                                             const runtime::Call& call) {
  // A target that says something odd is no reason to distrust where the blob comes from.
  bool wrong_content = false;
  const auto open = [&]() -> Result<std::unique_ptr<codec::Source>> {
    STRAKE_TRY(std::unique_ptr<BlobSource> blob, from.open_blob(descriptor, call));
    blob->on_corrupt([&] { wrong_content = true; });
    return std::unique_ptr<codec::Source>(std::move(blob));
  };
  std::optional<Result<BlobPush>> outcome;
  const auto push = [&]() -> Status {
    wrong_content = false;
    outcome = client_->push_blob(repository_, descriptor, open, mount_from_, call);
    if (!outcome->ok() && wrong_content) return outcome->error();
    return {};
  };
  STRAKE_CHECK_OK(from.read_anywhere(descriptor, push));
  if (!outcome->ok()) return std::move(outcome)->error();
  switch (**outcome) {
    case BlobPush::kPresent: return BlobOutcome::kPresent;
    case BlobPush::kMounted: return BlobOutcome::kMounted;
    case BlobPush::kUploaded: return BlobOutcome::kWritten;
  }
  return error(Code::kInternal, "unknown outcome of a push");
}

Status RegistryTarget::put_document(const Descriptor& descriptor, std::string_view bytes, std::string_view tag,
                                    const runtime::Call& call) {
  const std::string name = tag.empty() ? descriptor.digest.to_string() : std::string(tag);
  return client_->push_manifest(repository_, name, descriptor.media_type, bytes, call);
}

Status RegistryTarget::list_referrers(const codec::Digest& image, std::vector<Descriptor> referrers,
                                      const runtime::Call& call) {
  return client_->list_new_referrers(repository_, image, std::move(referrers), call);
}

Result<std::unique_ptr<LayoutTarget>> LayoutTarget::open(const std::filesystem::path& directory,
                                                         runtime::Runtime& runtime) {
  STRAKE_TRY(LayoutWriter writer, LayoutWriter::extend(directory));
  return std::unique_ptr<LayoutTarget>(new LayoutTarget(directory, std::move(writer), runtime));
}

std::string LayoutTarget::description() const { return fmt::format("image layout {}", directory_.string()); }

Result<BlobOutcome> LayoutTarget::put_blob(const ImageSource& from, const Descriptor& descriptor,
                                           const runtime::Call& call) {
  const std::filesystem::path folder =
      directory_ / "blobs" / std::string(codec::to_string(descriptor.digest.algorithm()));
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) return errno_error(failure.value(), folder.string());
  // Hidden, as a layout may only have files named by their digest.
  const BlobFilePaths paths{folder / fmt::format(".{}.partial", descriptor.digest.hex()),
                            folder / descriptor.digest.hex()};
  const FillBlob fill = [&](std::uint64_t offset, const auto& on_data) {
    return from.stream_blob(descriptor, offset, on_data, call);
  };
  FileFetch outcome = FileFetch::kFetched;
  const auto fetch = [&]() -> Status {
    STRAKE_TRY(outcome, fetch_to_file(paths, descriptor, fill, runtime_, call));
    return {};
  };
  STRAKE_CHECK_OK(from.read_anywhere(descriptor, fetch));
  if (outcome == FileFetch::kPresent) {
    // Copying again is how one repairs a damaged layout: what is there is hashed before it counts.
    STRAKE_TRY(StoredFile file, FolderFiles(folder).open(descriptor.digest.hex()));
    if (BlobSource(std::move(file.content), file.name, descriptor).finish().ok()) return BlobOutcome::kPresent;
    std::filesystem::remove(paths.complete, failure);
    if (failure) return errno_error(failure.value(), paths.complete.string());
    STRAKE_CHECK_OK(from.read_anywhere(descriptor, fetch));
  }
  return BlobOutcome::kWritten;
}

Status LayoutTarget::put_document(const Descriptor& descriptor, std::string_view bytes, std::string_view tag,
                                  const runtime::Call&) {
  STRAKE_TRY(const Descriptor written, writer_.add_blob(descriptor.media_type, bytes));
  if (written.digest != descriptor.digest) {
    return error(Code::kUnsupported, "{} is not a SHA-256 digest: a layout is written with those only",
                 descriptor.digest.to_string());
  }
  if (tag.empty()) return {};
  writer_.tag(descriptor, tag);
  return writer_.finish();
}

Status LayoutTarget::list_referrers(const codec::Digest& image, std::vector<Descriptor> referrers,
                                    const runtime::Call& call) {
  Result<Layout> written = Layout::open(directory_);
  if (!written.ok() && written.error().code() != Code::kNotFound) return std::move(written).error();
  std::vector<Descriptor> listed;
  if (written.ok()) {
    STRAKE_TRY(listed, written->find_referrers(image, call));
  }
  add_missing(listed, std::move(referrers));
  STRAKE_TRY(const Descriptor index, writer_.add_index(listed));
  writer_.tag(index, referrers_tag(image));
  return writer_.finish();
}

Result<std::unique_ptr<MeasuringTarget>> MeasuringTarget::for_repository(const Reference& reference,
                                                                         Registries& registries) {
  auto target = std::make_unique<MeasuringTarget>();
  STRAKE_TRY(target->client_, registries.client(reference.registry));
  target->repository_ = reference.repository;
  return target;
}

Result<BlobOutcome> MeasuringTarget::put_blob(const ImageSource&, const Descriptor& descriptor,
                                              const runtime::Call& call) {
  {
    const std::scoped_lock lock(mutex_);
    if (!counted_.insert(descriptor.digest).second) return BlobOutcome::kPresent;
  }
  if (!client_) return BlobOutcome::kWritten;
  STRAKE_TRY(const bool present, client_->has_blob(repository_, descriptor, call));
  return present ? BlobOutcome::kPresent : BlobOutcome::kWritten;
}

Status MeasuringTarget::put_document(const Descriptor&, std::string_view, std::string_view, const runtime::Call&) {
  return {};
}

Status MeasuringTarget::list_referrers(const codec::Digest&, std::vector<Descriptor>, const runtime::Call&) {
  return {};
}

}  // namespace strake::oci
