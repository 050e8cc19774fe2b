#include <array>
#include <cstdlib>

#include <gtest/gtest.h>

#include "oci/copy.h"
#include "oci/image_files.h"
#include "oci/testing/fake_registry.h"
#include "oci/testing/sample_image.h"
#include "support/temp_dir.h"

namespace strake::oci::image_content_test {

using testing::make_layer;
using testing::noise;
using testing::tar_file;
using testing::tar_folder;
using testing::tar_link;
using Type = codec::TarEntryType;
using Texts = std::map<std::string, std::string>;

/// An image in a layout, listed.
struct Opened {
  Layout layout;
  Manifest manifest;
  ImageFiles files;
  ContentOrigin origin(BlobCache* cache = nullptr) const { return {layout, manifest, cache}; }
};

Opened open_listed(const std::filesystem::path& directory, runtime::Runtime& runtime) {
  Layout layout = Layout::open(directory).value();
  Manifest manifest = layout.read_manifest(layout.resolve("").value()).value();
  ImageFiles files = ImageFiles::read(layout, manifest, {}, runtime, {}).value();
  return Opened{std::move(layout), std::move(manifest), std::move(files)};
}

std::filesystem::path blob_file(const std::filesystem::path& layout, const Descriptor& blob) {
  return layout / "blobs/sha256" / blob.digest.hex();
}

void flip_byte(const std::filesystem::path& path, std::size_t at) {
  std::string bytes = read_file(path, 64u << 20).value();
  bytes.at(at) = static_cast<char>(bytes[at] ^ 1);
  ASSERT_TRUE(write_file_atomic(path, bytes, 0644).ok());
}

class ImageContent : public ::testing::Test {
 protected:
  test::TempDir dir_;
  runtime::ThreadRuntime runtime_;
};

TEST_F(ImageContent, PathsAndLinks) {
  testing::write_image(
      dir_ / "layout", "v1",
      {make_layer({tar_file("usr/lib/os-release", "ID=test"), tar_file("usr/bin/sh", "shell"), tar_folder("empty"),
                   tar_link(Type::kHardLink, "usr/bin/bash", "usr/bin/sh"), tar_file("removed", "x"),
                   tar_file("replaced", "old")}),
       make_layer({tar_link(Type::kSymlink, "etc/os-release", "../usr/lib/os-release"), tar_file("replaced", "new"),
                   tar_link(Type::kSymlink, "bin", "/usr/bin"), tar_link(Type::kSymlink, "loop", "loop"),
                   tar_link(Type::kSymlink, "a", "b/"), tar_link(Type::kSymlink, "b", "./a"),
                   tar_file(".wh.removed", ""), tar_link(Type::kSymlink, "out", "../../../../usr/lib/os-release"),
                   tar_link(Type::kSymlink, "dangling", "nowhere/at/all"), tar_link(Type::kFifo, "pipe", "")})});
  const Opened image = open_listed(dir_ / "layout", runtime_);
  struct Case {
    const char* name;
    const char* path;
    SymbolicLinks links;
    const char* content;  ///< nullptr: refused
    Code code = Code::kNotFound;
    const char* message = "";
  };
  using enum SymbolicLinks;
  const Case cases[] = {
      {"file", "usr/lib/os-release", kKeep, "ID=test"},
      {"absolute", "/usr/lib/os-release", kKeep, "ID=test"},
      {"hard link", "usr/bin/bash", kKeep, "shell"},
      {"replaced", "replaced", kKeep, "new"},
      {"whited out", "removed", kKeep, nullptr, Code::kNotFound, "/removed"},
      {"absent", "etc/passwd", kFollow, nullptr, Code::kNotFound, "/etc/passwd"},
      {"link kept", "etc/os-release", kKeep, nullptr, Code::kInvalidArgument, "symlink"},
      {"link followed", "/etc/os-release", kFollow, "ID=test"},
      {"folder behind an absolute link", "bin/bash", kFollow, "shell"},
      {"folder behind a link that is kept", "bin/bash", kKeep, nullptr, Code::kNotFound, "/bin/bash"},
      {"above the root is the root", "out", kFollow, "ID=test"},
      {"dots in the path", "usr/./lib/../bin//sh", kFollow, "shell"},
      {"dots behind a link", "bin/../lib/os-release", kFollow, "ID=test"},
      {"dots without following", "usr/lib/../bin/sh", kKeep, nullptr, Code::kInvalidArgument, ".."},
      {"dangling", "dangling", kFollow, nullptr, Code::kNotFound, "/nowhere, where dangling leads"},
      {"loop of one", "loop", kFollow, nullptr, Code::kInvalidArgument, "40 symbolic links"},
      {"loop of two", "a/x", kFollow, nullptr, Code::kInvalidArgument, "40 symbolic links"},
      {"below a file", "usr/bin/sh/x", kFollow, nullptr, Code::kNotFound, "/usr/bin/sh is no folder"},
      {"folder", "empty", kKeep, nullptr, Code::kInvalidArgument, "directory"},
      {"root", "/", kFollow, nullptr, Code::kInvalidArgument, "directory"},
      {"pipe", "pipe", kKeep, nullptr, Code::kInvalidArgument, "not a regular file"},
  };
  for (const Case& c : cases) {
    codec::StringSink sink;
    const Status status = image.files.stream_file(image.origin(), c.path, c.links, sink, {});
    if (c.content != nullptr) {
      EXPECT_TRUE(status.ok()) << c.name << ": " << status.error().to_string();
      EXPECT_EQ(sink.text(), c.content) << c.name;
      continue;
    }
    ASSERT_FALSE(status.ok()) << c.name;
    EXPECT_EQ(status.error().code(), c.code) << c.name << ": " << status.error().to_string();
    EXPECT_NE(status.error().to_string().find(c.message), std::string::npos)
        << c.name << ": " << status.error().to_string();
    EXPECT_EQ(sink.text(), "") << c.name;
  }
}

TEST_F(ImageContent, EachLayerIsReadOnceAndOnlyWhenItIsNeeded) {
  testing::FakeRegistry registry;
  Registries registries(registry.client_options(dir_.path()), {}, runtime_);
  testing::write_image(dir_ / "layout", "v1",
                       {make_layer({tar_file("a", "1"), tar_file("b", "2"), tar_link(Type::kHardLink, "c", "a")}),
                        make_layer({tar_file("d", "4")}), make_layer({tar_file("e", "5")})});
  const auto layout = Layout::open(dir_ / "layout");
  const auto target = RegistryTarget::open({registry.host(), "os"}, registries);
  ASSERT_TRUE(copy_image(*layout, "v1", **target, "v1", {}, runtime_, {}).ok());
  const auto source = RegistrySource::open({registry.host(), "os", "v1"}, registries);
  const Manifest manifest = (*source)->read_manifest((*source)->resolve("").value()).value();
  const auto cache = BlobCache::open({dir_ / "cache"}, runtime_);
  const ImageFiles files = ImageFiles::read(**source, manifest, {cache->get()}, runtime_, {}).value();

  const auto reads = [&](std::size_t layer) {
    return registry.count("GET /v2/os/blobs/" + manifest.layers[layer].digest.to_string());
  };
  const ContentOrigin origin{**source, manifest, cache->get()};
  const std::vector<std::string> paths{"e", "b", "a", "c"};
  const Texts expected{{"a", "1"}, {"b", "2"}, {"c", "1"}, {"e", "5"}};
  EXPECT_EQ(files.read_files(origin, paths, SymbolicLinks::kKeep, {}, {}).value(), expected);
  for (std::size_t layer = 0; layer < manifest.layers.size(); ++layer) {
    EXPECT_EQ(reads(layer), 1u) << "what came over the network for the listing is kept";
    EXPECT_TRUE((*cache)->has(manifest.layers[layer]));
  }

  // Without a cache only what is asked for is read again, once for all of it.
  const ContentOrigin no_cache{**source, manifest};
  EXPECT_EQ(files.read_files(no_cache, paths, SymbolicLinks::kKeep, {}, {}).value(), expected);
  EXPECT_EQ(reads(0), 2u) << "once for three files";
  EXPECT_EQ(reads(1), 1u) << "nothing of it was asked for";
  EXPECT_EQ(reads(2), 2u);

  // Names that share their content are shown together, once.
  std::vector<std::string> shown;
  const auto visit = [&](const FileContent& found) -> Status {
    shown.push_back(fmt::format("{}:{}", fmt::join(found.paths, "="), codec::read_all(found.content, 10).value()));
    return {};
  };
  ASSERT_TRUE(files.visit_files(origin, paths, SymbolicLinks::kKeep, visit, {}).ok());
  EXPECT_EQ(shown, (std::vector<std::string>{"a=c:1", "b:2", "e:5"}));
}

TEST_F(ImageContent, NothingOfADamagedLayerReachesTheSink) {
  // The file asked for lies first and is intact; the damage lies behind it.
  const std::string big = noise(9u << 20, 7);
  testing::write_image(dir_ / "layout", "v1", {make_layer({tar_file("big", big), tar_file("other", noise(1000, 1))})});
  const Opened image = open_listed(dir_ / "layout", runtime_);
  codec::StringSink whole;
  ASSERT_TRUE(image.files.stream_file(image.origin(), "big", SymbolicLinks::kKeep, whole, {}).ok());
  EXPECT_EQ(whole.text(), big);

  flip_byte(blob_file(dir_ / "layout", image.manifest.layers[0]), image.manifest.layers[0].size - 700);
  codec::StringSink sink;
  const Status status = image.files.stream_file(image.origin(), "big", SymbolicLinks::kKeep, sink, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kCorrupt);
  EXPECT_NE(status.error().to_string().find(image.manifest.layers[0].digest.to_string()), std::string::npos);
  EXPECT_EQ(sink.text().size(), 0u);
  EXPECT_FALSE(image.files.read_files(image.origin(), {"big"}, SymbolicLinks::kKeep, {}, {}).ok());
}

TEST_F(ImageContent, LimitsHold) {
  testing::write_image(
      dir_ / "layout", "v1",
      {make_layer({tar_file("a", "alpha"), tar_file("b", "beta"), tar_link(Type::kHardLink, "c", "a")})});
  const Opened image = open_listed(dir_ / "layout", runtime_);
  struct Case {
    const char* name;
    FileLimits limits;
    bool accepted;
  };
  const Case cases[] = {
      {"just enough", {.max_files = 3, .max_file_bytes = 5, .max_total_bytes = 14}, true},
      {"files", {.max_files = 2, .max_file_bytes = 5, .max_total_bytes = 14}, false},
      {"one file", {.max_files = 3, .max_file_bytes = 4, .max_total_bytes = 14}, false},
      {"total, hard links counted", {.max_files = 3, .max_file_bytes = 5, .max_total_bytes = 13}, false},
  };
  for (const Case& c : cases) {
    const auto texts = image.files.read_files(image.origin(), {"a", "b", "c"}, SymbolicLinks::kKeep, c.limits, {});
    EXPECT_EQ(texts.ok(), c.accepted) << c.name;
    EXPECT_TRUE(texts.ok() || texts.error().code() == Code::kExhausted) << c.name;
  }
}

TEST_F(ImageContent, WithoutACacheNothingIsWritten) {
  testing::FakeRegistry registry;
  Registries registries(registry.client_options(dir_.path()), {}, runtime_);
  testing::write_image(dir_ / "layout", "v1", {make_layer({tar_file("a", noise(6u << 20, 3))})});
  const Layout layout = Layout::open(dir_ / "layout").value();
  const auto target = RegistryTarget::open({registry.host(), "os"}, registries);
  ASSERT_TRUE(copy_image(layout, "v1", **target, "v1", {}, runtime_, {}).ok());
  // Every place this program would write to by itself.
  constexpr std::array kPlaces{"HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "TMPDIR"};
  std::map<std::string, std::string> before;
  for (const char* place : kPlaces) {
    if (const char* value = std::getenv(place)) before[place] = value;
    std::filesystem::create_directory(dir_ / place);
    ::setenv(place, (dir_ / place).c_str(), 1);
  }
  const auto read = [&]() -> Status {
    STRAKE_TRY(const auto source, RegistrySource::open({registry.host(), "os", "v1"}, registries));
    STRAKE_TRY(const Descriptor root, source->resolve(""));
    STRAKE_TRY(const Manifest manifest, source->read_manifest(root));
    STRAKE_TRY(const ImageFiles files, ImageFiles::read(*source, manifest, {}, runtime_, {}));
    STRAKE_TRY([[maybe_unused]] const auto texts,
               files.read_files({*source, manifest}, {"a"}, SymbolicLinks::kKeep, {}, {}));
    codec::StringSink sink;
    return files.stream_file({*source, manifest}, "a", SymbolicLinks::kFollow, sink, {});
  };
  const Status done = read();
  for (const char* place : kPlaces) {
    EXPECT_TRUE(std::filesystem::is_empty(dir_ / place)) << place;
    before.contains(place) ? ::setenv(place, before[place].c_str(), 1) : ::unsetenv(place);
  }
  EXPECT_TRUE(done.ok()) << done.error().to_string();
}

TEST_F(ImageContent, AnIndexThatDoesNotFitIsNoticed) {
  testing::write_image(dir_ / "layout", "v1", {make_layer({tar_file("a", "alpha"), tar_file("b", "beta")})});
  const Opened image = open_listed(dir_ / "layout", runtime_);
  LayerIndex index = read_layer_index(image.layout, image.manifest.layers[0], {}).value();
  for (const auto& [name, offset, size] : {std::tuple{"elsewhere", 100u, 5u}, {"another file", 512u, 4u}}) {
    index.files[0].tar_offset = offset;
    index.files[0].tar.size = size;
    const ImageFiles wrong = ImageFiles::flatten({index}).value();
    const auto texts = wrong.read_files(image.origin(), {"a"}, SymbolicLinks::kKeep, {}, {});
    ASSERT_FALSE(texts.ok()) << name;
    EXPECT_NE(texts.error().to_string().find("index"), std::string::npos) << texts.error().to_string();
  }
}

}  // namespace strake::oci::image_content_test
