#include "cmd/os_images.h"

#include <filesystem>

namespace strake::cmd {

namespace {

constexpr std::string_view kRepositoryPrefix = "ostree:";

struct RepositoryName {
  std::string directory;
  std::string commit;
};

/// A colon may belong to the folder's name or to the ref's: the folder is the first that exists.
RepositoryName parse_repository_name(std::string_view text) {
  const std::size_t first = text.find(':');
  for (std::size_t colon = first; colon != std::string_view::npos; colon = text.find(':', colon + 1)) {
    std::error_code ignored;
    const std::string directory(text.substr(0, colon));
    if (std::filesystem::is_directory(directory, ignored)) return {directory, std::string(text.substr(colon + 1))};
  }
  std::error_code ignored;
  if (first == std::string_view::npos || std::filesystem::is_directory(std::string(text), ignored)) {
    return {std::string(text), ""};
  }
  return {std::string(text.substr(0, first)), std::string(text.substr(first + 1))};
}

}  // namespace

Result<std::unique_ptr<osimage::OsImage>> open_os_image(ImageAccess& access, const Invocation& invocation,
                                                        std::string_view image) {
  if (image.starts_with(kRepositoryPrefix)) {
    const RepositoryName name = parse_repository_name(image.substr(kRepositoryPrefix.size()));
    return osimage::OsImage::open_repository(name.directory, name.commit);
  }
  STRAKE_TRY(const ImageAccess::Opened opened, access.open(image));
  const osimage::OpenOptions options{
      .cache = access.cache(), .platform = access.platform(), .base_only = invocation.is_set("base")};
  return osimage::OsImage::open(*opened.source, opened.reference, options, access.runtime(), access.call())
      .context("{}", image);
}

}  // namespace strake::cmd
