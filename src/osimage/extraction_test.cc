#include "osimage/extraction.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/fd.h"
#include "osimage/testing/sample_os.h"
#include "support/temp_dir.h"

namespace strake::osimage::extraction_test {

using testing::SampleFile;
using testing::SampleTree;

const std::vector<SampleFile> kFiles = {
    {"usr/lib/a", "A"},
    {"usr/lib/same", "A"},
    {.path = "usr/bin/su", .content = "#!", .mode = 06755},
    {.path = "usr/etc/shadow", .content = "secret", .mode = 0000},
    {.path = "usr/out", .symlink_target = "/etc"},
    {.path = "usr/up", .symlink_target = "../../.."},
    {.path = "usr/ro/", .mode = 0555},
    {.path = "usr/ro/x", .content = "X", .mode = 0444},
};

class Extraction : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write_image(directory_.path() / "layout", testing::native_image(SampleTree(kFiles), 2));
    auto layout = oci::Layout::open(directory_.path() / "layout");
    ASSERT_TRUE(layout.ok());
    layout_ = std::make_unique<oci::Layout>(*std::move(layout));
    auto image = OsImage::open(*layout_, "os", {}, runtime_, {});
    ASSERT_TRUE(image.ok()) << image.error().to_string();
    image_ = *std::move(image);
  }
  void TearDown() override {
    std::filesystem::permissions(target() / "ro", std::filesystem::perms::owner_all, ignored_);
  }

  std::filesystem::path target() const { return directory_.path() / "target"; }

  Result<Extracted> extract(const std::string& path, bool overwrite = false) {
    STRAKE_TRY(const OsImage::Found found, image_->resolve(path, OsImage::LastLink::kKeep, {}));
    return extract_files(*image_, {found}, target(), {.overwrite = overwrite}, {});
  }
  Result<Extracted> extract_matches(const std::vector<std::string>& patterns) {
    std::vector<OsImage::Found> all;
    for (const std::string& pattern : patterns) {
      STRAKE_TRY(std::vector<OsImage::Found> found, image_->match(pattern, {}));
      all.insert(all.end(), found.begin(), found.end());
    }
    return extract_files(*image_, all, target(), {.keep_paths = true}, {});
  }

  std::string content(const std::string& path) const {
    const auto text = read_file(target() / path, 1000);
    return text.ok() ? *text : text.error().to_string();
  }
  std::uint32_t mode(const std::string& path) const {
    struct stat status{};
    return ::lstat((target() / path).c_str(), &status) == 0 ? status.st_mode & 07777u : 0xffffffff;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(target())) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
  void put(const std::string& path, std::string_view text) const {
    std::filesystem::create_directories((target() / path).parent_path());
    ASSERT_TRUE(write_file_atomic(target() / path, text, 0644).ok());
  }

  test::TempDir directory_;
  runtime::ThreadRuntime runtime_;
  std::unique_ptr<oci::Layout> layout_;
  std::unique_ptr<OsImage> image_;
  std::error_code ignored_;
};

TEST_F(Extraction, AFolder) {
  const auto extracted = extract("/usr");
  ASSERT_TRUE(extracted.ok()) << extracted.error().to_string();
  EXPECT_EQ(extracted->files, 5u);
  EXPECT_EQ(extracted->links, 2u);
  EXPECT_EQ(names(), (std::vector<std::string>{"bin", "etc", "lib", "out", "ro", "up"}));
  EXPECT_EQ(content("lib/a"), "A");
  EXPECT_EQ(content("lib/same"), "A");
  EXPECT_EQ(content("ro/x"), "X");
  EXPECT_EQ(mode("ro"), 0555u);
  EXPECT_EQ(mode("ro/x"), 0444u);
  EXPECT_EQ(mode("bin/su"), 0755u);  // nobody gets the rights of who extracts
  EXPECT_EQ(mode("etc/shadow"), 0u);
  EXPECT_EQ(std::filesystem::read_symlink(target() / "out"), "/etc");
  EXPECT_EQ(std::filesystem::read_symlink(target() / "up"), "../../..");
}

TEST_F(Extraction, AFileOrALink) {
  ASSERT_TRUE(extract("/usr/lib/a").ok());
  ASSERT_TRUE(extract("/usr/out").ok());
  EXPECT_EQ(names(), (std::vector<std::string>{"a", "out"}));
  EXPECT_EQ(content("a"), "A");
}

TEST_F(Extraction, SeveralPathsAndPatternsKeepTheirPlaces) {
  const auto extracted = extract_matches({"/usr/lib/*", "/usr/**/x", "/usr/lib/a", "/etc/shadow"});
  ASSERT_TRUE(extracted.ok()) << extracted.error().to_string();
  EXPECT_EQ(extracted->files, 4u) << "a file that fits twice is written once";
  EXPECT_EQ(content("usr/lib/a"), "A");
  EXPECT_EQ(content("usr/lib/same"), "A");
  EXPECT_EQ(content("usr/ro/x"), "X");
  EXPECT_EQ(mode("usr/ro"), 0555u) << "folders on the way are those of the image";
  EXPECT_EQ(mode("usr/etc/shadow"), 0u) << "/etc is another name for where a commit keeps it";
  EXPECT_FALSE(std::filesystem::exists(target() / "usr/bin"));
  std::filesystem::permissions(target() / "usr/ro", std::filesystem::perms::owner_all, ignored_);
}

