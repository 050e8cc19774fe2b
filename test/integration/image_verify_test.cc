// `strake image verify` as a user runs it on images in a real registry. (The distribution's skopeo has sigstore
// switched off, so it cannot be asked whether it agrees.)
#include <gtest/gtest.h>

#include "base/fd.h"
#include "codec/json.h"
#include "oci/image_source.h"
#include "oci/testing/sample_image.h"
#include "oci/testing/signer.h"
#include "support/registry_server.h"
#include "support/strake_command.h"

namespace strake::test::image_verify_test {

using oci::testing::Signer;

class ImageVerify : public testing::Test {
 protected:
  void SetUp() override {
    static const Result<std::unique_ptr<RegistryServer>> server = RegistryServer::start(RegistryLogin::kPassword);
    ASSERT_TRUE(server.ok()) << server.error().to_string();
    registry_ = server->get();
    write("key.pub", signer_.public_pem());
  }

  void write(const std::string& name, std::string_view text) const {
    ASSERT_TRUE(write_file_atomic(dir_ / name, text, 0644).ok()) << name;
  }
  std::string file(const std::string& name) const { return (dir_ / name).string(); }

  void push(const std::string& name, const std::string& repository, const std::string& tag) const {
    const Result<std::string> copied = registry_->run_client(
        {"skopeo", "--insecure-policy", "copy", "--all", "--quiet", "--preserve-digests",
         "--dest-cert-dir=" + registry_->certificate_folder().string(), fmt::format("oci:{}:{}", file("layout"), name),
         fmt::format("docker://{}/{}:{}", registry_->host(), repository, tag)});
    ASSERT_TRUE(copied.ok()) << copied.error().to_string();
  }
  /// HOST/REPOSITORY:v1, new and unsigned.
  oci::Descriptor publish(const std::string& repository) {
    const oci::Descriptor image = oci::testing::write_image(
        dir_ / "layout", repository, {oci::testing::make_layer({oci::testing::tar_file("a", repository)})});
    push(repository, repository, "v1");
    return image;
  }
  /// Signed as `name`; as a referrer it is listed under the tag that stands in for the registry's interface.
  void sign(const oci::Descriptor& image, const std::string& repository, const std::string& name, bool as_referrer) {
    const std::string payload = oci::testing::sigstore_statement(image.digest, name);
    const oci::testing::SignatureImage signature = oci::testing::signature_image(
        {{payload, signer_.sign(payload)}}, as_referrer ? std::optional(image) : std::nullopt);
    auto writer = oci::LayoutWriter::extend(dir_ / "layout");
    ASSERT_TRUE(writer.ok());
    for (const std::string& blob : signature.blobs) ASSERT_TRUE(writer->add_blob("a/b", blob).ok());
    ASSERT_TRUE(writer->add_blob(oci::media_type::kOciManifest, signature.manifest).ok());
    writer->tag(signature.descriptor, "signature");
    const auto index = writer->add_index({signature.descriptor});
    ASSERT_TRUE(index.ok());
    if (as_referrer) writer->tag(*index, oci::referrers_tag(image.digest));
    ASSERT_TRUE(writer->finish().ok());
    push("signature", repository, as_referrer ? "signature" : oci::sigstore_tag(image.digest));
    if (as_referrer) put_index(*index, repository, oci::referrers_tag(image.digest));
  }
  /// The client of this age refuses to copy an index of what is no image.
  void put_index(const oci::Descriptor& index, const std::string& repository, const std::string& tag) const {
    const Result<std::string> sent = registry_->run_client(
        {"curl", "-q", "-sS", "--fail", "-X", "PUT", "--cacert", registry_->ca_file().string(), "-u",
         fmt::format("{}:{}", kRegistryUser, kRegistryPassword), "-H", "Content-Type: " + index.media_type,
         "--data-binary", "@" + file("layout/blobs/sha256/" + index.digest.hex()),
         fmt::format("https://{}/v2/{}/manifests/{}", registry_->host(), repository, tag)});
    ASSERT_TRUE(sent.ok()) << sent.error().to_string();
  }
  std::string reference(const std::string& repository, const std::string& version = ":v1") const {
    return fmt::format("{}/{}{}", registry_->host(), repository, version);
  }

  ProcessOutput verify(const std::string& image, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"image", "verify", image};
    arguments.insert(arguments.end(), more.begin(), more.end());
    if (std::find(more.begin(), more.end(), "--sigstore-key") == more.end()) {
      arguments.insert(arguments.end(), {"--sigstore-key", file("key.pub")});
    }
    arguments.insert(arguments.end(), {"--certificate-authority", registry_->ca_file().string(), "--authfile",
                                       (registry_->login_folder() / "config.json").string(), "--no-cache"});
    return run_strake(std::move(arguments));
  }
  RegistryServer* registry_ = nullptr;
  TempDir dir_;
  Signer signer_;
};

