#include "stream/import.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "stream/query.h"
#include "support/places.h"

// The files read here are also where fuzzing starts: test/corpus/boot_image_stream.
namespace strake::stream::import_test {

std::string file_text(const std::string& name) {
  if (name.empty()) return "";
  Result<std::string> text = read_file(test::source_folder() / "test/corpus/boot_image_stream" / name, kMaxStreamBytes);
  EXPECT_TRUE(text.ok()) << name;
  return text.ok() ? *text : "";
}

TEST(StreamImport, EveryShapeAnswersTheSameQuestions) {
  struct Case {
    const char* name;
    const char* file;
    const char* stream;
    StreamQuery query;
    const char* reference;
    const char* release;
  };
  const Case cases[] = {
      {"RHCOS: region",
       "rhcos.json",
       "",
       {"x86_64", "aws", "eu-west-1", ""},
       "ami-0e1000000000000a1",
       "9.8.20260428-0"},
      {"RHCOS: a region of another build",
       "rhcos.json",
       "",
       {"x86_64", "aws", "us-east-1", ""},
       "ami-0e1000000000000a2",
       "9.8.20260427-0"},
      {"RHCOS: another architecture of another build",
       "rhcos.json",
       "",
       {"aarch64", "aws", "us-east-1", ""},
       "ami-0e1000000000000b1",
       "9.8.20260429-0"},
      {"RHCOS: global image",
       "rhcos.json",
       "",
       {"x86_64", "gcp", "", ""},
       "projects/rhcos-cloud/global/images/rhcos-9-8-20260428-0-gcp-x86-64",
       "9.8.20260428-0"},
      {"RHCOS: bucket and object",
       "rhcos.json",
       "",
       {"ppc64le", "powervs", "au-syd", ""},
       "rhcos-powervs-images-au-syd/rhcos-9-8-20260428-0-ppc64le-powervs.ova.gz",
       "9.8.20260428-0"},
      {"RHCOS: container disk by digest",
       "rhcos.json",
       "",
       {"x86_64", "kubevirt", "", ""},
       "registry.example.com/os/rhcos@sha256:22c1bccf49038ec5cddd589a3c58975f1c1c2ea1d2fb484228db85cf979ab3f2",
       ""},
      {"RHCOS: Azure without a plan",
       "rhcos.json",
       "",
       {"x86_64", "azure", "", ""},
       "azureopenshift:aro4:aro_422-v2:9.8.20260428",
       ""},
      {"RHCOS: Windows hosts",
       "rhcos.json",
       "",
       {"x86_64", "aws-winli", "us-east-1", ""},
       "ami-0e1000000000000f1",
       "9.8.20260428-0"},
      {"RHCOS: file",
       "rhcos.json",
       "",
       {"x86_64", "vmware", "", "ova"},
       "https://mirror.example.com/art/streams/rhel-9.8/builds/9.8.20260428-0/x86_64/"
       "rhcos-9.8.20260428-0-vmware.x86_64.ova",
       "9.8.20260428-0"},
      {"RHCOS: secure execution",
       "rhcos.json",
       "",
       {"s390x", "qemu-secex", "", "qcow2.gz"},
       "https://mirror.example.com/art/streams/rhel-9.8/builds/9.8.20260428-0/s390x/"
       "rhcos-9.8.20260428-0-qemu-secex.s390x.qcow2.gz",
       ""},
      {"SCOS", "scos.json", "", {"x86_64", "aws", "us-gov-west-1", ""}, "ami-0c5000000000000a2", "10.0.20250911-0"},
      {"SCOS: Azure disk where there is no marketplace",
       "scos.json",
       "",
       {"x86_64", "azure", "", ""},
       "https://scos.blob.example.com/scos.vhd",
       ""},
      {"FCOS: gcp without a release",
       "fcos.json",
       "",
       {"x86_64", "gcp", "", ""},
       "projects/fedora-coreos-cloud/global/images/fedora-coreos-44-20260401-3-0-gcp-x86-64",
       ""},
      {"FCOS: aliyun",
       "fcos.json",
       "",
       {"x86_64", "aliyun", "eu-central-1", ""},
       "m-gw80000000000000001",
       "44.20260401.3.0"},
      {"FCOS: a format of its own",
       "fcos.json",
       "stable",
       {"x86_64", "hyperv", "", "vhdx.zip"},
       "https://mirror.example.com/art/streams/rhel-9.8/builds/44.20260401.3.0/x86_64/"
       "fedora-coreos-44.20260401.3.0-hyperv.x86_64.vhdx.zip",
       ""},
      {"by name",
       "streams-by-name.json",
       "rhel-10",
       {"x86_64", "aws", "us-east-1", ""},
       "ami-0e1000000000000c1",
       "10.2.20260428-0"},
      {"ConfigMap: default",
       "configmap.json",
       "",
       {"x86_64", "aws", "us-east-1", ""},
       "ami-0e1000000000000a2",
       "9.8.20260428-0"},
      {"ConfigMap: named",
       "configmap.json",
       "rhel-10",
       {"x86_64", "aws", "us-east-1", ""},
       "ami-0e1000000000000c1",
       "10.2.20260428-0"},
      {"ConfigMap as YAML",
       "configmap.yaml",
       "",
       {"x86_64", "aws", "us-east-1", ""},
       "ami-0e1000000000000a2",
       "9.8.20260428-0"},
      {"ConfigMap: the only stream has no name",
       "configmap-okd.json",
       "",
       {"x86_64", "aws", "us-east-1", ""},
       "ami-0c5000000000000a1",
       "10.0.20250911-0"},
      {"rhcos.json 4.1: AMI",
       "rhcos-4.1.json",
       "",
       {"x86_64", "aws", "eu-west-1", ""},
       "ami-0410000000000000b",
       "410.8.20190520.0"},
      {"rhcos.json 4.1: compressed despite its name",
       "rhcos-4.1.json",
       "",
       {"x86_64", "qemu", "", "qcow2.gz"},
       "https://releases.example.com/storage/releases/ootpa/410.8.20190520.0/rhcos-410.8.20190520.0-qemu.qcow2",
       ""},
      {"rhcos.json 4.1: by firmware",
       "rhcos-4.1.json",
       "",
       {"x86_64", "metal", "", "uefi.raw.gz"},
       "https://releases.example.com/storage/releases/ootpa/410.8.20190520.0/rhcos-410.8.20190520.0-metal-uefi.raw.gz",
       ""},
      {"rhcos.json 4.1: installer ISO",
       "rhcos-4.1.json",
       "",
       {"x86_64", "metal", "", "installer.iso"},
       "https://releases.example.com/storage/releases/ootpa/410.8.20190520.0/rhcos-410.8.20190520.0-installer.iso",
       ""},
      {"rhcos.json 4.1: Azure disk",
       "rhcos-4.1.json",
       "",
       {"x86_64", "azure", "", ""},
       "https://openshifttechpreview.blob.example.com/rhcos/rhcos-410.8.20190520.0.vhd",
       ""},
      {"rhcos.json of another architecture",
       "rhcos-4.6-ppc64le.json",
       "",
       {"ppc64le", "metal", "", "iso"},
       "https://mirror.example.com/art/storage/releases/rhcos-4.6-ppc64le/46.82.202008111740-0/ppc64le/"
       "rhcos-46.82.202008111740-0-live.ppc64le.iso",
       ""},
      {"rhcos.json: 4k sectors",
       "rhcos-4.6-ppc64le.json",
       "",
       {"ppc64le", "metal", "", "4k.raw.gz"},
       "https://mirror.example.com/art/storage/releases/rhcos-4.6-ppc64le/46.82.202008111740-0/ppc64le/"
       "rhcos-46.82.202008111740-0-metal4k.ppc64le.raw.gz",
       ""},
      {"fcos-amd64.json: gcp",
       "fcos-amd64-4.6.json",
       "",
       {"x86_64", "gcp", "", ""},
       "projects/fedora-coreos-cloud/global/images/fedora-coreos-33-20201201-3-0-gcp-x86-64",
       "33.20201201.3.0"},
      {"meta.json: AMI",
       "meta.json",
       "",
       {"x86_64", "aws", "us-east-1", ""},
       "ami-0415000000000000a",
       "415.92.202311241643-0"},
      {"meta.json: file beside it",
       "meta.json",
       "",
       {"x86_64", "vmware", "", "ova"},
       "file:///builds/x86_64/rhcos-415.92.202311241643-0-vmware.x86_64.ova",
       ""},
      {"meta.json: ibmcloud",
       "meta.json",
       "",
       {"x86_64", "ibmcloud", "us-east", ""},
       "rhcos-ibmcloud-images/rhcos.qcow2",
       "415.92.202311241643-0"},
      {"meta.json: aliyun",
       "meta.json",
       "",
       {"x86_64", "aliyun", "eu-central-1", ""},
       "m-gw8000000000000000a",
       "415.92.202311241643-0"},
      {"meta.json: Windows hosts",
       "meta.json",
       "",
       {"x86_64", "aws-winli", "us-east-1", ""},
       "ami-0415000000000000c",
       "415.92.202311241643-0"},
      {"meta.json: a registry with a port",
       "meta.json",
       "",
       {"x86_64", "kubevirt", "", ""},
       "registry.example.com:5000/os/rhcos@sha256:379f1b10a1c750842d937eb3143098d3775d0b10bfad08e0aea86c892ef858df",
       "415.92.202311241643-0"},
      {"marketplace alone",
       "marketplace.json",
       "",
       {"aarch64", "azure", "", ""},
       "azureopenshift:aro4:aro_422-arm:9.8.20260428",
       ""},
  };
  for (const Case& c : cases) {
    ImportOptions options;
    options.base_url = "file:///builds/x86_64/";
    const Result<StreamSet> set = read_streams(file_text(c.file), options);
    ASSERT_TRUE(set.ok()) << c.name << ": " << set.error().to_string();
    const Result<const Stream*> stream = set->find(c.stream);
    ASSERT_TRUE(stream.ok()) << c.name << ": " << stream.error().to_string();
    const Result<StreamAnswer> answer = ask_stream(**stream, c.query);
    ASSERT_TRUE(answer.ok()) << c.name << ": " << answer.error().to_string();
    const Result<std::string> reference = answer->reference();
    ASSERT_TRUE(reference.ok()) << c.name << ": " << reference.error().to_string();
    EXPECT_EQ(*reference, c.reference) << c.name;
    EXPECT_NE(answer->text.find(c.release), std::string::npos) << c.name << "\n" << answer->text;
  }
}

TEST(StreamImport, DetailsOfOldShapesSurvive) {
  const Result<StreamSet> meta = read_streams(file_text("meta.json"));
  ASSERT_TRUE(meta.ok()) << meta.error().to_string();
  const Stream& build = *meta->default_stream;
  EXPECT_EQ(build.last_modified, "2023-11-24T16:50:34Z");
  EXPECT_EQ(json::find_string(build.document,
                              {"architectures", "x86_64", "images", "aws", "regions", "us-east-1", "snapshot"}),
            "snap-0415000000000000a");
  // Nobody said where the files lie, so the path stays as it is.
  EXPECT_EQ(build.architectures.at("x86_64").artifacts.at("vmware").formats.at("ova").at("disk").location,
            "rhcos-415.92.202311241643-0-vmware.x86_64.ova");
  EXPECT_FALSE(build.architectures.at("x86_64").artifacts.contains("ostree")) << "nothing boots from an OSTree commit";

  const Result<StreamSet> old = read_streams(file_text("rhcos-4.1.json"));
  ASSERT_TRUE(old.ok()) << old.error().to_string();
  const StreamArchitecture& first = old->default_stream->architectures.at("x86_64");
  EXPECT_EQ(first.artifacts.at("metal").formats.at("installer-pxe").size(), 2u);
  EXPECT_EQ(first.artifacts.at("vmware").formats.at("ova").at("disk").uncompressed_sha256, "");
  EXPECT_FALSE(first.artifacts.at("aws").formats.at("vmdk.gz").at("disk").uncompressed_sha256.empty());
  EXPECT_EQ(read_streams(file_text("rhcos-4.6-ppc64le.json"))->default_stream->architectures.size(), 1u);
}

TEST(StreamImport, FilesOfABuildLieBesideItsRecord) {
  struct Case {
    const char* base;
    const char* path;
    const char* location;  ///< or what the refusal says, behind "refused: "
  };
  const Case cases[] = {
      {"https://m.example/b/1/x86_64/", "a.qcow2", "https://m.example/b/1/x86_64/a.qcow2"},
      {"https://m.example/b/1/meta.json", "x86_64/a.qcow2", "https://m.example/b/1/x86_64/a.qcow2"},
      {"https://m.example", "a.qcow2", "https://m.example/a.qcow2"},
      {"file:///b/1/", "a.qcow2", "file:///b/1/a.qcow2"},
      {"https://m.example/b/", "https://n.example/a.qcow2", "https://n.example/a.qcow2"},
      {"https://m.example/b/", "../a.qcow2", "refused: beside the build's record"},
      {"https://m.example/b/", "c/../../a.qcow2", "refused: beside the build's record"},
      {"https://m.example/b/", "/a.qcow2", "refused: beside the build's record"},
      {"https://m.example/b/", "//n.example/a.qcow2", "refused: beside the build's record"},
      {"https://m.example/b/", "file:///etc/shadow", "refused: beside the build's record"},
      {"https://m.example/b/", "a.qcow2?x=1", "refused: beside the build's record"},
      {"https://m.example/b/", "a b.qcow2", "refused: beside the build's record"},
      {"ftp://m.example/b/", "a.qcow2", "refused: baseURI"},
  };
  for (const Case& c : cases) {
    const json::Value record = json::Object{
        {"buildid", "1"},
        {"baseURI", c.base},
        {"images", json::Object{{"qemu", json::Object{{"path", c.path}, {"sha256", std::string(64, 'a')}}}}}};
    const Result<StreamSet> set = read_streams(json::write(record));
    const std::string_view expected(c.location);
    if (expected.starts_with("refused: ")) {
      ASSERT_FALSE(set.ok()) << c.path;
      EXPECT_NE(set.error().to_string().find(expected.substr(9)), std::string::npos) << set.error().to_string();
      continue;
    }
    ASSERT_TRUE(set.ok()) << c.path << ": " << set.error().to_string();
    const auto artifact = set->default_stream->artifact("x86_64", "qemu", "qcow2");
    ASSERT_TRUE(artifact.ok()) << artifact.error().to_string();
    EXPECT_EQ(artifact->location, c.location);
  }
}

TEST(StreamImport, MarketplaceDataIsMergedWhereTheStreamHasTheArchitecture) {
  const std::string base = R"({"stream":"rhcos-4.21","architectures":{"x86_64":{"kept":1},"aarch64":{}}})";
  ImportOptions options;
  options.marketplace = file_text("marketplace.json");
  const Result<StreamSet> set = read_streams(base, options);
  ASSERT_TRUE(set.ok()) << set.error().to_string();
  const Stream& stream = *set->default_stream;
  EXPECT_EQ(stream.architectures.size(), 2u);
  const auto& plans = stream.architectures.at("x86_64").azure.plans;
  ASSERT_EQ(plans.size(), 3u);
  EXPECT_EQ(plans.at("ocp").gen1->urn(), "redhat:rh-ocp-worker:rh-ocp-worker-gen1:9.6.2026030314");
  EXPECT_FALSE(plans.at("ocp-emea").gen1.has_value());
  EXPECT_EQ(json::find(stream.document, {"architectures", "x86_64", "kept"})->as_int64(), 1);

  options.marketplace = R"({"x86_64": {"aws": {}}})";
  const Result<StreamSet> wrong = read_streams(base, options);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().to_string().find("marketplace data"), std::string::npos) << wrong.error().to_string();
}

