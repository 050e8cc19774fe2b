// `strake release diff` and `release extract`, and `os extract` of several paths, as a user runs them on small releases
// in folders.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/fd.h"
#include "codec/json.h"
#include "oci/testing/sample_image.h"
#include "release/sample.h"
#include "support/strake_command.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

using oci::testing::make_layer;
using oci::testing::tar_file;
using oci::testing::tar_folder;

class ReleaseContent : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(release::write_sample_release(dir_ / "a", release::SampleRelease::kA).ok());
    ASSERT_TRUE(release::write_sample_release(dir_ / "b", release::SampleRelease::kB).ok());
  }
  std::string path(const std::string& name) const { return (dir_ / name).string(); }
  ProcessOutput strake(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--cache", path("cache")});
    return run_strake(std::move(arguments));
  }
  std::string content(const std::string& name) const {
    const auto text = read_file(dir_ / name, 1u << 20);
    return text.ok() ? *text : text.error().to_string();
  }
  std::size_t files_in(const std::string& name) const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / name)) count += !entry.is_directory();
    return count;
  }

  TempDir dir_;
};

TEST_F(ReleaseContent, TwoReleasesDiffer) {
  const ProcessOutput text = strake({"release", "diff", path("a"), path("b")});
  EXPECT_EQ(text.exit.exit_code, 2) << text.stderr_bytes;
  for (const char* says : {"4.21.0-sample-a -> 4.21.1-sample-b", "~ rhel-coreos ", "Components: 2 differ",
                           "Kernel: 5.14.0-700.1.el9 -> 5.14.0-700.9.el9", "~ rhel-9   x86_64    metal", "1 other file",
                           "2 other cloud images", "~ 0000_80_strake_00-worker.yaml"}) {
    EXPECT_NE(text.stdout_bytes.find(says), std::string::npos) << says << "\n" << text.stdout_bytes;
  }
  const auto json = json::parse(strake({"release", "diff", path("a"), path("b"), "-o", "json"}).stdout_bytes);
  ASSERT_TRUE(json.ok()) << json.error().to_string();
  EXPECT_EQ(json::find_string(*json, {"kind"}), "ReleaseDifference");
  EXPECT_TRUE(json::find(*json, {"differs"})->as_bool());
  EXPECT_EQ(json::find(*json, {"components", "changed"})->as_array().size(), 2u);
  EXPECT_EQ(json::find_string(json::find(*json, {"osImages"})->as_array().at(0), {"stream"}), "rhel-9");

  const ProcessOutput same = strake({"release", "diff", path("a"), path("a")});
  EXPECT_EQ(same.exit.exit_code, 0) << same.stdout_bytes << same.stderr_bytes;
  const ProcessOutput some = strake({"release", "diff", path("a"), path("b"), "--only", "manifests"});
  EXPECT_EQ(some.exit.exit_code, 2);
  EXPECT_EQ(some.stdout_bytes.find("Kernel"), std::string::npos) << some.stdout_bytes;
  EXPECT_EQ(some.stdout_bytes.find("rhel-coreos"), std::string::npos) << some.stdout_bytes;
  EXPECT_EQ(strake({"release", "diff", path("a"), path("b"), "--only", "kernels"}).exit.exit_code, 1);
}

/// What is asked for decides what is read: without its layers an OS image has packages no more, but a digest still.
TEST_F(ReleaseContent, ADifferenceReadsOnlyWhatItNeeds) {
  const auto layout = oci::Layout::open(dir_ / "b");
  ASSERT_TRUE(layout.ok());
  const auto manifest = layout->read_manifest(*layout->resolve("os"));
  ASSERT_TRUE(manifest.ok());
  for (const oci::Descriptor& layer : manifest->layers) {
    std::filesystem::remove(dir_ / "b/blobs/sha256" / layer.digest.hex());
  }
  EXPECT_EQ(strake({"release", "diff", path("a"), path("b"), "--only", "components,bootimages"}).exit.exit_code, 2);
  const ProcessOutput all = strake({"release", "diff", path("a"), path("b")});
  EXPECT_EQ(all.exit.exit_code, 2) << all.stderr_bytes;
  EXPECT_NE(all.stdout_bytes.find("not compared: "), std::string::npos) << all.stdout_bytes;
}

TEST_F(ReleaseContent, ManifestsAreExtracted) {
  const ProcessOutput all = strake({"release", "extract", path("a"), "--to", path("all")});
  EXPECT_EQ(all.exit.exit_code, 0) << all.stderr_bytes;
  EXPECT_EQ(files_in("all"), 5u);
  const std::string name = "0000_80_strake_00-worker.yaml";
  const ProcessOutput one = strake({"release", "extract", path("a"), "--file", name});
  EXPECT_EQ(one.exit.exit_code, 0);
  EXPECT_EQ(one.stdout_bytes, content("all/" + name));
  EXPECT_NE(one.stdout_bytes.find("00-worker"), std::string::npos);

  const ProcessOutput again = strake({"release", "extract", path("a"), "--to", path("all")});
  EXPECT_EQ(again.exit.exit_code, 1);
  EXPECT_NE(again.stderr_bytes.find("--overwrite replaces it"), std::string::npos) << again.stderr_bytes;
  EXPECT_EQ(strake({"release", "extract", path("b"), "--to", path("all"), "--overwrite"}).exit.exit_code, 0);

  EXPECT_EQ(strake({"release", "extract", path("a"), "--path", "*_00-*,release-metadata", "--to", path("some")})
                .exit.exit_code,
            0);
  EXPECT_EQ(files_in("some"), 3u);
  EXPECT_TRUE(std::filesystem::exists(dir_ / "some" / name));
  EXPECT_EQ(strake({"release", "extract", path("a"), "--path", "/release-manifests/image-*", "--to", path("paths")})
                .exit.exit_code,
            0);
  EXPECT_TRUE(std::filesystem::exists(dir_ / "paths/release-manifests/image-references"));
}

