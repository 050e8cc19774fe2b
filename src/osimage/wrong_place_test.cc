// A mirror that delivers something else for a layer: the next place is asked, and nothing of the wrong content is left
// in what was listed, read, compared or extracted.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/fd.h"
#include "oci/blob_cache.h"
#include "osimage/difference.h"
#include "osimage/extraction.h"
#include "osimage/testing/sample_os.h"
#include "support/temp_dir.h"

namespace strake::osimage::wrong_place_test {

using testing::SampleFile;
using testing::SampleTree;

/// Each layer comes wrong the first time it is read: of an image with the same names and other content.
class LyingFirst final : public oci::ImageSource {
 public:
  LyingFirst(const oci::ImageSource& right, const oci::ImageSource& wrong, std::vector<oci::Descriptor> wrong_layers,
             std::vector<oci::Descriptor> right_layers)
      : right_(right), wrong_(wrong) {
    for (std::size_t i = 0; i < right_layers.size(); ++i) instead_.emplace(right_layers[i].digest, wrong_layers[i]);
  }

  std::string description() const override { return "two places"; }
  Result<std::vector<oci::Descriptor>> find_entries(std::string_view reference,
                                                    const runtime::Call& call) const override {
    return right_.find_entries(reference, call);
  }
  Result<std::unique_ptr<oci::BlobSource>> open_blob(const oci::Descriptor& descriptor,
                                                     const runtime::Call& call) const override {
    const auto instead = instead_.find(descriptor.digest);
    if (instead == instead_.end() || rejected_.contains(descriptor.digest)) return right_.open_blob(descriptor, call);
    STRAKE_TRY(std::unique_ptr<oci::BlobSource> content, wrong_.open_blob(instead->second, call));
    ++lies_;
    return std::make_unique<oci::BlobSource>(std::move(content), "the wrong place", descriptor);
  }
  std::size_t take_lies() const {
    rejected_.clear();
    return std::exchange(lies_, 0);
  }

 private:
  Status reject_content(const oci::Descriptor& descriptor, Error) const override {
    rejected_.insert(descriptor.digest);
    return {};
  }

  const oci::ImageSource& right_;
  const oci::ImageSource& wrong_;
  std::map<codec::Digest, oci::Descriptor> instead_;
  mutable std::set<codec::Digest> rejected_;
  mutable std::size_t lies_ = 0;
};

const std::string kRight = "right";

std::vector<SampleFile> files(const std::string& content) {
  return {{"usr/lib/os-release", "NAME=" + content}, {.path = "usr/bin/tool", .content = "#!" + content, .mode = 0755}};
}

std::vector<oci::Descriptor> layers_in(const oci::Layout& layout) {
  return layout.read_manifest(*layout.resolve("os"))->layers;
}

class WrongPlace : public ::testing::TestWithParam<bool> {
 protected:
  /// The wrong image has the same entries under the same names, of ostree objects too, with other bytes in them.
  oci::Layout write(const std::string& name, const std::string& content) {
    testing::SampleImage image =
        GetParam() ? testing::native_image(SampleTree(files(kRight)), 2)
                   : testing::SampleImage{
                         {oci::testing::make_layer({oci::testing::tar_file("usr/lib/os-release", "NAME=" + kRight),
                                                    oci::testing::tar_file("usr/bin/tool", "#!" + kRight)})}};
    for (std::string& layer : image.layers) {
      for (std::size_t at = 0; (at = layer.find(kRight, at)) != std::string::npos; ++at) {
        layer.replace(at, kRight.size(), content);
      }
    }
    testing::write_image(dir_ / name, image);
    return *oci::Layout::open(dir_ / name);
  }

  test::TempDir dir_;
  runtime::ThreadRuntime runtime_;
  const oci::Layout right_ = write("right", kRight);
  const oci::Layout wrong_ = write("wrong", "wrong");
  const LyingFirst source_{right_, wrong_, layers_in(wrong_), layers_in(right_)};
};

TEST_P(WrongPlace, LeavesNothingBehind) {
  const auto open = [&] { return OsImage::open(source_, "os", {}, runtime_, {}); };
  auto image = open();
  ASSERT_TRUE(image.ok()) << image.error().to_string();
  EXPECT_GT(source_.take_lies(), 0u);

  const auto text = (*image)->read_file("usr/lib/os-release", 1000, {});
  ASSERT_TRUE(text.ok()) << text.error().to_string();
  EXPECT_EQ(*text, "NAME=right");
  EXPECT_GT(source_.take_lies(), 0u);

  const auto found = (*image)->resolve("/usr", OsImage::LastLink::kFollow, {});
  ASSERT_TRUE(found.ok());
  ASSERT_TRUE(extract_files(**image, {*found}, dir_ / "out", {}, {}).ok());
  EXPECT_GT(source_.take_lies(), 0u);
  EXPECT_EQ(*read_file(dir_ / "out/lib/os-release", 1000), "NAME=right");
  EXPECT_EQ(*read_file(dir_ / "out/bin/tool", 1000), "#!right");
}

TEST_P(WrongPlace, IsNotCompared) {
  // The same files in other layers, so that content has to be read.
  testing::write_image(dir_ / "same",
                       {{oci::testing::make_layer({oci::testing::tar_file("usr/lib/os-release", "NAME=right")}),
                         oci::testing::make_layer({oci::testing::tar_file("usr/bin/tool", "#!right")})}});
  const oci::Layout layout = *oci::Layout::open(dir_ / "same");
  auto same = OsImage::open(layout, "os", {}, runtime_, {});
  auto image = OsImage::open(source_, "os", {}, runtime_, {});
  ASSERT_TRUE(same.ok() && image.ok());
  EXPECT_GT(source_.take_lies(), 0u);
  const auto differences = compare_images(**same, **image, {.files = true, .packages = false}, {});
  ASSERT_TRUE(differences.ok()) << differences.error().to_string();
  EXPECT_GT(source_.take_lies(), 0u);
  for (const FileDifference& file : differences->files) {
    for (const std::string& what : file.what) EXPECT_FALSE(what.starts_with("content")) << file.path << " " << what;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, WrongPlace, ::testing::Bool(),
                         [](const auto& form) { return form.param ? "OstreeNative" : "Plain"; });

}  // namespace strake::osimage::wrong_place_test
