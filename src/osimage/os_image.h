// OsImage: what is inside an image of an operating system, whatever its form, without unpacking it.
//
//   plain           a container image with a file tree (bootc's own form)
//   ostree-native   a container image whose first layers carry an ostree commit; layers above are merged as the ostree
//                   importer deploys them
//   machine-os-content   the older container image with an archive repository at /srv/repo
//   ostree          a commit of a repository on disk
//
// Names come first and cheap; what files are, and their content, is read when asked for, from the layers that hold it.
// Nothing is believed before its digest or checksum was computed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oci/image_source.h"
#include "osimage/derived_layers.h"
#include "osimage/object_store.h"
#include "osimage/os_tree.h"
#include "stream/aleph.h"

namespace strake::osimage {

enum class Form { kPlain, kOstreeNative, kMachineOsContent, kOstreeRepository };

std::string_view to_string(Form form);

struct OpenOptions {
  oci::BlobCache* cache = nullptr;  ///< nullptr: nothing is written anywhere
  oci::Platform platform = {};
  bool base_only = false;  ///< of an ostree-native image: the commit without the layers above it
};

struct ImageFacts {
  Form form = Form::kPlain;
  std::optional<codec::Digest> digest{};  ///< of the image manifest
  std::optional<oci::Platform> platform{};
  std::map<std::string, std::string> labels{};
  std::size_t layers = 0;
  std::size_t derived_layers = 0;  ///< of an ostree-native image: those above the commit
  std::uint64_t layer_bytes = 0;   ///< compressed, of all layers
  std::optional<ostree::Checksum> commit_checksum{};
  std::optional<ostree::Commit> commit{};
  MergeReport merge{};
  /// Of a repository that is a machine's own: what the machine was installed from; nullopt where it has no such record.
  std::optional<stream::Aleph> aleph{};
  std::string aleph_problem{};  ///< why the record cannot be read; empty: it was, or there is none
};

class OsImage {
 public:
  /// `source` and `runtime` must outlive the image.
  static Result<std::unique_ptr<OsImage>> open(const oci::ImageSource& source, std::string_view reference,
                                               const OpenOptions& options, runtime::Runtime& runtime,
                                               const runtime::Call& call);
  /// `commit`: a ref or a checksum; "" is the only ref.
  static Result<std::unique_ptr<OsImage>> open_repository(const std::filesystem::path& directory,
                                                          std::string_view commit);

  const ImageFacts& facts() const { return facts_; }
  const OsTree& tree() const { return tree_; }

  /// Completes the type, mode, owner, size, target and attributes of every entry.
  Status load_details(const runtime::Call& call);
  /// The same for some of them, by clean path.
  Status load_details(const std::vector<std::string>& paths, const runtime::Call& call);

  struct Found {
    std::string path;  ///< clean; the root is ""
    const OsNode* node = nullptr;
  };
  enum class LastLink { kFollow, kKeep };
  /// Where a path leads. Links are followed inside the tree alone, as after chroot. Where the tree has no /etc but a
  /// /usr/etc, /etc is another name for that. kNotFound names the folder that does exist and what is in it.
  Result<Found> resolve(std::string_view path, LastLink last, const runtime::Call& call);

  /// Everything that fits a pattern (path_pattern.h), in order of names. Its first parts, up to the first that is a
  /// pattern, are followed through links as in resolve(); behind that links are names like others. Below a folder that
  /// fits nothing is looked for: the folder stands for it. Where the text itself is a path that exists, that is meant.
  /// kNotFound when nothing fits.
  Result<std::vector<Found>> match(std::string_view pattern, const runtime::Call& call);

  /// Asked for each content that comes; it may be that of several files. nullptr: not wanted after all. Asked again for
  /// the same when a mirror delivered something else and the layer is read anew: what the last sink got counts.
  using OpenSink = std::function<Result<codec::Sink*>(const std::vector<std::string>& paths)>;
  /// The content of regular files by clean path, each layer read at most once. What the sinks got counts only on
  /// success.
  Status copy_files(const std::vector<std::string>& paths, const OpenSink& open, const runtime::Call& call);
  /// The same without knowing yet which of them are files: returns those that turned out to be symbolic links.
  Result<std::vector<std::string>> copy_files_except_links(const std::vector<std::string>& paths, const OpenSink& open,
                                                           const runtime::Call& call);
  /// What tells content apart without reading it: same layer and offset, same content. nullopt: of an ostree object, or
  /// no file.
  std::optional<std::pair<codec::Digest, std::uint64_t>> content_place(const OsNode& node) const;
  /// One whole file.
  Result<std::string> read_file(const std::string& path, std::size_t max_bytes, const runtime::Call& call);

 private:
  OsImage() = default;
  friend class ImageOpener;

  Status load_nodes(const std::vector<OsNode*>& nodes, const runtime::Call& call);
  Status copy_placed(const std::map<LayerPlace, std::vector<std::string>>& wanted, const OpenSink& open,
                     const runtime::Call& call);
  Error not_found(std::string_view asked, std::string_view folder, std::string_view missing) const;

  ImageFacts facts_;
  OsTree tree_;
  std::uint64_t link_bytes_ = 0;          ///< of link targets that were loaded
  std::unique_ptr<ObjectStore> objects_;  ///< nullptr: a plain image
  // Of images:
  const oci::ImageSource* source_ = nullptr;
  oci::BlobCache* cache_ = nullptr;
  std::optional<oci::Manifest> manifest_;
};

}  // namespace strake::osimage
