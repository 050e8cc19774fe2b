#include "oci/layout.h"

#include <fstream>
#include <functional>

#include <gtest/gtest.h>

#include "codec/compress.h"
#include "codec/tar.h"
#include "oci/layers.h"
#include "oci/testing/sample_image.h"
#include "support/temp_dir.h"

namespace strake::oci::layout_test {

using Files = std::map<std::string, std::string>;

codec::TarEntry file_entry(std::string path) {
  codec::TarEntry entry;
  entry.path = std::move(path);
  return entry;
}

codec::TarEntry typed_entry(codec::TarEntryType type, std::string path, std::string target = {}) {
  codec::TarEntry entry;
  entry.type = type;
  entry.path = std::move(path);
  entry.link_target = std::move(target);
  return entry;
}

struct Item {
  codec::TarEntry entry;
  std::string content;
};

std::string tar_of(const std::vector<Item>& items) {
  codec::StringSink sink;
  codec::TarWriter writer(sink);
  for (const Item& item : items) {
    EXPECT_TRUE(writer.add(item.entry, std::string_view(item.content)).ok());
  }
  EXPECT_TRUE(writer.finish().ok());
  return std::move(sink).take();
}

void overwrite(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::filesystem::path blob_file(const std::filesystem::path& layout, const Descriptor& descriptor) {
  return layout / "blobs" / "sha256" / descriptor.digest.hex();
}

/// A layout with one image of one layer, tagged "one".
Descriptor write_one_image(const std::filesystem::path& directory, const std::vector<std::string>& layers) {
  Result<LayoutWriter> writer = LayoutWriter::create(directory);
  EXPECT_TRUE(writer.ok()) << writer.error().to_string();
  ImageSpec spec;
  spec.labels = {{"a", "b"}};
  spec.layers = layers;
  Result<Descriptor> image = writer->add_image(spec);
  EXPECT_TRUE(image.ok()) << image.error().to_string();
  writer->tag(*image, "one");
  EXPECT_TRUE(writer->finish().ok());
  return *image;
}

Result<Files> read_everything(const std::filesystem::path& directory, const FileLimits& limits = {}) {
  STRAKE_TRY(const Layout layout, Layout::open(directory));
  STRAKE_TRY(const Descriptor descriptor, layout.resolve(""));
  STRAKE_TRY(const Manifest manifest, layout.read_manifest(descriptor));
  STRAKE_TRY([[maybe_unused]] const ImageConfig config, layout.read_config(manifest));
  return read_files(layout, manifest, [](std::string_view) { return true; }, limits);
}

TEST(Layout, RoundTrip) {
  const test::TempDir dir;
  const Descriptor image = write_one_image(dir.path(), {tar_of({{file_entry("etc/a"), "alpha"}})});
  const Result<Layout> layout = Layout::open(dir.path());
  ASSERT_TRUE(layout.ok()) << layout.error().to_string();
  for (const std::string& reference : {std::string(), std::string("one"), image.digest.to_string()}) {
    const Result<Descriptor> found = layout->resolve(reference);
    ASSERT_TRUE(found.ok()) << reference << ": " << found.error().to_string();
    EXPECT_EQ(found->digest, image.digest) << reference;
  }
  const Result<Manifest> manifest = layout->read_manifest(image);
  ASSERT_TRUE(manifest.ok()) << manifest.error().to_string();
  const Result<ImageConfig> config = layout->read_config(*manifest);
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  EXPECT_EQ(config->labels, (Files{{"a", "b"}}));
  const Result<Files> files = read_everything(dir.path());
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  EXPECT_EQ(*files, (Files{{"etc/a", "alpha"}}));
}

TEST(Layout, UnknownReferenceListsWhatThereIs) {
  const test::TempDir dir;
  write_one_image(dir.path(), {});
  const Result<Layout> layout = Layout::open(dir.path());
  ASSERT_TRUE(layout.ok());
  const Result<Descriptor> found = layout->resolve("two");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code(), Code::kNotFound);
  EXPECT_NE(found.error().to_string().find("one"), std::string::npos) << found.error().to_string();
}

TEST(Layout, IndexIsFollowedByPlatform) {
  const test::TempDir dir;
  Result<LayoutWriter> writer = LayoutWriter::create(dir.path());
  ASSERT_TRUE(writer.ok());
  std::vector<Descriptor> images;
  for (const char* architecture : {"amd64", "arm64"}) {
    ImageSpec spec;
    spec.platform.architecture = architecture;
    Result<Descriptor> image = writer->add_image(spec);
    ASSERT_TRUE(image.ok()) << image.error().to_string();
    images.push_back(*image);
  }
  const Result<Descriptor> list = writer->add_index(images);
  ASSERT_TRUE(list.ok());
  writer->tag(*list, "multi");
  ASSERT_TRUE(writer->finish().ok());

  const Result<Layout> layout = Layout::open(dir.path());
  ASSERT_TRUE(layout.ok()) << layout.error().to_string();
  const Result<Descriptor> arm = layout->resolve("multi", Platform{"linux", "arm64", ""});
  ASSERT_TRUE(arm.ok()) << arm.error().to_string();
  EXPECT_EQ(arm->digest, images[1].digest);
  EXPECT_EQ(layout->resolve("multi")->digest, images[0].digest);
  EXPECT_EQ(layout->find_entry("multi")->digest, list->digest);
  const Result<Descriptor> power = layout->resolve("multi", Platform{"linux", "ppc64le", ""});
  ASSERT_FALSE(power.ok());
  EXPECT_EQ(power.error().code(), Code::kNotFound);
}

TEST(Layout, TwoImagesNeedAName) {
  const test::TempDir dir;
  Result<LayoutWriter> writer = LayoutWriter::create(dir.path());
  ASSERT_TRUE(writer.ok());
  for (const char* name : {"first", "second"}) {
    ImageSpec spec;
    spec.labels["name"] = name;
    Result<Descriptor> image = writer->add_image(spec);
    ASSERT_TRUE(image.ok());
    writer->tag(*image, name);
  }
  ASSERT_TRUE(writer->finish().ok());
  const Result<Layout> layout = Layout::open(dir.path());
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->resolve("").error().code(), Code::kInvalidArgument);
  EXPECT_NE(layout->resolve("first")->digest, layout->resolve("second")->digest);
}

