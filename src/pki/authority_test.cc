#include "pki/authority.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/subprocess.h"
#include "base/time.h"
#include "support/temp_dir.h"

namespace strake::pki::authority_test {

using namespace std::chrono_literals;

const WallTime kNow = *parse_rfc3339("2026-03-01T12:00:00Z");
constexpr auto kDay = 24h;

class AuthorityTest : public testing::Test {
 protected:
  Result<Authority> open(WallTime now = kNow) { return Authority::open({dir_ / "pki"}, random_, now); }

  static net::CertificateInfo info(const std::string& pem) { return net::Certificate::from_pem(pem)->info(); }

  /// Judged by the openssl program: whether it accepts the certificate, at that time, for that purpose.
  bool openssl_accepts(const std::string& trusted_pem, const std::string& certificate, const char* purpose,
                       WallTime at) {
    EXPECT_TRUE(write_file_atomic(dir_ / "trusted.pem", trusted_pem, 0600).ok());
    EXPECT_TRUE(write_file_atomic(dir_ / "leaf.pem", certificate, 0600).ok());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
    const auto output =
        openssl({"verify", "-x509_strict", "-no-CApath", "-no-CAstore", "-CAfile", (dir_ / "trusted.pem").string(),
                 "-attime", std::to_string(seconds), "-purpose", purpose, (dir_ / "leaf.pem").string()});
    return output.exit.success();
  }
  static ProcessOutput openssl(const std::vector<std::string>& arguments) {
    Command command;
    command.argv = {"openssl"};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.timeout = 60s;
    auto output = run(command);
    EXPECT_TRUE(output.ok()) << output.error().to_string();
    return output.ok() ? *std::move(output) : ProcessOutput{};
  }
  unsigned mode(const std::filesystem::path& path) const {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777u;
  }
  void expect_private_files() const {
    EXPECT_EQ(mode(dir_ / "pki"), 0700u);
    for (const auto& entry : std::filesystem::directory_iterator(dir_ / "pki")) EXPECT_EQ(mode(entry.path()), 0600u);
  }

