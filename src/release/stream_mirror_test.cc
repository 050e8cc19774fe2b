#include "release/stream_mirror.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/fd.h"
#include "base/text.h"
#include "codec/digest.h"
#include "net/testing/test_server.h"
#include "support/temp_dir.h"

namespace strake::release::stream_mirror_test {

using Files = std::map<std::string, std::string>;

/// A version's folder as mirrors have it: every file under two names, its installer alias, and the two lists.
void add_version(Files& files, const std::string& folder, const std::string& version, const std::string& build,
                 const std::string& arch) {
  std::string sums;
  for (const std::string& rest :
       {"vmware." + arch + ".ova", "metal." + arch + ".raw.gz", "metal4k." + arch + ".raw.gz", "live." + arch + ".iso",
        "live-kernel-" + arch, "live-initramfs." + arch + ".img", "live-rootfs." + arch + ".img"}) {
    const std::string sha256 = codec::sha256_hex(build + rest);
    sums += sha256 + "  rhcos-" + version + "-" + arch + "-" + rest + "\n";
    sums += sha256 + "  rhcos-" + rest + "\n";
    if (rest.starts_with("live-kernel")) sums += sha256 + "  rhcos-installer-kernel-" + arch + "\n";
  }
  files[folder + "sha256sum.txt"] = sums;
  files[folder + "rhcos-id.txt"] = build + "\n";
}

Files mirror_files() {
  Files files;
  const std::string x86 = "/pub/openshift-v4/x86_64/dependencies/rhcos/";
  add_version(files, x86 + "4.16/4.16.3/", "4.16.3", "416.94.202406251923-0", "x86_64");
  add_version(files, x86 + "4.16/4.16.12/", "4.16.12", "416.94.202409040000-0", "x86_64");
  add_version(files, x86 + "4.16/latest/", "4.16.12", "416.94.202409040000-0", "x86_64");
  add_version(files, x86 + "latest/", "4.20.0", "9.6.20251015-1", "x86_64");
  add_version(files, x86 + "pre-release/4.21.0-ec.2/", "4.21.0-ec.2", "9.6.20251023-0", "x86_64");
  add_version(files, "/pub/openshift-v4/s390x/dependencies/rhcos/4.16/4.16.3/", "4.16.3", "416.94.202406251923-0",
              "s390x");
  files["/streams/stable.json"] = R"({"stream":"stable","architectures":{"x86_64":{}}})";
  files["/builds/42/meta.json"] =
      R"({"buildid":"42","coreos-assembler.basearch":"aarch64","images":{"qemu":{"path":"q.qcow2.gz","sha256":")" +
      std::string(64, 'a') + R"("}}})";
  return files;
}

/// A page with a link for everything directly below a folder, as web servers make them.
std::string folder_page(const Files& files, const std::string& folder) {
  std::map<std::string, bool> names;
  for (const auto& [path, text] : files) {
    if (!path.starts_with(folder)) continue;
    const std::string rest = path.substr(folder.size());
    names[rest.substr(0, rest.find('/') == std::string::npos ? rest.size() : rest.find('/') + 1)] = true;
  }
  if (names.empty()) return "";
  std::string page =
      "<html><a href=\"../\">up</a> <a href='?C=N;O=D'>name</a> <a href=\"https://elsewhere.example/x/\">x</a>\n";
  bool dotted = false;
  for (const auto& [name, known] : names) {
    page += fmt::format("<a href=\"{}{}\">{}</a>\n", dotted ? "./" : "", name, name);
    dotted = !dotted;
  }
  return page;
}

class WebMirror {
 public:
  WebMirror()
      : server_([](const net::ServerRequest& request, net::Responder responder) {
          static const Files files = mirror_files();
          const std::string path = request.target.path;
          const auto file = files.find(path);
          if (file != files.end()) return responder.send({200, {}, file->second});
          const std::string page = path.ends_with('/') ? folder_page(files, path) : "";
          if (path.starts_with("/broken/")) return responder.send({503, {}, "try later"});
          responder.send(page.empty() ? net::Response{404, {}, "not here"} : net::Response{200, {}, page});
        }),
        reader_(*UrlReader::create(server_.client_options())) {}

