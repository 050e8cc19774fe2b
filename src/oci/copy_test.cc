#include "oci/copy.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/fd.h"
#include "oci/layers.h"
#include "oci/testing/fake_registry.h"
#include "oci/testing/sample_image.h"
#include "support/temp_dir.h"

namespace strake::oci::copy_test {

using testing::FakeRegistry;

struct CopyFixture {
  CopyFixture() : settings(registry.client_options(dir.path())), registries(settings, {}, runtime) {}
  Result<CopyReport> push(std::string_view tag, const std::string& repository, std::string mount_from = {},
                          const CopyOptions& options = {}) {
    STRAKE_TRY(const Layout layout, Layout::open(dir / "layout"));
    STRAKE_TRY(const auto target, RegistryTarget::open({registry.host(), repository}, registries, mount_from));
    return copy_image(layout, tag, *target, tag, options, runtime, {});
  }
  Result<CopyReport> pull(const std::string& repository, const std::string& tag, const std::filesystem::path& to,
                          const CopyOptions& options = {}) {
    STRAKE_TRY(const auto source, RegistrySource::open({registry.host(), repository, tag}, registries));
    STRAKE_TRY(const auto target, LayoutTarget::open(to, runtime));
    return copy_image(*source, "", *target, tag, options, runtime, {});
  }