TEST_F(ImageVerify, NamesFitAsPoliciesSay) {
  const oci::Descriptor moved = publish("id/moved");
  sign(moved, "id/moved", "quay.example/org/moved:v1", false);
  const oci::Descriptor bare = publish("id/bare");
  sign(bare, "id/bare", reference("id/bare", ""), false);
  const std::string host = registry_->host();
  const std::string moved_by_digest = reference("id/moved", "@" + moved.digest.to_string());
  struct Case {
    std::string image;
    std::string identity;
    bool fits;
  };
  const Case cases[] = {
      {reference("id/bare"), "matchRepoDigestOrExact", false},
      {reference("id/bare"), "matchRepository", true},
      {reference("id/moved"), "matchRepository", false},
      {reference("id/moved"), "exactReference=quay.example/org/moved:v1", true},
      {reference("id/moved"), "remapIdentity=" + host + "/id=quay.example/org", true},
      {moved_by_digest, "remapIdentity=" + host + "/id=quay.example/org", true},
      {reference("id/moved"), "remapIdentity=" + host + "/i=quay.example/org", false},
  };
  for (const Case& c : cases) {
    const ProcessOutput output = verify(c.image, {"--identity", c.identity});
    EXPECT_EQ(output.exit.exit_code, c.fits ? 0 : 6)
        << c.image << " " << c.identity << output.stdout_bytes << output.stderr_bytes;
  }
}

TEST_F(ImageVerify, SaysWhatWasVerified) {
  const oci::Descriptor image = publish("said");
  sign(image, "said", reference("said"), false);
  const ProcessOutput text = verify(reference("said"));
  EXPECT_EQ(text.exit.exit_code, 0) << text.stderr_bytes;
  EXPECT_NE(text.stdout_bytes.find(image.digest.to_string() + " is genuine"), std::string::npos) << text.stdout_bytes;
  const auto json = json::parse(verify(reference("said"), {"-o", "json"}).stdout_bytes);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json::find_string(*json, {"kind"}), "ImageVerification");
  EXPECT_EQ(json::find_string(*json, {"digest"}), image.digest.to_string());
  EXPECT_EQ(json::find_string(*json, {"signature", "signedAs"}), reference("said"));
}

TEST_F(ImageVerify, SignaturesThatReferToTheImage) {
  const oci::Descriptor image = publish("referred");
  EXPECT_EQ(verify(reference("referred")).exit.exit_code, 6) << "not signed yet";
  sign(image, "referred", reference("referred"), true);
  const ProcessOutput output = verify(reference("referred"));
  EXPECT_EQ(output.exit.exit_code, 0) << output.stderr_bytes;
  EXPECT_NE(output.stdout_bytes.find("referrer sha256:"), std::string::npos) << output.stdout_bytes;
}

TEST_F(ImageVerify, FoldersNeedAName) {
  const oci::Descriptor image = publish("folder");
  sign(image, "folder", "quay.example/folder:v1", true);
  const std::string folder = "oci:" + file("layout") + ":folder";
  const ProcessOutput nameless = verify(folder);
  EXPECT_EQ(nameless.exit.exit_code, 1);
  EXPECT_NE(nameless.stderr_bytes.find("--signed-as NAME"), std::string::npos) << nameless.stderr_bytes;
  EXPECT_EQ(verify(folder, {"--signed-as", "quay.example/folder:v1"}).exit.exit_code, 0);
  EXPECT_EQ(verify(folder, {"--signed-as", "quay.example/folder:v2"}).exit.exit_code, 6);
  EXPECT_EQ(verify(folder, {"--identity", "exactRepository=quay.example/folder"}).exit.exit_code, 0);
}

TEST_F(ImageVerify, RefusalsAndMistakes) {
  const oci::Descriptor image = publish("wrong");
  sign(image, "wrong", reference("wrong"), false);
  write("other.pub", Signer().public_pem());
  write("empty.pub", "");
  struct Case {
    std::string image;
    std::vector<std::string> more;
    int code;
    const char* says;
  };
  const Case cases[] = {
      {reference("wrong"), {"--sigstore-key", file("other.pub")}, 6, "not made over this payload by this key"},
      {reference("wrong"), {"--sigstore-key", file("empty.pub")}, 1, "expected a PEM public key"},
      {reference("wrong"), {"--sigstore-key", file("absent.pub")}, 1, "absent.pub"},
      {reference("wrong"), {"--identity", "matchrepository"}, 1, "there are matchRepoDigestOrExact"},
      {reference("wrong"), {"--arch", "s390x"}, 0, ""},
      {reference("wrong", ":v2"), {}, 3, "v2"},
  };
  for (const Case& c : cases) {
    const ProcessOutput output = verify(c.image, c.more);
    EXPECT_EQ(output.exit.exit_code, c.code) << c.says << output.stdout_bytes << output.stderr_bytes;
    EXPECT_NE(output.stderr_bytes.find(c.says), std::string::npos) << output.stderr_bytes;
  }
}

}  // namespace strake::test::image_verify_test
