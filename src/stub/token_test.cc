#include "stub/token.h"

#include <gtest/gtest.h>

namespace strake::stub::token_test {

using namespace std::chrono_literals;

constexpr std::chrono::sys_seconds kNow{1'800'000'000s};

NewToken made(TokenWish wish = {"worker", 100h}, std::uint64_t seed = 1) {
  SeededRandom random(seed);
  auto token = create_token(random, wish, kNow);
  EXPECT_TRUE(token.ok()) << token.error().to_string();
  return *std::move(token);
}

TEST(Token, IsRecognisableRandomAndKeptAsAHash) {
  const NewToken token = made();
  EXPECT_TRUE(token.secret.reveal().starts_with(kTokenPrefix));
  EXPECT_EQ(token.secret.reveal().size(), kTokenPrefix.size() + 64);  // 256 bits
  EXPECT_EQ(token.record.sha256, token_sha256(token.secret.reveal()));
  EXPECT_EQ(token.record.expires, kNow + 100h);
  EXPECT_NE(made({"worker", 100h}, 2).secret.reveal(), token.secret.reveal());
  EXPECT_EQ(token.record.id.find(token.secret.reveal().substr(12, 8)), std::string::npos);
}

TEST(Token, AWishThatCannotBeKeptIsRefused) {
  SeededRandom random(1);
  for (const TokenWish& wish : {TokenWish{"", 1h}, TokenWish{"../etc", 1h}, TokenWish{"worker", 0s},
                                TokenWish{"worker", -1h}, TokenWish{"worker", kLongestTokenLife + 1s},
                                TokenWish{"worker", 1h, 0}, TokenWish{"worker", 1h, 1, std::string(201, 'x')}}) {
    EXPECT_FALSE(create_token(random, wish, kNow).ok()) << wish.pool << " " << wish.life.count();
  }
}

TEST(Token, StandsOrFallsForAReason) {
  TokenRecord record = made({"worker", 100h, 3}).record;
  EXPECT_EQ(judge_token(record, "worker", kNow, 0), Standing::kGood);
  EXPECT_EQ(judge_token(record, "worker", kNow + 100h - 1s, 2), Standing::kGood);
  EXPECT_EQ(judge_token(record, "worker", kNow + 100h, 0), Standing::kTokenExpired);
  EXPECT_EQ(judge_token(record, "worker", kNow, 3), Standing::kTokenUsedUp);
  EXPECT_EQ(judge_token(record, "master", kNow, 0), Standing::kWrongPool);
  EXPECT_EQ(judge_token(record, "", kNow, 0), Standing::kWrongPool);
  record.revoked = kNow;
  EXPECT_EQ(judge_token(record, "master", kNow + 200h, 9), Standing::kTokenRevoked);
  for (std::size_t i = 0; i < kStandings; ++i) {
    const auto standing = static_cast<Standing>(i);
    EXPECT_EQ(*parse_standing(to_string(standing)), standing);
  }
  EXPECT_FALSE(parse_standing("perfect").ok());
}

TEST(Token, IsRenewedAfterFourFifthsOfItsLife) {
  TokenRecord record = made().record;
  EXPECT_FALSE(renewal_due(record, kNow));
  EXPECT_FALSE(renewal_due(record, kNow + 80h - 1s));
  EXPECT_TRUE(renewal_due(record, kNow + 80h));
  record.revoked = kNow;
  EXPECT_TRUE(renewal_due(record, kNow));
}

TEST(BearerToken, OneFieldOneToken) {
  const auto read = [](std::vector<std::string_view> lines) -> std::string {
    const auto token = bearer_token(lines);
    if (!token.ok()) return "refused";
    return *token ? **token : "none";
  };
  EXPECT_EQ(read({}), "none");
  EXPECT_EQ(read({"Bearer abc-._~+/="}), "abc-._~+/=");
  EXPECT_EQ(read({"bearer   abc  "}), "abc");
  EXPECT_EQ(read({"BEARER abc"}), "abc");
  const std::string longest = "Bearer " + std::string(kMaxTokenBytes, 'a'), too_long = longest + "a";
  EXPECT_EQ(read({longest}).size(), kMaxTokenBytes);
  for (const std::string_view wrong :
       {std::string_view("Bearer"), std::string_view("Bearer "), std::string_view(""), std::string_view("Basic YTpi"),
        std::string_view("Bearer a b"), std::string_view("Bearer a,b"), std::string_view("Bearer a\0b", 10),
        std::string_view("Bearer \xc3\xa4"), std::string_view(too_long)}) {
    EXPECT_EQ(read({wrong}), "refused") << wrong;
  }
  EXPECT_EQ(read({"Bearer a", "Bearer a"}), "refused") << "which of them would count?";
}

}  // namespace strake::stub::token_test
