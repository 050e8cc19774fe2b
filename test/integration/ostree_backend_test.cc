// A machine in a folder with a real ostree sysroot: real OS images imported, deployed, "booted", left again. ostree's
// own program says what it sees.
#include "osbackend/ostree/ostree_backend.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/fd.h"
#include "integration/os_image_fixture.h"
#include "oci/layout.h"

namespace strake::test {
namespace {

using osbackend::ImageReference;
using osbackend::OsTarget;
using std::filesystem::path;

const runtime::Call kCall{};
const Lines kMachine{"root=UUID=1", "rw", "console=ttyS0"};

class OstreeMachine : public OsImageFixture {
 protected:
  void SetUp() override {
    OsImageFixture::SetUp();
    // Deployments are made unchangeable where the system allows it, and then no test could clean up.
    ::setenv("OSTREE_SYSROOT_DEBUG", "mutable-deployments", 1);
    std::filesystem::create_directories(work_ / "notes");
    ASSERT_TRUE(sysroot::Sysroot::create(root_, "strake").ok());
    auto opened = sysroot::Sysroot::open(root_, {.durable = false});
    ASSERT_TRUE(opened.ok()) << opened.error().to_string();
    sysroot_.emplace(*std::move(opened));
    importer_.emplace(runtime_, importing());
    // As an installer does it: the first deployment has nothing to go on from.
    const auto image = importer_->import(image_of("chunked"), sysroot_->repository(), {}, kCall);
    ASSERT_TRUE(image.ok()) << image.error().to_string();
    ASSERT_TRUE(sysroot_->deploy({"strake", image->commit, image->origin, kMachine, {}, {}}, kCall).ok());
    boot();
  }

  osbackend::ContainerImporter::Options importing() {
    osbackend::ContainerImporter::Options options;
    options.open = [this](const ImageReference& image,
                          const runtime::Call&) -> Result<std::unique_ptr<oci::ImageSource>> {
      ++fetches_;
      const path folder = override_ ? *override_ : images_->layout(image.name().substr(image.name().rfind('/') + 1));
      STRAKE_TRY(oci::Layout layout, oci::Layout::open(folder));
      return std::unique_ptr<oci::ImageSource>(std::make_unique<oci::Layout>(std::move(layout)));
    };
    // As an ordinary user would: everything belongs to whoever runs this.
    options.owner = ostree::OwnerMapping{::geteuid(), ::getegid()};
    options.durable = false;
    return options;
  }
  ImageReference image_of(const std::string& name) {
    const auto layout = oci::Layout::open(images_->layout(name));
    return *ImageReference::parse("registry.example/" + name + "@" + layout->resolve("v1")->digest.to_string());
  }
  /// A new one each time: nothing may depend on what a process remembers.
  osbackend::OstreeBackend backend() { return {*sysroot_, *importer_, boot_, tree_}; }
  void boot() { ASSERT_TRUE(boot_.boot(*sysroot_->deployments()).ok()); }
  osbackend::OsStatus status() {
    const auto now = backend().status(kCall);
    EXPECT_TRUE(now.ok()) << now.error().to_string();
    return now.ok() ? *now : osbackend::OsStatus{};
  }
  void update_to(const OsTarget& target) {
    const Status staged = backend().stage(target, {}, kCall);
    ASSERT_TRUE(staged.ok()) << staged.error().to_string();
    boot();
    EXPECT_EQ(differences(status().booted, target), Lines{});
    EXPECT_EQ(status().booted.machine_arguments, kMachine);
  }
  std::string ostree_status() { return judged({"ostree", "admin", "status", "--sysroot=" + root_.string()}); }

