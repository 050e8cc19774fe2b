// ImageTarget: where images go. A registry, or a layout on disk.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "oci/image_source.h"
#include "oci/layout.h"
#include "oci/registry/registry_source.h"

namespace strake::oci {

enum class BlobOutcome { kPresent, kMounted, kWritten };

class ImageTarget {
 public:
  virtual ~ImageTarget() = default;

  virtual std::string description() const = 0;

  /// Brings a blob over unless it is there. Safe to call from several tasks.
  virtual Result<BlobOutcome> put_blob(const ImageSource& from, const Descriptor& descriptor,
                                       const runtime::Call& call) = 0;
  /// A manifest or index whose blobs and manifests are there already. With a tag it becomes visible under that name.
  virtual Status put_document(const Descriptor& descriptor, std::string_view bytes, std::string_view tag,
                              const runtime::Call& call) = 0;
  /// Manifests that are there already and refer to an image are found by whoever asks what does. A registry with an
  /// interface for that knows by itself; elsewhere an index under referrers_tag() lists them, beside what it lists
  /// already.
  virtual Status list_referrers(const codec::Digest& image, std::vector<Descriptor> referrers,
                                const runtime::Call& call) = 0;
};

/// A repository. Blobs of `mount_from`, another repository of the same registry, are not sent but mounted.
class RegistryTarget final : public ImageTarget {
 public:
  static Result<std::unique_ptr<RegistryTarget>> open(const Reference& reference, Registries& registries,
                                                      std::string mount_from = {});

  std::string description() const override;
  Result<BlobOutcome> put_blob(const ImageSource& from, const Descriptor& descriptor,
                               const runtime::Call& call) override;
  Status put_document(const Descriptor& descriptor, std::string_view bytes, std::string_view tag,
                      const runtime::Call& call) override;
  Status list_referrers(const codec::Digest& image, std::vector<Descriptor> referrers,
                        const runtime::Call& call) override;

 private:
  RegistryTarget(std::shared_ptr<RegistryClient> client, std::string repository, std::string mount_from)
      : client_(std::move(client)), repository_(std::move(repository)), mount_from_(std::move(mount_from)) {}

  std::shared_ptr<RegistryClient> client_;
  std::string repository_;
  std::string mount_from_;
};

/// Takes nothing and says what a target would take: blobs of a repository that are there already are found there;
/// without a repository nothing is.
class MeasuringTarget final : public ImageTarget {
 public:
  MeasuringTarget() = default;
  static Result<std::unique_ptr<MeasuringTarget>> for_repository(const Reference& reference, Registries& registries);

  std::string description() const override { return "a dry run"; }
  Result<BlobOutcome> put_blob(const ImageSource& from, const Descriptor& descriptor,
                               const runtime::Call& call) override;
  Status put_document(const Descriptor& descriptor, std::string_view bytes, std::string_view tag,
                      const runtime::Call& call) override;
  Status list_referrers(const codec::Digest& image, std::vector<Descriptor> referrers,
                        const runtime::Call& call) override;

 private:
  std::shared_ptr<RegistryClient> client_;  ///< absent: everything is new
  std::string repository_;
  std::mutex mutex_;
  std::set<codec::Digest> counted_;
};

/// A layout folder, new or with images in it already; images of other names stay. A copy that died goes on where it
/// ended.
class LayoutTarget final : public ImageTarget {
 public:
  static Result<std::unique_ptr<LayoutTarget>> open(const std::filesystem::path& directory, runtime::Runtime& runtime);

  std::string description() const override;
  Result<BlobOutcome> put_blob(const ImageSource& from, const Descriptor& descriptor,
                               const runtime::Call& call) override;
  Status put_document(const Descriptor& descriptor, std::string_view bytes, std::string_view tag,
                      const runtime::Call& call) override;
  Status list_referrers(const codec::Digest& image, std::vector<Descriptor> referrers,
                        const runtime::Call& call) override;

 private:
  LayoutTarget(std::filesystem::path directory, LayoutWriter writer, runtime::Runtime& runtime)
      : directory_(std::move(directory)), writer_(std::move(writer)), runtime_(runtime) {}

  std::filesystem::path directory_;
  LayoutWriter writer_;
  runtime::Runtime& runtime_;
};

}  // namespace strake::oci