TEST(Layout, ACopyThatWasNotFinishedIsAbsentNotForged) {
  const test::TempDir dir;
  const Descriptor image = testing::write_image(dir.path(), "v1", {testing::make_layer({testing::tar_file("a", "1")})});
  const Layout layout = Layout::open(dir.path()).value();
  const Manifest manifest = layout.read_manifest(image).value();
  std::filesystem::remove(blob_file(dir.path(), manifest.layers[0]));
  const Status missing = layout.verify_blob(manifest.layers[0]);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().verdict(), Verdict::kAbsent);
  EXPECT_NE(missing.error().to_string().find("repeat the command"), std::string::npos) << missing.error().to_string();
}

TEST(Layout, DamageOfAnyKindIsRefused) {
  const std::string good = tar_of({{file_entry("etc/version"), "true"}});
  const std::string forged = tar_of({{file_entry("etc/version"), "fals"}});
  struct Case {
    const char* name;
    std::function<void(const std::filesystem::path&, const Manifest&, const Descriptor&)> damage;
    Code code;
    const char* mentions;
  };
  const Case cases[] = {
      {"another layer of the same size under the digest",
       [&](const auto& dir, const Manifest& manifest, const Descriptor&) {
         const auto path = blob_file(dir, manifest.layers[0]);
         std::string other = codec::gzip(forged);
         other.resize(manifest.layers[0].size, '\0');
         overwrite(path, other);
       },
       Code::kCorrupt, "digest"},
      {"a whole other layer",
       [&](const auto& dir, const Manifest& manifest, const Descriptor&) {
         overwrite(blob_file(dir, manifest.layers[0]), codec::gzip(forged + std::string(4096, 'x')));
       },
       Code::kCorrupt, "bytes"},
      {"truncated layer",
       [](const auto& dir, const Manifest& manifest, const Descriptor&) {
         std::filesystem::resize_file(blob_file(dir, manifest.layers[0]), manifest.layers[0].size - 1);
       },
       Code::kCorrupt, "bytes"},
      {"longer layer",
       [](const auto& dir, const Manifest& manifest, const Descriptor&) {
         std::filesystem::resize_file(blob_file(dir, manifest.layers[0]), manifest.layers[0].size + 1);
       },
       Code::kCorrupt, "bytes"},
      {"missing layer",
       [](const auto& dir, const Manifest& manifest, const Descriptor&) {
         std::filesystem::remove(blob_file(dir, manifest.layers[0]));
       },
       Code::kNotFound, "layer 1 of 1"},
      {"changed config",
       [](const auto& dir, const Manifest& manifest, const Descriptor&) {
         overwrite(blob_file(dir, manifest.config), std::string(manifest.config.size, ' '));
       },
       Code::kCorrupt, "image config"},
      {"changed manifest",
       [](const auto& dir, const Manifest&, const Descriptor& image) {
         overwrite(blob_file(dir, image), std::string(image.size, ' '));
       },
       Code::kCorrupt, "manifest"},
      {"a folder in place of a blob",
       [](const auto& dir, const Manifest& manifest, const Descriptor&) {
         std::filesystem::remove(blob_file(dir, manifest.config));
         std::filesystem::create_directory(blob_file(dir, manifest.config));
       },
       Code::kCorrupt, "regular file"},
      {"no index",
       [](const auto& dir, const Manifest&, const Descriptor&) { std::filesystem::remove(dir / "index.json"); },
       Code::kNotFound, "opening image layout"},
      {"another layout version",
       [](const auto& dir, const Manifest&, const Descriptor&) {
         overwrite(dir / "oci-layout", R"({"imageLayoutVersion":"2.0.0"})");
       },
       Code::kUnsupported, "2.0.0"},
  };
  for (const Case& c : cases) {
    const test::TempDir dir;
    const Descriptor image = write_one_image(dir.path(), {good});
    const Result<Layout> layout = Layout::open(dir.path());
    ASSERT_TRUE(layout.ok()) << c.name;
    const Result<Manifest> manifest = layout->read_manifest(image);
    ASSERT_TRUE(manifest.ok()) << c.name;
    ASSERT_TRUE(read_everything(dir.path()).ok()) << c.name;
    c.damage(dir.path(), *manifest, image);
    const Result<Files> files = read_everything(dir.path());
    ASSERT_FALSE(files.ok()) << c.name;
    EXPECT_EQ(files.error().code(), c.code) << c.name << ": " << files.error().to_string();
    EXPECT_NE(files.error().to_string().find(c.mentions), std::string::npos)
        << c.name << ": " << files.error().to_string();
  }
}

