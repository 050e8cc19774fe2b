// Images as people name them on a command line, and the source that stands behind such a name.
//
//   quay.io/org/os:4.20, docker://quay.io/org/os@sha256:...     a registry
//   oci:FOLDER[:NAME]   oci-archive:FILE[:NAME]   docker-archive:FILE[:NAME]
//   ./FOLDER[:NAME]     ./FILE[:NAME]                           the same; which of them it is, is seen by looking
//
// The forms with a transport are those of skopeo and podman.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "oci/registry/registry_source.h"

namespace strake::oci {

enum class Transport { kRegistry, kLayout, kOciArchive, kDockerArchive };

std::string_view to_string(Transport transport);

struct ImageName {
  Transport transport = Transport::kRegistry;
  std::string place;  ///< the reference of a registry, else a path
  std::string name;   ///< which image at that path; empty: the only one

  bool operator==(const ImageName&) const = default;
};

/// A text without a transport is a registry's; one that looks like a path is refused with what to write instead.
Result<ImageName> parse_image_name(std::string_view text);

/// Whether a text is a path and nothing else: it begins with "/", "./" or "../", or is "." or "..".
bool looks_like_path(std::string_view text);

struct LocalName {
  std::filesystem::path path;
  std::string name;  ///< empty: none was given
};
/// "./PATH[:NAME]" taken apart by looking: what exists under the whole text is meant; only then may a colon separate a
/// name.
LocalName split_local_name(std::string_view text);

/// The same as parse_image_name(), but a path is looked at: a folder is a layout, a file one of the archives. A name
/// without "./" under which a file or folder lies is refused, as nobody can tell what is meant.
Result<ImageName> find_image_name(std::string_view text);

struct OpenedImage {
  std::unique_ptr<ImageSource> source;
  std::string reference;  ///< for find_entries() and resolve()
};

Result<OpenedImage> open_image(const ImageName& name, Registries& registries);

}  // namespace strake::oci
