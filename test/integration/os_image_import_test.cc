// OS images of every form imported into ostree repositories, beside what ostree and ostree-ext say about the result.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "integration/os_image_fixture.h"
#include "oci/layout.h"
#include "osimage/os_import.h"
#include "support/servers.h"

namespace strake::test {
namespace {

using ostree::ContainerReference;
using ostree::ImportReport;
using ostree::RepositoryMode;
using ostree::RepositoryWriter;
using std::filesystem::path;

class OsImport : public OsImageFixture {
 protected:
  ContainerReference reference(const std::string& name) const {
    return {.transport = ContainerReference::Transport::kOci, .name = images_->layout(name).string() + ":v1"};
  }

  Result<ImportReport> import(const path& repository, RepositoryMode mode, const std::string& name,
                              std::optional<ostree::OwnerMapping> owner = {}) const {
    STRAKE_TRY(const auto writer, RepositoryWriter::create(repository, mode, {.sync = ostree::SyncPolicy::kNever}));
    STRAKE_TRY(const oci::Layout layout, oci::Layout::open(images_->layout(name)));
    STRAKE_TRY(const auto image, osimage::describe_image(layout, "v1", {}, {}));
    return osimage::import_os_image(*writer, layout, nullptr, image, {reference(name), owner}, {});
  }

  /// Of the folder of this test.
  std::string ostree(const path& repository, Lines arguments) const {
    arguments.insert(arguments.begin(), {"ostree", "--repo=" + repository.string()});
    return judged(std::move(arguments));
  }

  /// Every ref of layers and the commit it leads to.
  Lines layer_refs(const path& repository) const {
    Lines lines;
    for (const std::string& ref : lines_of(ostree(repository, {"refs", "--list", "ostree/container/blob"}))) {
      lines.push_back(ref + " " + std::string(trimmed(ostree(repository, {"rev-parse", ref}))));
    }
    std::ranges::sort(lines);
    return lines;
  }

  void pull_with_ostree_ext(const path& repository, const std::string& name) const {
    judged({(*os_image_programs() / "oxt").string(), "container", "image", "pull", repository.string(),
            reference(name).to_string()});
  }
};

TEST_F(OsImport, NativeImagesAreWhatOstreeExtMakesOfThem) {
  for (const char* name : {"single", "chunked"}) {
    for (const RepositoryMode mode : {RepositoryMode::kBareUser, RepositoryMode::kArchive}) {
      SCOPED_TRACE(fmt::format("{} into {}", name, to_string(mode)));
      const path repository = work_ / fmt::format("{}-{}", name, to_string(mode));
      const auto report = import(repository, mode, name);
      ASSERT_TRUE(report.ok()) << report.error().to_string();
      EXPECT_EQ(report->base_commit->hex(), images_->commit());
      ostree(repository, {"fsck", "--quiet"});
      expect_same_lines(lines_of(ostree(repository, {"ls", "-R", "-X", "-C", report->merge_commit.hex()})),
                        lines_of(judged({"ostree", "--repo=bare-user", "ls", "-R", "-X", "-C", kOsBranch})));
      const std::string image = *ostree::image_ref(reference(name));
      EXPECT_EQ(trimmed(ostree(repository, {"rev-parse", image})), report->merge_commit.hex());
      EXPECT_EQ(trimmed(ostree(repository, {"rev-parse", image + "^"})), images_->commit());
    }
    const path theirs = work_ / fmt::format("{}-theirs", name);
    ostree(theirs, {"init", "--mode=bare-user"});
    pull_with_ostree_ext(theirs, name);
    const path ours = work_ / fmt::format("{}-bare-user", name);
    expect_same_lines(layer_refs(ours), layer_refs(theirs));
    EXPECT_NE(ostree(theirs, {"refs"}).find(*ostree::image_ref(reference(name))), std::string::npos);

    // Each goes on from what the other left.
    pull_with_ostree_ext(ours, name);
    const auto again = import(theirs, RepositoryMode::kBareUser, name);
    ASSERT_TRUE(again.ok()) << again.error().to_string();
    EXPECT_TRUE(again->layers_read.empty()) << "the commit could be checked where it lay";
    EXPECT_TRUE(import(theirs, RepositoryMode::kBareUser, name)->was_present);
  }
}

TEST_F(OsImport, DerivedLayersAreMergedToTheSameTree) {
  const path repository = work_ / "repo";
  const auto base = import(repository, RepositoryMode::kBareUser, "chunked");
  ASSERT_TRUE(base.ok()) << base.error().to_string();
  const Lines of_base = layer_refs(repository);
  const auto report = import(repository, RepositoryMode::kBareUser, "derived");
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->layers_read.size(), 1u) << "the layers of the base are there, though buildah compressed them anew";
  EXPECT_EQ(report->dropped.at("opt"), 2u);
  ostree(repository, {"fsck", "--quiet"});
  const std::string merge = report->merge_commit.hex();
  expect_same_lines(lines_of(ostree(repository, {"ls", "-R", "-X", "-C", merge})),
                    lines_of(judged({"ostree", "--repo=merged", "ls", "-R", "-X", "-C", kOsBranch})));
  // What the container stack reads back.
  const std::string digest = ostree(repository, {"show", "--print-metadata-key=ostree.manifest-digest", merge});
  EXPECT_NE(judged({"skopeo", "inspect", "--format={{.Digest}}", "oci:derived:v1"}).find(digest.substr(1, 71)),
            std::string::npos)
      << digest;
  for (const char* key : {"ostree.manifest", "ostree.container.image-config", "ostree.importer.version"}) {
    EXPECT_NE(ostree(repository, {"show", std::string("--print-metadata-key=") + key, merge}), "");
  }
  pull_with_ostree_ext(repository, "derived");
  EXPECT_EQ(trimmed(ostree(repository, {"rev-parse", *ostree::image_ref(reference("derived"))})), merge)
      << "ostree-ext takes the image for what it is";

