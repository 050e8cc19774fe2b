#include "osimage/testing/sample_os.h"

#include "ostree/repository.h"

namespace strake::osimage::testing {

namespace {

using oci::testing::tar_file;
using oci::testing::tar_link;
using oci::testing::TarItem;
using ostree::Checksum;
using ostree::ObjectType;
using ostree::RepositoryMode;

constexpr std::string_view kNativeRepository = "sysroot/ostree/repo/";

std::string native_path(ObjectType type, const Checksum& checksum) {
  return std::string(kNativeRepository) + ostree::object_path(RepositoryMode::kBareSplitXattrs, type, checksum);
}

void add_native_file(std::vector<TarItem>& items, const Checksum& checksum, const SampleTree::Stored& file,
                     XattrForm form) {
  const std::string path = native_path(ObjectType::kFile, checksum);
  const std::string xattrs = ostree::serialize_xattrs(file.info.xattrs);
  if (form == XattrForm::kShared) {
    const std::string shared = native_path(ObjectType::kFile, Checksum::of(xattrs)) + "-xattrs";
    items.push_back(tar_file(shared, xattrs));
    items.push_back(tar_link(codec::TarEntryType::kHardLink, path + "-xattrs-link", shared));
  } else {
    items.push_back(tar_file(path + "-xattrs-link", xattrs));
  }
  TarItem item = file.info.is_symlink() ? tar_link(codec::TarEntryType::kSymlink, path, file.info.symlink_target)
                                        : tar_file(path, file.content);
  item.entry.uid = file.info.uid;
  item.entry.gid = file.info.gid;
  item.entry.mode = file.info.mode & 07777;
  items.push_back(std::move(item));
}

}  // namespace

std::vector<TarItem> commit_layer(const SampleTree& tree, bool files, XattrForm form) {
  std::vector<TarItem> items = {
      tar_file(std::string(kNativeRepository) + "config", "[core]\nrepo_version=1\nmode=bare-split-xattrs\n")};
  for (const auto& [key, bytes] : tree.metadata) items.push_back(tar_file(native_path(key.first, key.second), bytes));
  if (files) {
    for (const auto& [checksum, file] : tree.files) add_native_file(items, checksum, file, form);
  }
  return items;
}

std::vector<TarItem> chunk_layer(const SampleTree& tree, std::size_t part, std::size_t of, XattrForm form) {
  // A container runtime sees the file by this hard link; an importer must not.
  std::vector<TarItem> items;
  std::size_t number = 0;
  for (const auto& [checksum, file] : tree.files) {
    if (number++ % of != part) continue;
    add_native_file(items, checksum, file, form);
    items.push_back(tar_link(codec::TarEntryType::kHardLink, fmt::format("usr/checkout-{}", number),
                             native_path(ObjectType::kFile, checksum)));
  }
  return items;
}

std::vector<TarItem> archive_layer(const SampleTree& tree) {
  std::vector<TarItem> items = {tar_file("srv/repo/config", "[core]\nrepo_version=1\nmode=archive-z2\n"),
                                tar_file("pkglist.txt", "bash\n")};
  for (const auto& [key, bytes] : tree.metadata) {
    items.push_back(
        tar_file("srv/repo/" + ostree::object_path(RepositoryMode::kArchive, key.first, key.second), bytes));
  }
  for (const auto& [checksum, file] : tree.files) {
    items.push_back(tar_file("srv/repo/" + ostree::object_path(RepositoryMode::kArchive, ObjectType::kFile, checksum),
                             ostree::testing::archived(file)));
  }
  return items;
}

SampleImage native_image(const SampleTree& tree, std::size_t chunks, XattrForm form) {
  SampleImage image;
  image.layers.push_back(oci::testing::make_layer(commit_layer(tree, chunks == 0, form)));
  for (std::size_t i = 0; i < chunks; ++i) {
    image.layers.push_back(oci::testing::make_layer(chunk_layer(tree, i, chunks, form)));
  }
  image.labels = {{"ostree.commit", tree.commit().hex()},
                  {"ostree.final-diffid", codec::Digest::sha256_of(image.layers.back()).to_string()},
                  {"containers.bootc", "1"},
                  {"ostree.bootable", "true"}};
  return image;
}

oci::Descriptor write_image(const std::filesystem::path& directory, const SampleImage& image) {
  auto writer = oci::LayoutWriter::extend(directory);
  STRAKE_INVARIANT(writer.ok());
  oci::ImageSpec spec;
  spec.labels = image.labels;
  spec.layers = image.layers;
  const auto descriptor = writer->add_image(spec);
  STRAKE_INVARIANT(descriptor.ok());
  writer->tag(*descriptor, "os");
  STRAKE_INVARIANT(writer->finish().ok());
  return *descriptor;
}

}  // namespace strake::osimage::testing
