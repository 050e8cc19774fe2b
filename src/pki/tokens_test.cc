#include "pki/tokens.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/time.h"
#include "support/temp_dir.h"

namespace strake::pki::tokens_test {

using namespace std::chrono_literals;

const WallTime kNow = *parse_rfc3339("2026-03-01T12:00:00Z");
const TokenUse kApi;

class TokenTest : public testing::Test {
 protected:
  bool accepted(const std::string& secret, const TokenUse& use = kApi, WallTime now = kNow) {
    return tokens_.owner_of(secret, use, now)->has_value();
  }

  test::TempDir dir_;
  std::filesystem::path path_ = dir_ / "tokens.json";
  TokenFile tokens_{path_};
  SeededRandom random_{1};
};

TEST_F(TokenTest, AnOwnerIsKnownByTheSecretOnly) {
  const auto issued = tokens_.issue(random_, {"ann", {"strake:viewers"}, kNow + 1h}, kNow);
  ASSERT_TRUE(issued.ok()) << issued.error().to_string();
  const auto owner = tokens_.owner_of(issued->secret, kApi, kNow);
  ASSERT_TRUE(owner.ok() && owner->has_value());
  EXPECT_EQ((*owner)->user, "ann");
  EXPECT_EQ((*owner)->groups, std::vector<std::string>{"strake:viewers"});
  EXPECT_EQ((*owner)->expires, kNow + 1h);
  for (const std::string& wrong :
       {issued->secret + "x", issued->secret.substr(1), std::string("x"), std::string(), issued->id}) {
    EXPECT_FALSE(accepted(wrong)) << wrong;
  }
}

TEST_F(TokenTest, TheFileHoldsNoSecretAndIsPrivate) {
  const auto issued = tokens_.issue(random_, {"ann", {}, std::nullopt}, kNow);
  ASSERT_TRUE(issued.ok());
  const auto text = read_file(path_, 1 << 20);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->find(issued->secret), std::string::npos);
  EXPECT_NE(text->find(issued->id), std::string::npos);
  struct stat info{};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(TokenTest, EndsWhenItExpires) {
  const auto issued = tokens_.issue(random_, {"ann", {}, kNow + 1h}, kNow);
  ASSERT_TRUE(issued.ok());
  EXPECT_TRUE(accepted(issued->secret, kApi, kNow + 59min));
  EXPECT_FALSE(accepted(issued->secret, kApi, kNow + 1h));
  ASSERT_TRUE(tokens_.issue(random_, {"bob", {}, std::nullopt}, kNow + 2h).ok());
  EXPECT_EQ(read_file(path_, 1 << 20)->find("ann"), std::string::npos) << "expired tokens are cleaned out";
}

TEST_F(TokenTest, IsGoodForWhatItIsBoundToOnly) {
  const auto join = tokens_.issue(random_, {"ann", {}, std::nullopt, {"join", ""}}, kNow);
  const auto of_node = tokens_.issue(random_, {"ann", {}, std::nullopt, {"join", "n1"}}, kNow);
  ASSERT_TRUE(join.ok() && of_node.ok());
  TokenFile after_restart(path_);
  for (TokenFile* file : {&tokens_, &after_restart}) {
    const auto is_accepted = [&](const TokenFile::Issued& token, const TokenUse& use) {
      return file->owner_of(token.secret, use, kNow)->has_value();
    };
    EXPECT_FALSE(is_accepted(*join, kApi));
    EXPECT_TRUE(is_accepted(*join, {"join", ""}));
    EXPECT_TRUE(is_accepted(*join, {"join", "n2"}));
    EXPECT_TRUE(is_accepted(*of_node, {"join", "n1"}));
    EXPECT_FALSE(is_accepted(*of_node, {"join", "n2"}));
    EXPECT_FALSE(is_accepted(*of_node, {"join", ""})) << "who does not say which node it is, is not that node";
    EXPECT_FALSE(is_accepted(*of_node, {"api", "n1"}));
  }
  EXPECT_EQ(tokens_.issue(random_, {"", {}, std::nullopt}, kNow).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(tokens_.issue(random_, {"ann", {}, std::nullopt, {"", ""}}, kNow).error().code(), Code::kInvalidArgument);
}

TEST_F(TokenTest, EndsWhenItIsRevokedByAnotherProcess) {
  const auto issued = tokens_.issue(random_, {"ann", {}, std::nullopt}, kNow);
  ASSERT_TRUE(issued.ok());
  EXPECT_TRUE(accepted(issued->secret));
  TokenFile other(path_);
  ASSERT_TRUE(other.revoke(issued->id).ok());
  EXPECT_EQ(other.revoke(issued->id).error().code(), Code::kNotFound);
  EXPECT_FALSE(accepted(issued->secret));
}

TEST_F(TokenTest, AChangeWaitsForNobodyAndLosesNothing) {
  const auto held = lock_for_change(path_);
  ASSERT_TRUE(held.ok());
  const auto refused = tokens_.issue(random_, {"ann", {}, std::nullopt}, kNow);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kConflict);
  EXPECT_NE(refused.error().to_string().find(path_.string()), std::string::npos);
}

TEST_F(TokenTest, ADamagedFileLetsNobodyInAndIsNamed) {
  ASSERT_TRUE(write_file_atomic(path_, R"({"tokens":[{"id":"a","sha256":"short","user":"x"}]})", 0600).ok());
  const auto owner = tokens_.owner_of("anything", kApi, kNow);
  ASSERT_FALSE(owner.ok());
  EXPECT_NE(owner.error().to_string().find(path_.string()), std::string::npos);
}

TEST(ConstantTime, Equality) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
  EXPECT_FALSE(equal_in_constant_time("", "a"));
}

TEST_F(TokenTest, AJoinTokenIsForOneKeyAndForNothingElse) {
  const auto issued = tokens_.issue(
      random_, {"strake:agent:w1", {"strake:agents"}, kNow + 1h, {std::string(kJoinPurpose), "w1"}, "worker"}, kNow);
  ASSERT_TRUE(issued.ok()) << issued.error().to_string();
  EXPECT_FALSE(accepted(issued->secret)) << "a join token is no way into the API";
  EXPECT_FALSE(tokens_.find(issued->secret, kApiPurpose, kNow)->has_value());
  EXPECT_FALSE(tokens_.find(issued->secret, kJoinPurpose, kNow + 1h)->has_value());
  const auto found = tokens_.find(issued->secret, kJoinPurpose, kNow);
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->owner.bound.node, "w1");
  EXPECT_EQ((*found)->owner.node_role, "worker");
  EXPECT_EQ((*found)->used_by_key, "");

  EXPECT_TRUE(tokens_.use(issued->id, "key1", kNow).ok());
  EXPECT_TRUE(tokens_.use(issued->id, "key1", kNow).ok()) << "the answer may have been lost";
  EXPECT_EQ(TokenFile(path_).use(issued->id, "key2", kNow).error().code(), Code::kConflict);
  EXPECT_EQ(tokens_.use("nobody", "key1", kNow).error().code(), Code::kNotFound);
  const auto listed = TokenFile(path_).list();
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(listed->front().used_by_key, "key1");
  EXPECT_EQ(listed->front().used, kNow);
  EXPECT_EQ(listed->front().issued, kNow);
}

}  // namespace strake::pki::tokens_test