  // Neither side forgets a layer the images need; without the derived image its own layer goes.
  const Lines before = layer_refs(repository);
  judged(
      {(*os_image_programs() / "oxt").string(), "container", "image", "prune-layers", "--repo=" + repository.string()});
  const auto writer = RepositoryWriter::open(repository);
  ASSERT_TRUE(writer.ok()) << writer.error().to_string();
  EXPECT_TRUE(ostree::remove_unused_layers(**writer)->empty());
  expect_same_lines(layer_refs(repository), before);
  for (const std::string& ref :
       {*ostree::image_ref(reference("derived")), *ostree::checked_image_ref(reference("derived"), {})}) {
    ASSERT_TRUE((*writer)->remove_ref(ref).ok());
  }
  EXPECT_FALSE(ostree::remove_unused_layers(**writer)->empty());
  expect_same_lines(layer_refs(repository), of_base);
}

constexpr const char* kListUnpackedPlain = R"script(set -eu
$BUILDAH from --quiet --signature-policy policy.json --name unpacked-import oci:plain:v1 >&2
cd "$($BUILDAH mount unpacked-import)"
find . -mindepth 1 -printf '%y%#m %U %G %s %P -> %l\n'
)script";

TEST_F(OsImport, PlainImagesAreTheirUnpackedTree) {
  const auto unpacked = images_->run_as_builder(kListUnpackedPlain);
  ASSERT_TRUE(unpacked.ok()) << unpacked.error().to_string();
  Lines theirs;
  for (const std::string& line : lines_of(*unpacked)) {
    const char type = line[0];
    std::string_view rest = std::string_view(line).substr(1);
    const std::string_view mode = take_until(rest, ' '), uid = take_until(rest, ' '), gid = take_until(rest, ' ');
    const std::string_view size = take_until(rest, ' ');
    if (type != 'l') rest.remove_suffix(std::string_view(" -> ").size());
    // The one thing a deployment has elsewhere.
    const bool etc = rest == "etc" || rest.starts_with("etc/");
    theirs.push_back(fmt::format("{}{:0>5} {} {} {:>6} /{}{}", type == 'f' ? '-' : type, mode, uid, gid,
                                 type == 'f' ? size : "0", etc ? "usr/" : "", rest));
  }
  const path repository = work_ / "repo";
  const auto report = import(repository, RepositoryMode::kBareUser, "plain");
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_FALSE(report->base_commit);
  ostree(repository, {"fsck", "--quiet"});
  Lines ours = lines_of(ostree(repository, {"ls", "-R", report->merge_commit.hex()}));
  EXPECT_GT(ours.size(), 40u);
  ours.erase(ours.begin());
  std::ranges::sort(theirs);
  std::ranges::sort(ours);
  expect_same_lines(ours, theirs);
}

/// What an ordinary user's sysroot needs: his own files in a repository of mode bare.
TEST_F(OsImport, AMappedImageIsDeployedByItsOwner) {
  const path sysroot = work_ / "sysroot";
  std::filesystem::create_directory(sysroot);
  judged({"ostree", "admin", "init-fs", "--modern", sysroot.string()});
  judged({"ostree", "admin", "os-init", "--sysroot=" + sysroot.string(), "strake"});
  const path repository = sysroot / "ostree/repo";
  const ostree::OwnerMapping owner{static_cast<std::uint32_t>(::geteuid()), static_cast<std::uint32_t>(::getegid())};
  const auto report = import(repository, RepositoryMode::kBare, "derived", owner);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->image_commit->hex(), images_->commit());
  EXPECT_NE(report->base_commit, report->image_commit);
  ostree(repository, {"fsck", "--quiet"});
  EXPECT_EQ(ostree(repository, {"show", "--print-metadata-key=strake.image-commit", report->base_commit->hex()}),
            fmt::format("'{}'\n", images_->commit()));
  ASSERT_TRUE(write_file_atomic(work_ / "origin", ostree::origin_text(reference("derived")), 0644).ok());
  judged({"env", "OSTREE_SYSROOT_DEBUG=mutable-deployments", "ostree", "admin", "deploy",
          "--sysroot=" + sysroot.string(), "--os=strake", "--karg=root=UUID=x",
          "--origin-file=" + (work_ / "origin").string(), report->merge_commit.hex()});
  const path deployment = sysroot / fmt::format("ostree/deploy/strake/deploy/{}.0", report->merge_commit.hex());
  EXPECT_EQ(*read_file(deployment / "etc/site.conf", 100), "setting = 2\n");
  EXPECT_TRUE(std::filesystem::exists(deployment / fmt::format("usr/lib/modules/{}/vmlinuz", kDerivedOsKernel)));
  EXPECT_NE(read_file(path(deployment.string() + ".origin"), 10'000)
                ->find("container-image-reference=ostree-unverified-image:oci:"),
            std::string::npos);
}

}  // namespace
}  // namespace strake::test
