// Mirrors that deliver something other than the digest says: the next place is asked, and when all are wrong the error
// names each and what was wrong there.
#include <fstream>

#include <gtest/gtest.h>

#include "oci/blob_cache.h"
#include "oci/copy.h"
#include "oci/image_files.h"
#include "oci/testing/fake_registry.h"
#include "oci/testing/sample_image.h"
#include "support/temp_dir.h"

namespace strake::oci::wrong_mirror_test {

using testing::FakeRegistry;

const std::string kLayer = testing::make_layer({testing::tar_file("etc/a", testing::noise(200'000, 5))});

/// Two mirrors and the source, all of them with the image; what they do with blobs is the test's choice.
struct ThreePlaces {
  ThreePlaces() {
    settings = source.client_options(dir.path(), false);
    settings.patience.max_attempts = 2;
    settings.patience.backoff.initial = std::chrono::milliseconds(1);
    settings.patience.backoff.cap = std::chrono::milliseconds(2);
    for (FakeRegistry* mirror : {&first, &second}) std::ofstream(dir / "ca.crt", std::ios::app) << mirror->ca_pem();
    testing::write_image(dir / "layout", "v1", {kLayer});
    const Layout layout = Layout::open(dir / "layout").value();
    Registries direct(settings, {}, runtime);
    for (FakeRegistry* registry : {&source, &first, &second}) {
      const auto target = RegistryTarget::open({registry->host(), "org/os"}, direct);
      EXPECT_TRUE(copy_image(layout, "v1", **target, "v1", {}, runtime, {}).ok());
    }
    const MirrorRules rules{
        {RegistryRule{source.host(),
                      "",
                      false,
                      false,
                      {{first.host(), false, MirrorUse::kAll}, {second.host(), false, MirrorUse::kAll}}}}};
    registries = std::make_unique<Registries>(settings, rules, runtime);
  }
  std::unique_ptr<RegistrySource> open() {
    return RegistrySource::open({source.host(), "org/os", "v1"}, *registries).value();
  }
  std::vector<std::string> places() const {
    return {first.host() + "/org/os", second.host() + "/org/os", source.host() + "/org/os"};
  }

  test::TempDir dir;
  runtime::ThreadRuntime runtime;
  FakeRegistry source, first, second;
  RegistryOptions settings;
  std::unique_ptr<Registries> registries;
};

using Damage = std::function<net::Response(std::string blob)>;

net::Response whole(std::string body) { return net::Response{200, {}, std::move(body)}; }

/// The registry keeps its blobs right and delivers them wrong.
void deliver_wrong(FakeRegistry& registry, const std::string& bytes, const std::string& part, const Damage& damage) {
  registry.intercept([=](const net::ServerRequest& request) -> std::optional<net::Response> {
    if (request.method != "GET" || request.target.path.find(part) == std::string::npos) return std::nullopt;
    return damage(bytes);
  });
}

std::string flipped(std::string bytes, std::size_t at) {
  bytes.at(at) = static_cast<char>(bytes[at] ^ 1);
  return bytes;
}

struct Reader {
  const char* name;
  std::function<Status(ThreePlaces&, const ImageSource&, const Manifest&)> read;
};

/// Every way in which this module takes a layer from a source.
const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"verify",
       [](ThreePlaces&, const ImageSource& image, const Manifest& m) { return image.verify_blob(m.layers[0]); }},
      {"read",
       [](ThreePlaces&, const ImageSource& image, const Manifest& m) -> Status {
         STRAKE_TRY(const std::string bytes, image.read_blob(m.layers[0], 1u << 20));
         EXPECT_EQ(codec::Digest::sha256_of(bytes), m.layers[0].digest);
         return {};
       }},
      {"list",
       [](ThreePlaces& f, const ImageSource& image, const Manifest& m) -> Status {
         STRAKE_TRY(const ImageFiles files, ImageFiles::read(image, m, {}, f.runtime, {}));
         EXPECT_NE(files.find("etc/a"), nullptr);
         return {};
       }},
      {"content",
       [](ThreePlaces&, const ImageSource& image, const Manifest& m) -> Status {
         LayerIndex index{m.layers[0].digest, {}};
         index.files.push_back({{.path = "etc/a", .size = 200'000}, 512});
         codec::StringSink sink;
         STRAKE_TRY(const ImageFiles files, ImageFiles::flatten({index}));
         STRAKE_CHECK_OK(files.stream_file({image, m}, "etc/a", SymbolicLinks::kKeep, sink, {}));
         EXPECT_EQ(sink.text(), testing::noise(200'000, 5));
         return {};
       }},
      {"cache",
       [](ThreePlaces& f, const ImageSource& image, const Manifest& m) -> Status {
         STRAKE_TRY(const auto cache, BlobCache::open({f.dir / "cache"}, f.runtime));
         const Status read = CachedSource(image, *cache).verify_blob(m.layers[0]);
         EXPECT_EQ(cache->has(m.layers[0]), read.ok());
         return read;
       }},
      {"past a small cache",
       [](ThreePlaces& f, const ImageSource& image, const Manifest& m) -> Status {
         STRAKE_TRY(const auto cache, BlobCache::open({f.dir / "small", 100}, f.runtime));
         return CachedSource(image, *cache).verify_blob(m.layers[0]);
       }},
      {"copy to a layout",
       [](ThreePlaces& f, const ImageSource& image, const Manifest& m) -> Status {
         STRAKE_TRY(const auto target, LayoutTarget::open(f.dir / "copy", f.runtime));
         STRAKE_TRY([[maybe_unused]] const BlobOutcome outcome, target->put_blob(image, m.layers[0], {}));
         return {};
       }},
      {"copy to a registry",
       [](ThreePlaces& f, const ImageSource& image, const Manifest& m) -> Status {
         STRAKE_TRY(const auto target, RegistryTarget::open({f.source.host(), "another"}, *f.registries));
         STRAKE_TRY([[maybe_unused]] const BlobOutcome outcome, target->put_blob(image, m.layers[0], {}));
         EXPECT_TRUE(f.source.has_blob("another", m.layers[0].digest));
         return {};
       }},
  };
  return all;
}

TEST(WrongMirror, BlobsComeFromTheNextPlace) {
  struct Case {
    const char* name;
    Damage damage;
  };
  const Case cases[] = {
      {"first bit", [](std::string blob) { return whole(flipped(std::move(blob), 0)); }},
      {"last bit", [](std::string blob) { return whole(flipped(blob, blob.size() - 1)); }},
      {"too short", [](std::string blob) { return whole(blob.substr(1)); }},
      {"too long", [](std::string blob) { return whole(blob + "x"); }},
      {"empty", [](const std::string&) { return whole(""); }},
      {"another blob", [](const std::string& blob) { return whole(testing::noise(blob.size(), 1)); }},
  };
  ThreePlaces f;
  const std::string part = "/blobs/";
  for (const Case& c : cases) {
    for (const Reader& reader : readers()) {
      for (FakeRegistry* registry : {&f.source, &f.first, &f.second}) registry->intercept(nullptr);
      const auto image = f.open();
      const Manifest manifest = image->read_manifest(image->resolve("").value()).value();
      const std::string blob = image->read_blob(manifest.layers[0], 1u << 20).value();
      for (FakeRegistry* mirror : {&f.first, &f.second}) deliver_wrong(*mirror, blob, part, c.damage);
      const Status read = reader.read(f, *f.open(), manifest);
      EXPECT_TRUE(read.ok()) << c.name << ", " << reader.name << ": " << read.error().to_string();
      for (const char* folder : {"cache", "copy"}) std::filesystem::remove_all(f.dir / folder);
    }
  }
}

TEST(WrongMirror, WhenAllAreWrongEachIsNamed) {
  ThreePlaces f;
  const auto image = f.open();
  const Manifest manifest = image->read_manifest(image->resolve("").value()).value();
  const std::string blob = image->read_blob(manifest.layers[0], 1u << 20).value();
  const std::string part = "/blobs/" + manifest.layers[0].digest.to_string();
  const auto wrong = [](std::string bytes) { return whole(flipped(std::move(bytes), 99)); };
  const auto missing = [](const std::string&) { return net::Response{404, {}, ""}; };
  for (const auto& [name, last] :
       {std::pair<const char*, Damage>{"all wrong", wrong}, {"two wrong, one without it", missing}}) {
    deliver_wrong(f.first, blob, part, wrong);
    deliver_wrong(f.second, blob, part, wrong);
    deliver_wrong(f.source, blob, part, last);
    for (const Reader& reader : readers()) {
      const Status read = reader.read(f, *f.open(), manifest);
      ASSERT_FALSE(read.ok()) << name << ", " << reader.name;
      const std::string text = read.error().to_string();
      EXPECT_EQ(read.error().code(), Code::kCorrupt) << name << ", " << reader.name << ": " << text;
      for (const std::string& place : f.places()) {
        EXPECT_NE(text.find(place), std::string::npos)
            << name << ", " << reader.name << ": " << place << " in " << text;
      }
      EXPECT_NE(text.find(codec::Digest::sha256_of(flipped(blob, 99)).to_string()), std::string::npos)
          << name << ", " << reader.name << ": " << text;
    }
  }
}

TEST(WrongMirror, ManifestsComeFromTheNextPlace) {
  ThreePlaces f;
  const Descriptor root = f.open()->resolve("").value();
  const std::string bytes = f.source.manifest("org/os", root.digest.to_string()).value();
  const auto wrong = [](std::string manifest) {
    return net::Response{200, {{"Content-Type", std::string(media_type::kOciManifest)}}, manifest + " "};
  };
  deliver_wrong(f.first, bytes, "/manifests/sha256", wrong);
  deliver_wrong(f.second, bytes, "/manifests/sha256", wrong);
  const auto by_digest = [&] {
    const auto image = RegistrySource::open({f.source.host(), "org/os", "", root.digest}, *f.registries).value();
    return image->read_manifest(root);
  };
  const auto manifest = by_digest();
  EXPECT_TRUE(manifest.ok()) << manifest.error().to_string();
  deliver_wrong(f.source, bytes, "/manifests/sha256", wrong);
  const auto refused = by_digest();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kCorrupt);
  for (const std::string& place : f.places()) {
    EXPECT_NE(refused.error().to_string().find(place), std::string::npos) << refused.error().to_string();
  }
}

TEST(WrongMirror, AWrongMirrorIsAskedLastAfterwards) {
  ThreePlaces f;
  const auto image = f.open();
  const Manifest manifest = image->read_manifest(image->resolve("").value()).value();
  deliver_wrong(f.first, "", "/blobs/" + manifest.layers[0].digest.to_string(),
                [](const std::string&) { return whole("something else"); });
  ASSERT_TRUE(image->verify_blob(manifest.layers[0]).ok());
  const std::size_t before = f.first.requests().size();
  EXPECT_TRUE(image->read_config(manifest).ok());
  EXPECT_EQ(f.first.requests().size(), before);
}

TEST(WrongMirror, ADamagedCopyInTheCacheIsFetchedAgain) {
  ThreePlaces f;
  const auto image = f.open();
  const Manifest manifest = image->read_manifest(image->resolve("").value()).value();
  const auto cache = BlobCache::open({f.dir / "cache"}, f.runtime).value();
  const CachedSource cached(*image, *cache);
  ASSERT_TRUE(cached.verify_blob(manifest.layers[0]).ok());
  const auto file = f.dir / "cache/blobs/sha256" / manifest.layers[0].digest.hex();
  ASSERT_TRUE(write_file_atomic(file, flipped(read_file(file, 1u << 20).value(), 7), 0600).ok());
  const Status read = cached.verify_blob(manifest.layers[0]);
  EXPECT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(codec::Digest::sha256_of(read_file(file, 1u << 20).value()), manifest.layers[0].digest);
}

}  // namespace strake::oci::wrong_mirror_test
