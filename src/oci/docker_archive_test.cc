#include "oci/docker_archive.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/subprocess.h"
#include "codec/compress.h"
#include "oci/file_store.h"
#include "oci/image_name.h"
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

std::string packed_with(codec::Compression compression, const std::string& bytes) {
  codec::StringSink sink;
  const auto compressor = codec::make_compressor(compression, sink, 1).value();
  EXPECT_TRUE(codec::write(*compressor, bytes).ok() && compressor->finish().ok());
  return std::move(sink).take();
}

/// This program reads xz and does not write it.
std::string packed_with_xz(const std::filesystem::path& file) {
  Command python;
  python.argv = {"python3", "-c",
                 "import lzma, sys; sys.stdout.buffer.write(lzma.compress(open(sys.argv[1], 'rb').read()))",
                 file.string()};
  const auto packed = run_checked(python);
  EXPECT_TRUE(packed.ok()) << packed.error().to_string();
  return packed.ok() ? packed->stdout_bytes : std::string();
}

TEST(CompressedArchive, IsReadLikeAPlainOne) {
  test::TempDir dir;
  testing::write_image(dir / "layout", "v1", {make_layer({tar_file("a", testing::noise(100'000, 1))})});
  std::vector<TarItem> members;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir / "layout")) {
    if (!entry.is_regular_file()) continue;
    members.push_back(tar_file(std::filesystem::relative(entry.path(), dir / "layout").string(),
                               read_file(entry.path(), 1u << 20).value()));
  }
  write_archive(dir / "oci.tar", members);
  const std::string layer = make_layer({tar_file("b", "2")});
  write_archive(dir / "docker.tar",
                {tar_file("one.tar", layer), tar_file("config.json", config_for({layer})),
                 tar_file("manifest.json", R"([{"Config":"config.json","RepoTags":null,"Layers":["one.tar"]}])")});
  struct Case {
    const char* name;
    std::function<std::string(const std::filesystem::path&)> pack;
  };
  const auto plain = [](const std::filesystem::path& file) { return read_file(file, 1u << 20).value(); };
  const Case cases[] = {
      {"gzip", [&](const auto& file) { return packed_with(codec::Compression::kGzip, plain(file)); }},
      {"zstd", [&](const auto& file) { return packed_with(codec::Compression::kZstd, plain(file)); }},
      {"xz", packed_with_xz},
  };
  const auto everything = [](std::string_view) { return true; };
  for (const Case& c : cases) {
    const std::string oci_bytes = c.pack(dir / "oci.tar");
    std::ofstream(dir / "oci.packed", std::ios::binary) << oci_bytes;
    std::ofstream(dir / "docker.packed", std::ios::binary) << c.pack(dir / "docker.tar");
    const auto layout = Layout::open_archive(dir / "oci.packed");
    ASSERT_TRUE(layout.ok()) << c.name << ": " << layout.error().to_string();
    EXPECT_TRUE(verify_layers(*layout, layout->read_manifest(layout->resolve("v1").value()).value()).ok()) << c.name;
    const auto docker = DockerArchive::open(dir / "docker.packed");
    ASSERT_TRUE(docker.ok()) << c.name << ": " << docker.error().to_string();
    const Manifest manifest =
        docker->read_manifest(docker->resolve("", Platform{"linux", "arm64", ""}).value()).value();
    EXPECT_EQ(read_files(*docker, manifest, everything)->at("b"), "2") << c.name;
    // Which of the two it is can be told without unpacking.
    EXPECT_EQ(find_image_name((dir / "oci.packed").string())->transport, Transport::kOciArchive) << c.name;
    EXPECT_EQ(find_image_name((dir / "docker.packed").string())->transport, Transport::kDockerArchive) << c.name;

    EXPECT_EQ(ArchiveFiles::scan(dir / "oci.packed", 50'000).error().code(), Code::kExhausted) << c.name;
    std::ofstream(dir / "cut", std::ios::binary) << oci_bytes.substr(0, oci_bytes.size() / 2);
    const auto cut = Layout::open_archive(dir / "cut");
    ASSERT_FALSE(cut.ok()) << c.name;
    EXPECT_EQ(cut.error().code(), Code::kCorrupt) << c.name << ": " << cut.error().to_string();
    EXPECT_NE(cut.error().to_string().find((dir / "cut").string()), std::string::npos) << cut.error().to_string();
  }
}

TEST(CompressedArchive, LeavesNothingBehind) {
  test::TempDir dir;
  write_archive(dir / "plain.tar", {tar_file("oci-layout", R"({"imageLayoutVersion":"1.0.0"})"),
                                    tar_file("index.json", R"({"schemaVersion":2,"manifests":[]})")});
  std::ofstream(dir / "image.tar.gz", std::ios::binary) << codec::gzip(read_file(dir / "plain.tar", 1u << 20).value());
  std::filesystem::create_directory(dir / "tmp");
  ::setenv("TMPDIR", (dir / "tmp").c_str(), 1);
  const auto archive = Layout::open_archive(dir / "image.tar.gz");
  ::unsetenv("TMPDIR");
  ASSERT_TRUE(archive.ok()) << archive.error().to_string();
  EXPECT_TRUE(std::filesystem::is_empty(dir / "tmp")) << "it has no name even while it is read";
}

}  // namespace strake::oci::docker_archive_test