  StreamMirror at(const std::string& path) const { return StreamMirror(reader_, server_.url(path)); }
  std::string url(const std::string& path) const { return server_.url(path); }

 private:
  net::testing::TestServer server_;
  UrlReader reader_;
};

TEST(StreamMirror, AVersionsFolderIsReadAsAStream) {
  const WebMirror web;
  struct Case {
    const char* name;
    const char* url;
    const char* version;
    const char* arch;
    const char* folder;
    const char* file_version;
    const char* build;
  };
  const Case cases[] = {
      {"root and version", "/pub/openshift-v4", "4.16.3", "x86_64", "x86_64/dependencies/rhcos/4.16/4.16.3", "4.16.3",
       "416.94.202406251923-0"},
      {"root with a slash, minor", "/pub/openshift-v4/", "4.16", "x86_64", "x86_64/dependencies/rhcos/4.16/latest",
       "4.16.12", "416.94.202409040000-0"},
      {"latest", "/pub/openshift-v4", "latest", "x86_64", "x86_64/dependencies/rhcos/latest", "4.20.0",
       "9.6.20251015-1"},
      {"pre-release", "/pub/openshift-v4", "4.21.0-ec.2", "x86_64", "x86_64/dependencies/rhcos/pre-release/4.21.0-ec.2",
       "4.21.0-ec.2", "9.6.20251023-0"},
      {"another architecture", "/pub/openshift-v4", "4.16.3", "s390x", "s390x/dependencies/rhcos/4.16/4.16.3", "4.16.3",
       "416.94.202406251923-0"},
      {"folder of versions, another architecture", "/pub/openshift-v4/x86_64/dependencies/rhcos/", "4.16.3", "s390x",
       "s390x/dependencies/rhcos/4.16/4.16.3", "4.16.3", "416.94.202406251923-0"},
      {"folder of one version", "/pub/openshift-v4/x86_64/dependencies/rhcos/4.16/4.16.12", "", "x86_64",
       "x86_64/dependencies/rhcos/4.16/4.16.12", "4.16.12", "416.94.202409040000-0"},
  };
  for (const Case& c : cases) {
    const Result<stream::StreamSet> set = web.at(c.url).read(c.version, c.arch);
    ASSERT_TRUE(set.ok()) << c.name << ": " << set.error().to_string();
    const stream::StreamArchitecture& architecture = set->default_stream->architectures.at(c.arch);
    const stream::ArtifactPlatform& metal = architecture.artifacts.at("metal");
    EXPECT_EQ(metal.release, c.build) << c.name;
    EXPECT_EQ(names_in(metal.formats), "4k.raw.gz, iso, pxe, raw.gz") << c.name;
    EXPECT_EQ(names_in(metal.formats.at("pxe")), "initramfs, kernel, rootfs") << c.name;
    const Result<stream::Artifact> ova = set->default_stream->artifact(c.arch, "vmware", "ova");
    ASSERT_TRUE(ova.ok()) << c.name << ": " << ova.error().to_string();
    EXPECT_EQ(ova->location, web.url(fmt::format("/pub/openshift-v4/{}/rhcos-{}-{}-vmware.{}.ova", c.folder,
                                                 c.file_version, c.arch, c.arch)))
        << c.name;
    EXPECT_EQ(ova->sha256, codec::sha256_hex(fmt::format("{}vmware.{}.ova", c.build, c.arch))) << c.name;
  }
}

TEST(StreamMirror, IndexByVersionAndArchitecture) {
  const WebMirror web;
  const StreamMirror mirror = web.at("/pub/openshift-v4");
  EXPECT_EQ(*mirror.architectures(), (std::vector<std::string>{"s390x", "x86_64"}));
  EXPECT_EQ(*mirror.versions("x86_64"), (std::vector<std::string>{"latest", "4.16.3", "4.16.12", "4.21.0-ec.2"}));
  EXPECT_EQ(*mirror.versions("s390x"), (std::vector<std::string>{"4.16.3"}));
  EXPECT_FALSE(mirror.names_one_version());
}