TEST(Layout, ForgedLayerIsNeverShown) {
  const std::string good = tar_of({{file_entry("etc/version"), "true"}});
  const test::TempDir dir;
  const Descriptor image = write_one_image(dir.path(), {good});
  const Result<Layout> layout = Layout::open(dir.path());
  ASSERT_TRUE(layout.ok());
  const Result<Manifest> manifest = layout->read_manifest(image);
  ASSERT_TRUE(manifest.ok());
  std::string forged = codec::gzip(tar_of({{file_entry("etc/version"), "fals"}}));
  forged.resize(manifest->layers[0].size, '\0');
  overwrite(blob_file(dir.path(), manifest->layers[0]), forged);
  const Result<Files> files = read_files(*layout, *manifest, [](std::string_view) { return true; });
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().code(), Code::kCorrupt);
  EXPECT_FALSE(verify_layers(*layout, *manifest).ok());
}

TEST(Layout, BytesAfterTheArchiveAreHashedToo) {
  // Everything a tar reader needs is intact; only the padding behind the end marker is changed.
  const std::string good = tar_of({{file_entry("a"), "alpha"}}) + std::string(4096, '\0');
  const test::TempDir dir;
  Result<LayoutWriter> writer = LayoutWriter::create(dir.path());
  ASSERT_TRUE(writer.ok());
  const Result<Descriptor> layer = writer->add_blob(media_type::kOciLayer, good);
  ASSERT_TRUE(layer.ok());
  const Result<Layout> layout = [&] {
    EXPECT_TRUE(writer->finish().ok());
    return Layout::open(dir.path());
  }();
  ASSERT_TRUE(layout.ok());
  const Manifest manifest{std::string(media_type::kOciManifest), *layer, {*layer}, {}};
  const auto all = [](std::string_view) { return true; };
  EXPECT_TRUE(read_files(*layout, manifest, all).ok());
  std::string changed = good;
  changed.back() = 'x';
  overwrite(blob_file(dir.path(), *layer), changed);
  const Result<Files> files = read_files(*layout, manifest, all);
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().code(), Code::kCorrupt);
}

