#include "cmd/input/os_images.h"

#include <filesystem>

#include "cmd/input/release_input.h"

namespace strake::cmd {

namespace {

constexpr std::string_view kRepositoryPrefix = "ostree:";
constexpr std::string_view kReleasePrefix = "release:";

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

Result<release::PlacedImage> place_component(ImageAccess& access, const release::ReleasePlace& place,
                                             const release::Component& component) {
  return place.find_image(component.pull_spec, release::Search::kEverywhere, access.call())
      .context("{} ({})", component.tag, component.pull_spec);
}

Result<ImageAccess::Opened> open_image_of_release(ImageAccess& access, std::string_view text) {
  const std::size_t hash = text.rfind('#');
  STRAKE_TRY(std::shared_ptr<const release::ReleasePlace> place, open_release(access, text.substr(0, hash)));
  STRAKE_TRY(const release::ReleasePayload payload, read_release(access, *place));
  const release::OsStream* stream = payload.find_stream(payload.default_stream);
  const std::string tag = hash == std::string_view::npos ? stream->image.tag : std::string(text.substr(hash + 1));
  STRAKE_TRY(const release::Component* component, blocked_when_absent(payload.component(tag)));
  STRAKE_TRY(const release::PlacedImage image, place_component(access, *place, *component));
  access.keep(std::move(place));
  return ImageAccess::Opened{image.source, image.entry.digest.to_string(), {}};
}

}  // namespace

Result<std::unique_ptr<osimage::OsImage>> open_component_os(ImageAccess& access, const release::ReleasePlace& place,
                                                            const release::Component& component) {
  STRAKE_TRY(const release::PlacedImage image, place_component(access, place, component));
  const osimage::OpenOptions options{.cache = access.cache(), .platform = access.platform()};
  return osimage::OsImage::open(*image.source, image.entry.digest.to_string(), options, access.runtime(), access.call())
      .context("{} ({})", component.tag, component.pull_spec);
}

Result<std::unique_ptr<osimage::OsImage>> open_os_image(ImageAccess& access, const Invocation& invocation,
                                                        std::string_view image) {
  if (image.starts_with(kRepositoryPrefix)) {
    const RepositoryName name = parse_repository_name(image.substr(kRepositoryPrefix.size()));
    return osimage::OsImage::open_repository(name.directory, name.commit);
  }
  const bool of_release = image.starts_with(kReleasePrefix);
  STRAKE_TRY(const ImageAccess::Opened opened,
             of_release ? open_image_of_release(access, image.substr(kReleasePrefix.size())) : access.open(image));
  const osimage::OpenOptions options{
      .cache = access.cache(), .platform = access.platform(), .base_only = invocation.is_set("base")};
  return osimage::OsImage::open(*opened.source, opened.reference, options, access.runtime(), access.call())
      .context("{}", image);
}

}  // namespace strake::cmd
