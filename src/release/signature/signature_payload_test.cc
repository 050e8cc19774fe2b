#include "release/signature/signature_payload.h"

#include <gtest/gtest.h>

namespace strake::release::signature_payload_test {

const std::string kDigest = "sha256:" + std::string(64, 'a');

/// A whole statement with one place to change.
std::string statement(const std::string& critical_rest = "", const std::string& after = "") {
  return R"({"critical":{"image":{"docker-manifest-digest":")" + kDigest +
         R"("},"type":"atomic container signature","identity":{"docker-reference":"registry.example.com/release:4.21"})" +
         critical_rest + "}" + after + "}";
}

TEST(SignaturePayload, AcceptedAsClustersAcceptIt) {
  const std::pair<const char*, std::string> cases[] = {
      {"without optional", statement()},
      {"optional null", statement("", R"(,"optional":null)")},
      {"optional empty", statement("", R"(,"optional":{})")},
      {"creator and timestamp", statement("", R"(,"optional":{"creator":"us","timestamp":1700000000})")},
      {"negative timestamp", statement("", R"(,"optional":{"timestamp":-1})")},
      {"null creator", statement("", R"(,"optional":{"creator":null})")},
      {"text after the object", statement() + "\ntrailing {"},
      {"repeated member, the last counts", statement(R"(,"type":"atomic container signature")")},
      {"capitals",
       R"({"Critical":{"IMAGE":{"Docker-Manifest-Digest":")" + kDigest +
           R"("},"Type":"atomic container signature","Identity":{"docker-REFERENCE":"registry.example.com/release:4.21"}}})"},
      {"blanks first", "\n  " + statement()},
  };
  for (const auto& [name, text] : cases) {
    const Result<SignaturePayload> payload = parse_signature_payload(text);
    ASSERT_TRUE(payload.ok()) << name << ": " << payload.error().to_string();
    EXPECT_EQ(payload->manifest_digest, kDigest) << name;
    EXPECT_EQ(payload->docker_reference, "registry.example.com/release:4.21") << name;
    EXPECT_TRUE(payload->require_digest(*codec::Digest::parse(kDigest)).ok()) << name;
  }
  EXPECT_EQ(parse_signature_payload(statement("", R"(,"optional":{"creator":"us","timestamp":1700000000})"))->timestamp,
            1700000000);
}

TEST(SignaturePayload, RefusedAndTheMemberNamed) {
  struct Case {
    const char* name;
    std::string text;
    const char* says;
  };
  const Case cases[] = {
      {"nothing", "", "not JSON"},
      {"not JSON", "hello", "not JSON"},
      {"cut short", statement().substr(0, 60), "not JSON"},
      {"a list", "[]", "expected an object"},
      {"no critical", "{}", "critical.type is ''"},
      {"unknown member", statement("", R"(,"extra":1)"), "the object has unknown member 'extra'"},
      {"unknown member of critical", statement(R"(,"extra":1)"), "critical has unknown member 'extra'"},
      {"unknown member of optional", statement("", R"(,"optional":{"extra":1})"),
       "optional has unknown member 'extra'"},
      {"fractional timestamp", statement("", R"(,"optional":{"timestamp":1.5})"), "optional.timestamp"},
      {"timestamp as text", statement("", R"(,"optional":{"timestamp":"1"})"), "optional.timestamp"},
      {"timestamp beyond 63 bits", statement("", R"(,"optional":{"timestamp":9223372036854775808})"),
       "optional.timestamp"},
      {"creator as a number", statement("", R"(,"optional":{"creator":1})"), "optional.creator"},
      {"another type", statement(R"(,"type":"cosign container image signature")"), "critical.type is 'cosign"},
      {"type in capitals", statement(R"(,"type":"Atomic Container Signature")"), "critical.type"},
      {"no name", statement(R"(,"identity":{"docker-reference":""})"), "critical.identity.docker-reference is missing"},
      {"no identity", statement(R"(,"identity":null)"), "critical.identity.docker-reference is missing"},
      {"identity as text", statement(R"(,"identity":"x")"), "critical.identity is string"},
      {"too deep", std::string(64, '['), "not JSON"},
      {"too long", std::string(kMaxSignaturePayloadBytes + 1, ' '), "more than"},
  };
  for (const Case& c : cases) {
    const Result<SignaturePayload> payload = parse_signature_payload(c.text);
    ASSERT_FALSE(payload.ok()) << c.name;
    EXPECT_NE(payload.error().to_string().find(c.says), std::string::npos)
        << c.name << ": " << payload.error().to_string();
  }
}

TEST(SignaturePayload, TheDigestIsComparedByteForByte) {
  const codec::Digest expected = *codec::Digest::parse(kDigest);
  for (const std::string& other : {"sha256:" + std::string(63, 'a') + "b", "SHA256:" + std::string(64, 'a'),
                                   "sha256:" + std::string(64, 'A'), kDigest + " ", std::string()}) {
    const Status same = SignaturePayload{other, "x", "", {}}.require_digest(expected);
    ASSERT_FALSE(same.ok()) << other;
    EXPECT_EQ(same.error().code(), Code::kDenied);
    EXPECT_NE(same.error().message().find("digest: the signature is for " + other + ", not for " + kDigest),
              std::string::npos)
        << same.error().message();
  }
}

}  // namespace strake::release::signature_payload_test
