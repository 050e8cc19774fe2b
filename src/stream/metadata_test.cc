#include "stream/metadata.h"

#include <gtest/gtest.h>

namespace strake::stream::metadata_test {

constexpr std::string_view kSmallStream = R"({
  "stream": "rhcos-4.21",
  "metadata": {"last-modified": "2026-04-30T00:00:00Z", "generator": "some tool"},
  "future-member": [1, 2, {"deep": true}],
  "architectures": {
    "x86_64": {
      "artifacts": {
        "metal": {"release": "9.8.1", "formats": {
          "raw.gz": {"disk": {"location": "https://example.test/metal.raw.gz", "sha256": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "uncompressed-sha256": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}},
          "pxe": {"kernel": {"location": "https://example.test/kernel", "sha256": "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"},
                  "rootfs": {"location": "https://example.test/rootfs", "signature": "https://example.test/rootfs.sig", "sha256": "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"}}}},
        "hologram": {"release": "9.8.2", "formats": {"holo.zst": {"disk": {"location": "https://example.test/h", "sha256": "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee", "shade": 7}}}},
        "withdrawn": {"formats": {}}
      },
      "images": {
        "aws": {"regions": {"us-east-1": {"release": "9.8.1", "image": "ami-1"},
                            "eu-west-1": {"release": "9.8.0", "image": "ami-2"},
                            "mars-1": {"release": "9.8.1", "image": ""}}},
        "gcp": {"project": "rhcos-cloud", "name": "x"}
      },
      "rhel-coreos-extensions": {"azure-disk": {}}
    },
    "aarch64": {"artifacts": {}, "images": {}},
    "s390x": {"artifacts": null, "images": null}
  }
})";

TEST(Stream, ReadsWhatItKnowsAndPassesOverTheRest) {
  const Result<Stream> stream = parse_stream(kSmallStream);
  ASSERT_TRUE(stream.ok()) << stream.error().to_string();
  EXPECT_EQ(stream->name, "rhcos-4.21");
  EXPECT_EQ(stream->last_modified, "2026-04-30T00:00:00Z");
  EXPECT_EQ(stream->architectures.size(), 3u);

  const Result<CloudImage> image = stream->aws_image("x86_64", "eu-west-1");
  ASSERT_TRUE(image.ok()) << image.error().to_string();
  EXPECT_EQ(image->image, "ami-2");
  EXPECT_EQ(image->release, "9.8.0");  // of this very entry: regions may differ

  const Result<Artifact> rootfs = stream->artifact("x86_64", "metal", "pxe", "rootfs");
  ASSERT_TRUE(rootfs.ok()) << rootfs.error().to_string();
  EXPECT_EQ(rootfs->signature, "https://example.test/rootfs.sig");
  EXPECT_TRUE(stream->artifact("x86_64", "hologram", "holo.zst").ok());
  EXPECT_EQ(json::write(*json::find(stream->document, {"future-member"})), R"([1,2,{"deep":true}])");
}

