#include "oci/sigstore/sigstore_check.h"

#include <gtest/gtest.h>

#include "oci/layout.h"
#include "oci/registry/registry_source.h"
#include "oci/testing/sample_image.h"
#include "oci/testing/signer.h"
#include "support/temp_dir.h"

namespace strake::oci::sigstore_check_test {

using testing::FakeRegistry;
using testing::SignedStatement;
using testing::Signer;

constexpr const char* kRepository = "os/rhcos";

/// A repository with an image, and whatever a test attaches to it.
class SigstoreCheck : public ::testing::Test {
 protected:
  void start(testing::FakeRegistryOptions options = {}) {
    registry_ = std::make_unique<FakeRegistry>(std::move(options));
    registries_ = std::make_unique<Registries>(registry_->client_options(dir_.path()), MirrorRules{}, runtime_);
    registry_->put_manifest(kRepository, "v1", std::string(media_type::kOciManifest), kManifest);
  }
  std::string name() const { return fmt::format("{}/{}:v1", registry_->host(), kRepository); }
  SignedStatement statement(const Signer& signer, const std::string& about) const {
    std::string payload = testing::sigstore_statement(kImage.digest, about);
    std::string signature = signer.sign(payload);
    return {std::move(payload), std::move(signature)};
  }
  Result<SigstoreProof> check(const SigstoreIdentity& identity = {}) {
    STRAKE_TRY(const auto source, RegistrySource::open(*parse_reference(name()), *registries_));
    std::vector<SigstoreKey> keys;
    keys.push_back(signer_.key());
    return check_sigstore(*source, kImage.digest, name(), keys, identity, {});
  }
  std::size_t requests_with(std::string_view part) const {
    std::size_t count = 0;
    for (const std::string& request : registry_->requests()) count += request.find(part) != std::string::npos ? 1 : 0;
    return count;
  }

  const std::string kManifest =
      R"({"schemaVersion":2,"config":{"mediaType":"a/b","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2},"layers":[]})";
  const Descriptor kImage{std::string(media_type::kOciManifest), codec::Digest::sha256_of(kManifest), kManifest.size()};
  test::TempDir dir_;
  runtime::ThreadRuntime runtime_;
  Signer signer_;
  std::unique_ptr<FakeRegistry> registry_;
  std::unique_ptr<Registries> registries_;
};

TEST_F(SigstoreCheck, UnderTheTag) {
  start();
  const Signer stranger;
  testing::push_signature_image(*registry_, kRepository,
                                testing::signature_image({statement(stranger, name()), statement(signer_, name())}),
                                sigstore_tag(kImage.digest));
  const auto proof = check();
  ASSERT_TRUE(proof.ok()) << proof.error().to_string();
  EXPECT_EQ(proof->statement.docker_reference, name());
  EXPECT_EQ(proof->found_at, "tag " + sigstore_tag(kImage.digest));
  EXPECT_EQ(requests_with("referrers"), 0u) << "what the tag has is enough";
}

TEST_F(SigstoreCheck, AsAReferrerByTheInterfaceOfTheRegistry) {
  start({.referrers = true, .referrers_a_page = 1});
  const Signer stranger;
  for (const Signer* signer : {&stranger, static_cast<const Signer*>(&signer_)}) {
    testing::push_signature_image(*registry_, kRepository,
                                  testing::signature_image({statement(*signer, name())}, kImage));
  }
  const auto proof = check();
  ASSERT_TRUE(proof.ok()) << proof.error().to_string();
  EXPECT_TRUE(proof->found_at.starts_with("referrer sha256:")) << proof->found_at;
  EXPECT_EQ(requests_with("/manifests/" + referrers_tag(kImage.digest)), 1u) << "only that of the .sig tag";
}

TEST_F(SigstoreCheck, AsAReferrerByTheTagThatStandsIn) {
  start();
  const testing::SignatureImage signature = testing::signature_image({statement(signer_, name())}, kImage);
  testing::push_signature_image(*registry_, kRepository, signature);
  const std::string index = json::write(json::Object{{"schemaVersion", 2},
                                                     {"mediaType", media_type::kOciIndex},
                                                     {"manifests", json::Array{signature.descriptor.to_json()}}});
  registry_->put_manifest(kRepository, referrers_tag(kImage.digest), std::string(media_type::kOciIndex), index);
  const auto proof = check();
  ASSERT_TRUE(proof.ok()) << proof.error().to_string();
  EXPECT_EQ(proof->found_at, "referrer " + signature.descriptor.digest.to_string());
}