  runtime::ThreadRuntime runtime_;
  path root_ = work_ / "machine";
  DirectoryTree tree_{work_ / "notes", false};
  osbackend::SandboxBootState boot_{tree_};
  std::optional<sysroot::Sysroot> sysroot_;
  std::optional<osbackend::ContainerImporter> importer_;
  std::optional<path> override_;  ///< where images are looked for instead
  int fetches_ = 0;
};

TEST_F(OstreeMachine, ImagesAndKernelArgumentsComeAndGo) {
  const osbackend::OsStatus first = status();
  EXPECT_EQ(first.booted.image, image_of("chunked"));
  EXPECT_EQ(first.booted.machine_arguments, kMachine);
  update_to({image_of("chunked"), {"nosmt", "foo=\"a b\""}, {}, {}});
  EXPECT_EQ(fetches_, 1) << "kernel arguments alone fetch nothing";
  const path etc = sysroot_->deployments()->front().root / "etc";
  std::ofstream(etc / "written-by-the-administrator") << "x";
  update_to({image_of("derived"), {"nosmt"}, {}, {}});
  EXPECT_TRUE(std::filesystem::exists(sysroot_->deployments()->front().root / "etc/written-by-the-administrator"));
  EXPECT_NE(status().boot_id, first.boot_id);
  EXPECT_EQ(status().rollback->image, image_of("chunked"));
  EXPECT_NE(ostree_status().find(sysroot_->deployments()->front().commit), std::string::npos);
  judged({"ostree", "--repo=" + sysroot_->repository().string(), "fsck", "--quiet"});
  update_to({image_of("plain"), {}, {}, {}});
  EXPECT_EQ(status().booted.kernel_arguments, Lines{});
  // The way back needs no network.
  const int before = fetches_;
  override_ = work_ / "nowhere";
  const auto all = *sysroot_->deployments();
  ASSERT_GE(all.size(), 2u);
  ASSERT_TRUE(sysroot_->set_order({all[1].id, all[0].id}, kCall).ok());
  boot();
  EXPECT_EQ(status().booted.image, image_of("derived"));
  EXPECT_EQ(fetches_, before);
}

TEST_F(OstreeMachine, StagingAgainChangesNothingAndStagingWhatRunsDropsIt) {
  const OsTarget target{image_of("derived"), {"nosmt"}, {}, {}};
  ASSERT_TRUE(backend().stage(target, {}, kCall).ok());
  const std::string made = sysroot_->deployments()->front().id;
  ASSERT_TRUE(backend().stage(target, {}, kCall).ok());
  EXPECT_EQ(sysroot_->deployments()->front().id, made);
  EXPECT_EQ(status().staged->image, image_of("derived"));
  ASSERT_TRUE(backend().stage({image_of("chunked"), {}, {}, {}}, {}, kCall).ok());
  EXPECT_FALSE(status().staged.has_value());
  EXPECT_EQ(sysroot_->deployments()->size(), 1u);
}

TEST_F(OstreeMachine, WhatCannotBeHadOrIsNotWhatWasPromisedChangesNothing) {
  const std::string before = ostree_status();
  // Gone from the registry.
  override_ = images_->layout("plain");
  const Status gone = backend().stage({image_of("derived"), {}, {}, {}}, {}, kCall);
  ASSERT_FALSE(gone.ok());
  EXPECT_NE(gone.error().to_string().find(image_of("derived").to_string()), std::string::npos)
      << gone.error().to_string();
  // A wrong bit in a layer.
  const LayoutEditor broken = editable("derived");
  const oci::Layout layout = *oci::Layout::open(broken.directory());
  const oci::Manifest manifest = *layout.read_manifest(*layout.resolve("v1"));
  const path blob = broken.blob(manifest.layers.back().digest.to_string());
  std::string bytes = *read_file(blob, 1 << 26);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  ASSERT_TRUE(write_file_atomic(blob, bytes, 0644).ok());
  override_ = broken.directory();
  EXPECT_FALSE(backend().stage({image_of("derived"), {"nosmt"}, {}, {}}, {}, kCall).ok());
  // What is no operating system that could boot.
  override_.reset();
  EXPECT_EQ(backend().stage({image_of("chunked"), {}, osbackend::KernelType::kRealtime, {}}, {}, kCall).error().code(),
            Code::kUnsupported);
  EXPECT_EQ(ostree_status(), before);
  EXPECT_EQ(status().booted.image, image_of("chunked"));
  EXPECT_FALSE(status().staged.has_value());
  // And then it works.
  update_to({image_of("derived"), {"nosmt"}, {}, {}});
}

}  // namespace
}  // namespace strake::test
