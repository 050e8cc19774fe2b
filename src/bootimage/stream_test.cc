#include "bootimage/stream.h"

#include <gtest/gtest.h>

namespace strake::bootimage::stream_test {

constexpr std::string_view kSmallStream = R"({
  "stream": "rhcos-4.21",
  "metadata": {"last-modified": "2026-04-30T00:00:00Z", "generator": "some tool"},
  "future-member": [1, 2, {"deep": true}],
  "architectures": {
    "x86_64": {
      "artifacts": {
        "metal": {"release": "9.8.1", "formats": {
          "raw.gz": {"disk": {"location": "https://example.test/metal.raw.gz", "sha256": "aa", "uncompressed-sha256": "bb"}},
          "pxe": {"kernel": {"location": "https://example.test/kernel", "sha256": "cc"},
                  "rootfs": {"location": "https://example.test/rootfs", "signature": "https://example.test/rootfs.sig", "sha256": "dd"}}}},
        "hologram": {"release": "9.8.2", "formats": {"holo.zst": {"disk": {"location": "https://example.test/h", "sha256": "ee", "shade": 7}}}},
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

  const Result<AwsImage> image = stream->aws_image("x86_64", "eu-west-1");
  ASSERT_TRUE(image.ok()) << image.error().to_string();
  EXPECT_EQ(image->ami, "ami-2");
  EXPECT_EQ(image->release, "9.8.0");  // of this very entry: regions may differ

  const Result<Artifact> rootfs = stream->artifact("x86_64", "metal", "pxe", "rootfs");
  ASSERT_TRUE(rootfs.ok()) << rootfs.error().to_string();
  EXPECT_EQ(rootfs->signature, "https://example.test/rootfs.sig");
  EXPECT_TRUE(stream->artifact("x86_64", "hologram", "holo.zst").ok());
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

TEST(Stream, OfConfigMap) {
  kube::Object config_map(kube::core::kConfigMap, {"openshift-machine-config-operator", "coreos-bootimages"});
  Result<Stream> stream = stream_of_config_map(config_map);
  ASSERT_FALSE(stream.ok());
  EXPECT_NE(stream.error().to_string().find("data.stream"), std::string::npos);

  json::ensure(config_map.json(), {"data", "stream"}) = kSmallStream;
  stream = stream_of_config_map(config_map);
  ASSERT_TRUE(stream.ok()) << stream.error().to_string();
  EXPECT_EQ(stream->architectures.count("x86_64"), 1u);

  json::ensure(config_map.json(), {"data", "stream"}) = "{";
  stream = stream_of_config_map(config_map);
  ASSERT_FALSE(stream.ok());
  EXPECT_NE(stream.error().to_string().find("openshift-machine-config-operator/coreos-bootimages"), std::string::npos);
}

}  // namespace strake::bootimage::stream_test