TEST_F(SigstoreCheck, RefusalsNameEachAndWhy) {
  start({.referrers = true});
  const auto none = check();
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().verdict(), Verdict::kNotGenuine);
  EXPECT_NE(none.error().to_string().find("has no sigstore signature"), std::string::npos);

  const Signer stranger;
  testing::push_signature_image(*registry_, kRepository, testing::signature_image({statement(stranger, name())}),
                                sigstore_tag(kImage.digest));
  testing::push_signature_image(*registry_, kRepository,
                                testing::signature_image({statement(signer_, "elsewhere.example/os:1")}, kImage));
  const auto refused = check();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().verdict(), Verdict::kNotGenuine);
  const std::string text = refused.error().to_string();
  EXPECT_NE(text.find(".sig, sha256:"), std::string::npos) << text;
  EXPECT_NE(text.find("signature: it was not made"), std::string::npos) << text;
  EXPECT_NE(text.find("identity: the statement is about elsewhere.example/os:1"), std::string::npos) << text;
  EXPECT_TRUE(check(*parse_sigstore_identity("exactRepository=elsewhere.example/os")).ok());
}

TEST_F(SigstoreCheck, NotMoreThanSoMany) {
  start({.referrers = true});
  const Signer stranger;
  std::vector<SignedStatement> many;
  for (std::size_t i = 0; i < kMaxSigstoreSignatures + 5; ++i) {
    many.push_back(statement(stranger, fmt::format("registry.example/os:{}", i)));
  }
  many.push_back(statement(signer_, name()));
  testing::push_signature_image(*registry_, kRepository, testing::signature_image(many), sigstore_tag(kImage.digest));
  const auto refused = check();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().to_string().find("more than 64 signatures"), std::string::npos)
      << refused.error().to_string();
  EXPECT_EQ(requests_with("/blobs/"), kMaxSigstoreSignatures + 1) << "with the config of the manifest";
}

TEST_F(SigstoreCheck, AListThatLeadsElsewhereOrNeverEnds) {
  start({.referrers = true});
  std::string next = "https://127.0.0.2:1/v2/x";
  registry_->intercept([&](const net::ServerRequest& request) -> std::optional<net::Response> {
    if (request.target.path.find("/referrers/") == std::string::npos) return std::nullopt;
    return net::Response{
        200,
        {{"Content-Type", std::string(media_type::kOciIndex)}, {"Link", fmt::format("<{}>; rel=\"next\"", next)}},
        R"({"schemaVersion":2,"manifests":[]})"};
  });
  const auto elsewhere = check();
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_NE(elsewhere.error().to_string().find("at another server"), std::string::npos)
      << elsewhere.error().to_string();
  next = fmt::format("/v2/{}/referrers/{}?again", kRepository, kImage.digest.to_string());
  const auto endless = check();
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.error().code(), Code::kExhausted) << endless.error().to_string();
}

TEST_F(SigstoreCheck, InALayout) {
  start();
  const Descriptor image =
      testing::write_image(dir_ / "layout", "os", {testing::make_layer({testing::tar_file("a", "1")})});
  std::string payload = testing::sigstore_statement(image.digest, "quay.io/os/rhcos:v1");
  const std::string signature_base64 = signer_.sign(payload);
  const testing::SignatureImage signature = testing::signature_image({{payload, signature_base64}}, image);
  auto writer = LayoutWriter::extend(dir_ / "layout");
  ASSERT_TRUE(writer.ok());
  for (const std::string& blob : signature.blobs) ASSERT_TRUE(writer->add_blob("a/b", blob).ok());
  const auto manifest = writer->add_blob(media_type::kOciManifest, signature.manifest);
  Descriptor listed = signature.descriptor;
  const auto index = writer->add_index({listed});
  ASSERT_TRUE(index.ok());
  writer->tag(*index, referrers_tag(image.digest));
  ASSERT_TRUE(writer->finish().ok());
  const auto layout = Layout::open(dir_ / "layout");
  ASSERT_TRUE(layout.ok());
  std::vector<SigstoreKey> keys;
  keys.push_back(signer_.key());
  const auto proof = check_sigstore(*layout, image.digest, "quay.io/os/rhcos:v1", keys, {}, {});
  ASSERT_TRUE(proof.ok()) << proof.error().to_string();
}

}  // namespace strake::oci::sigstore_check_test
