#include "stub/access_book.h"

#include <gtest/gtest.h>

#include "codec/base64.h"
#include "codec/compress.h"
#include "net/testing/test_authority.h"

namespace strake::stub::access_book_test {

using namespace std::chrono_literals;

constexpr std::chrono::sys_seconds kNow{1'800'000'000s};

TokenRecord record(const std::string& id, const std::string& token, std::chrono::sys_seconds expires = kNow + 100h) {
  return {id, "worker", token_sha256(token), kNow, expires};
}

kube::Object secret_of(const AccessBook& book) {
  kube::Object secret(kube::core::kSecret, access_key());
  const auto data = access_data(book);
  EXPECT_TRUE(data.ok()) << data.error().to_string();
  json::ensure(secret.json(), {"data"}) = *data;
  return secret;
}

TEST(AccessBook, IsReadAsItWasWritten) {
  net::testing::TestAuthority authority;
  TokenRecord full = record("full", "b");
  full.max_uses = 3;
  full.revoked = kNow;
  full.comment = "rack 7, \"the old one\"";
  const AccessBook book(AccessMode::kRequire, {record("plain", "a"), full}, authority.pem());
  const auto again = read_access(secret_of(book));
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(again->mode(), AccessMode::kRequire);
  EXPECT_EQ(again->tokens(), book.tokens());
  EXPECT_EQ(again->client_ca_pem(), authority.pem());
  EXPECT_TRUE(again->counts_uses());
  EXPECT_EQ(again->find_by_hash(token_sha256("b"))->id, "full");
  EXPECT_EQ(again->find_by_hash(token_sha256("c")), nullptr);
  EXPECT_EQ(again->find_by_hash(""), nullptr);
  EXPECT_EQ(again->find_by_id("plain")->sha256, token_sha256("a"));
}

TEST(AccessBook, TenThousandTokensFitIntoOneSecret) {
  std::vector<TokenRecord> tokens;
  for (int i = 0; i < 10'000; ++i) tokens.push_back(record(fmt::format("id{}", i), fmt::format("token-{}", i)));
  const AccessBook book(AccessMode::kRequire, tokens, "");
  const kube::Object secret = secret_of(book);
  EXPECT_LT(json::write(secret.json()).size(), 1'000'000U);
  const auto again = read_access(secret);
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(again->tokens().size(), 10'000U);
  for (const int i : {0, 4'711, 9'999}) {
    ASSERT_NE(again->find_by_hash(token_sha256(fmt::format("token-{}", i))), nullptr);
    EXPECT_EQ(again->find_by_hash(token_sha256(fmt::format("token-{}", i)))->id, fmt::format("id{}", i));
  }
}

TEST(AccessBook, WhatIsNoBookIsRefusedWithoutShowingIt) {
  const auto with = [](std::string_view mode, std::string_view tokens) {
    kube::Object secret(kube::core::kSecret, access_key());
    if (!mode.empty()) json::ensure(secret.json(), {"data", "mode"}) = codec::encode_base64(mode);
    if (!tokens.empty()) json::ensure(secret.json(), {"data", "tokens"}) = codec::encode_base64(tokens);
    return secret;
  };
  EXPECT_TRUE(read_access(with("open\n", "")).ok()) << "as people write it";
  const std::string good = fmt::format(
      R"({{"id":"a","pool":"worker","sha256":"{}","created":"2026-01-01T00:00:00Z","expires":"2026-02-01T00:00:00Z")",
      std::string(64, 'a'));
  EXPECT_TRUE(read_access(with("open", R"({"tokens":[)" + good + "}]}")).ok());
  const std::string bomb = codec::gzip(std::string(40 << 20, ' '));
  const std::pair<std::string, std::string> wrong[] = {
      {"", ""},
      {"hunter2", ""},
      {"require", "hunter2"},
      {"require", R"({"tokens":"hunter2"})"},
      {"require", R"({"tokens":[7]})"},
      {"require", R"({"tokens":[{}]})"},
      {"require", R"({"tokens":[)" + good + R"(,"maxUses":0}]})"},
      {"require", R"({"tokens":[)" + good + R"(,"maxUses":"hunter2"}]})"},
      {"require", R"({"tokens":[)" + good + R"(,"revoked":"hunter2"}]})"},
      {"require", R"({"tokens":[{"id":"../../x","pool":"worker"}]})"},
      {"require", std::string(9, '[')},
      {"require", bomb},
  };
  for (const auto& [mode, tokens] : wrong) {
    const auto book = read_access(with(mode, tokens));
    ASSERT_FALSE(book.ok()) << mode << " " << tokens.substr(0, 80);
    EXPECT_EQ(book.error().to_string().find("hunter2"), std::string::npos) << book.error().to_string();
    EXPECT_NE(book.error().to_string().find("data."), std::string::npos) << book.error().to_string();
  }
  kube::Object no_base64 = with("open", "");
  json::ensure(no_base64.json(), {"data", "tokens"}) = "*hunter2*";
  EXPECT_FALSE(read_access(no_base64).ok());
  json::ensure(no_base64.json(), {"data", "tokens"}) = 7;
  EXPECT_FALSE(read_access(no_base64).ok());
  kube::Object no_authority = with("open", "");
  json::ensure(no_authority.json(), {"data", "client-ca.crt"}) = codec::encode_base64("hunter2");
  EXPECT_FALSE(read_access(no_authority).ok());
}

TEST(AccessBook, BeforeThereIsAClusterAFileSaysWhoMayAsk) {
  const auto book = read_token_file("# who\n\nmaster  one\r\n worker two\n");
  ASSERT_TRUE(book.ok()) << book.error().to_string();
  EXPECT_EQ(book->mode(), AccessMode::kRequire);
  ASSERT_EQ(book->tokens().size(), 2U);
  EXPECT_EQ(judge_token(*book->find_by_hash(token_sha256("one")), "master", kNow, 0), Standing::kGood);
  EXPECT_EQ(book->find_by_hash(token_sha256("two"))->pool, "worker");
  for (const char* wrong : {"hunter2", "master", "../x hunter2", "master hunter2 hunter2", "master hunter2\x01"}) {
    const auto refused = read_token_file(std::string("\n") + wrong);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_NE(refused.error().to_string().find("line 2"), std::string::npos);
    EXPECT_EQ(refused.error().to_string().find("hunter2"), std::string::npos);
  }
  EXPECT_EQ(read_token_file("")->mode(), AccessMode::kRequire) << "an empty list is no open door";
}

TEST(AccessBook, NewOnesComeOldOnesGoRevokedOnesAreRemembered) {
  AccessBook book(AccessMode::kOpen,
                  {record("ended", "a", kNow - kRememberEnded - 1s), record("just-ended", "b", kNow - 1s)}, "");
  book = with_new_token(book, record("fresh", "c"), kNow);
  EXPECT_EQ(book.find_by_id("ended"), nullptr);
  EXPECT_NE(book.find_by_id("just-ended"), nullptr) << "a refusal can still say why";
  const auto revoked = with_revoked(book, "fresh", kNow);
  ASSERT_TRUE(revoked.ok());
  EXPECT_EQ(revoked->find_by_id("fresh")->revoked, kNow);
  EXPECT_EQ(with_revoked(*revoked, "fresh", kNow + 1h)->find_by_id("fresh")->revoked, kNow) << "once is enough";
  EXPECT_EQ(with_revoked(book, "nobody", kNow).error().code(), Code::kNotFound);
}

TEST(AccessBook, ACertificateOpensThePoolItNames) {
  EXPECT_EQ(judge_organizations({"strake:pool:worker"}, "worker"), Standing::kGood);
  EXPECT_EQ(judge_organizations({"acme", "strake:pool:infra", "strake:pool:worker"}, "worker"), Standing::kGood);
  for (const std::vector<std::string>& none :
       {std::vector<std::string>{}, {"worker"}, {"strake:pool:"}, {"strake:pool:worker2"}, {"strake:pool:*"}}) {
    EXPECT_EQ(judge_organizations(none, "worker"), Standing::kWrongPool);
  }
  EXPECT_EQ(judge_organizations({"strake:pool:"}, ""), Standing::kWrongPool);
}

}  // namespace strake::stub::access_book_test