  test::TempDir dir_;
  SystemRandom random_;
};

TEST_F(AuthorityTest, IsMadeOnceAndFoundAgain) {
  std::filesystem::create_directory(dir_ / "pki");
  ASSERT_EQ(::chmod((dir_ / "pki").c_str(), 0755), 0);
  const auto first = open();
  const auto second = open(kNow + 10 * kDay);
  ASSERT_TRUE(first.ok()) << first.error().to_string();
  ASSERT_TRUE(second.ok()) << second.error().to_string();
  EXPECT_EQ(first->trusted_pem(), second->trusted_pem());
  expect_private_files();
}

TEST_F(AuthorityTest, IssuesForClientsAndServers) {
  const auto authority = open();
  ASSERT_TRUE(authority.ok());
  const auto agent = authority->issue(Subject::user("strake:agent:n1", {"strake:agents"}), 30 * kDay, random_, kNow);
  ASSERT_TRUE(agent.ok()) << agent.error().to_string();
  EXPECT_EQ(info(agent->certificate).common_name, "strake:agent:n1");
  EXPECT_EQ(info(agent->certificate).organizations, std::vector<std::string>{"strake:agents"});
  EXPECT_TRUE(openssl_accepts(authority->trusted_pem(), agent->certificate, "sslclient", kNow + 29 * kDay));
  EXPECT_FALSE(openssl_accepts(authority->trusted_pem(), agent->certificate, "sslclient", kNow + 31 * kDay));
  EXPECT_FALSE(openssl_accepts(authority->trusted_pem(), agent->certificate, "sslserver", kNow));

  const auto server = authority->issue(Subject::host("api", {"10.1.2.3", "api.example.com"}), kDay, random_, kNow);
  ASSERT_TRUE(server.ok()) << server.error().to_string();
  EXPECT_TRUE(openssl_accepts(authority->trusted_pem(), server->certificate, "sslserver", kNow));
  EXPECT_EQ(info(server->certificate).ip_addresses, std::vector<std::string>{"10.1.2.3"});
  EXPECT_EQ(info(server->certificate).dns_names, std::vector<std::string>{"api.example.com"});
  EXPECT_FALSE(authority->issue(Subject::user("", {"system:masters"}), kDay, random_, kNow).ok());
  EXPECT_FALSE(authority->issue(Subject{.common_name = "nobody"}, kDay, random_, kNow).ok());
}

TEST_F(AuthorityTest, SignsARequestForTheNamesTheCallerDecidesOn) {
  const auto authority = open();
  ASSERT_TRUE(authority.ok());
  const std::string key_file = (dir_ / "agent.key").string();
  const std::string request_file = (dir_ / "agent.csr").string();
  const auto made = openssl({"req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384", "-nodes", "-keyout",
                             key_file, "-subj", "/O=system:masters/CN=root", "-addext",
                             "subjectAltName=DNS:api.example.com", "-out", request_file});
  ASSERT_TRUE(made.exit.success()) << made.stderr_bytes;
  const auto request = net::CertificateRequest::from_pem(*read_file(request_file, 1 << 20));
  ASSERT_TRUE(request.ok()) << request.error().to_string();
  const auto signed_pem =
      authority->sign(*request, Subject::user("strake:agent:n1", {"strake:agents"}), kDay, random_, kNow);
  ASSERT_TRUE(signed_pem.ok()) << signed_pem.error().to_string();
  EXPECT_EQ(info(*signed_pem).common_name, "strake:agent:n1");
  EXPECT_EQ(info(*signed_pem).organizations, std::vector<std::string>{"strake:agents"});
  EXPECT_TRUE(info(*signed_pem).dns_names.empty()) << "names in a request are a wish, no more";
  EXPECT_TRUE(openssl_accepts(authority->trusted_pem(), *signed_pem, "sslclient", kNow));
  EXPECT_TRUE(net::check_key_matches(*net::Certificate::from_pem(*signed_pem),
                                     *net::PrivateKey::from_pem(*read_file(key_file, 1 << 20)))
                  .ok());
}

TEST_F(AuthorityTest, HandsOverToItsSuccessorInThreeSteps) {
  auto authority = open();
  ASSERT_TRUE(authority.ok());
  const Subject user = Subject::user("ann", {});
  const std::string old_trust = authority->trusted_pem();
  const auto before = authority->issue(user, 900 * kDay, random_, kNow);
  EXPECT_EQ(authority->promote_successor().error().code(), Code::kNotFound);
  EXPECT_EQ(authority->add_successor(random_, kNow - 1h).error().code(), Code::kInvalidArgument) << "it is older";
  EXPECT_EQ(authority->rotation(), Rotation::kSettled);

  const WallTime later = kNow + 100 * kDay;
  ASSERT_TRUE(authority->add_successor(random_, later).ok());
  EXPECT_EQ(authority->rotation(), Rotation::kAnnounced);
  EXPECT_EQ(authority->add_successor(random_, later + kDay).error().code(), Code::kExists);
  EXPECT_EQ(authority->retire_predecessors().error().code(), Code::kConflict);
  const auto between = authority->issue(user, kDay, random_, later);
  EXPECT_TRUE(openssl_accepts(old_trust, between->certificate, "sslclient", later)) << "the old one signs";

  authority = open(later);  // as every process after it
  ASSERT_TRUE(authority.ok()) << authority.error().to_string();
  ASSERT_TRUE(authority->promote_successor().ok());
  EXPECT_EQ(authority->rotation(), Rotation::kSigning);
  EXPECT_EQ(authority->promote_successor().error().code(), Code::kNotFound) << "not back again";
  const auto after = authority->issue(user, kDay, random_, later);
  EXPECT_FALSE(openssl_accepts(old_trust, after->certificate, "sslclient", later)) << "the new one signs";
  for (const auto* pair : {&before, &between, &after}) {
    EXPECT_TRUE(openssl_accepts(authority->trusted_pem(), (*pair)->certificate, "sslclient", later));
  }

  authority = open(later);
  ASSERT_TRUE(authority.ok()) << authority.error().to_string();
  ASSERT_TRUE(authority->retire_predecessors().ok());
  ASSERT_TRUE(authority->retire_predecessors().ok()) << "twice is once";
  EXPECT_FALSE(openssl_accepts(authority->trusted_pem(), before->certificate, "sslclient", later));
  EXPECT_TRUE(openssl_accepts(authority->trusted_pem(), after->certificate, "sslclient", later));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "pki/ca.key")) << "the key of the old one is gone";
  expect_private_files();

  ASSERT_TRUE(open(later)->add_successor(random_, later + 100 * kDay).ok()) << "and so on";
  authority = open(later + 100 * kDay);
  ASSERT_TRUE(authority.ok() && authority->promote_successor().ok() && authority->retire_predecessors().ok());
  EXPECT_TRUE(open(later + 100 * kDay)->issue(user, kDay, random_, later + 100 * kDay).ok());
}

