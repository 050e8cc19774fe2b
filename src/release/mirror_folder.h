// A mirror as a folder, or as a tar of that folder to be carried across an air gap:
//
//   strake-mirror.json       the index of ours: releases, and which repository lies where
//   images/NAME/             one OCI layout a repository; skopeo reads it as oci:images/NAME:TAG
//
// A folder may hold several releases; what they share is there once.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oci/file_store.h"
#include "oci/image_target.h"
#include "release/release_place.h"

namespace strake::release {

struct MirroredRelease {
  std::string version;
  std::string digest;
  std::string repository;  ///< registry/repository by which it is pulled
  std::string tag;         ///< in the layout of that repository
  /// Who had signed it when it was copied, or "unsigned"; "" where nobody wrote it down. Said, and never believed.
  std::string signature = {};

  bool operator==(const MirroredRelease&) const = default;
};

struct MirrorIndex {
  std::vector<MirroredRelease> releases;            ///< sorted by tag
  std::map<std::string, std::string> repositories;  ///< registry/repository to folder below the mirror

  bool operator==(const MirrorIndex&) const = default;
};

inline constexpr std::string_view kMirrorIndexFile = "strake-mirror.json";
inline constexpr std::size_t kMaxMirrorIndexBytes = 8u << 20;

Result<MirrorIndex> parse_mirror_index(std::string_view text);
std::string write_mirror_index(const MirrorIndex& index);

/// Whether a folder or an archive has the index.
bool is_mirror(const oci::FileStore& files);

/// `release`: version, tag or digest; "" for the only one. kNotFound lists those there are.
Result<std::unique_ptr<ReleasePlace>> open_mirror(std::shared_ptr<const oci::FileStore> files,
                                                  std::string_view release);

/// A mirror being written; one writer at a time.
class MirrorWriter {
 public:
  /// Creates the folder, or goes on with it.
  static Result<std::unique_ptr<MirrorWriter>> open(std::filesystem::path folder, runtime::Runtime& runtime);

  Result<oci::ImageTarget*> target(const std::string& repository);
  /// After everything of it was written.
  Status add_release(MirroredRelease release);

 private:
  MirrorWriter(std::filesystem::path folder, runtime::Runtime& runtime)
      : folder_(std::move(folder)), runtime_(runtime) {}
  Status save() const;

  std::filesystem::path folder_;
  runtime::Runtime& runtime_;
  MirrorIndex index_;
  std::map<std::string, std::unique_ptr<oci::ImageTarget>> targets_;
};

/// The files of a folder as a tar: sorted, without times and owners, so that the same mirror is the same archive.
Status pack_folder(const std::filesystem::path& folder, const std::filesystem::path& archive);

}  // namespace strake::release
