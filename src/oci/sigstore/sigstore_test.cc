#include "oci/sigstore/sigstore.h"

#include <gtest/gtest.h>

#include "codec/base64.h"
#include "oci/testing/signer.h"

namespace strake::oci::sigstore_test {

using testing::Signer;
using Rule = SigstoreIdentity::Rule;

const codec::Digest kImage = codec::Digest::sha256_of("an image");
constexpr std::string_view kName = "registry.example.com:5000/os/rhcos:4.21";
const SigstoreIdentity kDefaultRule;

std::string statement(std::string_view name = kName, std::string_view optional = R"({"creator":"us","extra":[1]})") {
  return testing::sigstore_statement(kImage, name, optional);
}

TEST(Sigstore, GoodSignaturesOfBothKindsOfKeys) {
  const Signer p256;
  const Signer rsa(Signer::Kind::kRsa2048);
  for (const Signer* signer : {&p256, &rsa}) {
    for (const std::string& payload : {statement(), statement(kName, "null")}) {
      const Result<SigstoreStatement> verified =
          verify_sigstore(signer->key(), payload, signer->sign(payload), kImage, kName, kDefaultRule);
      ASSERT_TRUE(verified.ok()) << verified.error().to_string();
      EXPECT_EQ(verified->docker_reference, kName);
    }
  }
}

TEST(Sigstore, OneFlippedBitAnywhereIsRefused) {
  const Signer signer;
  const std::string payload = statement();
  const std::string signature = signer.sign(payload);
  const auto flipped = [](std::string bytes, std::size_t at) {
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    return bytes;
  };
  struct Case {
    const char* name;
    std::string payload;
    std::string signature;
    codec::Digest digest;
    const char* says;
  };
  const std::string raw = *codec::decode_base64(signature);
  const Case cases[] = {
      {"statement", flipped(payload, payload.find("cosign")), signature, kImage,
       "signature: it was not made over this payload"},
      {"digest in the statement", flipped(payload, payload.find("sha256:") + 9), signature, kImage,
       "signature: it was not"},
      {"docker-reference", flipped(payload, payload.find("registry")), signature, kImage, "signature: it was not"},
      {"signature", payload, codec::encode_base64(flipped(raw, raw.size() / 2)), kImage, "signature: it was not"},
      {"not base64", payload, "!" + signature, kImage, "signature: "},
      {"no signature", payload, "", kImage, "signature: it was not"},
      {"another image", payload, signature, codec::Digest::sha256_of("another"), "digest: the statement is about "},
  };
  const SigstoreKey key = signer.key();
  for (const Case& c : cases) {
    const Result<SigstoreStatement> refused =
        verify_sigstore(key, c.payload, c.signature, c.digest, kName, kDefaultRule);
    ASSERT_FALSE(refused.ok()) << c.name;
    EXPECT_EQ(refused.error().code(), Code::kDenied) << c.name;
    EXPECT_TRUE(refused.error().message().starts_with(c.says)) << c.name << ": " << refused.error().message();
  }
  const Result<SigstoreStatement> other =
      verify_sigstore(Signer().key(), payload, signature, kImage, kName, kDefaultRule);
  ASSERT_FALSE(other.ok());
  EXPECT_TRUE(other.error().message().starts_with("signature: ")) << other.error().message();
}

TEST(Sigstore, StatementsAreReadStrictly) {
  const Signer signer;
  const SigstoreKey key = signer.key();
  const std::string good = statement();
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  const std::pair<std::string, const char*> cases[] = {
      {"", "payload: "},
      {"[]", "payload: the statement is array"},
      {good + " {}", "payload: "},
      {changed(R"(,"optional":{"creator":"us","extra":[1]})", ""), "payload: the statement has no member optional"},
      {changed(R"("optional":{"creator":"us","extra":[1]})", R"("optional":1)"), "payload: optional is neither"},
      {changed("{\"critical\"", "{\"more\":1,\"critical\""), "payload: the statement has unknown member 'more'"},
      {changed("\"critical\"", "\"Critical\""), "payload: the statement has no member critical"},
      {changed("\"image\":{", "\"image\":{\"more\":1,"), "payload: critical.image has unknown member 'more'"},
      {changed("cosign container image signature", "atomic container signature"), "payload: critical.type is 'atomic"},
      {changed("sha256:", "sha256-"), "payload: "},
      {changed(kName, ""), "payload: docker-reference is missing"},
  };
  for (const auto& [payload, says] : cases) {
    const Result<SigstoreStatement> refused =
        verify_sigstore(key, payload, signer.sign(payload), kImage, kName, kDefaultRule);
    ASSERT_FALSE(refused.ok()) << says;
    EXPECT_EQ(refused.error().code(), Code::kDenied) << says;
    EXPECT_TRUE(refused.error().message().starts_with(says)) << says << " / " << refused.error().message();
  }
}

TEST(Sigstore, IdentityRules) {
  const Signer signer;
  const SigstoreKey key = signer.key();
  const std::string repository = "registry.example.com:5000/os/rhcos";
  const std::string by_digest = repository + "@" + kImage.to_string();
  struct Case {
    const char* name;
    std::string stated;
    std::string image;
    bool by_default;
    bool by_repository;
  };
  const Case cases[] = {
      {"the same tag", repository + ":4.21", repository + ":4.21", true, true},
      {"another tag", repository + ":4.22", repository + ":4.21", false, true},
      {"used by digest", repository + ":4.22", by_digest, true, true},
      {"stated without a tag", repository, by_digest, false, true},
      {"stated without a tag, used by tag", repository, repository + ":4.21", false, true},
      {"stated by digest", by_digest, by_digest, false, true},
      {"another repository", "registry.example.com:5000/os/other:4.21", repository + ":4.21", false, false},
      {"another registry", "evil.example.com/os/rhcos:4.21", by_digest, false, false},
  };
  for (const Case& c : cases) {
    const std::string payload = statement(c.stated);
    const std::string signature = signer.sign(payload);
    const auto fits = [&](Rule rule) {
      const auto verified = verify_sigstore(key, payload, signature, kImage, c.image, {rule});
      const bool blames_identity = verified.ok() || verified.error().message().starts_with("identity: ");
      EXPECT_TRUE(blames_identity) << c.name;
      return verified.ok();
    };
    EXPECT_EQ(fits(Rule::kMatchRepoDigestOrExact), c.by_default) << c.name;
    EXPECT_EQ(fits(Rule::kMatchRepository), c.by_repository) << c.name;
  }
}

TEST(Sigstore, IdentitiesThatNameSomethingElse) {
  const Signer signer;
  const SigstoreKey key = signer.key();
  struct Case {
    std::string identity;
    std::string stated;
    std::string image;
    bool fits;
  };
  const std::string digest = "@" + kImage.to_string();
  const Case cases[] = {
      {"matchExact", "quay.io/os/a:1", "quay.io/os/a:1", true},
      {"matchExact", "quay.io/os/a" + digest, "quay.io/os/a" + digest, true},
      {"matchExact", "quay.io/os/a:1", "quay.io/os/a" + digest, false},
      {"matchExact", "quay.io/os/a", "quay.io/os/a", false},
      {"exactReference=quay.io/os/a:1", "quay.io/os/a:1", "mirror.lan/any:thing", true},
      {"exactReference=quay.io/os/a:1", "quay.io/os/a:2", "quay.io/os/a:2", false},
      {"exactReference=quay.io/os/a:1", "quay.io/os/a:1", "", true},
      {"exactRepository=quay.io/os/a", "quay.io/os/a:7", "mirror.lan/any:thing", true},
      {"exactRepository=quay.io/os/a", "quay.io/os/ab:7", "quay.io/os/ab:7", false},
      {"remapIdentity=mirror.lan=quay.io", "quay.io/os/a:1", "mirror.lan/os/a:1", true},
      {"remapIdentity=mirror.lan=quay.io", "quay.io/os/a:1", "mirror.lan/os/a:2", false},
      {"remapIdentity=mirror.lan=quay.io", "quay.io/os/a:1", "mirror.lan/os/a" + digest, true},
      {"remapIdentity=mirror.lan=quay.io", "quay.io/os/a:1", "mirror.lan:5000/os/a:1", false},
      {"remapIdentity=mirror.lan/ocp=quay.io/org", "quay.io/org/a:1", "mirror.lan/ocp/a:1", true},
      {"remapIdentity=mirror.lan/ocp=quay.io/org/a", "quay.io/org/a:1", "mirror.lan/ocp:1", true},
      {"remapIdentity=mirror.lan/ocp=quay.io/org", "quay.io/org/a:1", "mirror.lan/ocpx/a:1", false},
      // What is not below the prefix keeps its own name.
      {"remapIdentity=mirror.lan/ocp=quay.io/org", "other.io/org/a:1", "other.io/org/a:1", true},
      {"matchRepository", "busybox:1", "docker.io/library/busybox:2", true},
  };
  for (const Case& c : cases) {
    const std::string name = c.identity + " " + c.stated + " " + c.image;
    const Result<SigstoreIdentity> identity = parse_sigstore_identity(c.identity);
    ASSERT_TRUE(identity.ok()) << identity.error().to_string();
    EXPECT_EQ(identity->to_string(), c.identity);
    const std::string payload = statement(c.stated);
    const auto verified = verify_sigstore(key, payload, signer.sign(payload), kImage, c.image, *identity);
    EXPECT_EQ(verified.ok(), c.fits) << name;
    if (verified.ok()) continue;
    EXPECT_TRUE(verified.error().message().starts_with("identity: ")) << verified.error().message();
  }
}

TEST(Sigstore, IdentitiesNobodyMeans) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "there are matchRepoDigestOrExact"},         {"matchrepository", "there are matchRepoDigestOrExact"},
      {"matchRepository=a.io/b", "nothing behind it"},  {"exactReference", "exactReference=NAME"},
      {"exactReference=", "reference is empty"},        {"exactReference=quay.io/os/a", "needs a tag or a digest"},
      {"exactRepository=quay.io/os/a:1", "has no tag"}, {"remapIdentity=a.io", "=PREFIX=SIGNEDPREFIX"},
      {"remapIdentity=a.io=", "'/x' is not a path"},    {"remapIdentity=ocp=quay.io", "has to begin with a registry"},
  };
  for (const auto& [text, says] : cases) {
    const Result<SigstoreIdentity> identity = parse_sigstore_identity(text);
    ASSERT_FALSE(identity.ok()) << text;
    EXPECT_NE(identity.error().to_string().find(says), std::string::npos)
        << text << ": " << identity.error().to_string();
  }
}

