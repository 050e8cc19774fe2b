// An OCI image layout on disk (oci-layout, index.json, blobs/): reading with every byte checked, and writing
// deterministically.
//
// Nothing read from a layout is believed before its size and digest were checked against the descriptor that names it;
// the chain starts at index.json, whose own trust (a signature, a digest given by the user) is the caller's matter.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "codec/stream.h"
#include "oci/manifest.h"

namespace strake::oci {

/// A blob being read. Hashes what passes; the read that meets the end answers kCorrupt instead of 0 when size or digest
/// differ. So content may be used only once the source has ended well.
class BlobSource final : public codec::Source {
 public:
  BlobSource(Fd fd, std::string name, Descriptor expected);
  Result<std::size_t> read(std::span<std::byte> into) override;
  /// Reads what is left and checks it.
  Status finish();

 private:
  Error refuse(Error why);

  Fd fd_;
  std::string name_;
  Descriptor expected_;
  codec::FdSource file_;
  codec::Hasher hasher_;
  std::uint64_t bytes_read_ = 0;
  bool ended_ = false;
  std::optional<Error> refused_;
};

class Layout {
 public:
  static Result<Layout> open(std::filesystem::path directory);

  const std::filesystem::path& directory() const { return directory_; }
  const Index& index() const { return index_; }

  /// The entry of index.json with this ref.name annotation or digest; "" means the only entry. kNotFound lists what
  /// there is.
  Result<Descriptor> find_entry(std::string_view reference) const;

  /// The same, followed through indexes to the image manifest for a platform.
  Result<Descriptor> resolve(std::string_view reference, const Platform& platform = {}) const;

  Result<Manifest> read_manifest(const Descriptor& descriptor) const;
  Result<ImageConfig> read_config(const Manifest& manifest) const;

  Result<std::unique_ptr<BlobSource>> open_blob(const Descriptor& descriptor) const;
  /// A whole blob, checked; kExhausted above `max_bytes`.
  Result<std::string> read_blob(const Descriptor& descriptor, std::size_t max_bytes) const;
  /// Reads the blob to its end and only says whether it is what it should be.
  Status verify_blob(const Descriptor& descriptor) const;

 private:
  Layout(std::filesystem::path directory, Index index) : directory_(std::move(directory)), index_(std::move(index)) {}

  std::filesystem::path directory_;
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

  Result<Descriptor> add_blob(std::string_view media_type, std::string_view bytes);
  /// Layers (gzip), config and manifest of an image; the descriptor names its manifest and platform.
  Result<Descriptor> add_image(const ImageSpec& spec);
  Result<Descriptor> add_index(const std::vector<Descriptor>& manifests);
  /// Lists the descriptor in index.json under a ref.name.
  void tag(Descriptor descriptor, std::string_view ref_name);

  Status finish();

 private:
  explicit LayoutWriter(std::filesystem::path directory) : directory_(std::move(directory)) {}

  std::filesystem::path directory_;
  std::vector<Descriptor> entries_;
};

}  // namespace strake::oci