TEST(Stream, AbsentEntriesAreNotFoundAndNameTheAlternatives) {
  const Result<Stream> stream = parse_stream(kSmallStream);
  ASSERT_TRUE(stream.ok());
  struct Case {
    const char* name;
    Error error;
    const char* mentions;
  };
  const Case cases[] = {
      {"architecture", stream->aws_image("riscv64", "us-east-1").error(), "x86_64"},
      {"region", stream->aws_image("x86_64", "ap-south-1").error(), "eu-west-1, us-east-1"},
      {"region with an empty image", stream->aws_image("x86_64", "mars-1").error(), "eu-west-1, us-east-1"},
      {"no regions at all", stream->aws_image("aarch64", "us-east-1").error(), "none"},
      {"a region of a cloud without regions", stream->image("x86_64", "gcp", "us-east-1").error(), "without a region"},
      {"regional cloud without a region", stream->image("x86_64", "aws", "").error(), "eu-west-1, us-east-1"},
      {"platform", stream->artifact("x86_64", "qemu", "qcow2.gz").error(), "hologram, metal"},
      {"platform without a release", stream->artifact("x86_64", "withdrawn", "iso").error(), "hologram, metal"},
      {"format", stream->artifact("x86_64", "metal", "iso").error(), "pxe, raw.gz"},
      {"member", stream->artifact("x86_64", "metal", "pxe", "initramfs").error(), "kernel, rootfs"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(c.error.code(), Code::kNotFound) << c.name;
    EXPECT_NE(c.error.to_string().find(c.mentions), std::string::npos) << c.name << ": " << c.error.to_string();
  }
}

TEST(Stream, WrongTypesAreRefusedWithTheirPath) {
  struct Case {
    const char* name;
    const char* text;
    const char* path;
  };
  const Case cases[] = {
      {"not an object", "[]", "document"},
      {"other JSON", R"({"kind": "ConfigMap"})", "architectures: missing"},
      {"architectures", R"({"architectures": []})", "architectures: expected an object, found array"},
      {"ami", R"({"architectures":{"x86_64":{"images":{"aws":{"regions":{"us-east-1":{"image":7}}}}}}})",
       "architectures.x86_64.images.aws.regions.us-east-1.image: expected a string"},
      {"region", R"({"architectures":{"x86_64":{"images":{"aws":{"regions":{"us-east-1":"ami-1"}}}}}})",
       "architectures.x86_64.images.aws.regions.us-east-1: expected an object"},
      {"artifact",
       R"({"architectures":{"x86_64":{"artifacts":{"metal":{"release":"1","formats":{"iso":{"disk":[]}}}}}}})",
       "architectures.x86_64.artifacts.metal.formats.iso.disk: expected an object"},
      {"control characters", "{\"stream\": \"a\\u001b[2J\", \"architectures\":{}}",
       "stream: contains control characters"},
      {"marketplace image without a sku",
       R"({"architectures":{"x86_64":{"rhel-coreos-extensions":{"marketplace":{"azure":{"ocp":{"hyperVGen2":
          {"publisher":"p","offer":"o","version":"1"}}}}}}}})",
       "marketplace.azure.ocp.hyperVGen2.sku: missing"},
      {"name", R"({"stream": {}, "architectures":{}})", "stream: expected a string, found object"},
  };
  for (const Case& c : cases) {
    const Result<Stream> stream = parse_stream(c.text);
    ASSERT_FALSE(stream.ok()) << c.name;
    EXPECT_EQ(stream.error().code(), Code::kInvalidArgument) << c.name;
    EXPECT_NE(stream.error().to_string().find(c.path), std::string::npos)
        << c.name << ": " << stream.error().to_string();
  }
}

TEST(Stream, WhatCannotBeFetchedOrCheckedIsNotHandedOut) {
  struct Case {
    const char* name;
    std::string file;
    const char* says;
  };
  const std::string good(64, 'a');
  const Case cases[] = {
      {"no location", R"({"sha256": ")" + good + R"("})", "location is missing"},
      {"no digest", R"({"location": "https://example.test/x"})", "sha256 is ''"},
      {"short digest", R"({"location": "https://example.test/x", "sha256": "abc"})", "sha256 is 'abc'"},
      {"upper case", R"({"location": "https://example.test/x", "sha256": ")" + std::string(64, 'A') + R"("})",
       "lower-case"},
      {"uncompressed",
       R"({"location": "https://example.test/x", "uncompressed-sha256": "1", "sha256": ")" + good + R"("})",
       "uncompressed-sha256 is '1'"},
  };
  for (const Case& c : cases) {
    const Result<Stream> stream =
        parse_stream(R"({"architectures":{"x86_64":{"artifacts":{"metal":{"release":"1","formats":{"iso":{"disk":)" +
                     c.file + "}}}}}}}");
    ASSERT_TRUE(stream.ok()) << c.name << ": " << stream.error().to_string();
    const Result<Artifact> artifact = stream->artifact("x86_64", "metal", "iso");
    ASSERT_FALSE(artifact.ok()) << c.name;
    EXPECT_EQ(artifact.error().code(), Code::kInvalidArgument) << c.name;
    EXPECT_NE(artifact.error().message().find(c.says), std::string::npos)
        << c.name << ": " << artifact.error().message();
  }
}

TEST(Stream, DocumentsAboveTheLimitAreRefused) {
  const Result<Stream> stream = parse_stream(std::string(kMaxStreamBytes + 1, ' '));
  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.error().code(), Code::kExhausted) << stream.error().to_string();
}

}  // namespace strake::stream::metadata_test
