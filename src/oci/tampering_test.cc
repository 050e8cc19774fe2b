// One bit changed anywhere in an image, wherever it is kept: it is refused, and the message names what was changed.
#include <fstream>

#include <gtest/gtest.h>

#include "base/random.h"
#include "oci/blob_cache.h"
#include "oci/copy.h"
#include "oci/image_files.h"
#include "oci/testing/fake_registry.h"
#include "oci/testing/sample_image.h"
#include "support/temp_dir.h"

namespace strake::oci::tampering_test {

constexpr std::size_t kMaxPositions = 150;

/// All of an image, as somebody sees it who knows the digest of its index and nothing else.
Status read_everything(const ImageSource& source, const codec::Digest& trusted, runtime::Runtime& runtime) {
  STRAKE_TRY(const Descriptor root, source.find_entry(trusted.to_string()));
  if (root.digest != trusted)
    return error(Code::kCorrupt, "{} was found in place of {}", root.digest.to_string(), trusted.to_string());
  STRAKE_TRY(const Descriptor image, source.resolve(trusted.to_string(), Platform{"linux", "arm64", ""}));
  STRAKE_TRY(const Manifest manifest, source.read_manifest(image));
  STRAKE_TRY([[maybe_unused]] const ImageConfig config, source.read_config(manifest));
  STRAKE_TRY(const ImageFiles files, ImageFiles::read(source, manifest, {}, runtime, {}));
  STRAKE_TRY([[maybe_unused]] const auto texts,
             files.read_files({source, manifest}, {"arch"}, SymbolicLinks::kKeep, {}, {}));
  return {};
}

/// Positions all over the bytes, each with a bit: every byte of a small file.
std::vector<std::pair<std::size_t, unsigned>> flips(std::size_t size, std::uint64_t seed,
                                                    std::size_t most = kMaxPositions) {
  SeededRandom random(seed);
  std::vector<std::pair<std::size_t, unsigned>> all;
  const std::size_t count = std::min(size, most);
  for (std::size_t i = 0; i < count; ++i)
    all.emplace_back(i * (size - 1) / std::max<std::size_t>(count - 1, 1), random.below(8));
  return all;
}

std::string flipped(std::string bytes, std::pair<std::size_t, unsigned> flip) {
  bytes.at(flip.first) = static_cast<char>(bytes[flip.first] ^ (1u << flip.second));
  return bytes;
}

struct Part {
  std::string name;
  std::string digest;
  std::string bytes;
};

/// The index, and the manifest, config and layer of one of its platforms.
std::vector<Part> parts_of(const Layout& layout, const Descriptor& index) {
  std::vector<Part> parts;
  const auto add = [&](const char* name, const Descriptor& blob) {
    parts.push_back({name, blob.digest.to_string(), layout.read_blob(blob, 1u << 20).value()});
  };
  const Descriptor image = layout.resolve("v1", Platform{"linux", "arm64", ""}).value();
  const Manifest manifest = layout.read_manifest(image).value();
  add("index", index);
  add("manifest", image);
  add("config", manifest.config);
  add("layer", manifest.layers[0]);
  return parts;
}

struct Tampering : ::testing::Test {
  Tampering() {
    index = testing::write_multi_platform_image(dir / "layout", "v1", {"amd64", "arm64"});
    parts = parts_of(Layout::open(dir / "layout").value(), index);
  }
  void expect_refused(const Status& read, const Part& part, std::pair<std::size_t, unsigned> flip) {
    ASSERT_FALSE(read.ok()) << part.name << ", bit " << flip.second << " of byte " << flip.first;
    EXPECT_EQ(read.error().code(), Code::kCorrupt)
        << part.name << ", byte " << flip.first << ": " << read.error().to_string();
    EXPECT_NE(read.error().to_string().find(part.digest), std::string::npos)
        << part.name << ", byte " << flip.first << ": " << read.error().to_string();
  }

