#include "release/payload.h"

#include <fstream>
#include <functional>

#include <gtest/gtest.h>

#include "codec/tar.h"
#include "oci/layout.h"
#include "release/sample.h"
#include "support/temp_dir.h"

namespace strake::release::payload_test {

using Files = std::map<std::string, std::string>;

Result<ReleasePayload> read_from(const std::filesystem::path& directory, std::string_view reference = "release") {
  return read_payload_of_layout(directory, reference);
}

/// A release image with these files in release-manifests/, and nothing else in the layout.
void write_release(const std::filesystem::path& directory, const Files& manifests) {
  codec::StringSink sink;
  codec::TarWriter tar(sink);
  for (const auto& [name, text] : manifests) {
    codec::TarEntry entry;
    entry.path = "release-manifests/" + name;
    ASSERT_TRUE(tar.add(entry, std::string_view(text)).ok());
  }
  ASSERT_TRUE(tar.finish().ok());
  Result<oci::LayoutWriter> writer = oci::LayoutWriter::create(directory);
  ASSERT_TRUE(writer.ok()) << writer.error().to_string();
  oci::ImageSpec spec;
  spec.layers = {std::move(sink).take()};
  Result<oci::Descriptor> image = writer->add_image(spec);
  ASSERT_TRUE(image.ok()) << image.error().to_string();
  writer->tag(*image, "release");
  ASSERT_TRUE(writer->finish().ok());
}

std::string by_digest(std::string_view repository) {
  return fmt::format("quay.io/{}@sha256:{}", repository, std::string(64, 'a'));
}

std::string references(const std::vector<std::pair<std::string, std::string>>& tags, std::string_view name = "4.20.1") {
  json::Array list;
  for (const auto& [tag, from] : tags) {
    list.push_back(json::Object{{"name", tag}, {"from", json::Object{{"kind", "DockerImage"}, {"name", from}}}});
  }
  return json::write(json::Object{{"kind", "ImageStream"},
                                  {"apiVersion", "image.openshift.io/v1"},
                                  {"metadata", json::Object{{"name", name}}},
                                  {"spec", json::Object{{"tags", list}}}});
}

Files all_files(const std::filesystem::path& directory) {
  Files files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().lexically_relative(directory).string()] = std::string(std::istreambuf_iterator<char>(in), {});
  }
  return files;
}

TEST(Payload, SampleReleaseIsComplete) {
  const test::TempDir dir;
  ASSERT_TRUE(write_sample_release(dir.path(), SampleRelease::kA).ok());
  const Result<ReleasePayload> payload = read_from(dir.path());
  ASSERT_TRUE(payload.ok()) << payload.error().to_string();
  EXPECT_EQ(payload->version, "4.21.0-sample-a");
  EXPECT_EQ(payload->pull_spec, "registry.example.com/strake-sample/release@" + payload->digest.to_string());
  ASSERT_EQ(payload->os_streams.size(), 1u);
  EXPECT_EQ(payload->os_streams[0].name, "rhel-9");
  EXPECT_TRUE(payload->os_streams[0].verified);
  EXPECT_TRUE(payload->os_streams[0].image.pull_spec.starts_with("registry.example.com/strake-sample/os@sha256:"));
  ASSERT_TRUE(payload->os_streams[0].extensions.has_value());
  EXPECT_EQ(payload->default_stream, "rhel-9");
  ASSERT_TRUE(payload->boot_images.has_value());
  const Result<json::Value> stream = json::parse(payload->boot_images->stream);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(json::find_string(*stream, {"architectures", "aarch64", "images", "aws", "regions", "eu-west-1", "image"}),
            "ami-0a00000000000e102");
  EXPECT_EQ(payload->base_configs.size(), 2u);
  EXPECT_EQ(json::find_string(payload->base_configs.at("worker"), {"config", "ignition", "version"}), "3.5.0");
}

TEST(Payload, SamplesAreTheSameBytesEveryTime) {
  for (const SampleRelease sample : {SampleRelease::kA, SampleRelease::kB}) {
    const test::TempDir first;
    const test::TempDir second;
    ASSERT_TRUE(write_sample_release(first.path(), sample).ok());
    ASSERT_TRUE(write_sample_release(second / "not" / "there" / "yet", sample).ok());
    const Files files = all_files(first.path());
    EXPECT_EQ(files, all_files(second / "not" / "there" / "yet")) << to_string(sample);
    EXPECT_GT(files.size(), 8u);
    // Writing over an existing one changes nothing either.
    ASSERT_TRUE(write_sample_release(first.path(), sample).ok());
    EXPECT_EQ(files, all_files(first.path())) << to_string(sample);
  }
}

