#include "apistore/rest/credential_sweep.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/random.h"
#include "codec/digest.h"
#include "support/temp_dir.h"

namespace strake::apistore::rest::credential_sweep_test {

using namespace std::chrono_literals;

class OpenConnection final : public net::ConnectionHandle {
 public:
  std::int64_t idle_since() const override { return 0; }
  void cut() override { is_cut = true; }
  void on_gone(std::function<void()>) override {}

  bool is_cut = false;
};

struct SweepStage {
  std::shared_ptr<OpenConnection> connect(const Credential& credential) {
    auto connection = std::make_shared<OpenConnection>();
    EXPECT_TRUE(connections.admit(connection, "ann", credential, 0).ok());
    return connection;
  }
  std::size_t look(WallTime now) {
    const auto cut = sweep.look(now);
    EXPECT_TRUE(cut.ok()) << cut.error().to_string();
    return cut.ok() ? *cut : 0;
  }

  test::TempDir dir;
  SeededRandom random{1};
  const WallTime start{std::chrono::hours(24 * 365 * 50)};
  pki::TokenFile tokens{dir / "tokens.json"};
  pki::Revocations revocations{dir / "revoked.json"};
  ConnectionRegister connections;
  CredentialSweep sweep{{&tokens, &revocations}, dir / "tokens.json", dir / "revoked.json", connections};
};

TEST(CredentialSweep, EndsWhatWasRevokedAndNothingElse) {
  SweepStage stage;
  const auto issued = stage.tokens.issue(stage.random, {"ann", {}, std::nullopt, {}}, stage.start);
  const auto other = stage.tokens.issue(stage.random, {"bob", {}, std::nullopt, {}}, stage.start);
  ASSERT_TRUE(issued.ok() && other.ok());
  const auto with = [](const auto& token) {
    return Credential{Credential::Kind::kToken, codec::sha256_hex(token->secret), std::nullopt};
  };
  const auto token = stage.connect(with(issued));
  const auto other_token = stage.connect(with(other));
  const auto certificate = stage.connect({Credential::Kind::kCertificate, "abc1", stage.start + 1h});
  const auto other_certificate = stage.connect({Credential::Kind::kCertificate, "abc2", stage.start + 2h});

  EXPECT_EQ(stage.look(stage.start), 0U);
  for (int second = 1; second < 1'000; ++second) EXPECT_EQ(stage.look(stage.start + second * 1s), 0U);
  EXPECT_EQ(stage.sweep.sweeps(), 1U) << "the first; nothing changed since";

  ASSERT_TRUE(stage.tokens.revoke(issued->id).ok());
  EXPECT_EQ(stage.look(stage.start + 1'000s), 1U);
  EXPECT_TRUE(token->is_cut);
  ASSERT_TRUE(stage.revocations.revoke({"abc1", stage.start + 1h, "lost"}, stage.start).ok());
  EXPECT_EQ(stage.look(stage.start + 1'001s), 1U);
  EXPECT_TRUE(certificate->is_cut);
  EXPECT_EQ(stage.sweep.sweeps(), 3U);

  EXPECT_EQ(stage.look(stage.start + 2h - 1s), 0U);
  EXPECT_EQ(stage.sweep.sweeps(), 3U);
  EXPECT_EQ(stage.look(stage.start + 2h), 1U) << "its time is over";
  EXPECT_TRUE(other_certificate->is_cut);
  EXPECT_FALSE(other_token->is_cut);
}

TEST(CredentialSweep, ALostListIsAnErrorAndLookedAtAgain) {
  SweepStage stage;
  const auto open = stage.connect({Credential::Kind::kCertificate, "abc1", std::nullopt});
  ASSERT_TRUE(write_file_atomic(stage.dir / "revoked.json", "no JSON", 0600).ok());
  EXPECT_FALSE(stage.sweep.look(stage.start).ok());
  EXPECT_FALSE(stage.sweep.look(stage.start + 1s).ok());
  EXPECT_FALSE(open->is_cut);
  ASSERT_TRUE(write_file_atomic(stage.dir / "revoked.json",
                                R"({"revoked":[{"serial":"abc1","expires":"2100-01-01T00:00:00Z"}]})", 0600)
                  .ok());
  EXPECT_EQ(stage.look(stage.start + 2s), 1U);
}

}  // namespace strake::apistore::rest::credential_sweep_test
