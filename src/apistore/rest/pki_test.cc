#include "apistore/rest/pki.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/time.h"
#include "support/temp_dir.h"

namespace strake::apistore::rest::pki_test {

using namespace std::chrono_literals;
using Time = std::chrono::system_clock::time_point;

const Time kNow = *parse_rfc3339("2026-03-01T12:00:00Z");
constexpr auto kDay = 24h;

class PkiTest : public testing::Test {
 protected:
  Result<Pki> open(Time now = kNow, std::vector<std::string> names = {}) {
    PkiOptions options;
    options.directory = dir_ / "pki";
    options.server_names = std::move(names);
    return Pki::open(std::move(options), random_, now);
  }
  static net::CertificateInfo info(const PemPair& pair) { return net::Certificate::from_pem(pair.certificate)->info(); }
  static Status verified(const Pki& pki, const PemPair& pair, net::CertificatePurpose purpose, Time at) {
    return net::verify_chain(*net::Certificate::from_pem(pair.certificate), {}, *net::parse_bundle(pki.ca_pem()),
                             std::chrono::floor<std::chrono::seconds>(at), purpose);
  }
  unsigned mode(const std::string& name) const {
    struct stat info{};
    EXPECT_EQ(::stat((dir_ / "pki" / name).c_str(), &info), 0) << name;
    return info.st_mode & 0777u;
  }

  test::TempDir dir_;
  SystemRandom random_;
};

TEST_F(PkiTest, TheFirstStartMakesEverything) {
  const auto pki = open(kNow, {"10.1.2.3", "api.example.com", "0.0.0.0"});
  ASSERT_TRUE(pki.ok()) << pki.error().to_string();
  EXPECT_TRUE(verified(*pki, pki->server(), net::CertificatePurpose::kServer, kNow).ok());
  EXPECT_FALSE(verified(*pki, pki->server(), net::CertificatePurpose::kClient, kNow).ok());
  EXPECT_TRUE(verified(*pki, pki->admin(), net::CertificatePurpose::kClient, kNow).ok());
  const auto server = *net::Certificate::from_pem(pki->server().certificate);
  for (const char* host : {"127.0.0.1", "::1", "localhost", "10.1.2.3", "api.example.com"}) {
    EXPECT_TRUE(net::check_host(server, host).ok()) << host;
  }
  EXPECT_FALSE(net::check_host(server, "0.0.0.0").ok());
  EXPECT_EQ(info(pki->admin()).common_name, "strake:admin");
  EXPECT_EQ(info(pki->admin()).organizations, std::vector<std::string>{"strake:admins"});
}

TEST_F(PkiTest, FilesArePrivate) {
  std::filesystem::create_directory(dir_ / "pki");
  ASSERT_EQ(::chmod((dir_ / "pki").c_str(), 0755), 0);
  ASSERT_TRUE(open().ok());
  EXPECT_EQ(mode(""), 0700u);
  for (const char* name : {"ca.crt", "ca.key", "server.crt", "server.key", "admin.crt", "admin.key"})
    EXPECT_EQ(mode(name), 0600u) << name;
}

TEST_F(PkiTest, TheNextStartFindsTheSame) {
  const auto first = open();
  const auto second = open(kNow + 10 * kDay);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->ca_pem(), second->ca_pem());
  EXPECT_EQ(first->server().certificate, second->server().certificate);
  EXPECT_EQ(first->admin().key, second->admin().key);
}

TEST_F(PkiTest, CertificatesNearTheirEndAreRenewedTheAuthorityIsNot) {
  auto pki = open();
  ASSERT_TRUE(pki.ok());
  const std::string authority = pki->ca_pem();
  const std::string old_server = pki->server().certificate;
  EXPECT_FALSE(*pki->renew(random_, kNow + 200 * kDay));
  EXPECT_EQ(pki->server().certificate, old_server);
  const auto renewed = pki->renew(random_, kNow + 300 * kDay);
  ASSERT_TRUE(renewed.ok());
  EXPECT_TRUE(*renewed);
  EXPECT_EQ(pki->ca_pem(), authority);
  EXPECT_TRUE(verified(*pki, pki->server(), net::CertificatePurpose::kServer, kNow + 500 * kDay).ok());
  EXPECT_TRUE(verified(*pki, pki->admin(), net::CertificatePurpose::kClient, kNow + 500 * kDay).ok());
  EXPECT_EQ(open(kNow + 301 * kDay)->server().certificate, pki->server().certificate) << "what was renewed is on disk";
}

