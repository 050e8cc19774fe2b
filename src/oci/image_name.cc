#include "oci/image_name.h"

#include <algorithm>
#include <array>

#include "oci/docker_archive.h"
#include "oci/file_store.h"
#include "oci/layout.h"

namespace strake::oci {

namespace {

struct TransportPrefix {
  std::string_view prefix;
  Transport transport;
};

constexpr std::array kTransportPrefixes{
    TransportPrefix{"docker://", Transport::kRegistry},
    TransportPrefix{"oci:", Transport::kLayout},
    TransportPrefix{"oci-archive:", Transport::kOciArchive},
    TransportPrefix{"docker-archive:", Transport::kDockerArchive},
};

bool has_transport(std::string_view text) {
  return std::any_of(kTransportPrefixes.begin(), kTransportPrefixes.end(),
                     [&](const TransportPrefix& known) { return text.starts_with(known.prefix); });
}

/// A name without "./" is a registry's. Where a file or folder of that name lies, or an archive's name was given,
/// nobody should have to guess.
Status refuse_forgotten_dot(std::string_view text) {
  if (has_transport(text)) return {};
  const auto [path, name] = split_local_name(text);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  return error(Code::kInvalidArgument,
               "'{0}' is a file or folder here: write ./{0} for it, or docker://{0} for an image of a registry", text);
}

}  // namespace

std::string_view to_string(Transport transport) {
  switch (transport) {
    case Transport::kRegistry: return "docker";
    case Transport::kLayout: return "oci";
    case Transport::kOciArchive: return "oci-archive";
    case Transport::kDockerArchive: return "docker-archive";
  }
  return "unknown";
}

Result<ImageName> parse_image_name(std::string_view text) {
  for (const auto& [prefix, transport] : kTransportPrefixes) {
    if (!text.starts_with(prefix)) continue;
    const std::string_view rest = text.substr(prefix.size());
    if (transport == Transport::kRegistry) {
      STRAKE_TRY(const Reference reference, parse_reference(rest));
      return ImageName{transport, reference.to_string(), ""};
    }
    // A path with a colon in it cannot be told from a name; the tools whose form this is do the same.
    const std::size_t colon = rest.find(':');
    const std::string_view path = rest.substr(0, colon);
    if (path.empty()) return error(Code::kInvalidArgument, "image '{}': a path is missing after '{}'", text, prefix);
    return ImageName{transport, std::string(path),
                     colon == std::string_view::npos ? std::string() : std::string(rest.substr(colon + 1))};
  }
  if (looks_like_path(text)) {
    return error(Code::kInvalidArgument,
                 "image '{0}' looks like a path: write oci:{0}, oci-archive:{0} or docker-archive:{0}", text);
  }
  STRAKE_TRY(const Reference reference, parse_reference(text));
  return ImageName{Transport::kRegistry, reference.to_string(), ""};
}

bool looks_like_path(std::string_view text) {
  return text.starts_with('/') || text.starts_with("./") || text.starts_with("../") || text == "." || text == "..";
}

LocalName split_local_name(std::string_view text) {
  std::error_code failure;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || std::filesystem::exists(text, failure)) return {text, ""};
  return {text.substr(0, colon), std::string(text.substr(colon + 1))};
}

Result<ImageName> find_image_name(std::string_view text) {
  if (!looks_like_path(text)) {
    STRAKE_CHECK_OK(refuse_forgotten_dot(text));
    return parse_image_name(text);
  }
  const auto [path, name] = split_local_name(text);
  std::error_code failure;
  if (std::filesystem::is_directory(path, failure)) return ImageName{Transport::kLayout, path.string(), name};
  if (!std::filesystem::exists(path, failure)) {
    return error(Code::kNotFound, "image '{}': there is no file or folder {}", text, path.string());
  }
  // Archives of recent versions of docker are both; then the one that holds the images as they were pulled is meant.
  STRAKE_TRY_CONTEXT(const std::set<std::string> members, ArchiveFiles::names(path), "image '{}'", text);
  if (members.contains("oci-layout")) return ImageName{Transport::kOciArchive, path.string(), name};
  if (members.contains("manifest.json")) return ImageName{Transport::kDockerArchive, path.string(), name};
  return error(Code::kInvalidArgument,
               "{} is neither an oci-archive (it has no oci-layout) nor a docker-archive (it has no manifest.json)",
               path.string());
}

Result<OpenedImage> open_image(const ImageName& name, Registries& registries) {
  switch (name.transport) {
    case Transport::kRegistry: {
      STRAKE_TRY(Reference reference, parse_reference(name.place));
      STRAKE_TRY(std::unique_ptr<ImageSource> source, RegistrySource::open(std::move(reference), registries));
      return OpenedImage{std::move(source), ""};
    }
    case Transport::kLayout: {
      STRAKE_TRY(Layout layout, Layout::open(name.place));
      return OpenedImage{std::make_unique<Layout>(std::move(layout)), name.name};
    }
    case Transport::kOciArchive: {
      STRAKE_TRY(Layout layout, Layout::open_archive(name.place));
      return OpenedImage{std::make_unique<Layout>(std::move(layout)), name.name};
    }
    case Transport::kDockerArchive: {
      STRAKE_TRY(DockerArchive archive, DockerArchive::open(name.place));
      return OpenedImage{std::make_unique<DockerArchive>(std::move(archive)), name.name};
    }
  }
  return error(Code::kInternal, "unknown transport");
}

}  // namespace strake::oci
