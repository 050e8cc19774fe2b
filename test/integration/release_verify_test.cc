// `strake release info|images|verify` as a user runs them, on a sample release signed by the real gpg.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "base/fd.h"
#include "codec/digest.h"
#include "codec/json.h"
#include "oci/layout.h"
#include "oci/testing/sample_image.h"
#include "release/sample.h"
#include "support/gpg_signer.h"
#include "support/strake_command.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

class SignedRelease : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(release::write_sample_release(layout_folder(), release::SampleRelease::kA).ok());
    const auto layout = oci::Layout::open(layout_folder());
    ASSERT_TRUE(layout.ok());
    digest_ = layout->find_entry(release::kSampleReleaseReference)->digest.to_string();
    ASSERT_TRUE(write_file_atomic(dir_ / "us.asc", signer_.public_key(), 0644).ok());
  }

  /// Puts a signature for `digest` where one for the release is looked for.
  void sign(const std::string& digest) { signer_.store(dir_ / "store", digest_, signer_.sign_digest(digest)); }

  ProcessOutput strake(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin() + 1, layout_folder().string());
    arguments.insert(arguments.begin(), "release");
    arguments.insert(arguments.end(), {"--cache", (dir_ / "cache").string()});
    return run_strake(std::move(arguments));
  }
  ProcessOutput verify() {
    return strake({"verify", "--keyring", (dir_ / "us.asc").string(), "--signature-store", (dir_ / "store").string()});
  }

  std::filesystem::path layout_folder() const { return dir_ / "layout"; }

  TempDir dir_;
  GpgSigner signer_;
  std::string digest_;
};

TEST_F(SignedRelease, VerifyFollowsTheSignatureToTheDigest) {
  EXPECT_EQ(verify().exit.exit_code, 1) << "there is no signature store yet";
  std::filesystem::create_directories(dir_ / "store");
  EXPECT_EQ(verify().exit.exit_code, 6) << "nothing is signed yet";
  sign(digest_);
  const ProcessOutput good = verify();
  EXPECT_EQ(good.exit.exit_code, 0) << good.stderr_bytes;
  EXPECT_NE(good.stdout_bytes.find("release 4.21.0-sample-a " + digest_ + " is genuine"), std::string::npos)
      << good.stdout_bytes;

  const ProcessOutput own_word = strake({"verify"});
  EXPECT_EQ(own_word.exit.exit_code, 3);
  EXPECT_NE(own_word.stderr_bytes.find("does not say whose signature"), std::string::npos) << own_word.stderr_bytes;

  sign("sha256:" + std::string(64, 'a'));
  const ProcessOutput other = verify();
  EXPECT_EQ(other.exit.exit_code, 6);
  EXPECT_NE(other.stderr_bytes.find("digest: the signature is for sha256:aaaa"), std::string::npos)
      << other.stderr_bytes;
}

TEST_F(SignedRelease, InfoAndImages) {
  const ProcessOutput info = strake({"info"});
  EXPECT_EQ(info.exit.exit_code, 0) << info.stderr_bytes;
  EXPECT_NE(info.stdout_bytes.find(digest_), std::string::npos) << info.stdout_bytes;
  const ProcessOutput image = strake({"images", "--image-for", "rhel-coreos"});
  EXPECT_TRUE(image.stdout_bytes.starts_with("registry.example.com/strake-sample/os@sha256:")) << image.stdout_bytes;
  const ProcessOutput absent = strake({"images", "--image-for", "ironic"});
  EXPECT_EQ(absent.exit.exit_code, 3);
  EXPECT_NE(absent.stderr_bytes.find("rhel-coreos, rhel-coreos-extensions"), std::string::npos) << absent.stderr_bytes;
  const auto json = json::parse(strake({"info", "-o", "json"}).stdout_bytes);
  ASSERT_TRUE(json.ok()) << json.error().to_string();
  EXPECT_EQ(json::find_string(*json, {"metadata", "version"}), "4.21.0-sample-a");
}

/// A release and its OS image, each built for two architectures, in one layout; returns the digest of the list.
std::string write_release_of_two_platforms(const std::filesystem::path& folder) {
  using oci::testing::make_layer;
  using oci::testing::tar_file;
  auto writer = oci::LayoutWriter::create(folder);
  EXPECT_TRUE(writer.ok());
  const auto add_for_both = [&](const std::function<std::string(const std::string& arch)>& layer) {
    std::vector<oci::Descriptor> images;
    for (const char* arch : {"amd64", "arm64"}) {
      oci::ImageSpec spec;
      spec.platform.architecture = arch;
      spec.layers = {layer(arch)};
      images.push_back(*writer->add_image(spec));
    }
    return *writer->add_index(images);
  };
  const oci::Descriptor os =
      add_for_both([](const std::string& arch) { return make_layer({tar_file("usr/arch", arch)}); });
  writer->tag(os, "os");
  const std::string references = json::write(json::Object{
      {"kind", "ImageStream"},
      {"apiVersion", "image.openshift.io/v1"},
      {"metadata", json::Object{{"name", "4.21.9"}}},
      {"spec",
       json::Object{{"tags", json::Array{json::Object{
                                 {"name", "rhel-coreos"},
                                 {"from", json::Object{{"kind", "DockerImage"},
                                                       {"name", "quay.io/x/os@" + os.digest.to_string()}}}}}}}}});
  const oci::Descriptor release = add_for_both(
      [&](const std::string&) { return make_layer({tar_file("release-manifests/image-references", references)}); });
  writer->tag(release, "release");
  EXPECT_TRUE(writer->finish().ok());
  return release.digest.to_string();
}

