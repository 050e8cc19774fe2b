// An OCI image layout (oci-layout, index.json, blobs/), as a folder or as a tar archive: reading with every byte
// checked, and writing deterministically.
//
// The chain of digests starts at index.json, whose own trust (a signature, a digest given by the user) is the caller's
// matter.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "oci/image_source.h"

namespace strake::oci {

class FileStore;

class Layout final : public ImageSource {
 public:
  static Result<Layout> open(const std::filesystem::path& directory);
  /// "oci-archive": a layout packed into a tar, which may be compressed.
  static Result<Layout> open_archive(const std::filesystem::path& archive);

  /// One that lies somewhere else, such as in a folder of an archive.
  static Result<Layout> open_in(std::shared_ptr<const FileStore> files);

  /// The folder, or the archive.
  const std::filesystem::path& directory() const { return directory_; }
  const Index& index() const { return index_; }

  std::string description() const override;
  /// Entries of index.json with this ref.name annotation or digest; kNotFound lists what there is.
  Result<std::vector<Descriptor>> find_entries(std::string_view reference,
                                               const runtime::Call& call = {}) const override;
  Result<std::unique_ptr<BlobSource>> open_blob(const Descriptor& descriptor,
                                                const runtime::Call& call = {}) const override;

 private:
  Layout(std::filesystem::path directory, std::shared_ptr<const FileStore> files, Index index);
  static Result<Layout> read(std::filesystem::path directory, std::shared_ptr<const FileStore> files);

  std::filesystem::path directory_;
  std::shared_ptr<const FileStore> files_;
  Index index_;
};

/// What goes into one image; the same spec always gives the same bytes.
struct ImageSpec {
  Platform platform;
  std::map<std::string, std::string> labels;
  std::string created = "1970-01-01T00:00:00Z";
  std::vector<std::string> layers;  ///< uncompressed tar streams, lowest first
};

/// Writes a layout. index.json comes last, so that a reader never meets an entry whose blobs are not there yet.
class LayoutWriter {
 public:
  /// Creates the directory when needed. An index.json already there is replaced by finish().
  static Result<LayoutWriter> create(std::filesystem::path directory);
  /// The same, but what index.json lists already stays.
  static Result<LayoutWriter> extend(std::filesystem::path directory);

  Result<Descriptor> add_blob(std::string_view media_type, std::string_view bytes);
  /// Layers (gzip), config and manifest of an image; the descriptor names its manifest and platform.
  Result<Descriptor> add_image(const ImageSpec& spec);
  Result<Descriptor> add_index(const std::vector<Descriptor>& manifests);
  /// Lists the descriptor in index.json under a ref.name, in place of what had that name.
  void tag(Descriptor descriptor, std::string_view ref_name);

  Status finish();

 private:
  explicit LayoutWriter(std::filesystem::path directory) : directory_(std::move(directory)) {}

  std::filesystem::path directory_;
  std::vector<Descriptor> entries_;
};

}  // namespace strake::oci