TEST_F(ReleaseContent, WhatIsNotThereIsNamed) {
  struct Case {
    std::vector<std::string> more;
    int code;
    const char* says;
  };
  const Case cases[] = {
      {{"--file", "nothing.yaml"}, 3, "0000_50_installer_coreos-bootimages.yaml"},
      {{"--path", "*.xml"}, 3, "nothing in /release-manifests fits"},
      {{"--command", "kubectl"}, 3, "oc, oc.rhel8"},
      {{"--command", "oc"}, 3, "has no component cli"},
      {{"--command", "oc", "--command-os", "plan9"}, 3, "it is for linux/amd64"},
      {{"--command", "oc", "--command-os", "mac/arm64/x"}, 1, "expected OS or OS/ARCH"},
      {{"--command-os", "mac"}, 1, "goes with --command"},
      {{"--command", "oc", "--file", "x"}, 1, "exclude each other"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> arguments{"release", "extract", path("a"), "--to", path("none")};
    arguments.insert(arguments.end(), c.more.begin(), c.more.end());
    const ProcessOutput output = strake(arguments);
    EXPECT_EQ(output.exit.exit_code, c.code) << c.says << output.stderr_bytes;
    EXPECT_NE(output.stderr_bytes.find(c.says), std::string::npos) << output.stderr_bytes;
    EXPECT_FALSE(std::filesystem::exists(dir_ / "none")) << c.says;
  }
}

/// A release whose component cli holds a program with places for a version.
TEST_F(ReleaseContent, ProgramsKnowTheirRelease) {
  const std::string place = '\0' + std::string("_RELEASE_VERSION_LOCATION_") + '\0' + std::string(64, 'X') + '\0';
  const std::string program = "#!/bin/sh\necho hello" + place + "end";
  oci::testing::TarItem file = tar_file("usr/bin/oc", program);
  file.entry.mode = 0755;
  const oci::Descriptor os = oci::testing::write_image(dir_ / "r", "os", {make_layer({tar_folder("usr")})});
  const oci::Descriptor cli = oci::testing::write_image(
      dir_ / "r", "cli", {make_layer({tar_folder("usr"), tar_folder("usr/bin"), std::move(file)})});
  const auto tag = [](const char* name, const oci::Descriptor& image) {
    return json::Object{{"name", name},
                        {"from", json::Object{{"kind", "DockerImage"},
                                              {"name", "registry.example.com/x@" + image.digest.to_string()}}}};
  };
  const json::Object references{{"kind", "ImageStream"},
                                {"apiVersion", "image.openshift.io/v1"},
                                {"metadata", json::Object{{"name", "4.99.1"}}},
                                {"spec", json::Object{{"tags", json::Array{tag("rhel-coreos", os), tag("cli", cli)}}}}};
  oci::testing::write_image(dir_ / "r", "release",
                            {make_layer({tar_folder("release-manifests"),
                                         tar_file("release-manifests/image-references", json::write(references))})});
  const ProcessOutput output = strake({"release", "extract", path("r"), "--command", "oc", "--to", path("bin")});
  ASSERT_EQ(output.exit.exit_code, 0) << output.stderr_bytes;
  std::string expected = program;
  expected.replace(expected.find('\0'), 7, std::string("4.99.1") + '\0');
  EXPECT_EQ(content("bin/oc"), expected);
  EXPECT_EQ(files_in("bin"), 1u);
  EXPECT_EQ(std::filesystem::status(dir_ / "bin/oc").permissions(), std::filesystem::perms(0755));
  const ProcessOutput again = strake({"release", "extract", path("r"), "--command", "oc", "--to", path("bin")});
  EXPECT_EQ(again.exit.exit_code, 1);
  EXPECT_NE(again.stderr_bytes.find("--overwrite"), std::string::npos) << again.stderr_bytes;
  EXPECT_EQ(
      strake({"release", "extract", path("r"), "--command", "oc", "--to", path("bin"), "--overwrite"}).exit.exit_code,
      0);
}

TEST_F(ReleaseContent, SeveralPathsOfAnOsImage) {
  const std::string image = "oci:" + path("a") + ":os";
  const ProcessOutput several =
      strake({"os", "extract", image, "/usr/lib/modules/*/vmlinuz", "--force", "/usr/lib/os-release", path("several")});
  EXPECT_EQ(several.exit.exit_code, 0) << several.stderr_bytes;
  EXPECT_EQ(content("several/usr/lib/modules/5.14.0-700.1.el9/vmlinuz"), "sample kernel 5.14.0-700.1.el9\n");
  EXPECT_EQ(files_in("several"), 2u);
  EXPECT_EQ(strake({"os", "extract", image, "/usr/lib/modules", path("one")}).exit.exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(dir_ / "one/5.14.0-700.1.el9/vmlinuz")) << "of one path what is in it";
  const ProcessOutput nothing = strake({"os", "extract", image, "/usr/**/*.so", path("none")});
  EXPECT_EQ(nothing.exit.exit_code, 3);
  EXPECT_NE(nothing.stderr_bytes.find("nothing in /usr fits"), std::string::npos) << nothing.stderr_bytes;
  EXPECT_EQ(strake({"os", "extract", image, path("none")}).exit.exit_code, 1);
}

}  // namespace
}  // namespace strake::test