TEST_F(SignedRelease, OfSeveralPlatformsIsVerifiedForOneOrForAll) {
  const std::filesystem::path folder = dir_ / "both";
  const std::string digest = write_release_of_two_platforms(folder);
  signer_.store(dir_ / "store", digest, signer_.sign_digest(digest));
  const auto verify_for = [&](const std::string& arch, const std::string& format = "text") {
    return run_strake({"release", "verify", folder.string(), "--keyring", (dir_ / "us.asc").string(),
                       "--signature-store", (dir_ / "store").string(), "--no-cache", "--arch", arch, "-o", format});
  };
  for (const char* arch : {"amd64", "x86_64", "aarch64"}) {
    const ProcessOutput output = verify_for(arch);
    EXPECT_EQ(output.exit.exit_code, 0) << arch << output.stderr_bytes;
    EXPECT_NE(output.stdout_bytes.find("release 4.21.9 " + digest + " is genuine"), std::string::npos);
    EXPECT_NE(output.stdout_bytes.find("images for architectures other than"), std::string::npos)
        << output.stdout_bytes;
  }
  const ProcessOutput other = verify_for("s390x");
  EXPECT_EQ(other.exit.exit_code, 3);
  EXPECT_NE(other.stderr_bytes.find("not built for linux/s390x (it is for: linux/amd64, linux/arm64)"),
            std::string::npos)
      << other.stderr_bytes;

  const ProcessOutput each = verify_for("all");
  EXPECT_EQ(each.exit.exit_code, 0) << each.stderr_bytes;
  EXPECT_NE(each.stdout_bytes.find("(amd64) is genuine"), std::string::npos) << each.stdout_bytes;
  EXPECT_NE(each.stdout_bytes.find("(arm64) is genuine"), std::string::npos) << each.stdout_bytes;
  EXPECT_EQ(each.stdout_bytes.find("images for architectures other than"), std::string::npos) << each.stdout_bytes;
  const auto document = json::parse(verify_for("all", "json").stdout_bytes);
  ASSERT_TRUE(document.ok());
  for (const char* arch : {"amd64", "arm64"}) {
    EXPECT_EQ(json::find_bool(*document, {"architectures", arch, "verified"}), true) << arch;
  }
}

/// A release whose boot images come in two streams; only one of them is for vSphere.
void write_release_of_two_streams(const std::filesystem::path& folder) {
  using oci::testing::make_layer;
  using oci::testing::tar_file;
  const auto stream = [](const std::string& name, const std::vector<std::string>& platforms) {
    json::Object artifacts;
    for (const std::string& platform : platforms) {
      const json::Object file{{"location", "https://example.com/" + name + "-" + platform},
                              {"sha256", codec::sha256_hex(name + platform)}};
      artifacts[platform] =
          json::Object{{"release", "9.8.1"}, {"formats", json::Object{{"iso", json::Object{{"disk", file}}}}}};
    }
    return json::Object{{"stream", name},
                        {"metadata", json::Object{{"last-modified", "2026-01-01T00:00:00Z"}}},
                        {"architectures", json::Object{{"x86_64", json::Object{{"artifacts", artifacts}}}}}};
  };
  const json::Object nine = stream("rhel-9", {"metal", "vmware"});
  const std::string boot_images = json::write(json::Object{
      {"apiVersion", "v1"},
      {"kind", "ConfigMap"},
      {"metadata", json::Object{{"name", "coreos-bootimages"}}},
      {"data", json::Object{{"stream", json::write(nine)},
                            {"streams", json::write(json::Object{{"rhel-9", nine},
                                                                 {"rhel-10", stream("rhel-10", {"metal"})}})}}}});
  const std::string references = json::write(json::Object{
      {"kind", "ImageStream"},
      {"apiVersion", "image.openshift.io/v1"},
      {"metadata", json::Object{{"name", "4.21.9"}}},
      {"spec",
       json::Object{{"tags", json::Array{json::Object{
                                 {"name", "rhel-coreos"},
                                 {"from", json::Object{{"kind", "DockerImage"},
                                                       {"name", "quay.io/x/os@sha256:" + std::string(64, 'a')}}}}}}}}});
  oci::testing::write_image(
      folder, "release",
      {make_layer({tar_file("release-manifests/image-references", references),
                   tar_file("release-manifests/0000_50_installer_coreos-bootimages.yaml", boot_images)})});
}

TEST_F(SignedRelease, OfTwoStreamsBothAreNamed) {
  const std::string folder = (dir_ / "streams").string();
  write_release_of_two_streams(folder);
  const auto bootimages = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"release", "bootimages", folder, "--no-cache"});
    return run_strake(std::move(words));
  };
  const ProcessOutput one = bootimages({"-o", "stream"});
  EXPECT_EQ(one.exit.exit_code, 0) << one.stderr_bytes;
  EXPECT_NE(one.stderr_bytes.find("rhel-10, rhel-9"), std::string::npos) << one.stderr_bytes;
  EXPECT_NE(one.stderr_bytes.find("--stream"), std::string::npos) << one.stderr_bytes;
  EXPECT_EQ(bootimages({"-o", "stream", "--stream", "rhel-10"}).stderr_bytes, "");
  const ProcessOutput vmware = bootimages({"--platform", "vmware"});
  EXPECT_EQ(vmware.exit.exit_code, 0) << vmware.stderr_bytes;
  EXPECT_EQ(bootimages({"--platform", "betamax"}).exit.exit_code, 3);
}

}  // namespace
}  // namespace strake::test
