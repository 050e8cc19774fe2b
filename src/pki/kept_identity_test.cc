#include "pki/kept_identity.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/time.h"
#include "support/temp_dir.h"

namespace strake::pki::kept_identity_test {

using namespace std::chrono_literals;

const WallTime kNow = *parse_rfc3339("2026-03-01T12:00:00Z");
constexpr auto kDay = 24h;

class KeptIdentityTest : public testing::Test {
 protected:
  Result<KeptIdentity> open(WallTime now = kNow, std::vector<std::string> hosts = {"localhost", "::1"}) {
    return KeptIdentity::open(authority_, "server", Subject::host("strake", std::move(hosts)), 365 * kDay, random_,
                              now);
  }
  bool verified(const KeptIdentity& identity, WallTime at) const {
    const auto certificate = net::Certificate::from_pem(identity.pair().certificate);
    return net::check_key_matches(*certificate, *net::PrivateKey::from_pem(identity.pair().key)).ok() &&
           net::verify_chain(*certificate, {}, authority_.trusted(), std::chrono::floor<std::chrono::seconds>(at),
                             net::CertificatePurpose::kServer)
               .ok();
  }

  test::TempDir dir_;
  SystemRandom random_;
  Authority authority_ = *Authority::open({dir_ / "pki"}, random_, kNow);
};

TEST_F(KeptIdentityTest, IsMadeOnceAndFoundAgain) {
  const auto first = open();
  const auto second = open(kNow + 10 * kDay);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(verified(*first, kNow));
  EXPECT_EQ(first->pair().certificate, second->pair().certificate);
  EXPECT_EQ(first->pair().key, second->pair().key);
}

TEST_F(KeptIdentityTest, IsRenewedNearItsEnd) {
  auto identity = open();
  ASSERT_TRUE(identity.ok());
  const std::string old = identity->pair().certificate;
  EXPECT_FALSE(*identity->renew(authority_, random_, kNow + 200 * kDay));
  EXPECT_EQ(identity->pair().certificate, old);
  EXPECT_TRUE(*identity->renew(authority_, random_, kNow + 300 * kDay));
  EXPECT_TRUE(verified(*identity, kNow + 500 * kDay));
  EXPECT_EQ(open(kNow + 301 * kDay)->pair().certificate, identity->pair().certificate) << "what was renewed is on disk";
}

TEST_F(KeptIdentityTest, DoesNotOutliveTheAuthorityAndIsNotRenewedForEver) {
  auto identity = open();
  ASSERT_TRUE(identity.ok());
  const WallTime late = kNow + 3640 * kDay;
  ASSERT_TRUE(*identity->renew(authority_, random_, late));
  EXPECT_EQ(net::Certificate::from_pem(identity->pair().certificate)->info().not_after,
            authority_.signer().info().not_after);
  EXPECT_FALSE(*identity->renew(authority_, random_, late + kDay));
}

TEST_F(KeptIdentityTest, ANewNameMakesANewOne) {
  const auto first = open();
  const auto second = open(kNow, {"localhost", "new.example.com"});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->pair().certificate, second->pair().certificate);
  EXPECT_TRUE(net::check_host(*net::Certificate::from_pem(second->pair().certificate), "new.example.com").ok());
}

TEST_F(KeptIdentityTest, WithoutItsKeyItIsMadeAgain) {
  ASSERT_TRUE(open().ok());
  std::filesystem::remove(dir_ / "pki/server.key");
  EXPECT_TRUE(verified(*open(), kNow));
  ASSERT_TRUE(write_file_atomic(dir_ / "pki/server.key", "nonsense", 0600).ok());
  EXPECT_TRUE(verified(*open(), kNow));
}

TEST_F(KeptIdentityTest, FollowsTheAuthorityToItsSuccessor) {
  auto identity = open();
  ASSERT_TRUE(identity.ok());
  ASSERT_TRUE(authority_.add_successor(random_, kNow + kDay).ok());
  EXPECT_FALSE(*identity->renew(authority_, random_, kNow + kDay));
  ASSERT_TRUE(authority_.promote_successor().ok());
  EXPECT_TRUE(*identity->renew(authority_, random_, kNow + kDay));
  ASSERT_TRUE(authority_.retire_predecessors().ok());
  EXPECT_FALSE(*identity->renew(authority_, random_, kNow + kDay));
  EXPECT_TRUE(verified(*identity, kNow + kDay));
}

}  // namespace strake::pki::kept_identity_test
