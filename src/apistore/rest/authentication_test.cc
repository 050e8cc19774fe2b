#include "apistore/rest/authentication.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/time.h"
#include "support/temp_dir.h"

namespace strake::apistore::rest::authentication_test {

using namespace std::chrono_literals;

const WallTime kNow = *parse_rfc3339("2026-03-01T12:00:00Z");

net::ServerRequest with_token(const std::string& token) {
  net::ServerRequest request;
  request.headers.add("Authorization", "Bearer " + token);
  return request;
}

net::ServerRequest with_certificate(const std::string& user, const std::vector<std::string>& groups) {
  net::ServerRequest request;
  request.client_certificate =
      net::PeerCertificate{user, groups, std::chrono::floor<std::chrono::seconds>(kNow + 1h), "00"};
  return request;
}

TEST(Authentication, ACertificateIsItsSubject) {
  const auto identity = authenticate(with_certificate("strake:agent:n1", {"strake:agents"}), nullptr, kNow);
  ASSERT_TRUE(identity.ok());
  EXPECT_EQ(identity->caller.user, "strake:agent:n1");
  EXPECT_EQ(identity->caller.groups, (std::vector<std::string>{"strake:agents", "system:authenticated"}));
  EXPECT_EQ(identity->expires, kNow + 1h);
}

TEST(Authentication, NobodyIsAnonymous) {
  const auto nobody = authenticate({}, nullptr, kNow);
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.error().code(), Code::kUnauthenticated);
  EXPECT_EQ(nobody.error().message(), "Unauthorized");
  EXPECT_FALSE(authenticate(with_certificate("", {"system:masters"}), nullptr, kNow).ok());
  EXPECT_FALSE(authenticate(with_token("anything"), nullptr, kNow).ok());
}

TEST(Authentication, ARefusedCertificateSaysWhy) {
  net::ServerRequest request;
  request.client_certificate_problem = "certificate has expired";
  const auto refused = authenticate(request, nullptr, kNow);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("certificate has expired"), std::string::npos);
}

class TokenTest : public testing::Test {
 protected:
  test::TempDir dir_;
  std::filesystem::path path_ = dir_ / "tokens.json";
  TokenFile tokens_{path_};
  SeededRandom random_{1};
};

TEST_F(TokenTest, AnOwnerIsKnownByTheSecretOnly) {
  const auto issued = tokens_.issue(random_, {"ann", {"strake:viewers"}, kNow + 1h}, kNow);
  ASSERT_TRUE(issued.ok()) << issued.error().to_string();
  const auto identity = authenticate(with_token(issued->secret), &tokens_, kNow);
  ASSERT_TRUE(identity.ok()) << identity.error().to_string();
  EXPECT_EQ(identity->caller.user, "ann");
  EXPECT_EQ(identity->caller.groups, (std::vector<std::string>{"strake:viewers", "system:authenticated"}));
  EXPECT_EQ(identity->expires, kNow + 1h);
  for (const std::string& wrong :
       {issued->secret + "x", issued->secret.substr(1), std::string("x"), std::string(), issued->id}) {
    const auto refused = authenticate(with_token(wrong), &tokens_, kNow);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.error().code(), Code::kUnauthenticated);
    EXPECT_EQ(refused.error().message(), "Unauthorized: the token is unknown or has expired");
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
  EXPECT_TRUE(tokens_.owner_of(issued->secret, kNow + 59min)->has_value());
  EXPECT_FALSE(tokens_.owner_of(issued->secret, kNow + 1h)->has_value());
  ASSERT_TRUE(tokens_.issue(random_, {"bob", {}, std::nullopt}, kNow + 2h).ok());
  EXPECT_EQ(read_file(path_, 1 << 20)->find("ann"), std::string::npos) << "expired tokens are cleaned out";
}

TEST_F(TokenTest, EndsWhenItIsRevokedByAnotherProcess) {
  const auto issued = tokens_.issue(random_, {"ann", {}, std::nullopt}, kNow);
  ASSERT_TRUE(issued.ok());
  EXPECT_TRUE(tokens_.owner_of(issued->secret, kNow)->has_value());
  TokenFile other(path_);
  ASSERT_TRUE(other.revoke(issued->id).ok());
  EXPECT_EQ(other.revoke(issued->id).error().code(), Code::kNotFound);
  EXPECT_FALSE(tokens_.owner_of(issued->secret, kNow)->has_value());
}

TEST_F(TokenTest, ADamagedFileLetsNobodyInAndIsNamed) {
  ASSERT_TRUE(write_file_atomic(path_, R"({"tokens":[{"id":"a","sha256":"short","user":"x"}]})", 0600).ok());
  const auto owner = tokens_.owner_of("anything", kNow);
  ASSERT_FALSE(owner.ok());
  EXPECT_NE(owner.error().to_string().find(path_.string()), std::string::npos);
  ASSERT_TRUE(write_file_atomic(path_, "{", 0600).ok());
  EXPECT_FALSE(authenticate(with_token("anything"), &tokens_, kNow).ok());
}

TEST(Impersonation, IsForAdministrators) {
  const Caller admin{"root", {"strake:admins"}};
  const Caller viewer{"ann", {"strake:viewers"}};
  EXPECT_EQ(acting_caller(viewer, {})->user, "ann");
  const net::Headers as_bob = {
      {"Impersonate-User", "bob"}, {"Impersonate-Group", "strake:viewers"}, {"Impersonate-Group", "more"}};
  const auto bob = acting_caller(admin, as_bob);
  ASSERT_TRUE(bob.ok());
  EXPECT_EQ(bob->user, "bob");
  EXPECT_EQ(bob->groups, (std::vector<std::string>{"strake:viewers", "more", "system:authenticated"}));
  EXPECT_FALSE(bob->is_admin());
  EXPECT_EQ(acting_caller(viewer, as_bob).error().code(), Code::kDenied);
  EXPECT_EQ(acting_caller(admin, {{"Impersonate-Group", "g"}}).error().code(), Code::kInvalidArgument);
}

TEST(ConstantTime, Equality) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
  EXPECT_FALSE(equal_in_constant_time("", "a"));
}

}  // namespace strake::apistore::rest::authentication_test
