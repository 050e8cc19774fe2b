#include "release/release_place.h"

#include <fstream>

#include <gtest/gtest.h>

#include "oci/copy.h"
#include "oci/testing/fake_registry.h"
#include "oci/testing/sample_image.h"
#include "support/temp_dir.h"

namespace strake::release::release_place_test {

using oci::testing::FakeRegistry;

/// A release and its components in two repositories, and a mirror of each under other names.
struct TwoRepositories {
  TwoRepositories() {
    settings = source.client_options(dir.path(), false);
    std::ofstream(dir / "ca.crt", std::ios::app) << mirror.ca_pem();
    release = fill("release", "up/release", "m/release", "1");
    component = fill("component", "up/art", "m/art", "2");
  }
  oci::Descriptor fill(const std::string& layout, const std::string& repository, const std::string& copy,
                       const std::string& content) {
    using oci::testing::make_layer;
    using oci::testing::tar_file;
    const oci::Descriptor image = oci::testing::write_image(dir / layout, "v1", {make_layer({tar_file("a", content)})});
    const auto from = oci::Layout::open(dir / layout);
    oci::Registries registries(settings, {}, runtime);
    for (const auto& [registry, name] : {std::pair{&source, repository}, std::pair{&mirror, copy}}) {
      const auto target = oci::RegistryTarget::open({registry->host(), name}, registries);
      const auto copied = oci::copy_image(*from, "v1", **target, "v1", {}, runtime, {});
      EXPECT_TRUE(copied.ok()) << copied.error().to_string();
    }
    return image;
  }
  oci::MirrorRules rules(bool blocked) const {
    oci::MirrorRules rules;
    for (const auto& [from, to] : {std::pair{"up/release", "m/release"}, std::pair{"up/art", "m/art"}}) {
      rules.rules.push_back({fmt::format("{}/{}", source.host(), from),
                             "",
                             false,
                             blocked,
                             {{fmt::format("{}/{}", mirror.host(), to), false, oci::MirrorUse::kDigestOnly}}});
    }
    return rules;
  }
  Result<PlacedImage> find_component(oci::Registries& registries) {
    place = ReleasePlace::in_registry({source.host(), "up/release", "", release.digest}, registries).value();
    EXPECT_TRUE(place->find_release({}).ok());
    return place->find_image(fmt::format("{}/up/art@{}", source.host(), component.digest.to_string()),
                             Search::kEverywhere, {});
  }

  test::TempDir dir;
  runtime::ThreadRuntime runtime;
  FakeRegistry source, mirror;
  oci::RegistryOptions settings;
  oci::Descriptor release{"", codec::Digest::sha256_of(""), 0};
  oci::Descriptor component{"", codec::Digest::sha256_of(""), 0};
  std::unique_ptr<ReleasePlace> place;
};

TEST(ReleasePlace, ASourceThatIsDownDoesNotEndTheSearch) {
  TwoRepositories f;
  f.source.hang_up();
  for (const bool blocked : {false, true}) {
    oci::Registries registries(f.settings, f.rules(blocked), f.runtime);
    const auto found = f.find_component(registries);
    ASSERT_TRUE(found.ok()) << found.error().to_string();
    EXPECT_EQ(found->entry.digest, f.component.digest);
    const auto signatures = found->source->find_companion("sha256-0.sig");
    ASSERT_TRUE(signatures.ok()) << signatures.error().to_string();
    EXPECT_FALSE(signatures->has_value());
  }
}

TEST(ReleasePlace, WhatNobodyHasNamesEveryPlace) {
  TwoRepositories f;
  f.component.digest = codec::Digest::sha256_of("nobody has this");
  oci::Registries registries(f.settings, f.rules(false), f.runtime);
  const auto absent = f.find_component(registries);
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code(), Code::kNotFound);
  for (const std::string& place :
       {f.mirror.host() + "/m/release", f.source.host() + "/up/release", f.mirror.host() + "/m/art"}) {
    EXPECT_NE(absent.error().to_string().find(place), std::string::npos) << absent.error().to_string();
  }
  f.source.hang_up();
  oci::Registries again(f.settings, f.rules(false), f.runtime);
  const auto unknown = f.find_component(again);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().verdict(), Verdict::kUnreachable) << "the source might have it";
}

}  // namespace strake::release::release_place_test
