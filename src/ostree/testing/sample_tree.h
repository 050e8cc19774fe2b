// Small commits for tests: objects made of a list of files, and a repository on disk that holds them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ostree/tree.h"

namespace strake::ostree::testing {

struct SampleFile {
  std::string path;  ///< its folders are made; one that ends in "/" is a folder
  std::string content{};
  std::string symlink_target{};
  std::uint32_t mode = 0644;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  Xattrs xattrs{};
};

class SampleTree final : public MetadataSource {
 public:
  struct Stored {
    FileInfo info;
    std::string content;
  };

  /// `metadata`: texts of the commit's own metadata.
  explicit SampleTree(const std::vector<SampleFile>& files,
                      const std::map<std::string, std::string>& metadata = {{"version", "1.0"}});

  const Checksum& commit() const { return *commit_; }
  Result<std::string> load_metadata(ObjectType type, const Checksum& checksum) const override;

  std::map<std::pair<ObjectType, Checksum>, std::string> metadata;
  std::map<Checksum, Stored> files;

 private:
  Checksum add(ObjectType type, std::string bytes);
  std::optional<Checksum> commit_;
};

/// ".filez" of a file.
std::string archived(const SampleTree::Stored& file);

/// An archive repository with one ref; aborts the test program when the disk refuses.
void write_archive_repository(const std::filesystem::path& directory, const SampleTree& tree, const std::string& ref);

}  // namespace strake::ostree::testing
