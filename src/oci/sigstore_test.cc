#include "oci/sigstore.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/subprocess.h"
#include "codec/base64.h"
#include "support/temp_dir.h"

// Keys and signatures are made by the openssl program.
namespace strake::oci::sigstore_test {

const codec::Digest kImage = codec::Digest::sha256_of("an image");
constexpr std::string_view kName = "registry.example.com:5000/os/rhcos:4.21";
constexpr auto kDefaultRule = SigstoreIdentity::kMatchRepoDigestOrExact;

std::string statement(std::string_view name = kName, std::string_view optional = R"({"creator":"us","extra":[1]})") {
  return fmt::format(
      R"({{"critical":{{"identity":{{"docker-reference":"{}"}},"image":{{"docker-manifest-digest":"{}"}},"type":"cosign container image signature"}},"optional":{}}})",
      name, kImage.to_string(), optional);
}

class Signer {
 public:
  explicit Signer(const std::vector<std::string>& how) {
    std::vector<std::string> arguments{"genpkey", "-out", key_file()};
    arguments.insert(arguments.end(), how.begin(), how.end());
    openssl(arguments);
    public_pem = openssl({"pkey", "-in", key_file(), "-pubout"});
  }
  static Signer p256() { return Signer({"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"}); }

  std::string sign(const std::string& payload) const {
    EXPECT_TRUE(write_file_atomic(dir_ / "payload", payload, 0600).ok());
    return codec::encode_base64(openssl({"dgst", "-sha256", "-sign", key_file(), (dir_ / "payload").string()}));
  }

  SigstoreKey key() const {
    Result<SigstoreKey> parsed = SigstoreKey::parse(public_pem);
    EXPECT_TRUE(parsed.ok()) << parsed.error().to_string();
    return *std::move(parsed);
  }

  std::string public_pem;

 private:
  std::string key_file() const { return (dir_ / "key.pem").string(); }
  static std::string openssl(std::vector<std::string> arguments) {
    Command command;
    command.argv = std::move(arguments);
    command.argv.insert(command.argv.begin(), "openssl");
    const Result<ProcessOutput> output = run_checked(command);
    EXPECT_TRUE(output.ok()) << output.error().to_string();
    return output.ok() ? output->stdout_bytes : "";
  }
  test::TempDir dir_;
};

TEST(Sigstore, GoodSignaturesOfBothKindsOfKeys) {
  const Signer p256 = Signer::p256();
  const Signer rsa({"-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"});
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
  const Signer signer = Signer::p256();
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
      verify_sigstore(Signer::p256().key(), payload, signature, kImage, kName, kDefaultRule);
  ASSERT_FALSE(other.ok());
  EXPECT_TRUE(other.error().message().starts_with("signature: ")) << other.error().message();
}

TEST(Sigstore, StatementsAreReadStrictly) {
  const Signer signer = Signer::p256();
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
  const Signer signer = Signer::p256();
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
    const auto fits = [&](SigstoreIdentity rule) {
      const auto verified = verify_sigstore(key, payload, signature, kImage, c.image, rule);
      const bool blames_identity = verified.ok() || verified.error().message().starts_with("identity: ");
      EXPECT_TRUE(blames_identity) << c.name;
      return verified.ok();
    };
    EXPECT_EQ(fits(SigstoreIdentity::kMatchRepoDigestOrExact), c.by_default) << c.name;
    EXPECT_EQ(fits(SigstoreIdentity::kMatchRepository), c.by_repository) << c.name;
  }
}

TEST(Sigstore, OtherKeysAreRefused) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "expected a PEM public key"},
      {"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "expected a PEM public key"},
      {Signer({"-algorithm", "ED25519"}).public_pem, "neither RSA nor ECDSA P-256"},
      {Signer({"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"}).public_pem, "neither RSA nor ECDSA P-256"},
      {Signer({"-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"}).public_pem, "RSA of 1024 bits"},
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