TEST(StreamImport, AbsentStreamsAreNamed) {
  struct Case {
    const char* name;
    const char* file;
    const char* stream;
    const char* says;
  };
  const Case cases[] = {
      {"no default among several", "streams-by-name.json", "", "rhel-10, rhel-11, rhel-9"},
      {"not one of several", "configmap.json", "rhel-8", "rhel-10, rhel-9"},
      {"not the label of the only one", "fcos.json", "next", "calls itself 'stable'"},
  };
  for (const Case& c : cases) {
    const Result<StreamSet> set = read_streams(file_text(c.file));
    ASSERT_TRUE(set.ok()) << c.name << ": " << set.error().to_string();
    const Result<const Stream*> stream = set->find(c.stream);
    ASSERT_FALSE(stream.ok()) << c.name;
    EXPECT_EQ(stream.error().code(), Code::kNotFound) << c.name;
    EXPECT_NE(stream.error().message().find(c.says), std::string::npos) << c.name << ": " << stream.error().message();
  }
}

TEST(StreamImport, OtherDocumentsAreRefusedAndSayWhy) {
  struct Case {
    const char* name;
    std::string text;
    const char* says;
  };
  const Case cases[] = {
      {"nothing", " \n", "empty"},
      {"a list", "[]", "no boot image metadata"},
      {"another object", R"({"kind":"Pod"})", "no boot image metadata"},
      {"ConfigMap of something else", R"({"kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"b"}})",
       "data.stream"},
      {"ConfigMap with a broken stream", R"({"kind":"ConfigMap","data":{"stream":"{"}})", "data.stream"},
      {"ConfigMap with a broken named stream",
       R"({"kind":"ConfigMap","data":{"streams":"{\"a\":{\"architectures\":[]}}"}})", "data.streams: stream 'a'"},
      {"build without an id", R"({"buildid":"","images":{}})", "buildid: missing"},
      {"build with a number for a path", R"({"buildid":"1","images":{"vmware":{"path":1}}})",
       "images.vmware.path: expected a string"},
      {"AMI list without a region", R"({"buildid":"1","amis":[{"hvm":"ami-1"}]})", "amis[0].name: missing"},
      {"base that is no URL",
       R"({"buildid":"1","baseURI":"ftp://x/","images":{"qemu":{"path":"a.qcow2","sha256":"a"}}})", "baseURI"},
      {"repeated member", R"({"architectures":{},"architectures":{}})", "architectures"},
  };
  for (const Case& c : cases) {
    const Result<StreamSet> set = read_streams(c.text);
    ASSERT_FALSE(set.ok()) << c.name;
    EXPECT_NE(set.error().to_string().find(c.says), std::string::npos) << c.name << ": " << set.error().to_string();
  }
  EXPECT_EQ(read_streams(std::string(kMaxStreamBytes + 1, ' ')).error().code(), Code::kExhausted);
}

TEST(StreamImport, OfTheClustersConfigMap) {
  json::Value config_map = json::Object{
      {"kind", "ConfigMap"},
      {"metadata", json::Object{{"namespace", "openshift-machine-config-operator"}, {"name", "coreos-bootimages"}}}};
  Result<StreamSet> set = streams_of_config_map(config_map);
  ASSERT_FALSE(set.ok());
  EXPECT_NE(set.error().to_string().find("data.stream"), std::string::npos);

  json::ensure(config_map, {"data", "stream"}) = file_text("scos.json");
  set = streams_of_config_map(config_map);
  ASSERT_TRUE(set.ok()) << set.error().to_string();
  EXPECT_EQ(set->default_stream->name, "c10s");

  json::ensure(config_map, {"data", "stream"}) = "{";
  set = streams_of_config_map(config_map);
  ASSERT_FALSE(set.ok());
  EXPECT_NE(set.error().to_string().find("openshift-machine-config-operator/coreos-bootimages: data.stream"),
            std::string::npos)
      << set.error().to_string();
}

}  // namespace strake::stream::import_test
