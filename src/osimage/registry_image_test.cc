// How often the layers of an image in a registry cross the network.
#include <gtest/gtest.h>

#include "oci/copy.h"
#include "oci/registry/registry_source.h"
#include "oci/testing/fake_registry.h"
#include "osimage/os_image.h"
#include "osimage/testing/sample_os.h"
#include "support/temp_dir.h"

namespace strake::osimage::registry_image_test {

using testing::SampleImage;
using testing::SampleTree;

/// In a registry, seen through a cache of so many bytes: how often layers cross the network.
class LayersOverTheNetwork {
 public:
  LayersOverTheNetwork(const SampleImage& image, std::uint64_t cache_bytes) {
    testing::write_image(directory_.path() / "layout", image);
    registries_ =
        std::make_unique<oci::Registries>(registry_.client_options(directory_.path()), oci::MirrorRules{}, runtime_);
    const auto layout = oci::Layout::open(directory_.path() / "layout");
    auto target = oci::RegistryTarget::open({registry_.host(), "os"}, *registries_);
    EXPECT_TRUE(oci::copy_image(*layout, "os", **target, "v1", {}, runtime_, {}).ok());
    cache_ = *oci::BlobCache::open({directory_.path() / "cache", cache_bytes}, runtime_);
    const auto manifest = layout->read_manifest(*layout->resolve("os"));
    for (const oci::Descriptor& layer : manifest->layers) layers_.push_back(layer);
    before_ = registry_.requests().size();
  }
  /// As `os cat` does it, each time from the start.
  Result<std::string> cat(const std::string& path) {
    STRAKE_TRY(const auto source, oci::RegistrySource::open({registry_.host(), "os", "v1"}, *registries_));
    STRAKE_TRY(const auto image, OsImage::open(*source, "", {.cache = cache_.get()}, runtime_, {}));
    return image->read_file(path, 1 << 20, {});
  }
  std::vector<std::size_t> fetched() const {
    const std::vector<std::string> requests = registry_.requests();
    std::vector<std::size_t> counts;
    for (const oci::Descriptor& layer : layers_) {
      counts.push_back(
          static_cast<std::size_t>(std::count(requests.begin() + static_cast<std::ptrdiff_t>(before_), requests.end(),
                                              "GET /v2/os/blobs/" + layer.digest.to_string())));
    }
    return counts;
  }
  const oci::BlobCache& cache() const { return *cache_; }
  const std::vector<oci::Descriptor>& layers() const { return layers_; }

 private:
  test::TempDir directory_;
  runtime::ThreadRuntime runtime_;
  oci::testing::FakeRegistry registry_;
  std::unique_ptr<oci::Registries> registries_;
  std::unique_ptr<oci::BlobCache> cache_;
  std::vector<oci::Descriptor> layers_;
  std::size_t before_ = 0;
};

TEST(OsImageInARegistry, EachLayerCrossesTheNetworkOnce) {
  const SampleImage plain{{oci::testing::make_layer({oci::testing::tar_file("usr/a", "A")}),
                           oci::testing::make_layer({oci::testing::tar_file("usr/b", "B")})}};
  LayersOverTheNetwork image(plain, 1u << 30);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(image.cat("usr/a").value(), "A");
    EXPECT_EQ(image.cat("usr/b").value(), "B");
    EXPECT_EQ(image.fetched(), (std::vector<std::size_t>{1, 1})) << "in run " << i;
  }
  for (const oci::Descriptor& layer : image.layers()) EXPECT_TRUE(image.cache().has(layer));
}

TEST(OsImageInARegistry, ALayerOfACommitCrossesTheNetworkOnce) {
  const std::vector<testing::SampleFile> files{{"usr/a", "A"}, {"usr/b", "B"}};
  LayersOverTheNetwork image(testing::native_image(SampleTree(files), 1), 1u << 30);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(image.cat("usr/a").value(), "A");
    EXPECT_EQ(image.fetched(), (std::vector<std::size_t>{1, 1})) << "in run " << i;
  }
}

TEST(OsImageInARegistry, WhatDoesNotFitIsReadAndNotKept) {
  const SampleImage plain{{oci::testing::make_layer({oci::testing::tar_file("usr/a", oci::testing::noise(100'000, 1))}),
                           oci::testing::make_layer({oci::testing::tar_file("usr/b", "B")})}};
  LayersOverTheNetwork image(plain, 50'000);
  EXPECT_EQ(image.cat("usr/a").value(), oci::testing::noise(100'000, 1));
  EXPECT_FALSE(image.cache().has(image.layers()[0]));
  EXPECT_LE(image.cache().size_bytes().value(), 50'000u);
}

}  // namespace strake::osimage::registry_image_test