TEST_F(Extraction, PatternsThatFitNothingOrAFolder) {
  const auto nothing = image_->match("/usr/lib/*.so", {});
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().code(), Code::kNotFound);
  EXPECT_NE(nothing.error().message().find("nothing in /usr/lib fits /usr/lib/*.so"), std::string::npos);
  EXPECT_EQ(image_->match("/usr/lob/*", {}).error().code(), Code::kNotFound);
  const auto folders = image_->match("/*/li[ab]", {});
  ASSERT_TRUE(folders.ok()) << folders.error().to_string();
  ASSERT_EQ(folders->size(), 1u);
  EXPECT_EQ(folders->front().path, "usr/lib");
  const auto all = image_->match("/usr/**", {});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 6u) << "what is in a folder that fits goes with it";
}

/// Keeping account of one file must not mean looking at all others.
TEST(ExtractionOfManyFiles, TakesStepsInProportion) {
  test::TempDir directory;
  runtime::ThreadRuntime runtime;
  std::vector<SampleFile> files;
  for (int i = 0; i < 300; ++i) files.push_back({fmt::format("usr/many/{}", i), fmt::format("content {}", i)});
  testing::write_image(directory.path() / "layout", testing::native_image(SampleTree(files), 2));
  const auto layout = oci::Layout::open(directory.path() / "layout");
  ASSERT_TRUE(layout.ok());
  const auto image = OsImage::open(*layout, "os", {}, runtime, {});
  ASSERT_TRUE(image.ok()) << image.error().to_string();
  const auto found = (*image)->resolve("/usr", OsImage::LastLink::kKeep, {});
  ASSERT_TRUE(found.ok());
  const auto extracted = extract_files(**image, {*found}, directory.path() / "target", {}, {});
  ASSERT_TRUE(extracted.ok()) << extracted.error().to_string();
  EXPECT_EQ(extracted->files, 300u);
  EXPECT_LE(extracted->steps, 2 * 300u + 1);
}

TEST_F(Extraction, WhatExistsStays) {
  put("lib/same", "mine");
  const auto refused = extract("/usr");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kExists);
  EXPECT_NE(refused.error().message().find("lib/same exists; --force replaces it"), std::string::npos);
  EXPECT_EQ(names(), (std::vector<std::string>{"lib"}));  // nothing was written
  const auto forced = extract("/usr", true);
  ASSERT_TRUE(forced.ok()) << forced.error().to_string();
  EXPECT_EQ(content("lib/same"), "A");
  // Folders are filled, not replaced, and once more.
  ASSERT_TRUE(extract("/usr", true).ok());
}

TEST_F(Extraction, AFolderInTheWayOfAFile) {
  put("lib/a/mine", "mine");
  const auto refused = extract("/usr", true);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kExists);
  EXPECT_EQ(content("lib/a/mine"), "mine");
}

TEST_F(Extraction, LinksInTheTargetAreNotFollowed) {
  const std::filesystem::path outside = directory_.path() / "outside";
  std::filesystem::create_directories(outside);
  std::filesystem::create_directories(target());
  std::filesystem::create_directory_symlink(outside, target() / "lib");
  for (const bool overwrite : {false, true}) {
    const auto refused = extract("/usr", overwrite);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), Code::kExists) << refused.error().to_string();
  }
  EXPECT_TRUE(std::filesystem::is_empty(outside));
  // A link where a file goes is replaced, and what it leads to is not touched.
  std::filesystem::remove(target() / "lib");
  put("../outside/victim", "mine");
  std::filesystem::create_directories(target() / "lib");
  std::filesystem::create_symlink(outside / "victim", target() / "lib/a");
  ASSERT_FALSE(extract("/usr").ok());
  ASSERT_TRUE(extract("/usr", true).ok());
  EXPECT_EQ(content("../outside/victim"), "mine");
  EXPECT_EQ(content("lib/a"), "A");
}

TEST_F(Extraction, NothingIsNamedBeforeAllWasChecked) {
  // The second chunk is damaged on disk after the image was opened.
  auto descriptor = layout_->resolve("os");
  ASSERT_TRUE(descriptor.ok());
  const auto manifest = layout_->read_manifest(*descriptor);
  ASSERT_TRUE(manifest.ok());
  const auto blob = directory_.path() / "layout/blobs/sha256" / manifest->layers.back().digest.hex();
  std::fstream file(blob, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(40);
  file.put('\x55');
  file.close();
  const auto refused = extract("/usr");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kCorrupt) << refused.error().to_string();
  EXPECT_TRUE(!std::filesystem::exists(target()) || std::filesystem::is_empty(target()));
}

}  // namespace strake::osimage::extraction_test
