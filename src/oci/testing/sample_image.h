// Small images for tests: layers from lists of entries, and layouts with them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "codec/tar.h"
#include "oci/layout.h"

namespace strake::oci::testing {

struct TarItem {
  codec::TarEntry entry;
  std::string content = {};
};

TarItem tar_file(std::string path, std::string content);
TarItem tar_folder(std::string path);
TarItem tar_link(codec::TarEntryType type, std::string path, std::string target);

/// An uncompressed layer.
std::string make_layer(const std::vector<TarItem>& items);

/// Bytes that do not compress, the same for the same seed.
std::string noise(std::size_t size, std::uint64_t seed);

/// An image of these layers in a layout, under a tag; aborts the test program when the disk refuses.
Descriptor write_image(const std::filesystem::path& directory, const std::string& tag,
                       const std::vector<std::string>& layers, const Platform& platform = {});
/// An index over images for several architectures, each with one layer that says which.
Descriptor write_multi_platform_image(const std::filesystem::path& directory, const std::string& tag,
                                      const std::vector<std::string>& architectures);

}  // namespace strake::oci::testing
