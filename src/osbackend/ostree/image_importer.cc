#include "osbackend/ostree/image_importer.h"

#include "osimage/os_import.h"

namespace strake::osbackend {

Result<DeployableImage> ContainerImporter::import(const ImageReference& image, const std::filesystem::path& repository,
                                                  const ProgressSink& progress, const runtime::Call& call) {
  const std::string named = fmt::format("OS image {}", image.to_string());
  if (progress) progress({"looking for the OS image", 0, 0});
  STRAKE_TRY_CONTEXT(const std::unique_ptr<oci::ImageSource> source, options_.open(image, call), "{}", named);
  STRAKE_TRY_CONTEXT(const osimage::FetchedImage fetched,
                     osimage::describe_image(*source, image.digest().to_string(), options_.platform, call), "{}",
                     named);
  ostree::WriterOptions writing;
  writing.sync = options_.durable ? ostree::SyncPolicy::kBeforeRefs : ostree::SyncPolicy::kNever;
  STRAKE_TRY(const auto writer, ostree::RepositoryWriter::open(repository, writing));
  ostree::ImportOptions importing;
  importing.reference = {.transport = ostree::ContainerReference::Transport::kRegistry, .name = image.to_string()};
  importing.owner = options_.owner;
  importing.now = runtime_.wall_now();
  if (progress) progress({"importing the OS image", 0, 0});
  STRAKE_TRY_CONTEXT(const ostree::ImportReport report,
                     osimage::import_os_image(*writer, *source, nullptr, fetched, importing, call), "{}", named);
  return DeployableImage{report.merge_commit.hex(), ostree::origin_text(importing.reference)};
}

}  // namespace strake::osbackend