  test::TempDir dir;
  runtime::ThreadRuntime runtime;
  Descriptor index{"", codec::Digest::sha256_of(""), 0};
  std::vector<Part> parts;
};

TEST_F(Tampering, InALayout) {
  ASSERT_TRUE(read_everything(Layout::open(dir / "layout").value(), index.digest, runtime).ok());
  for (const Part& part : parts) {
    const auto file = dir / "layout/blobs/sha256" / part.digest.substr(sizeof "sha256");
    for (const auto& flip : flips(part.bytes.size(), 1)) {
      std::ofstream(file, std::ios::binary) << flipped(part.bytes, flip);
      expect_refused(read_everything(Layout::open(dir / "layout").value(), index.digest, runtime), part, flip);
    }
    std::ofstream(file, std::ios::binary) << part.bytes;
  }
  ASSERT_TRUE(read_everything(Layout::open(dir / "layout").value(), index.digest, runtime).ok());
}

TEST_F(Tampering, InTheFileThatNamesTheImages) {
  // Nothing vouches for index.json: it may be refused, or lead to the same bytes, but never to others.
  const auto file = dir / "layout/index.json";
  const std::string bytes = read_file(file, 1u << 20).value();
  std::size_t refused = 0;
  for (const auto& flip : flips(bytes.size(), 2)) {
    std::ofstream(file, std::ios::binary) << flipped(bytes, flip);
    const auto layout = Layout::open(dir / "layout");
    if (!layout.ok() || !read_everything(*layout, index.digest, runtime).ok()) ++refused;
  }
  EXPECT_GT(refused, bytes.size() / 4);
}

TEST_F(Tampering, InARegistryAndInItsCachedCopy) {
  testing::FakeRegistry registry;
  Registries registries(registry.client_options(dir.path()), {}, runtime);
  const Layout layout = Layout::open(dir / "layout").value();
  const auto target = RegistryTarget::open({registry.host(), "os"}, registries);
  ASSERT_TRUE(copy_image(layout, "v1", **target, "v1", {}, runtime, {}).ok());
  const auto source = [&] {
    return RegistrySource::open({registry.host(), "os", "", index.digest}, registries).value();
  };
  ASSERT_TRUE(read_everything(*source(), index.digest, runtime).ok());
  for (const Part& part : parts) {
    const std::filesystem::path folder = dir / ("cache-" + part.name);
    const std::string type(part.name == "index" ? media_type::kOciIndex : media_type::kOciManifest);
    for (const auto& flip : flips(part.bytes.size(), 3, 25)) {
      registry.intercept([&](const net::ServerRequest& request) -> std::optional<net::Response> {
        if (request.method != "GET" || !request.target.path.ends_with(part.digest)) return std::nullopt;
        return net::Response{200, {{"Content-Type", type}}, flipped(part.bytes, flip)};
      });
      expect_refused(read_everything(*source(), index.digest, runtime), part, flip);
      const auto cache = BlobCache::open({folder}, runtime).value();
      expect_refused(read_everything(CachedSource(*source(), *cache), index.digest, runtime), part, flip);
    }
    registry.intercept(nullptr);
    // The cache holds the rest by now. What changes on its disk is refused when nobody has the right bytes any more.
    const auto cache = BlobCache::open({folder}, runtime).value();
    const auto file = folder / "blobs/sha256" / part.digest.substr(sizeof "sha256");
    ASSERT_TRUE(read_everything(CachedSource(*source(), *cache), index.digest, runtime).ok());
    for (const auto& flip : flips(part.bytes.size(), 4, 25)) {
      if (part.name == "index") break;  // asked of the registry in any case
      std::ofstream(file, std::ios::binary) << flipped(part.bytes, flip);
      registry.intercept([&](const net::ServerRequest& request) -> std::optional<net::Response> {
        if (!request.target.path.ends_with(part.digest)) return std::nullopt;
        return net::Response{200, {{"Content-Type", type}}, flipped(part.bytes, flip)};
      });
      expect_refused(read_everything(CachedSource(*source(), *cache), index.digest, runtime), part, flip);
      registry.intercept(nullptr);
      ASSERT_TRUE(read_everything(CachedSource(*source(), *cache), index.digest, runtime).ok()) << "and fetched anew";
    }
  }
}

}  // namespace strake::oci::tampering_test