TEST(Layout, LimitsHold) {
  const test::TempDir dir;
  Result<LayoutWriter> writer = LayoutWriter::create(dir.path());
  ASSERT_TRUE(writer.ok());
  const Result<Descriptor> big = writer->add_blob(media_type::kOciManifest, std::string(kMaxManifestBytes + 1, ' '));
  ASSERT_TRUE(big.ok());
  writer->tag(*big, "big");
  ASSERT_TRUE(writer->finish().ok());
  const Result<Layout> layout = Layout::open(dir.path());
  ASSERT_TRUE(layout.ok());
  const Result<Manifest> manifest = layout->read_manifest(*layout->resolve("big"));
  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.error().code(), Code::kExhausted);

  // A size that lies is found out when the blob is opened, before it is read.
  Descriptor lying = *big;
  lying.size = 10;
  EXPECT_EQ(layout->read_manifest(lying).error().code(), Code::kCorrupt);

  const test::TempDir files_dir;
  write_one_image(files_dir.path(), {tar_of({{file_entry("a"), "alpha"}, {file_entry("b"), "beta"}})});
  FileLimits one_file;
  one_file.max_files = 1;
  EXPECT_EQ(read_everything(files_dir.path(), one_file).error().code(), Code::kExhausted);
  FileLimits small_file;
  small_file.max_file_bytes = 4;
  EXPECT_EQ(read_everything(files_dir.path(), small_file).error().code(), Code::kExhausted);
  FileLimits small_total;
  small_total.max_total_bytes = 8;
  EXPECT_EQ(read_everything(files_dir.path(), small_total).error().code(), Code::kExhausted);
}