TEST_F(AuthorityTest, AHandOverKilledBeforeItsOneWriteHasNotHappened) {
  auto authority = open();
  ASSERT_TRUE(authority.ok());
  const std::string before = *read_file(dir_ / "pki/ca.crt", 1 << 20);
  ASSERT_TRUE(authority->add_successor(random_, kNow + kDay).ok());
  ASSERT_TRUE(write_file_atomic(dir_ / "pki/ca.crt", before, 0600).ok());  // the new key stays behind
  authority = open(kNow + kDay);
  ASSERT_TRUE(authority.ok()) << authority.error().to_string();
  EXPECT_EQ(authority->trusted_pem(), before);
  EXPECT_TRUE(authority->add_successor(random_, kNow + 2 * kDay).ok());
  EXPECT_TRUE(authority->promote_successor().ok());
}

TEST_F(AuthorityTest, AKeyWithoutItsAuthorityIsAnUnfinishedFirstStart) {
  ASSERT_TRUE(open().ok());
  std::filesystem::remove(dir_ / "pki/ca.crt");
  EXPECT_TRUE(open().ok());
}

TEST_F(AuthorityTest, ADamagedOrExpiredAuthorityIsNeverReplaced) {
  ASSERT_TRUE(open().ok());
  const auto expired = open(kNow + 3651 * kDay);
  ASSERT_FALSE(expired.ok());
  EXPECT_NE(expired.error().to_string().find("the authority has expired"), std::string::npos);
  const std::string before = *read_file(dir_ / "pki/ca.crt", 1 << 20);
  std::filesystem::remove(dir_ / "pki/ca.key");
  const auto without_key = open();
  ASSERT_FALSE(without_key.ok());
  EXPECT_EQ(without_key.error().code(), Code::kCorrupt);
  EXPECT_NE(without_key.error().to_string().find("ca.crt"), std::string::npos) << without_key.error().to_string();
  ASSERT_TRUE(write_file_atomic(dir_ / "pki/ca.key", net::PrivateKey::generate()->to_pem(), 0600).ok());
  EXPECT_EQ(open().error().code(), Code::kCorrupt);
  EXPECT_EQ(*read_file(dir_ / "pki/ca.crt", 1 << 20), before);
}

TEST_F(AuthorityTest, ASuccessorMadeInTheSameSecondIsTheYoungerOne) {
  auto authority = open();
  ASSERT_TRUE(authority.ok());
  const std::string before = authority->trust_sha256();
  ASSERT_TRUE(authority->add_successor(random_, kNow).ok());
  EXPECT_NE(authority->trust_sha256(), before);
  const std::string successor = authority->newest().info().sha256;
  EXPECT_NE(successor, authority->signer().info().sha256);
  ASSERT_TRUE(authority->promote_successor().ok());
  EXPECT_EQ(authority->signer().info().sha256, successor);
  EXPECT_EQ(authority->newest().info().sha256, successor);
}

}  // namespace strake::pki::authority_test
