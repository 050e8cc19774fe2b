#include "net/x509.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/subprocess.h"
#include "net/testing/test_authority.h"
#include "support/temp_dir.h"

namespace strake::net::x509_test {
namespace {

using namespace std::chrono_literals;

const std::chrono::sys_seconds kNow = std::chrono::sys_days(std::chrono::year(2026) / 3 / 1);
const Validity kValidity{kNow - 1h, kNow + 24h};

class X509Test : public ::testing::Test {
 protected:
  LeafRequest node_request() const {
    LeafRequest request;
    request.common_name = "system:node:worker-1";
    request.organizations = {"system:nodes", "zone,with=signs"};
    request.dns_names = {"worker-1.example", "*.apps.example"};
    request.ip_addresses = {"192.0.2.7", "2001:db8::7"};
    request.server_auth = true;
    request.validity = kValidity;
    request.serial = std::string("\xff\x01\x02\x03\x04\x05\x06\x07", 8);
    return request;
  }

  Status verify(const Certificate& leaf, std::chrono::sys_seconds at = kNow,
                CertificatePurpose purpose = CertificatePurpose::kServer) const {
    return verify_chain(leaf, {}, {&ca_, 1}, at, purpose);
  }

  PrivateKey ca_key_ = *PrivateKey::generate();
  Certificate ca_ = *make_ca(ca_key_, {"strake test CA", kValidity, "serial-1"});
  PrivateKey key_ = *PrivateKey::generate();
};

TEST_F(X509Test, ACertificateSaysWhatWasAskedFor) {
  const auto leaf = issue(ca_, ca_key_, key_, node_request());
  ASSERT_TRUE(leaf.ok()) << leaf.error().to_string();
  const auto read_back = Certificate::from_pem(leaf->to_pem());
  ASSERT_TRUE(read_back.ok()) << read_back.error().to_string();
  const CertificateInfo& info = read_back->info();
  EXPECT_EQ(info.common_name, "system:node:worker-1");
  EXPECT_EQ(info.organizations, (std::vector<std::string>{"system:nodes", "zone,with=signs"}));
  EXPECT_EQ(info.dns_names, (std::vector<std::string>{"worker-1.example", "*.apps.example"}));
  EXPECT_EQ(info.ip_addresses, (std::vector<std::string>{"192.0.2.7", "2001:db8::7"}));
  EXPECT_EQ(info.issuer, "CN=strake test CA");
  EXPECT_EQ(info.not_before, kValidity.not_before);
  EXPECT_EQ(info.not_after, kValidity.not_after);
  EXPECT_EQ(info.serial, "7f01020304050607") << "positive, as RFC 5280 demands";
  EXPECT_EQ(info.sha256.size(), 64U);
  EXPECT_FALSE(info.is_ca);
  EXPECT_TRUE(ca_.info().is_ca);
}

TEST_F(X509Test, VerificationSeesTimePurposeAndIssuer) {
  const Certificate leaf = *issue(ca_, ca_key_, key_, node_request());
  EXPECT_TRUE(verify(leaf).ok());
  EXPECT_EQ(verify(leaf, kNow + 25h).error().code(), Code::kDenied);
  EXPECT_EQ(verify(leaf, kNow - 2h).error().code(), Code::kDenied);
  EXPECT_EQ(verify(leaf, kNow, CertificatePurpose::kClient).error().code(), Code::kDenied);

  const PrivateKey other_key = *PrivateKey::generate();
  const Certificate same_name = *make_ca(other_key, {"strake test CA", kValidity, "serial-2"});
  EXPECT_EQ(verify_chain(leaf, {}, {&same_name, 1}, kNow, CertificatePurpose::kServer).error().code(), Code::kDenied);
  EXPECT_EQ(verify_chain(leaf, {}, {}, kNow, CertificatePurpose::kServer).error().code(), Code::kDenied);
}

TEST_F(X509Test, HostsAreCheckedAgainstAlternativeNamesOnly) {
  const Certificate leaf = *issue(ca_, ca_key_, key_, node_request());
  for (const char* good :
       {"worker-1.example", "WORKER-1.example", "a.apps.example", "192.0.2.7", "2001:db8::7", "2001:db8:0::7"}) {
    EXPECT_TRUE(check_host(leaf, good).ok()) << good;
  }
  for (const std::string& bad :
       {std::string("other.example"), std::string("a.b.apps.example"), std::string("192.0.2.8"),
        std::string("system:node:worker-1"), std::string(), std::string("worker-1.example\0.evil", 22)}) {
    EXPECT_FALSE(check_host(leaf, bad).ok()) << bad;
  }
  EXPECT_NE(check_host(leaf, "other.example").error().to_string().find("worker-1.example"), std::string::npos);
}

TEST_F(X509Test, ASuccessorIsAcceptedByWhoTrustsThePredecessor) {
  // RSA, and a name longer than a subject may have by the letter, as the platform's authorities do.
  const std::string long_name = "openshift-machine-config-operator_machine-config-server-ca@1800000000";
  const PrivateKey old_key = *PrivateKey::generate(KeyKind::kRsa2048);
  const Certificate old_ca = *make_ca(old_key, {long_name, kValidity, "serial-1", true});
  EXPECT_EQ(old_ca.info().common_name, long_name);
  const Certificate leaf = *issue(ca_, ca_key_, key_, node_request());
  EXPECT_FALSE(verify_chain(leaf, {}, {&old_ca, 1}, kNow, CertificatePurpose::kServer).ok());
  const auto cross = cross_sign(old_ca, old_key, ca_, kValidity, "serial-2");
  ASSERT_TRUE(cross.ok()) << cross.error().to_string();
  EXPECT_TRUE(verify_chain(leaf, {&*cross, 1}, {&old_ca, 1}, kNow, CertificatePurpose::kServer).ok());
  EXPECT_TRUE(verify_chain(leaf, {&*cross, 1}, {&ca_, 1}, kNow, CertificatePurpose::kServer).ok());
  const auto refused = cross_sign(ca_, ca_key_, old_ca, kValidity, "serial-2");
  ASSERT_FALSE(refused.ok()) << "it may sign nothing that signs further";
  EXPECT_EQ(refused.error().code(), Code::kDenied);
  EXPECT_FALSE(make_ca(old_key, {std::string(129, 'a'), kValidity, "serial-1"}).ok());
}

TEST_F(X509Test, RefusesBadRequests) {
  const auto refused = [&](auto change) {
    LeafRequest request = node_request();
    change(request);
    const auto result = issue(ca_, ca_key_, key_, request);
    return !result.ok() && result.error().code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](LeafRequest& r) { r.common_name.clear(); }));
  EXPECT_TRUE(refused([](LeafRequest& r) { r.common_name.assign(65, 'x'); }));
  EXPECT_TRUE(refused([](LeafRequest& r) { r.serial = "short"; }));
  EXPECT_TRUE(refused([](LeafRequest& r) { r.serial.assign(21, 'x'); }));
  EXPECT_TRUE(refused([](LeafRequest& r) { r.dns_names = {"a,IP:1.2.3.4"}; }));
  EXPECT_TRUE(refused([](LeafRequest& r) { r.ip_addresses = {"localhost"}; }));
  EXPECT_TRUE(refused([](LeafRequest& r) { r.server_auth = false; }));
  EXPECT_TRUE(refused([](LeafRequest& r) { r.validity.not_after = r.validity.not_before; }));
  const Certificate leaf = *issue(ca_, ca_key_, key_, node_request());
  EXPECT_FALSE(issue(leaf, key_, key_, node_request()).ok()) << "a leaf signs nothing";
  EXPECT_FALSE(issue(ca_, key_, key_, node_request()).ok()) << "not the key of this CA";
}

