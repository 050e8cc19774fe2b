// One small operating system in every form OS images come in, built by the programs that build them in the world:
// ostree, ostree-ext, buildah, rpm.
//
//   repositories   the tree as an ostree commit, in a bare-user and in an archive repository
//   single         the commit in one layer, as `ostree container encapsulate` writes it
//   chunked        the commit in several layers, by components
//   derived        chunked, and a layer on top that adds, replaces and removes files
//   merged         a repository with what ostree-ext makes of the derived image
//   plain          no ostree: two layers, the second of which removes files; packages of dpkg
//   machine-os     machine-os-content: an archive repository in a container
//
// Nothing here depends on a test framework.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "support/rpm_database.h"
#include "support/temp_dir.h"

namespace strake::test {

inline constexpr const char* kOsVersion = "43.20260101.0";
inline constexpr const char* kOsKernel = "6.12.0-55.el10.x86_64";
inline constexpr const char* kDerivedOsKernel = "6.12.0-99.el10.x86_64";
inline constexpr const char* kOsBranch = "testos/x86_64/stable";

class OsImages {
 public:
  static Result<std::unique_ptr<OsImages>> build();

  ~OsImages();
  OsImages(const OsImages&) = delete;
  OsImages& operator=(const OsImages&) = delete;

  std::filesystem::path folder() const { return directory_.path(); }
  const std::string& commit() const { return commit_; }

  std::filesystem::path bare_user_repository() const { return folder() / "bare-user"; }
  std::filesystem::path archive_repository() const { return folder() / "archive"; }
  /// An OCI layout with one image, "v1": single, chunked, derived, plain or machine-os.
  std::filesystem::path layout(const std::string& name) const { return folder() / name; }

  /// The databases that are in the images, as rpm and dpkg know them.
  RpmDatabase rpm_database() const { return RpmDatabase(folder() / "rpm"); }
  RpmDatabase derived_rpm_database() const { return RpmDatabase(folder() / "rpm-derived"); }
  std::filesystem::path dpkg_folder() const { return folder() / "dpkg"; }

  /// Runs ostree, skopeo, buildah, oxt (the command line of ostree-ext) or another judge in folder(), seeing nothing of
  /// the caller's environment. Anything but success is an error.
  Result<std::string> run(std::vector<std::string> argv) const;

  /// The same for a shell script that sees container storage as root does, with arguments from $1 on; `$BUILDAH` is
  /// buildah with a storage of its own.
  Result<std::string> run_as_builder(const std::string& script, std::vector<std::string> arguments = {}) const;

 private:
  OsImages() = default;
  Status prepare();
  Status write_package_databases();
  Status write_trees();
  Status write_repositories();
  Status encapsulate();
  Status build_containers();
  Status merge_layers();
  Result<std::string> content_meta() const;

  TempDir directory_;
  std::string commit_;
  std::string oxt_;
};

/// Those that all suites of a test program share; built by the first call.
Result<const OsImages*> shared_os_images();

}  // namespace strake::test