TEST(Layers, FinalTree) {
  using enum codec::TarEntryType;
  struct Case {
    const char* name;
    std::vector<std::vector<Item>> layers;
    Files expected;
  };
  const Case cases[] = {
      {"later layers win", {{{file_entry("a"), "1"}}, {{file_entry("./a"), "2"}}}, {{"a", "2"}}},
      {"whiteout of a file",
       {{{file_entry("d/a"), "1"}, {file_entry("d/b"), "1"}}, {{file_entry("d/.wh.a"), ""}}},
       {{"d/b", "1"}}},
      {"whiteout of a folder",
       {{{file_entry("d/a"), "1"}, {file_entry("da"), "1"}}, {{file_entry(".wh.d"), ""}}},
       {{"da", "1"}}},
      {"a whiteout spares its own layer",
       {{{file_entry("a"), "1"}}, {{file_entry("a"), "2"}, {file_entry(".wh.a"), ""}}},
       {{"a", "2"}}},
      {"opaque folder",
       {{{file_entry("d/a"), "1"}, {file_entry("e"), "1"}},
        {{file_entry("d/c"), "2"}, {file_entry("d/.wh..wh..opq"), ""}}},
       {{"d/c", "2"}, {"e", "1"}}},
      {"opaque root",
       {{{file_entry("a"), "1"}}, {{file_entry(".wh..wh..opq"), ""}, {file_entry("b"), "2"}}},
       {{"b", "2"}}},
      {"file replaces folder", {{{file_entry("d/a"), "1"}}, {{file_entry("d"), "2"}}}, {{"d", "2"}}},
      {"folder replaces file",
       {{{file_entry("d"), "1"}}, {{typed_entry(kDirectory, "d"), ""}, {file_entry("d/a"), "2"}}},
       {{"d/a", "2"}}},
      {"a folder again keeps its content",
       {{{file_entry("d/a"), "1"}}, {{typed_entry(kDirectory, "d"), ""}}},
       {{"d/a", "1"}}},
      {"link replaces file", {{{file_entry("a"), "1"}}, {{typed_entry(kSymlink, "a", "/etc/passwd"), ""}}}, {}},
      {"hard link", {{{file_entry("a"), "1"}, {typed_entry(kHardLink, "b", "a"), ""}}}, {{"a", "1"}, {"b", "1"}}},
      {"last of two in one layer", {{{file_entry("a"), "1"}, {file_entry("a"), "2"}}}, {{"a", "2"}}},
      {"no layers", {}, {}},
  };
  for (const Case& c : cases) {
    const test::TempDir dir;
    std::vector<std::string> layers;
    for (const std::vector<Item>& layer : c.layers) layers.push_back(tar_of(layer));
    write_one_image(dir.path(), layers);
    const Result<Files> files = read_everything(dir.path());
    ASSERT_TRUE(files.ok()) << c.name << ": " << files.error().to_string();
    EXPECT_EQ(*files, c.expected) << c.name;
  }
}

TEST(Layers, PathsThatLeaveTheTreeAreRefused) {
  const test::TempDir dir;
  write_one_image(dir.path(), {tar_of({{file_entry("a/../../b"), "1"}})});
  const Result<Files> files = read_everything(dir.path());
  ASSERT_FALSE(files.ok());
  EXPECT_NE(files.error().to_string().find("a/../../b"), std::string::npos) << files.error().to_string();
}

TEST(Layers, ZstdAndPlainLayers) {
  const std::string tar = tar_of({{file_entry("a"), "alpha"}});
  codec::StringSink packed;
  Result<std::unique_ptr<codec::CompressingSink>> zstd =
      codec::make_compressor(codec::Compression::kZstd, packed, codec::kDefaultZstdLevel);
  ASSERT_TRUE(zstd.ok());
  ASSERT_TRUE(codec::write(**zstd, tar).ok());
  ASSERT_TRUE((*zstd)->finish().ok());

  const test::TempDir dir;
  Result<LayoutWriter> writer = LayoutWriter::create(dir.path());
  ASSERT_TRUE(writer.ok());
  const Result<Descriptor> plain_layer = writer->add_blob(media_type::kOciLayer, tar);
  const Result<Descriptor> zstd_layer = writer->add_blob(media_type::kOciLayerZstd, packed.text());
  const Result<Descriptor> other = writer->add_blob("application/vnd.example.wasm", tar);
  ASSERT_TRUE(plain_layer.ok() && zstd_layer.ok() && other.ok());
  ASSERT_TRUE(writer->finish().ok());
  const Result<Layout> layout = Layout::open(dir.path());
  ASSERT_TRUE(layout.ok());
  const auto read = [&](const Descriptor& layer) {
    return read_files(*layout, Manifest{"", layer, {layer}, {}}, [](std::string_view) { return true; });
  };
  EXPECT_EQ(*read(*plain_layer), (Files{{"a", "alpha"}}));
  EXPECT_EQ(*read(*zstd_layer), (Files{{"a", "alpha"}}));
  EXPECT_EQ(read(*other).error().code(), Code::kUnsupported);
}

}  // namespace strake::oci::layout_test