TEST_F(X509Test, KeysGoThroughPem) {
  const auto read_back = PrivateKey::from_pem(key_.to_pem());
  ASSERT_TRUE(read_back.ok()) << read_back.error().to_string();
  EXPECT_EQ(read_back->to_pem(), key_.to_pem());
  const Certificate leaf = *issue(ca_, ca_key_, *read_back, node_request());
  EXPECT_TRUE(check_key_matches(leaf, key_).ok());
  EXPECT_EQ(check_key_matches(leaf, ca_key_).error().code(), Code::kInvalidArgument);
  EXPECT_FALSE(PrivateKey::from_pem("").ok());
  EXPECT_FALSE(PrivateKey::from_pem(leaf.to_pem()).ok());
}

TEST_F(X509Test, BundlesKeepTheirOrder) {
  const Certificate leaf = *issue(ca_, ca_key_, key_, node_request());
  const std::vector<Certificate> chain{leaf, ca_};
  const auto bundle = parse_bundle("a comment\n" + to_pem(chain) + "trailing words\n");
  ASSERT_TRUE(bundle.ok()) << bundle.error().to_string();
  ASSERT_EQ(bundle->size(), 2U);
  EXPECT_EQ((*bundle)[0].info().sha256, leaf.info().sha256);
  EXPECT_EQ((*bundle)[1].info().sha256, ca_.info().sha256);

  EXPECT_EQ(parse_bundle("").error().code(), Code::kInvalidArgument);
  std::string damaged = to_pem(chain);
  damaged[damaged.size() / 2 + 300] = '!';
  EXPECT_EQ(parse_bundle(damaged).error().code(), Code::kCorrupt) << "half a bundle must not pass for a whole one";
  EXPECT_EQ(parse_bundle(std::string(kMaxPemBytes + 1, '\n')).error().code(), Code::kExhausted);
  EXPECT_FALSE(Certificate::from_der("not der").ok());
}