  test::TempDir dir;
  runtime::ThreadRuntime runtime;
  FakeRegistry registry{{FakeRegistry::Options::Auth::kBearer}};
  RegistryOptions settings;
  Registries registries;
};

std::string some_layer(const std::string& name, std::uint64_t seed) {
  return testing::make_layer({testing::tar_file(name, testing::noise(200'000, seed))});
}

TEST(Copy, ThereAndBack) {
  CopyFixture f;
  const Descriptor image =
      testing::write_image(f.dir / "layout", "v1", {some_layer("a", 1), some_layer("b", 2), some_layer("c", 3)});
  const auto pushed = f.push("v1", "org/os");
  ASSERT_TRUE(pushed.ok()) << pushed.error().to_string();
  EXPECT_EQ(pushed->blobs_written, 4u);
  EXPECT_EQ(pushed->root.digest, image.digest);
  const auto pulled = f.pull("org/os", "v1", f.dir / "back");
  ASSERT_TRUE(pulled.ok()) << pulled.error().to_string();
  const auto back = Layout::open(f.dir / "back");
  ASSERT_TRUE(back.ok()) << back.error().to_string();
  const auto descriptor = back->resolve("v1");
  ASSERT_TRUE(descriptor.ok()) << descriptor.error().to_string();
  EXPECT_EQ(descriptor->digest, image.digest);
  EXPECT_TRUE(verify_layers(*back, back->read_manifest(*descriptor).value()).ok());
}

TEST(Copy, OnlyWhatIsMissingMoves) {
  CopyFixture f;
  testing::write_image(f.dir / "layout", "v1", {some_layer("a", 1), some_layer("b", 2)});
  testing::write_image(f.dir / "layout", "v2", {some_layer("a", 1), some_layer("c", 3)});
  ASSERT_TRUE(f.push("v1", "org/os").ok());
  const auto second = f.push("v2", "org/os");
  ASSERT_TRUE(second.ok()) << second.error().to_string();
  EXPECT_EQ(second->blobs_present, 1u);
  EXPECT_EQ(second->blobs_written, 2u);
  const auto mounted = f.push("v2", "org/copy", "org/os");
  ASSERT_TRUE(mounted.ok()) << mounted.error().to_string();
  EXPECT_EQ(mounted->blobs_mounted, 3u);
  EXPECT_EQ(mounted->blobs_written, 0u);
}

TEST(Copy, WholeIndexOrOnePlatform) {
  CopyFixture f;
  const Descriptor index = testing::write_multi_platform_image(f.dir / "layout", "v1", {"amd64", "arm64", "s390x"});
  const auto all = f.push("v1", "org/os");
  ASSERT_TRUE(all.ok()) << all.error().to_string();
  EXPECT_EQ(all->root.digest, index.digest);
  EXPECT_EQ(all->blobs_written, 6u);
  CopyOptions one;
  one.platform = Platform{"linux", "arm64", ""};
  const auto pulled = f.pull("org/os", "v1", f.dir / "one", one);
  ASSERT_TRUE(pulled.ok()) << pulled.error().to_string();
  EXPECT_EQ(pulled->blobs_written, 2u);
  EXPECT_FALSE(is_index_type(pulled->root.media_type));
}

TEST(Copy, LayoutKeepsItsOtherImagesAndIsRepaired) {
  CopyFixture f;
  testing::write_image(f.dir / "layout", "v1", {some_layer("a", 1)});
  testing::write_image(f.dir / "other", "old", {some_layer("b", 2)});
  ASSERT_TRUE(f.push("v1", "org/os").ok());
  ASSERT_TRUE(f.pull("org/os", "v1", f.dir / "other").ok());
  const auto layout = Layout::open(f.dir / "other");
  ASSERT_TRUE(layout->resolve("old").ok());
  const auto manifest = layout->read_manifest(layout->resolve("v1").value());
  ASSERT_TRUE(manifest.ok());
  const auto file = f.dir / "other" / "blobs" / "sha256" / manifest->layers[0].digest.hex();
  std::string bytes = read_file(file, 1u << 30).value();
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(file, std::ios::binary) << bytes;
  ASSERT_FALSE(layout->verify_blob(manifest->layers[0]).ok());
  const auto repaired = f.pull("org/os", "v1", f.dir / "other");
  ASSERT_TRUE(repaired.ok()) << repaired.error().to_string();
  EXPECT_EQ(repaired->blobs_written, 1u);
  EXPECT_TRUE(layout->verify_blob(manifest->layers[0]).ok());
}

TEST(Copy, APullThatDiedGoesOn) {
  CopyFixture f;
  testing::write_image(f.dir / "layout", "v1", {some_layer("a", 1)});
  ASSERT_TRUE(f.push("v1", "org/os").ok());
  const auto layout = Layout::open(f.dir / "layout");
  const Descriptor layer = layout->read_manifest(layout->resolve("v1").value())->layers[0];
  const std::string bytes = layout->read_blob(layer, 1u << 30).value();
  for (const bool damaged : {false, true}) {
    const auto folder = f.dir / (damaged ? "damaged" : "good") / "blobs" / "sha256";
    std::filesystem::create_directories(folder);
    std::string part = bytes.substr(0, 150'000);
    if (damaged) part[70'000] ^= 1;  // what a power loss may leave
    std::ofstream(folder / fmt::format(".{}.partial", layer.digest.hex()), std::ios::binary) << part;
    std::vector<std::string> ranges;
    f.registry.intercept([&](const net::ServerRequest& request) -> std::optional<net::Response> {
      if (request.target.path.ends_with(layer.digest.to_string())) {
        ranges.emplace_back(request.headers.get("Range").value_or("all"));
      }
      return std::nullopt;
    });
    const auto pulled = f.pull("org/os", "v1", folder.parent_path().parent_path());
    f.registry.intercept({});
    ASSERT_TRUE(pulled.ok()) << pulled.error().to_string();
    const std::vector<std::string> expected =
        damaged ? std::vector<std::string>{"bytes=150000-", "all"} : std::vector<std::string>{"bytes=150000-"};
    EXPECT_EQ(ranges, expected);
    EXPECT_EQ(read_file(folder / layer.digest.hex(), 1u << 30).value(), bytes);
  }
}

TEST(Copy, AFailureStopsEverythingAndTagsNothing) {
  CopyFixture f;
  testing::write_image(f.dir / "layout", "v1", {some_layer("a", 1), some_layer("b", 2), some_layer("c", 3)});
  f.registry.intercept([](const net::ServerRequest& request) -> std::optional<net::Response> {
    if (request.method == "PUT" && request.target.path.find("/blobs/") != std::string::npos) {
      return net::Response{403, {}, ""};
    }
    return std::nullopt;
  });
  const auto pushed = f.push("v1", "org/os");
  ASSERT_FALSE(pushed.ok());
  EXPECT_EQ(pushed.error().code(), Code::kDenied) << pushed.error().to_string();
  EXPECT_FALSE(f.registry.manifest("org/os", "v1").has_value());
}

}  // namespace strake::oci::copy_test
