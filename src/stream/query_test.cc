#include "stream/query.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "support/places.h"

namespace strake::stream::query_test {

Stream stream_of_corpus(const char* name) {
  const Result<std::string> text =
      read_file(test::source_folder() / "test/corpus/boot_image_stream" / name, kMaxStreamBytes);
  EXPECT_TRUE(text.ok());
  Result<Stream> stream = parse_stream(text.ok() ? *text : "");
  EXPECT_TRUE(stream.ok());
  return stream.ok() ? *std::move(stream) : Stream{};
}

Stream rhcos_stream() { return stream_of_corpus("rhcos.json"); }

TEST(StreamQuery, JsonIsWhatStandsInTheStream) {
  const Stream stream = rhcos_stream();
  struct Case {
    const char* name;
    StreamQuery query;
    const char* path;
    std::initializer_list<std::string_view> place;
  };
  const Case cases[] = {
      {"files of a platform",
       {"x86_64", "vmware", "", ""},
       "architectures.x86_64.artifacts.vmware",
       {"architectures", "x86_64", "artifacts", "vmware"}},
      {"a format",
       {"x86_64", "metal", "", "pxe"},
       "architectures.x86_64.artifacts.metal.formats.pxe",
       {"architectures", "x86_64", "artifacts", "metal", "formats", "pxe"}},
      {"all regions",
       {"x86_64", "aws", "", ""},
       "architectures.x86_64.images.aws",
       {"architectures", "x86_64", "images", "aws"}},
      {"a region",
       {"x86_64", "aws", "us-east-1", ""},
       "architectures.x86_64.images.aws.regions.us-east-1",
       {"architectures", "x86_64", "images", "aws", "regions", "us-east-1"}},
      {"the file of a cloud that has images",
       {"x86_64", "aws", "", "vmdk.gz"},
       "architectures.x86_64.artifacts.aws.formats.vmdk.gz",
       {"architectures", "x86_64", "artifacts", "aws", "formats", "vmdk.gz"}},
      {"an extension",
       {"x86_64", "aws-winli", "us-east-1", ""},
       "architectures.x86_64.rhel-coreos-extensions.aws-winli.regions.us-east-1",
       {"architectures", "x86_64", "rhel-coreos-extensions", "aws-winli", "regions", "us-east-1"}},
  };
  for (const Case& c : cases) {
    const Result<StreamAnswer> answer = ask_stream(stream, c.query);
    ASSERT_TRUE(answer.ok()) << c.name << ": " << answer.error().to_string();
    EXPECT_EQ(answer->path, c.path) << c.name;
    const json::Value* expected = json::find(stream.document, c.place);
    ASSERT_NE(expected, nullptr) << c.name;
    EXPECT_EQ(json::write(answer->value), json::write(*expected)) << c.name;
  }
  // What jq users of the stream file see, a member unknown to us included.
  EXPECT_EQ(json::find(ask_stream(stream, {"x86_64", "vmware", "", "ova"})->value, {"disk", "shade"})->as_int64(), 7);
  const Result<StreamAnswer> azure = ask_stream(stream, {"x86_64", "azure", "", ""});
  ASSERT_TRUE(azure.ok());
  EXPECT_EQ(azure->value.as_object().size(), 2u) << "azure-disk and marketplace, not the extension of another cloud";
}

TEST(StreamQuery, AzureMachinesOfEitherGeneration) {
  const Stream stream = stream_of_corpus("rhcos.json");
  const auto reference = [&](const char* arch, std::optional<AzureGeneration> generation) -> Result<std::string> {
    STRAKE_TRY(const StreamAnswer answer, ask_stream(stream, {arch, "azure", "", "", generation}));
    return answer.reference();
  };
  EXPECT_EQ(reference("x86_64", AzureGeneration::kV1).value(), "azureopenshift:aro4:aro_422:9.8.20260428");
  EXPECT_EQ(reference("x86_64", AzureGeneration::kV2).value(), "azureopenshift:aro4:aro_422-v2:9.8.20260428");
  EXPECT_EQ(reference("x86_64", std::nullopt).value(), reference("x86_64", AzureGeneration::kV2).value());
  const auto absent = reference("aarch64", AzureGeneration::kV1);
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code(), Code::kNotFound);
  EXPECT_NE(absent.error().message().find("it has: V2"), std::string::npos) << absent.error().message();
}

TEST(StreamQuery, PeopleSayVsphere) {
  EXPECT_EQ(stream_platform("vsphere"), "vmware");
  EXPECT_EQ(stream_platform("vmware"), "vmware");
  EXPECT_EQ(stream_platform(""), "");
}