TEST(Payload, SampleBDiffersFromAWhereItShould) {
  const test::TempDir dir;
  ASSERT_TRUE(write_sample_release(dir / "a", SampleRelease::kA).ok());
  ASSERT_TRUE(write_sample_release(dir / "b", SampleRelease::kB).ok());
  const Result<ReleasePayload> a = read_from(dir / "a");
  const Result<ReleasePayload> b = read_from(dir / "b");
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(a->digest, b->digest);
  EXPECT_NE(a->os_streams[0].image.digest, b->os_streams[0].image.digest);
  EXPECT_EQ(a->os_streams[0].name, b->os_streams[0].name);
  EXPECT_NE(a->boot_images->stream, b->boot_images->stream);
  const auto arguments = [](const ReleasePayload& payload) {
    return json::write(*json::find(payload.base_configs.at("worker"), {"kernelArguments"}));
  };
  EXPECT_EQ(arguments(*a), R"(["audit=1"])");
  EXPECT_EQ(arguments(*b), R"(["audit=1","mitigations=auto"])");
}

TEST(Payload, TamperedImagesAreRefused) {
  struct Case {
    const char* name;
    const char* image;  // whose last layer is changed
  };
  for (const Case& c :
       {Case{"release layer", "release"}, Case{"OS layer", "os"}, Case{"extensions layer", "extensions"}}) {
    const test::TempDir dir;
    ASSERT_TRUE(write_sample_release(dir.path(), SampleRelease::kA).ok());
    const Result<oci::Layout> layout = oci::Layout::open(dir.path());
    ASSERT_TRUE(layout.ok());
    const Result<oci::Manifest> manifest = layout->read_manifest(*layout->resolve(c.image));
    ASSERT_TRUE(manifest.ok());
    const oci::Descriptor& layer = manifest->layers.back();
    std::fstream blob(dir / "blobs" / "sha256" / layer.digest.hex(), std::ios::in | std::ios::out | std::ios::binary);
    blob.seekp(static_cast<std::streamoff>(layer.size) - 1);
    blob.put('\x7f');
    blob.close();
    const Result<ReleasePayload> payload = read_from(dir.path());
    ASSERT_FALSE(payload.ok()) << c.name;
    EXPECT_EQ(payload.error().code(), Code::kCorrupt) << c.name << ": " << payload.error().to_string();
    EXPECT_NE(payload.error().to_string().find(layer.digest.hex()), std::string::npos) << payload.error().to_string();
  }
}

TEST(Payload, WithoutTheOsImageTheTagNamesTheStream) {
  const test::TempDir dir;
  write_release(dir.path(), {{"image-references", references({{"rhel-coreos", by_digest("os")},
                                                              {"rhel-coreos-10", by_digest("os10")},
                                                              {"rhel-coreos-10-extensions", by_digest("ext10")},
                                                              {"installer", by_digest("installer")}})}});
  const Result<ReleasePayload> payload = read_from(dir.path());
  ASSERT_TRUE(payload.ok()) << payload.error().to_string();
  EXPECT_EQ(payload->version, "4.20.1");  // no release-metadata: image-references names it
  ASSERT_EQ(payload->os_streams.size(), 2u);
  EXPECT_EQ(payload->os_streams[0].name, "rhel-10");
  EXPECT_TRUE(payload->os_streams[0].extensions.has_value());
  EXPECT_EQ(payload->os_streams[1].name, "rhel-9");
  EXPECT_FALSE(payload->os_streams[1].extensions.has_value());
  EXPECT_FALSE(payload->os_streams[1].verified);
  EXPECT_EQ(payload->default_stream, "rhel-9");
  EXPECT_FALSE(payload->boot_images.has_value());
  EXPECT_EQ(payload->pull_spec, "localhost/release@" + payload->digest.to_string());
  EXPECT_EQ(payload->components.size(), 4u);
}

TEST(Payload, OldReleasesHaveOneOsImageWithoutAStream) {
  struct Case {
    const char* name;
    std::vector<std::pair<std::string, std::string>> tags;
    const char* os_image;
  };
  const Case cases[] = {
      {"4.11", {{"machine-os-content", by_digest("old")}}, "machine-os-content"},
      {"4.12 has both",
       {{"machine-os-content", by_digest("old")}, {"rhel-coreos-8", by_digest("os")}},
       "rhel-coreos-8"},
  };
  for (const Case& c : cases) {
    const test::TempDir dir;
    write_release(dir.path(), {{"image-references", references(c.tags)}});
    const Result<ReleasePayload> payload = read_from(dir.path());
    ASSERT_TRUE(payload.ok()) << c.name << ": " << payload.error().to_string();
    ASSERT_EQ(payload->os_streams.size(), 1u) << c.name;
    EXPECT_EQ(payload->os_streams[0].name, "rhel-8") << c.name;
    EXPECT_EQ(payload->os_streams[0].image.tag, c.os_image) << c.name;
  }
}

