// Brings an OS image into the repository of a sysroot, ready to be deployed.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/progress.h"
#include "oci/image_source.h"
#include "osbackend/image_reference.h"
#include "ostree/owner_mapping.h"

namespace strake::osbackend {

struct DeployableImage {
  std::string commit;
  std::string origin;  ///< the text of the origin file its deployment gets
};

class ImageImporter {
 public:
  virtual ~ImageImporter() = default;
  virtual Result<DeployableImage> import(const ImageReference& image, const std::filesystem::path& repository,
                                         const ProgressSink& progress, const runtime::Call& call) = 0;
};

/// From wherever container images are kept; every byte is checked against the digest in the reference.
class ContainerImporter final : public ImageImporter {
 public:
  /// Where an image is; it is looked for there by its digest.
  using Open =
      std::function<Result<std::unique_ptr<oci::ImageSource>>(const ImageReference& image, const runtime::Call& call)>;

  struct Options {
    Open open;
    oci::Platform platform{};                   ///< of this machine
    std::optional<ostree::OwnerMapping> owner;  ///< where files can be given to nobody else
    bool durable = true;
  };
  ContainerImporter(runtime::Runtime& runtime, Options options) : runtime_(runtime), options_(std::move(options)) {}

  Result<DeployableImage> import(const ImageReference& image, const std::filesystem::path& repository,
                                 const ProgressSink& progress, const runtime::Call& call) override;

 private:
  runtime::Runtime& runtime_;
  Options options_;
};

}  // namespace strake::osbackend