TEST(StreamQuery, ACloudOfTheExtensionsMayStandAmongTheImages) {
  const Stream stream = stream_of_corpus("extension-cloud-among-images.json");
  for (const char* region : {"", "us-east-1"}) {
    const auto answer = ask_stream(stream, {"x86_64", "aws-winli", region, ""});
    ASSERT_TRUE(answer.ok()) << answer.error().to_string();
    EXPECT_TRUE(answer->path.starts_with("architectures.x86_64.images.aws-winli")) << answer->path;
    EXPECT_EQ(*answer->reference(), "ami-1");
  }
  // In both places: the images count, as for every other cloud.
  EXPECT_EQ(*ask_stream(stream, {"aarch64", "aws-winli", "", ""})->reference(), "ami-1");
}

TEST(StreamQuery, TextIsForPeople) {
  const Stream stream = rhcos_stream();
  EXPECT_EQ(ask_stream(stream, {"x86_64", "aws", "", ""})->text,
            "REGION      RELEASE          IMAGE\n"
            "eu-west-1   9.8.20260428-0   ami-0e1000000000000a1\n"
            "us-east-1   9.8.20260427-0   ami-0e1000000000000a2\n");
  EXPECT_EQ(ask_stream(stream, {"x86_64", "gcp", "", ""})->text,
            "release   9.8.20260428-0\n"
            "project   rhcos-cloud\n"
            "name      rhcos-9-8-20260428-0-gcp-x86-64\n");
  const std::string pxe = ask_stream(stream, {"x86_64", "metal", "", "pxe"})->text;
  EXPECT_TRUE(pxe.starts_with("format     pxe (initramfs)\nrelease    9.8.20260428-0\nlocation   https://")) << pxe;
  EXPECT_NE(pxe.find("\n\nformat     pxe (kernel)\n"), std::string::npos) << pxe;
  const std::string azure = ask_stream(stream, {"x86_64", "azure", "", ""})->text;
  EXPECT_NE(azure.find("ocp                V1           redhat:rh-ocp-worker:rh-ocp-worker-gen1:9.6.2026030314\n"),
            std::string::npos)
      << azure;
}

TEST(StreamQuery, WhatIsAbsentNamesWhatExists) {
  const Stream stream = rhcos_stream();
  struct Case {
    const char* name;
    StreamQuery query;
    const char* says;
  };
  const Case cases[] = {
      {"architecture", {"riscv64", "aws", "", ""}, "aarch64, ppc64le, s390x, x86_64"},
      {"platform", {"x86_64", "nutanix", "", ""}, "aws, aws-winli, azure, gcp, kubevirt, metal, vmware"},
      {"platform of another architecture", {"aarch64", "vmware", "", ""}, "aws, azure, nvidiabluefield"},
      {"region", {"x86_64", "aws", "ap-south-2", ""}, "eu-west-1, us-east-1"},
      {"region without an image", {"x86_64", "aws", "xx-unpublished-1", ""}, "eu-west-1, us-east-1"},
      {"region of a cloud without regions", {"x86_64", "gcp", "europe-west1", ""}, "without a region"},
      {"region of a platform that is in no cloud", {"x86_64", "vmware", "dc1", ""}, "aws, aws-winli, gcp, kubevirt"},
      {"format", {"x86_64", "metal", "", "qcow2.gz"}, "4k.raw.gz, iso, pxe, raw.gz"},
      {"format of a platform without files",
       {"x86_64", "aws-winli", "", "vmdk.gz"},
       "aws, azure, gcp, kubevirt, metal, vmware"},
  };
  for (const Case& c : cases) {
    const Result<StreamAnswer> answer = ask_stream(stream, c.query);
    ASSERT_FALSE(answer.ok()) << c.name;
    EXPECT_EQ(answer.error().code(), Code::kNotFound) << c.name;
    EXPECT_NE(answer.error().message().find(c.says), std::string::npos) << c.name << ": " << answer.error().message();
  }
  EXPECT_EQ(ask_stream(stream, {"x86_64", "aws", "us-east-1", "vmdk.gz"}).error().code(), Code::kInvalidArgument);
  const Result<std::string> two = ask_stream(stream, {"x86_64", "aws", "", ""})->reference();
  ASSERT_FALSE(two.ok());
  EXPECT_NE(two.error().message().find("--region"), std::string::npos);
}