TEST(Payload, UpdateEdgesAreThoseOfItsMetadata) {
  const test::TempDir dir;
  write_release(
      dir.path(),
      {{"image-references", references({{"rhel-coreos", by_digest("os")}})},
       {"release-metadata",
        R"({"kind":"cincinnati-metadata-v0","version":"4.21.2","previous":["4.21.0","4.21.1"],"next":null})"}});
  const Result<ReleasePayload> payload = read_from(dir.path());
  ASSERT_TRUE(payload.ok()) << payload.error().to_string();
  EXPECT_EQ(payload->previous, (std::vector<std::string>{"4.21.0", "4.21.1"}));
  EXPECT_TRUE(payload->next.empty());
}

TEST(Payload, AnImageUnderTwoNamesIsOneImage) {
  const test::TempDir dir;
  write_release(dir.path(), {{"image-references", references({{"rhel-coreos", by_digest("os")}})}});
  Result<oci::LayoutWriter> writer = oci::LayoutWriter::extend(dir.path());
  ASSERT_TRUE(writer.ok());
  writer->tag(*oci::Layout::open(dir.path())->find_entry("release"), "4.20.1");
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_TRUE(read_from(dir.path(), "").ok()) << "both names are the same release";
  EXPECT_TRUE(read_from(dir.path(), "4.20.1").ok());
}

TEST(Payload, BrokenReleasesSayWhatIsWrong) {
  const std::string good = references({{"rhel-coreos", by_digest("os")}});
  struct Case {
    const char* name;
    Files manifests;
    const char* mentions;
  };
  const Case cases[] = {
      {"no image-references", {{"release-metadata", "{}"}}, "release-manifests/image-references"},
      {"not an ImageStream",
       {{"image-references", R"({"kind":"List","apiVersion":"v1"})"}},
       "image.openshift.io/v1 ImageStream"},
      {"not JSON", {{"image-references", "kind: ImageStream"}}, "image-references"},
      {"by tag",
       {{"image-references", references({{"rhel-coreos", "quay.io/os:latest"}})}},
       "'rhel-coreos': from.name 'quay.io/os:latest' is not by digest"},
      {"bad digest",
       {{"image-references", references({{"rhel-coreos", "quay.io/os@sha256:abc"}})}},
       "quay.io/os@sha256:abc"},
      {"a tag twice",
       {{"image-references", references({{"rhel-coreos", by_digest("a")}, {"rhel-coreos", by_digest("b")}})}},
       "spec.tags[1]"},
      {"no OS image", {{"image-references", references({{"installer", by_digest("i")}})}}, "names no OS image"},
      {"no version", {{"image-references", references({{"rhel-coreos", by_digest("os")}}, "")}}, "no version"},
      {"metadata of another kind",
       {{"image-references", good}, {"release-metadata", R"({"kind":"x"})"}},
       "cincinnati-metadata-v0"},
      {"boot images not JSON",
       {{"image-references", good},
        {"0000_50_installer_coreos-bootimages.yaml", "apiVersion: v1\nkind: ConfigMap\ndata:\n  stream: hello\n"}},
       "data.stream"},
      {"boot images of another shape",
       {{"image-references", good},
        {"0000_50_installer_coreos-bootimages.yaml", "apiVersion: v1\nkind: ConfigMap\ndata:\n  stream: '{}'\n"}},
       "architectures"},
      {"base config of another name",
       {{"image-references", good},
        {"0000_80_strake_00-worker.yaml",
         "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: 00-master}\n"}},
       "0000_80_strake_00-worker.yaml: metadata.name is '00-master'"},
      {"base config that chooses the OS",
       {{"image-references", good},
        {"0000_80_strake_00-worker.yaml",
         "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: 00-worker}\nspec:\n  "
         "osImageURL: x\n  "
         "config: {ignition: {version: 3.5.0}}\n"}},
       "spec.osImageURL"},
  };
  for (const Case& c : cases) {
    const test::TempDir dir;
    write_release(dir.path(), c.manifests);
    const Result<ReleasePayload> payload = read_from(dir.path());
    ASSERT_FALSE(payload.ok()) << c.name;
    EXPECT_NE(payload.error().to_string().find(c.mentions), std::string::npos)
        << c.name << ": " << payload.error().to_string();
  }
}

TEST(Payload, OsTags) {
  struct Case {
    const char* tag;
    std::optional<std::string> stream;
  };
  const Case cases[] = {
      {"rhel-coreos", "rhel-9"},       {"rhel-coreos-10", "rhel-10"},
      {"rhel-coreos-8", "rhel-8"},     {"stream-coreos", "centos-10"},
      {"stream-coreos-9", "centos-9"}, {"fedora-coreos", "fedora"},
      {"rhel-coreos-extensions", {}},  {"rhel-coreos-10-extensions", {}},
      {"machine-os-images", {}},       {"rhel-coreos-", {}},
      {"rhel-coreos10", {}},           {"", {}},
  };
  for (const Case& c : cases) EXPECT_EQ(stream_of_os_tag(c.tag), c.stream) << c.tag;
}

}  // namespace strake::release::payload_test
