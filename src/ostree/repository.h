// Repository: an ostree repository on disk, read only.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "ostree/tree.h"

namespace strake::ostree {

/// How a repository keeps files; metadata objects look the same in all of them.
enum class RepositoryMode {
  kBare,             ///< as they are, owners and attributes included
  kBareUser,         ///< owner, mode and attributes in an attribute of the file; links are files
  kBareUserOnly,     ///< no owners and no attributes at all
  kBareSplitXattrs,  ///< as bare, the attributes in a file beside it
  kArchive,          ///< header and compressed content in one file
};

std::string_view to_string(RepositoryMode mode);
/// As the repository's config names it.
Result<RepositoryMode> parse_repository_mode(std::string_view name);
/// The mode of a repository with this `config` file.
Result<RepositoryMode> parse_repository_config(std::string_view text);

/// "objects/44/f778....filez": where a repository of that mode keeps an object.
std::string object_path(RepositoryMode mode, ObjectType type, const Checksum& checksum);

class Repository final : public MetadataSource {
 public:
  /// kNotFound, naming what is missing, when the folder is none.
  static Result<Repository> open(const std::filesystem::path& directory);

  const std::filesystem::path& directory() const { return directory_; }
  RepositoryMode mode() const { return mode_; }

  /// "fedora/x86_64/coreos/stable", "remote:name".
  Result<std::map<std::string, Checksum>> refs() const;
  /// A ref or a checksum; "" is the only ref there is. kNotFound names those that exist.
  Result<Checksum> resolve(std::string_view name) const;

  Result<std::string> load_metadata(ObjectType type, const Checksum& checksum) const override;
  /// Not compared with the checksum: that would need the content. kNotFound when the object is missing.
  Result<FileInfo> read_file_info(const Checksum& checksum) const;
  /// The content of a file, compared with its checksum. `sink` may have got anything unless this succeeds.
  Status copy_file(const Checksum& checksum, codec::Sink& sink) const;

 private:
  Repository(std::filesystem::path directory, RepositoryMode mode) : directory_(std::move(directory)), mode_(mode) {}

  struct OpenedFile {
    Fd fd;  ///< of a link: none
    FileInfo info;
  };
  Result<OpenedFile> open_object(const Checksum& checksum) const;
  Result<OpenedFile> open_bare(const std::filesystem::path& path, const Checksum& checksum) const;

  std::filesystem::path directory_;
  RepositoryMode mode_;
};

}  // namespace strake::ostree