TEST(Sigstore, OtherKeysAreRefused) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "expected a PEM public key"},
      {"\n", "expected a PEM public key"},
      {"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "expected a PEM public key"},
      {Signer(Signer::Kind::kEd25519).public_pem(), "neither RSA nor ECDSA P-256"},
      {Signer(Signer::Kind::kP384).public_pem(), "neither RSA nor ECDSA P-256"},
      {Signer(Signer::Kind::kRsa1024).public_pem(), "RSA of 1024 bits"},
      {std::string(1 << 20, 'x'), "no public key"},
  };
  for (const auto& [pem, says] : cases) {
    const Result<SigstoreKey> key = SigstoreKey::parse(pem);
    ASSERT_FALSE(key.ok()) << says;
    EXPECT_NE(key.error().message().find(says), std::string::npos) << key.error().message();
  }
}

TEST(Sigstore, AttachmentsOfAManifest) {
  EXPECT_EQ(sigstore_tag(kImage), "sha256-" + kImage.hex() + ".sig");
  const Descriptor signed_layer{
      std::string(kSigstoreLayerType), kImage, 3, {{std::string(kSigstoreSignatureAnnotation), "c2ln"}}};
  Descriptor without = signed_layer;
  without.annotations.clear();
  Descriptor other_type = signed_layer;
  other_type.media_type = media_type::kOciLayer;
  const Manifest manifest{std::string(media_type::kOciManifest), signed_layer, {without, signed_layer, other_type}, {}};
  const auto attachments = sigstore_attachments(manifest);
  ASSERT_EQ(attachments.size(), 1u);
  EXPECT_EQ(attachments[0].signature_base64, "c2ln");
}

}  // namespace strake::oci::sigstore_test
