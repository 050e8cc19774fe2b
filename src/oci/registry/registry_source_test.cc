#include "oci/registry/registry_source.h"

#include <fstream>

#include <gtest/gtest.h>

#include "oci/copy.h"
#include "oci/testing/fake_registry.h"
#include "oci/testing/sample_image.h"
#include "support/temp_dir.h"

namespace strake::oci::registry_source_test {

using testing::FakeRegistry;

/// A source registry and a mirror, both known to the client.
struct TwoPlaces {
  TwoPlaces() {
    settings = source.client_options(dir.path(), false);
    std::ofstream(dir / "ca.crt", std::ios::app) << mirror.ca_pem();
    image = testing::write_image(dir / "layout", "v1", {testing::make_layer({testing::tar_file("a", "1")})});
  }
  void fill(FakeRegistry& registry, const std::string& repository) {
    const auto layout = Layout::open(dir / "layout");
    Registries registries(settings, {}, runtime);
    auto target = RegistryTarget::open({registry.host(), repository}, registries);
    const auto copied = copy_image(*layout, "v1", **target, "v1", {}, runtime, {});
    ASSERT_TRUE(copied.ok()) << copied.error().to_string();
  }
  MirrorRules rules(bool blocked) {
    RegistryRule rule{
        source.host() + "/org", "", false, blocked, {{mirror.host() + "/copies", false, MirrorUse::kAll}}};
    return MirrorRules{{rule}};
  }

  test::TempDir dir;
  runtime::ThreadRuntime runtime;
  FakeRegistry source, mirror;
  RegistryOptions settings;
  Descriptor image{"", codec::Digest::sha256_of(""), 0};
};

TEST(RegistrySource, MirrorFirstThenSource) {
  TwoPlaces f;
  f.fill(f.source, "org/os");
  Registries registries(f.settings, f.rules(false), f.runtime);
  const auto image = RegistrySource::open({f.source.host(), "org/os", "v1"}, registries);
  ASSERT_TRUE(image.ok()) << image.error().to_string();
  const auto descriptor = (*image)->resolve("");
  ASSERT_TRUE(descriptor.ok()) << descriptor.error().to_string();
  EXPECT_EQ(f.mirror.count("GET /v2/copies/os/manifests/v1"), 1u);
  EXPECT_EQ(descriptor->digest, f.image.digest);

  f.fill(f.mirror, "copies/os");
  const std::size_t before = f.source.requests().size();
  const auto again = RegistrySource::open({f.source.host(), "org/os", "v1"}, registries);
  const auto manifest = (*again)->read_manifest((*again)->resolve("").value());
  ASSERT_TRUE(manifest.ok()) << manifest.error().to_string();
  EXPECT_TRUE((*again)->verify_blob(manifest->layers[0]).ok());
  EXPECT_EQ(f.source.requests().size(), before) << "the mirror had everything";
}

TEST(RegistrySource, NeverContactsABlockedSource) {
  TwoPlaces f;
  f.fill(f.source, "org/os");
  const std::size_t before = f.source.requests().size();
  Registries registries(f.settings, f.rules(true), f.runtime);
  const auto image = RegistrySource::open({f.source.host(), "org/os", "v1"}, registries);
  ASSERT_TRUE(image.ok()) << image.error().to_string();
  EXPECT_EQ((*image)->resolve("").error().code(), Code::kNotFound);
  EXPECT_EQ(f.source.requests().size(), before);
}

TEST(RegistrySource, BlobMissingAtTheMirrorComesFromTheSource) {
  TwoPlaces f;
  f.fill(f.source, "org/os");
  f.fill(f.mirror, "copies/os");
  f.mirror.intercept([](const net::ServerRequest& request) -> std::optional<net::Response> {
    if (request.target.path.find("/blobs/") == std::string::npos) return std::nullopt;
    return net::Response{404, {}, ""};
  });
  Registries registries(f.settings, f.rules(false), f.runtime);
  const auto image = RegistrySource::open({f.source.host(), "org/os", "v1"}, registries);
  const auto manifest = (*image)->read_manifest((*image)->resolve("").value());
  const Status verified = (*image)->verify_blob(manifest->layers[0]);
  EXPECT_TRUE(verified.ok()) << verified.error().to_string();
}

TEST(RegistrySource, ErrorsNameEveryPlace) {
  TwoPlaces f;
  Registries registries(f.settings, f.rules(false), f.runtime);
  const auto image = RegistrySource::open({f.source.host(), "org/os", "v1"}, registries);
  const auto missing = (*image)->resolve("");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
  for (const std::string& place : {f.source.host() + "/org/os", f.mirror.host() + "/copies/os"}) {
    EXPECT_NE(missing.error().to_string().find(place), std::string::npos) << missing.error().to_string();
  }
}

TEST(RegistrySource, PlatformOfAnIndex) {
  TwoPlaces f;
  testing::write_multi_platform_image(f.dir / "layout", "v1", {"amd64", "arm64"});
  f.fill(f.source, "org/os");
  Registries registries(f.settings, {}, f.runtime);
  const auto image = RegistrySource::open({f.source.host(), "org/os", "v1"}, registries);
  for (const char* architecture : {"amd64", "arm64"}) {
    const auto descriptor = (*image)->resolve("", Platform{"linux", architecture, ""});
    ASSERT_TRUE(descriptor.ok()) << descriptor.error().to_string();
    const auto config = (*image)->read_config((*image)->read_manifest(*descriptor).value());
    ASSERT_TRUE(config.ok()) << config.error().to_string();
    EXPECT_EQ(config->platform.architecture, architecture);
  }
  EXPECT_EQ((*image)->resolve("", Platform{"linux", "s390x", ""}).error().code(), Code::kNotFound);
}

TEST(RegistrySource, AReaderThatStopsEarlyStopsTheFetch) {
  TwoPlaces f;
  testing::write_image(f.dir / "layout", "v1",
                       {testing::make_layer({testing::tar_file("a", testing::noise(8u << 20, 1))})});
  f.fill(f.source, "org/os");
  Registries registries(f.settings, {}, f.runtime);
  const auto image = RegistrySource::open({f.source.host(), "org/os", "v1"}, registries);
  const auto manifest = (*image)->read_manifest((*image)->resolve("").value());
  auto blob = (*image)->open_blob(manifest->layers[0]);
  ASSERT_TRUE(blob.ok());
  std::array<std::byte, 16> some{};
  ASSERT_TRUE((*blob)->read(some).ok());
  blob->reset();  // must not wait for the rest
  SUCCEED();
}

}  // namespace strake::oci::registry_source_test