TEST(StreamQuery, NarrowingKeepsPathsAndUnknownMembers) {
  const Stream stream = rhcos_stream();
  struct Case {
    const char* name;
    StreamQuery query;
    const char* architectures;
  };
  const Case cases[] = {
      {"platform", {"", "powervs", "", ""}, R"(["powervs"],["powervs"])"},
      {"region", {"", "", "eu-west-1", ""}, R"([],["aws"])"},
      {"format", {"x86_64", "", "", "ova"}, R"(["vmware"],[])"},
  };
  for (const Case& c : cases) {
    const Result<Stream> narrowed = narrow_stream(stream, c.query);
    ASSERT_TRUE(narrowed.ok()) << c.name << ": " << narrowed.error().to_string();
    json::Array artifacts, images;
    for (const auto& [arch, architecture] : narrowed->architectures) {
      for (const auto& [name, platform] : architecture.artifacts) artifacts.push_back(json::Value(name));
      for (const auto& [name, cloud] : architecture.images) images.push_back(json::Value(name));
      EXPECT_TRUE(architecture.azure.empty()) << c.name;
    }
    EXPECT_EQ(json::write(artifacts) + "," + json::write(images), c.architectures) << c.name;
  }
  const Result<Stream> vmware = narrow_stream(stream, {"x86_64", "vmware", "", ""});
  ASSERT_TRUE(vmware.ok());
  EXPECT_EQ(json::write(*json::find(vmware->document, {"architectures", "x86_64", "artifacts", "vmware"})),
            json::write(*json::find(stream.document, {"architectures", "x86_64", "artifacts", "vmware"})));
  EXPECT_NE(json::find(vmware->document, {"architectures", "x86_64", "future"}), nullptr);
  EXPECT_NE(json::find(vmware->document, {"metadata", "generator"}), nullptr);
  EXPECT_EQ(narrow_stream(stream, {})->document, stream.document);

  const std::pair<StreamQuery, const char*> absent[] = {
      {{"mips", "", "", ""}, "x86_64"},
      {{"", "nutanix", "", ""}, "powervs, qemu-secex, vmware"},
      {{"", "aws", "mars-1", ""}, "(it has: eu-west-1, us-east-1)"},
      {{"x86_64", "metal", "", "vhd"}, "(it has: 4k.raw.gz, iso, pxe, raw.gz)"},
  };
  for (const auto& [query, says] : absent) {
    const Result<Stream> none = narrow_stream(stream, query);
    ASSERT_FALSE(none.ok()) << says;
    EXPECT_EQ(none.error().code(), Code::kNotFound) << says;
    EXPECT_NE(none.error().message().find(says), std::string::npos) << none.error().message();
  }
}

TEST(StreamQuery, Describe) {
  const Result<Stream> narrowed = narrow_stream(rhcos_stream(), {"x86_64", "", "", ""});
  ASSERT_TRUE(narrowed.ok());
  EXPECT_EQ(describe_stream(*narrowed),
            "stream      rhcos-4.21\n"
            "modified    2026-04-30T11:22:33Z\n"
            "generator   plume cosa2stream 1a2b3c4\n"
            "release     9.8.20260428-0 (RHEL 9.8, built 2026-04-28)\n"
            "\n"
            "ARCH     PLATFORM    RELEASE          FORMATS                    CLOUD IMAGES\n"
            "x86_64   aws         9.8.20260428-0   vmdk.gz                    2 regions\n"
            "x86_64   aws-winli   9.8.20260428-0   -                          ami-0e1000000000000f1 in us-east-1\n"
            "x86_64   azure       9.8.20260428-0   vhd.gz                     3 marketplace plans, disk\n"
            "x86_64   gcp         9.8.20260428-0   tar.gz                     "
            "projects/rhcos-cloud/global/images/rhcos-9-8-20260428-0-gcp-x86-64\n"
            "x86_64   kubevirt    9.8.20260428-0   ociarchive                 "
            "registry.example.com/os/rhcos@sha256:22c1bccf49038ec5cddd589a3c58975f1c1c2ea1d2fb484228db85cf979ab3f2\n"
            "x86_64   metal       9.8.20260428-0   4k.raw.gz iso pxe raw.gz   -\n"
            "x86_64   vmware      9.8.20260428-0   ova                        -\n");
  EXPECT_EQ(describe_stream(*parse_stream(R"({"stream":"new","architectures":{}})")),
            "stream   new\n\nThis stream publishes nothing.\n");
}

TEST(StreamQuery, LegacyAmis) {
  const Stream stream = rhcos_stream();
  EXPECT_EQ(json::write(*legacy_amis(stream, "x86_64")),
            R"({"amis":{"eu-west-1":{"hvm":"ami-0e1000000000000a1"},"us-east-1":{"hvm":"ami-0e1000000000000a2"}}})");
  EXPECT_EQ(legacy_amis(stream, "s390x").error().code(), Code::kNotFound);
}

}  // namespace strake::stream::query_test
