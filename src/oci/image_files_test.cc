#include "oci/image_files.h"

#include <array>

#include <gtest/gtest.h>

#include "base/random.h"
#include "codec/compress.h"
#include "oci/copy.h"
#include "oci/testing/fake_registry.h"
#include "oci/testing/sample_image.h"
#include "support/temp_dir.h"

namespace strake::oci::image_files_test {

using testing::make_layer;
using testing::tar_file;
using testing::tar_folder;
using testing::tar_link;
using testing::TarItem;
using Type = codec::TarEntryType;

LayerIndex index_of_tar(const std::string& tar) {
  codec::MemorySource source(tar);
  auto index = index_layer(source);
  EXPECT_TRUE(index.ok()) << index.error().to_string();
  return *std::move(index);
}

/// "path=layer" of files, "path/" of folders, "path>target" of symbolic links.
std::string listing(const ImageFiles& files) {
  std::string text;
  for (const auto& [path, file] : files.files()) {
    if (!text.empty()) text += ' ';
    text += path;
    if (file.tar.type == Type::kDirectory) {
      text += '/';
    } else if (file.tar.type == Type::kSymlink) {
      text += ">" + file.tar.link_target;
    } else {
      text += fmt::format("={}", file.layer);
    }
  }
  return text;
}

TEST(ImageFiles, Flattened) {
  struct Case {
    const char* name;
    std::vector<std::vector<TarItem>> layers;
    const char* expected;
  };
  const Case cases[] = {
      {"one layer",
       {{tar_folder("etc"), tar_file("etc/a", "1"), tar_link(Type::kSymlink, "b", "etc/a")}},
       "b>etc/a etc/ etc/a=0"},
      {"replaced", {{tar_file("a", "1")}, {tar_file("a", "2")}}, "a=1"},
      {"whiteout", {{tar_file("d/a", "1"), tar_file("d/b", "1")}, {tar_file("d/.wh.a", "")}}, "d/ d/b=0"},
      {"whiteout of a folder", {{tar_file("d/e/a", "1"), tar_file("d/b", "1")}, {tar_file("d/.wh.e", "")}}, "d/ d/b=0"},
      {"whiteout spares its own layer", {{tar_file("a", "1")}, {tar_file("a", "2"), tar_file(".wh.a", "")}}, "a=1"},
      {"opaque",
       {{tar_file("d/a", "1"), tar_file("e", "1")},
        {tar_folder("d"), tar_file("d/b", "2"), tar_file("d/.wh..wh..opq", "")}},
       "d/ d/b=1 e=0"},
      {"file in place of a folder", {{tar_file("d/a", "1")}, {tar_file("d", "2")}}, "d=1"},
      {"folder in place of a file", {{tar_file("d", "1")}, {tar_folder("d"), tar_file("d/a", "2")}}, "d/ d/a=1"},
      {"folder again keeps its content", {{tar_file("d/a", "1")}, {tar_folder("d")}}, "d/ d/a=0"},
      {"hard link", {{tar_file("a", "1"), tar_link(Type::kHardLink, "b", "a")}}, "a=0 b=0"},
      {"hard link to a layer below", {{tar_file("a", "1")}, {tar_link(Type::kHardLink, "b", "./a")}}, "a=0 b=0"},
      {"hard link outlives its target",
       {{tar_file("a", "1"), tar_link(Type::kHardLink, "b", "a")}, {tar_file(".wh.a", "")}},
       "b=0"},
      {"the root itself", {{tar_folder("."), tar_file("./a", "1")}}, "a=0"},
  };
  for (const Case& c : cases) {
    std::vector<LayerIndex> layers;
    for (const auto& items : c.layers) layers.push_back(index_of_tar(make_layer(items)));
    const auto files = ImageFiles::flatten(layers);
    ASSERT_TRUE(files.ok()) << c.name << ": " << files.error().to_string();
    EXPECT_EQ(listing(*files), c.expected) << c.name;
  }
  // Hard links repeat the attributes of what they lead to.
  TarItem heavy = tar_file("a", "");
  heavy.entry.xattrs["user.x"] = std::string(1000, 'x');
  std::vector<TarItem> repeated = {heavy};
  for (int i = 0; i < 10; ++i) repeated.push_back(tar_link(Type::kHardLink, fmt::format("link-{}", i), "a"));
  const std::vector<LayerIndex> heavy_layers = {index_of_tar(make_layer(repeated))};
  EXPECT_TRUE(ImageFiles::flatten(heavy_layers, 12'000).ok());
  const auto too_heavy = ImageFiles::flatten(heavy_layers, 10'000);
  ASSERT_FALSE(too_heavy.ok());
  EXPECT_EQ(too_heavy.error().code(), Code::kExhausted);
  const auto dangling = ImageFiles::flatten({index_of_tar(make_layer({tar_link(Type::kHardLink, "b", "a")}))});
  ASSERT_FALSE(dangling.ok());
  EXPECT_EQ(dangling.error().code(), Code::kCorrupt);
}

TEST(LayerIndex, SurvivesItsEncoding) {
  TarItem special = tar_file("usr/bin/ping", "content");
  special.entry.mode = 04755;
  special.entry.uid = 1000;
  special.entry.gid = 7;
  special.entry.user = "someone";
  special.entry.mtime = {-5, 500};
  special.entry.xattrs = {{"security.capability", std::string("\1\0\0", 3)}};
  TarItem device = tar_link(Type::kCharacterDevice, "dev/null", "");
  device.entry.device_major = 1;
  device.entry.device_minor = 3;
  const std::string tar = make_layer({special, device, tar_file("usr/bin/pong", std::string(3000, 'x'))});
  for (const std::string& bytes : {tar, codec::gzip(tar)}) {
    const LayerIndex index = index_of_tar(bytes);
    EXPECT_EQ(index.diff_id, codec::Digest::sha256_of(tar));
    ASSERT_EQ(index.files.size(), 3u);
    EXPECT_EQ(tar.substr(index.files[2].tar_offset, 5), "xxxxx");
    const auto encoded = encode_layer_index(index);
    ASSERT_TRUE(encoded.ok());
    const auto decoded = decode_layer_index(*encoded);
    ASSERT_TRUE(decoded.ok()) << decoded.error().to_string();
    EXPECT_EQ(*decoded, index);
    for (const std::size_t cut : {std::size_t{0}, std::size_t{10}, std::size_t{25}, encoded->size() - 1}) {
      EXPECT_FALSE(decode_layer_index(std::string_view(*encoded).substr(0, cut)).ok()) << cut;
    }
  }
}

TEST(LayerIndex, IsASmallPartOfALayer) {
  // As in an OS image: thousands of files of some kilobytes, with names like those of a package tree.
  std::vector<TarItem> items;
  for (int i = 0; i < 3000; ++i) {
    items.push_back(tar_file(fmt::format("usr/lib/python3.9/site-packages/package{}/module_{:04}.py", i / 40, i),
                             testing::noise(4000, static_cast<std::uint64_t>(i))));
  }
  const std::string layer = codec::gzip(make_layer(items));
  const auto encoded = encode_layer_index(index_of_tar(layer));
  ASSERT_TRUE(encoded.ok());
  EXPECT_LT(encoded->size() * 50, layer.size()) << encoded->size() << " of " << layer.size();
}

/// The index of a layer as an OS image has it: 100,000 files in a tree of packages, most of them small and a few large,
/// each with its own time and size.
LayerIndex large_index(std::uint64_t& tar_bytes) {
  SeededRandom random(11);
  LayerIndex index{codec::Digest::sha256_of(""), {}};
  constexpr std::array kFolders{"usr/lib/python3.9/site-packages",
                                "usr/share/doc",
                                "usr/lib/modules/5.14.0-427.el9.x86_64/kernel",
                                "usr/share/locale",
                                "usr/lib64",
                                "usr/share/licenses"};
  constexpr std::array kEndings{".py", ".so.1", ".ko.xz", ".mo", "", ".txt"};
  const auto word = [&] {
    std::string text;
    for (std::uint64_t i = 0, length = 4 + random.below(10); i < length; ++i) {
      text += static_cast<char>('a' + random.below(26));
    }
    return text;
  };
  tar_bytes = 1024;
  std::string package;
  for (int i = 0; i < 100'000; ++i) {
    const std::size_t kind = static_cast<std::size_t>(i) * kFolders.size() / 100'000;
    if (i % 25 == 0) package = fmt::format("{}/{}", kFolders[kind], word());
    LayerFile file;
    file.tar.path = fmt::format("{}/{}{}", package, word(), kEndings[kind]);
    // Two thirds below 4 KiB, a mean of about 20 KiB.
    file.tar.size = std::uint64_t{1} << (6 + random.below(12));
    file.tar.size += random.below(file.tar.size);
    file.tar.mtime.seconds = 1'700'000'000 + static_cast<std::int64_t>(random.below(10'000'000));
    file.tar.xattrs = {{"user.component", package.substr(package.rfind('/') + 1)}};
    file.tar_offset = tar_bytes + 512;
    tar_bytes += 512 + (file.tar.size + 511) / 512 * 512;
    index.files.push_back(std::move(file));
  }
  return index;
}

TEST(LayerIndex, OfALargeLayerIsSmall) {
  std::uint64_t tar_bytes = 0;
  const LayerIndex index = large_index(tar_bytes);
  const auto encoded = encode_layer_index(index);
  ASSERT_TRUE(encoded.ok());
  EXPECT_EQ(decode_layer_index(*encoded).value(), index);
  // The aim is 2 % of the layer as it is stored, compressed; gzip leaves more than a third of such a tree.
  EXPECT_LT(encoded->size() * 50, tar_bytes / 3) << encoded->size() << " for a layer of " << tar_bytes;
}

TEST(ImageFiles, LaterListingsReadNoLayer) {
  test::TempDir dir;
  runtime::ThreadRuntime runtime;
  testing::FakeRegistry registry;
  Registries registries(registry.client_options(dir.path()), {}, runtime);
  testing::write_image(dir / "layout", "v1",
                       {make_layer({tar_file("a", "1"), tar_file("b", "1")}), make_layer({tar_file(".wh.a", "")})});
  const auto layout = Layout::open(dir / "layout");
  const auto target = RegistryTarget::open({registry.host(), "os"}, registries);
  ASSERT_TRUE(copy_image(*layout, "v1", **target, "v1", {}, runtime, {}).ok());

  const auto source = RegistrySource::open({registry.host(), "os", "v1"}, registries);
  const auto manifest = (*source)->read_manifest((*source)->resolve("").value());
  ASSERT_TRUE(manifest.ok());
  const auto layer_reads = [&] {
    std::size_t reads = 0;
    for (const Descriptor& layer : manifest->layers) {
      reads += registry.count("GET /v2/os/blobs/" + layer.digest.to_string());
    }
    return reads;
  };
  const auto cache = BlobCache::open({dir / "cache"}, runtime);
  for (int i = 0; i < 3; ++i) {
    const auto files = ImageFiles::read(**source, *manifest, {cache->get()}, runtime, {});
    ASSERT_TRUE(files.ok()) << files.error().to_string();
    EXPECT_EQ(listing(*files), "b=0");
    EXPECT_EQ(layer_reads(), 2u);
  }
  EXPECT_TRUE((*cache)->has(manifest->layers[0])) << "what came over the network is kept";
  // Without a cache every listing streams, and nothing is written.
  const auto files = ImageFiles::read(**source, *manifest, {}, runtime, {});
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  EXPECT_EQ(layer_reads(), 4u);
  // A damaged index is made anew, from the layers that were kept.
  for (const auto& entry : std::filesystem::directory_iterator(dir / "cache" / "derived")) {
    std::filesystem::resize_file(entry.path(), 30);
  }
  ASSERT_TRUE(ImageFiles::read(**source, *manifest, {cache->get()}, runtime, {}).ok());
  EXPECT_EQ(layer_reads(), 4u);
}

}  // namespace strake::oci::image_files_test
