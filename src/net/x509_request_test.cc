#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/subprocess.h"
#include "net/x509.h"
#include "support/temp_dir.h"

namespace strake::net::x509_request_test {

ProcessOutput openssl_program(const std::vector<std::string>& arguments) {
  Command command;
  command.argv = {"openssl"};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.timeout = std::chrono::seconds(60);
  auto output = run(command);
  EXPECT_TRUE(output.ok()) << output.error().to_string();
  return output.ok() ? *std::move(output) : ProcessOutput{};
}

TEST(CertificateRequest, IsReadByOpenssl) {
  const test::TempDir dir;
  const auto request = CertificateRequest::make(*PrivateKey::generate(), "strake:agent:n1", {"strake:agents"});
  ASSERT_TRUE(request.ok()) << request.error().to_string();
  ASSERT_TRUE(write_file_atomic(dir / "request.pem", request->to_pem(), 0600).ok());
  const auto seen = openssl_program(
      {"req", "-in", (dir / "request.pem").string(), "-verify", "-noout", "-subject", "-nameopt", "RFC2253"});
  EXPECT_TRUE(seen.exit.success()) << seen.stderr_bytes;
  EXPECT_EQ(seen.stdout_bytes, "subject=CN=strake:agent:n1,O=strake:agents\n");
  EXPECT_FALSE(CertificateRequest::make(*PrivateKey::generate(), "", {}).ok());
}

TEST(CertificateRequest, OfOpensslIsRead) {
  const test::TempDir dir;
  struct Case {
    std::vector<std::string> key;
    bool accepted;
  };
  const Case cases[] = {
      {{"rsa:2048"}, true},
      {{"ec", "-pkeyopt", "ec_paramgen_curve:P-256"}, true},
      {{"ec", "-pkeyopt", "ec_paramgen_curve:P-521"}, true},
      {{"ed25519"}, true},
      {{"rsa:1024"}, false},
      {{"ec", "-pkeyopt", "ec_paramgen_curve:secp256k1"}, false},
      {{"ed448"}, false},
  };
  for (const Case& item : cases) {
    std::vector<std::string> arguments = {"req", "-new", "-newkey"};
    arguments.insert(arguments.end(), item.key.begin(), item.key.end());
    const std::string file = (dir / "request.pem").string();
    for (const char* more : {"-nodes", "-keyout", "/dev/null", "-subj", "/O=g1/O=g2/CN=somebody", "-out"})
      arguments.emplace_back(more);
    arguments.push_back(file);
    ASSERT_TRUE(openssl_program(arguments).exit.success()) << item.key.back();
    const auto request = CertificateRequest::from_pem(*read_file(file, 1 << 20));
    ASSERT_EQ(request.ok(), item.accepted) << item.key.back();
    if (!item.accepted) {
      EXPECT_EQ(request.error().code(), Code::kUnsupported);
      continue;
    }
    EXPECT_EQ(request->common_name(), "somebody");
    EXPECT_EQ(request->organizations(), (std::vector<std::string>{"g1", "g2"}));
  }
}

TEST(CertificateRequest, MustBeSignedByItsOwnKey) {
  const test::TempDir dir;
  const auto request = CertificateRequest::make(*PrivateKey::generate(), "honest", {});
  ASSERT_TRUE(request.ok());
  ASSERT_TRUE(write_file_atomic(dir / "request.pem", request->to_pem(), 0600).ok());
  const std::string der_file = (dir / "request.der").string();
  ASSERT_TRUE(openssl_program({"req", "-in", (dir / "request.pem").string(), "-outform", "DER", "-out", der_file})
                  .exit.success());
  std::string der = *read_file(der_file, 1 << 20);
  der.replace(der.find("honest"), 6, "system");  // another name under the same signature
  ASSERT_TRUE(write_file_atomic(der_file, der, 0600).ok());
  const auto forged_file = (dir / "forged.pem").string();
  ASSERT_TRUE(openssl_program({"req", "-inform", "DER", "-in", der_file, "-out", forged_file}).exit.success());
  const auto forged = CertificateRequest::from_pem(*read_file(forged_file, 1 << 20));
  ASSERT_FALSE(forged.ok());
  EXPECT_EQ(forged.error().code(), Code::kDenied);

  EXPECT_EQ(CertificateRequest::from_pem("").error().code(), Code::kInvalidArgument);
  EXPECT_EQ(CertificateRequest::from_pem(PrivateKey::generate()->to_pem()).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(CertificateRequest::from_pem(std::string(CertificateRequest::kMaxBytes + 1, 'x')).error().code(),
            Code::kExhausted);
}

TEST(CertificateRequest, IsKnownByItsKeyWhateverNamesItBears) {
  const auto key = PrivateKey::generate(), other = PrivateKey::generate();
  const auto hash = [](const PrivateKey& of, const std::string& name) {
    return CertificateRequest::make(of, name, {})->key_sha256();
  };
  EXPECT_EQ(hash(*key, "a"), hash(*key, "b"));
  EXPECT_NE(hash(*key, "a"), hash(*other, "a"));
  EXPECT_EQ(hash(*key, "a").size(), 64u);
}

}  // namespace strake::net::x509_request_test
