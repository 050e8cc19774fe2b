#include "oci/docker_archive.h"

#include <fstream>

#include <gtest/gtest.h>

#include "codec/compress.h"
#include "oci/layers.h"
#include "oci/testing/sample_image.h"
#include "support/temp_dir.h"

namespace strake::oci::docker_archive_test {

using testing::make_layer;
using testing::tar_file;
using testing::TarItem;

void write_archive(const std::filesystem::path& path, const std::vector<TarItem>& members) {
  std::ofstream(path, std::ios::binary) << make_layer(members);
}

std::string config_for(const std::vector<std::string>& layers) {
  std::string ids;
  for (const std::string& layer : layers) {
    ids += fmt::format("{}\"{}\"", ids.empty() ? "" : ",", codec::Digest::sha256_of(layer).to_string());
  }
  return fmt::format(R"({{"os":"linux","architecture":"arm64","rootfs":{{"type":"layers","diff_ids":[{}]}}}})", ids);
}

TEST(DockerArchive, PlainAndCompressedLayers) {
  test::TempDir dir;
  const std::vector<std::string> layers{make_layer({tar_file("a", "1")}), make_layer({tar_file("b", "2")})};
  write_archive(dir / "image.tar",
                {tar_file("one.tar", layers[0]), tar_file("two.tar", codec::gzip(layers[1])),
                 tar_file("config.json", config_for(layers)),
                 tar_file("manifest.json",
                          R"([{"Config":"config.json","RepoTags":["busybox:1"],"Layers":["one.tar","two.tar"]}])")});
  const auto archive = DockerArchive::open(dir / "image.tar");
  ASSERT_TRUE(archive.ok()) << archive.error().to_string();
  for (const char* name : {"", "busybox:1", "docker.io/library/busybox:1"}) {
    const auto descriptor = archive->resolve(name, Platform{"linux", "arm64", ""});
    ASSERT_TRUE(descriptor.ok()) << name << ": " << descriptor.error().to_string();
    const auto manifest = archive->read_manifest(*descriptor);
    ASSERT_TRUE(manifest.ok()) << manifest.error().to_string();
    EXPECT_EQ(manifest->layers[0].media_type, media_type::kOciLayer);
    EXPECT_EQ(manifest->layers[1].media_type, media_type::kOciLayerGzip);
    const auto files = read_files(*archive, *manifest, [](std::string_view) { return true; });
    ASSERT_TRUE(files.ok()) << files.error().to_string();
    EXPECT_EQ(*files, (std::map<std::string, std::string>{{"a", "1"}, {"b", "2"}}));
  }
  EXPECT_EQ(archive->resolve("busybox:2").error().code(), Code::kNotFound);
  EXPECT_EQ(archive->resolve("").error().code(), Code::kNotFound) << "it is not built for amd64";
}

TEST(DockerArchive, RefusesWithThePlace) {
  const std::string layer = make_layer({tar_file("a", "1")});
  const std::string other = make_layer({tar_file("a", "2")});
  struct Case {
    const char* name;
    std::vector<TarItem> members;
    const char* mentions;
  };
  const Case cases[] = {
      {"no manifest", {tar_file("x", "")}, "manifest.json"},
      {"no config", {tar_file("manifest.json", R"([{"Layers":[]}])")}, "Config"},
      {"layer missing",
       {tar_file("c", config_for({layer})), tar_file("manifest.json", R"([{"Config":"c","Layers":["x"]}])")},
       "Layers[0]"},
      {"more layers than promised",
       {tar_file("c", config_for({})), tar_file("x", layer),
        tar_file("manifest.json", R"([{"Config":"c","Layers":["x"]}])")},
       "1 files for the 0 layers"},
      {"path out of the archive",
       {tar_file("manifest.json", R"([{"Config":"../../etc/passwd","Layers":[]}])")},
       "Config"},
  };
  test::TempDir dir;
  for (const Case& c : cases) {
    write_archive(dir / "image.tar", c.members);
    const auto archive = DockerArchive::open(dir / "image.tar");
    ASSERT_FALSE(archive.ok()) << c.name;
    EXPECT_NE(archive.error().to_string().find(c.mentions), std::string::npos)
        << c.name << ": " << archive.error().to_string();
  }
  // A layer that is not what the config promises is found when it is read.
  write_archive(dir / "image.tar", {tar_file("c", config_for({layer})), tar_file("x", other),
                                    tar_file("manifest.json", R"([{"Config":"c","Layers":["x"]}])")});
  const auto archive = DockerArchive::open(dir / "image.tar");
  ASSERT_TRUE(archive.ok()) << archive.error().to_string();
  const auto manifest = archive->read_manifest(archive->find_entry("").value());
  EXPECT_EQ(verify_layers(*archive, *manifest).error().code(), Code::kCorrupt);
  std::ofstream(dir / "image.tar.gz") << codec::gzip(layer);
  EXPECT_EQ(DockerArchive::open(dir / "image.tar.gz").error().code(), Code::kUnsupported);
}

TEST(OciArchive, IsALayoutInATar) {
  test::TempDir dir;
  testing::write_image(dir / "layout", "v1", {make_layer({tar_file("a", "1")})});
  std::vector<TarItem> members;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir / "layout")) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    members.push_back(tar_file("./" + std::filesystem::relative(entry.path(), dir / "layout").string(),
                               std::string(std::istreambuf_iterator<char>(file), {})));
  }
  write_archive(dir / "image.tar", members);
  const auto archive = Layout::open_archive(dir / "image.tar");
  ASSERT_TRUE(archive.ok()) << archive.error().to_string();
  const auto descriptor = archive->resolve("v1");
  ASSERT_TRUE(descriptor.ok()) << descriptor.error().to_string();
  EXPECT_TRUE(verify_layers(*archive, archive->read_manifest(*descriptor).value()).ok());
  EXPECT_EQ(archive->resolve("v2").error().code(), Code::kNotFound);
}

}  // namespace strake::oci::docker_archive_test