TEST(StreamMirror, MarketplaceDataIsMergedIntoFoldersToo) {
  stream::ImportOptions options;
  options.marketplace =
      R"({"x86_64":{"azure":{"ocp":{"hyperVGen2":{"publisher":"p","offer":"o","sku":"s","version":"1"}}}}})";
  const Result<stream::StreamSet> set = WebMirror().at("/pub/openshift-v4").read("4.16.3", "x86_64", options);
  ASSERT_TRUE(set.ok()) << set.error().to_string();
  EXPECT_EQ(set->default_stream->architectures.at("x86_64").azure.plans.at("ocp").gen2->urn(), "p:o:s:1");
}

TEST(StreamMirror, DocumentsAreReadWhereverTheyLie) {
  const WebMirror web;
  const StreamMirror stable = web.at("/streams/stable.json");
  EXPECT_TRUE(stable.names_one_version());
  EXPECT_EQ(stable.read("", "x86_64")->default_stream->name, "stable");
  const Result<stream::StreamSet> build = web.at("/builds/42/meta.json").read("", "aarch64");
  ASSERT_TRUE(build.ok()) << build.error().to_string();
  EXPECT_EQ(build->default_stream->artifact("aarch64", "qemu", "qcow2.gz")->location, web.url("/builds/42/q.qcow2.gz"));
}

TEST(StreamMirror, WhatIsAbsentNamesWhatExists) {
  const WebMirror web;
  struct Case {
    const char* name;
    const char* url;
    const char* version;
    const char* arch;
    Code code;
    const char* says;
  };
  const Case cases[] = {
      {"version", "/pub/openshift-v4", "4.16.4", "x86_64", Code::kNotFound, "latest, 4.16.3, 4.16.12, 4.21.0-ec.2"},
      {"architecture", "/pub/openshift-v4", "4.16.3", "ppc64le", Code::kNotFound, "s390x, x86_64"},
      {"document", "/streams/next.json", "", "x86_64", Code::kNotFound, "404"},
      {"no version given", "/pub/openshift-v4", "", "x86_64", Code::kInvalidArgument, "say which one"},
      {"a path for a version", "/pub/openshift-v4", "../../4.16", "x86_64", Code::kInvalidArgument, "not a version"},
      {"server in trouble", "/broken", "4.16.3", "x86_64", Code::kUnavailable, "503"},
  };
  for (const Case& c : cases) {
    const Result<stream::StreamSet> set = web.at(c.url).read(c.version, c.arch);
    ASSERT_FALSE(set.ok()) << c.name;
    EXPECT_EQ(set.error().code(), c.code) << c.name << ": " << set.error().to_string();
    EXPECT_NE(set.error().to_string().find(c.says), std::string::npos) << c.name << ": " << set.error().to_string();
  }
}

TEST(StreamMirror, AFolderOfThisMachineIsAMirrorToo) {
  const test::TempDir dir;
  Files files;
  add_version(files, "/aarch64/dependencies/rhcos/4.20/4.20.1/", "4.20.1", "9.6.20251125-0", "aarch64");
  for (const auto& [path, text] : files) {
    std::filesystem::create_directories(std::filesystem::path(dir.path().string() + path).parent_path());
    ASSERT_TRUE(write_file_atomic(dir.path().string() + path, text, 0644).ok());
  }
  const Result<UrlReader> reader = UrlReader::create();
  ASSERT_TRUE(reader.ok());
  const StreamMirror mirror(*reader, "file://" + dir.path().string());
  EXPECT_EQ(*mirror.architectures(), (std::vector<std::string>{"aarch64"}));
  EXPECT_EQ(*mirror.versions("aarch64"), (std::vector<std::string>{"4.20.1"}));
  const Result<stream::StreamSet> set = mirror.read("4.20.1", "aarch64");
  ASSERT_TRUE(set.ok()) << set.error().to_string();
  EXPECT_EQ(set->default_stream->artifact("aarch64", "vmware", "ova")->location,
            "file://" + dir.path().string() +
                "/aarch64/dependencies/rhcos/4.20/4.20.1/rhcos-4.20.1-aarch64-vmware.aarch64.ova");
  EXPECT_EQ(mirror.read("4.20.2", "aarch64").error().code(), Code::kNotFound);
}

}  // namespace strake::release::stream_mirror_test
