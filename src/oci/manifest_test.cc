#include "oci/manifest.h"

#include <gtest/gtest.h>

namespace strake::oci::manifest_test {

const std::string kHex(64, 'a');

std::string descriptor(std::string_view type, std::string_view extra = "") {
  return fmt::format(R"({{"mediaType":"{}","digest":"sha256:{}","size":7{}}})", type, kHex, extra);
}

TEST(Manifest, OciAndDocker) {
  struct Case {
    const char* name;
    std::string text;
    std::string_view media_type;
  };
  const Case cases[] = {
      {"OCI",
       fmt::format(
           R"({{"schemaVersion":2,"mediaType":"{}","config":{},"layers":[{}],"annotations":{{"k":"v"}},"later":1}})",
           media_type::kOciManifest, descriptor(media_type::kOciConfig), descriptor(media_type::kOciLayerGzip)),
       media_type::kOciManifest},
      {"OCI without its own media type",
       fmt::format(R"({{"schemaVersion":2,"config":{},"layers":[{}]}})", descriptor(media_type::kOciConfig),
                   descriptor(media_type::kOciLayer)),
       media_type::kOciManifest},
      {"Docker",
       fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","config":{},"layers":[{}]}})", media_type::kDockerManifest,
                   descriptor(media_type::kDockerConfig), descriptor(media_type::kDockerLayerGzip)),
       media_type::kDockerManifest},
  };
  for (const Case& c : cases) {
    const Result<Manifest> manifest = parse_manifest(c.text, c.media_type);
    ASSERT_TRUE(manifest.ok()) << c.name << ": " << manifest.error().to_string();
    EXPECT_EQ(manifest->media_type, c.media_type) << c.name;
    EXPECT_EQ(manifest->layers.size(), 1u) << c.name;
    EXPECT_EQ(manifest->config.size, 7u) << c.name;
  }
}

TEST(Manifest, IndexWithPlatforms) {
  const Result<Index> index = parse_index(fmt::format(
      R"({{"schemaVersion":2,"manifests":[{}]}})",
      descriptor(media_type::kOciManifest, R"(,"platform":{"os":"linux","architecture":"arm64","variant":"v8"})")));
  ASSERT_TRUE(index.ok()) << index.error().to_string();
  ASSERT_TRUE(index->manifests[0].platform.has_value());
  EXPECT_EQ(index->manifests[0].platform->to_string(), "linux/arm64/v8");
  EXPECT_TRUE((Platform{"linux", "arm64", ""}.accepts(*index->manifests[0].platform)));
  EXPECT_FALSE((Platform{"linux", "arm64", "v7"}.accepts(*index->manifests[0].platform)));
  EXPECT_FALSE(Platform{}.accepts(*index->manifests[0].platform));
}

TEST(Manifest, RefusesWithThePath) {
  const std::string config = descriptor(media_type::kOciConfig);
  struct Case {
    const char* name;
    std::string text;
    std::string_view announced;
    const char* mentions;
  };
  const Case cases[] = {
      {"not an object", "[]", "", "document"},
      {"schema 1", R"({"schemaVersion":1})", "", "schema 1"},
      {"no schema", "{}", "", "schemaVersion"},
      {"both kinds at once", fmt::format(R"({{"schemaVersion":2,"manifests":[],"config":{},"layers":[]}})", config), "",
       "at once"},
      {"no layers", fmt::format(R"({{"schemaVersion":2,"config":{}}})", config), "", "layers"},
      {"no config", R"({"schemaVersion":2,"layers":[]})", "", "config"},
      {"announced otherwise",
       fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","config":{},"layers":[]}})", media_type::kOciManifest,
                   config),
       media_type::kDockerManifest, "announced"},
      {"index announced as manifest", R"({"schemaVersion":2,"manifests":[]})", media_type::kOciManifest,
       "an index of media type"},
      {"digest", R"({"schemaVersion":2,"layers":[],"config":{"mediaType":"x","digest":"sha256:../../etc","size":1}})",
       "", "config.digest"},
      {"size",
       fmt::format(R"({{"schemaVersion":2,"layers":[],"config":{{"mediaType":"x","digest":"sha256:{}","size":-1}}}})",
                   kHex),
       "", "config.size"},
      {"layer", fmt::format(R"({{"schemaVersion":2,"layers":[{},7],"config":{}}})", config, config), "", "layers[1]"},
  };
  for (const Case& c : cases) {
    const auto document = parse_document(c.text, c.announced);
    ASSERT_FALSE(document.ok()) << c.name;
    EXPECT_NE(document.error().to_string().find(c.mentions), std::string::npos)
        << c.name << ": " << document.error().to_string();
  }
  EXPECT_FALSE(parse_index(fmt::format(R"({{"schemaVersion":2,"config":{},"layers":[]}})", config)).ok());
  EXPECT_FALSE(parse_manifest(R"({"schemaVersion":2,"manifests":[]})").ok());
}

TEST(Manifest, TooManyLayers) {
  std::string layers;
  for (std::size_t i = 0; i <= kMaxLayers; ++i) layers += (i == 0 ? "" : ",") + descriptor(media_type::kOciLayer);
  const Result<Manifest> manifest = parse_manifest(
      fmt::format(R"({{"schemaVersion":2,"config":{},"layers":[{}]}})", descriptor(media_type::kOciConfig), layers));
  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.error().code(), Code::kExhausted);
}

TEST(ImageConfig, LabelsAndLayers) {
  const Result<ImageConfig> config = parse_image_config(fmt::format(
      R"({{"os":"linux","architecture":"s390x","config":{{"Labels":{{"io.openshift.os.streamclass":"rhel-9"}}}},"rootfs":{{"type":"layers","diff_ids":["sha256:{}"]}}}})",
      kHex));
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  EXPECT_EQ(config->platform.architecture, "s390x");
  EXPECT_EQ(config->labels.at("io.openshift.os.streamclass"), "rhel-9");
  EXPECT_EQ(config->diff_ids.size(), 1u);
  // Builders without labels write null or leave the members out.
  EXPECT_TRUE(
      parse_image_config(R"({"os":"linux","architecture":"amd64","config":{"Labels":null},"rootfs":{"diff_ids":[]}})")
          .ok());
  EXPECT_TRUE(parse_image_config(R"({"os":"linux","architecture":"amd64","rootfs":{"diff_ids":[]}})").ok());
  EXPECT_FALSE(parse_image_config(R"({"os":"linux","architecture":"amd64"})").ok());
  EXPECT_FALSE(parse_image_config(R"({"os":"linux","rootfs":{"diff_ids":[]}})").ok());
}

}  // namespace strake::oci::manifest_test