TEST_F(PkiTest, NothingOutlivesTheAuthorityAndNothingIsRenewedForEver) {
  auto pki = open();
  ASSERT_TRUE(pki.ok());
  const Time late = kNow + 3640 * kDay;
  ASSERT_TRUE(pki->renew(random_, late).ok());
  EXPECT_EQ(info(pki->server()).not_after, net::Certificate::from_pem(pki->ca_pem())->info().not_after);
  EXPECT_FALSE(*pki->renew(random_, late + kDay));
  const auto expired = open(kNow + 3651 * kDay);
  ASSERT_FALSE(expired.ok());
  EXPECT_NE(expired.error().to_string().find("the authority has expired"), std::string::npos);
}

TEST_F(PkiTest, ANewNameMakesANewServerCertificate) {
  const auto first = open();
  const auto second = open(kNow, {"new.example.com"});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->server().certificate, second->server().certificate);
  EXPECT_EQ(first->ca_pem(), second->ca_pem());
}

TEST_F(PkiTest, LeavesThatLostTheirKeyAreMadeAgain) {
  ASSERT_TRUE(open().ok());
  std::filesystem::remove(dir_ / "pki/server.key");
  ASSERT_TRUE(write_file_atomic(dir_ / "pki/admin.key", "nonsense", 0600).ok());
  const auto again = open();
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_TRUE(verified(*again, again->server(), net::CertificatePurpose::kServer, kNow).ok());
  EXPECT_TRUE(net::check_key_matches(*net::Certificate::from_pem(again->admin().certificate),
                                     *net::PrivateKey::from_pem(again->admin().key))
                  .ok());
}

TEST_F(PkiTest, AKeyWithoutItsAuthorityIsAnUnfinishedFirstStart) {
  ASSERT_TRUE(open().ok());
  for (const char* name : {"ca.crt", "server.crt", "server.key", "admin.crt", "admin.key"})
    std::filesystem::remove(dir_ / "pki" / name);
  EXPECT_TRUE(open().ok());
}

TEST_F(PkiTest, ADamagedAuthorityIsNeverReplaced) {
  ASSERT_TRUE(open().ok());
  const std::string before = *read_file(dir_ / "pki/ca.crt", 1 << 20);
  std::filesystem::remove(dir_ / "pki/ca.key");
  const auto without_key = open();
  ASSERT_FALSE(without_key.ok());
  EXPECT_EQ(without_key.error().code(), Code::kCorrupt);
  EXPECT_NE(without_key.error().to_string().find("ca.crt"), std::string::npos) << without_key.error().to_string();
  EXPECT_EQ(*read_file(dir_ / "pki/ca.crt", 1 << 20), before);
  ASSERT_TRUE(write_file_atomic(dir_ / "pki/ca.key", net::PrivateKey::generate()->to_pem(), 0600).ok());
  EXPECT_EQ(open().error().code(), Code::kCorrupt);
}

TEST_F(PkiTest, IssuesClientCertificates) {
  const auto pki = open();
  ASSERT_TRUE(pki.ok());
  const auto agent = pki->issue_client("strake:agent:n1", {"strake:agents"}, 30 * kDay, random_, kNow);
  ASSERT_TRUE(agent.ok()) << agent.error().to_string();
  EXPECT_EQ(info(*agent).common_name, "strake:agent:n1");
  EXPECT_TRUE(verified(*pki, *agent, net::CertificatePurpose::kClient, kNow + 29 * kDay).ok());
  EXPECT_FALSE(verified(*pki, *agent, net::CertificatePurpose::kClient, kNow + 31 * kDay).ok());
  EXPECT_FALSE(verified(*pki, *agent, net::CertificatePurpose::kServer, kNow).ok());
  EXPECT_FALSE(pki->issue_client("", {"system:masters"}, kDay, random_, kNow).ok());
}

}  // namespace strake::apistore::rest::pki_test