TEST(X509StrangerTest, OpensslProgramAgrees) {
  testing::TestAuthority authority("strake test CA");
  testing::TestAuthority foreign("strake test CA");
  const test::TempDir folder;
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
    return (folder / name).string();
  };
  LeafRequest request;
  request.common_name = "system:node:worker-1";
  request.organizations = {"system:nodes"};
  request.dns_names = {"worker-1.example"};
  request.ip_addresses = {"192.0.2.7"};
  request.client_auth = true;
  request.server_auth = true;
  const testing::TestIdentity identity = authority.issue(request);
  const std::string ca = write("ca.pem", authority.pem());
  const std::string other_ca = write("other.pem", foreign.pem());
  const std::string leaf = write("leaf.pem", identity.certificate_pem);
  const std::string key = write("key.pem", identity.key_pem);

  const auto openssl = [&](std::vector<std::string> arguments) {
    Command command;
    command.argv = {"openssl"};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.timeout = std::chrono::seconds(60);
    auto output = run(command);
    EXPECT_TRUE(output.ok()) << output.error().to_string();
    return *std::move(output);
  };
  const auto verify = [&](const std::string& root, const char* purpose, const char* host) {
    return openssl({"verify", "-x509_strict", "-no-CApath", "-no-CAstore", "-CAfile", root, "-purpose", purpose,
                    "-verify_hostname", host, leaf});
  };
  const ProcessOutput good = verify(ca, "sslserver", "worker-1.example");
  EXPECT_TRUE(good.exit.success()) << good.stderr_bytes;
  EXPECT_TRUE(verify(ca, "sslclient", "worker-1.example").exit.success());
  EXPECT_FALSE(verify(ca, "sslserver", "other.example").exit.success());
  EXPECT_FALSE(verify(other_ca, "sslserver", "worker-1.example").exit.success());

  const ProcessOutput subject = openssl({"x509", "-in", leaf, "-noout", "-subject", "-nameopt", "RFC2253"});
  EXPECT_EQ(subject.stdout_bytes, "subject=CN=system:node:worker-1,O=system:nodes\n");
  const ProcessOutput fingerprint = openssl({"x509", "-in", leaf, "-noout", "-fingerprint", "-sha256"});
  std::string hex;
  for (const char c : fingerprint.stdout_bytes.substr(fingerprint.stdout_bytes.find('=') + 1)) {
    if (c != ':' && c != '\n') hex.push_back(static_cast<char>(std::tolower(c)));
  }
  EXPECT_EQ(hex, Certificate::from_pem(identity.certificate_pem)->info().sha256);
  const ProcessOutput checked_key = openssl({"pkey", "-in", key, "-noout", "-text"});
  EXPECT_NE(checked_key.stdout_bytes.find("NIST CURVE: P-256"), std::string::npos) << checked_key.stderr_bytes;
}

}  // namespace
}  // namespace strake::net::x509_test
