// Small OS images for tests, in every form, made of one list of files.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "oci/layout.h"
#include "oci/testing/sample_image.h"
#include "ostree/testing/sample_tree.h"

namespace strake::osimage::testing {

using ostree::testing::SampleFile;
using ostree::testing::SampleTree;

/// How the attributes of files are kept in a layer: writers of ostree-ext differ.
enum class XattrForm { kBesideEachFile, kShared };

/// The metadata objects; with `files` also those, as in an image that is not chunked.
std::vector<oci::testing::TarItem> commit_layer(const SampleTree& tree, bool files = false,
                                                XattrForm form = XattrForm::kBesideEachFile);
/// The file objects: every `of`-th, beginning at `part`.
std::vector<oci::testing::TarItem> chunk_layer(const SampleTree& tree, std::size_t part, std::size_t of,
                                               XattrForm form = XattrForm::kBesideEachFile);
/// An archive repository at /srv/repo.
std::vector<oci::testing::TarItem> archive_layer(const SampleTree& tree);

struct SampleImage {
  std::vector<std::string> layers;  ///< uncompressed tars
  std::map<std::string, std::string> labels{};
};

/// Commit layer, `chunks` chunk layers and the labels that go with them.
SampleImage native_image(const SampleTree& tree, std::size_t chunks, XattrForm form = XattrForm::kBesideEachFile);

/// Into a layout, as "os"; aborts the test program when the disk refuses.
oci::Descriptor write_image(const std::filesystem::path& directory, const SampleImage& image);

}  // namespace strake::osimage::testing
