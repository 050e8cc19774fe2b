#include "apistore/rest/authentication.h"

#include <gtest/gtest.h>

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
      net::PeerCertificate{user, groups, std::chrono::floor<std::chrono::seconds>(kNow + 1h), "00", "4c"};
  return request;
}

TEST(Authentication, ACertificateIsItsSubject) {
  const auto identity = authenticate(with_certificate("strake:agent:n1", {"strake:agents"}), {}, kNow);
  ASSERT_TRUE(identity.ok());
  EXPECT_EQ(identity->caller.user, "strake:agent:n1");
  EXPECT_EQ(identity->caller.groups, (std::vector<std::string>{"strake:agents", "system:authenticated"}));
  EXPECT_EQ(identity->expires, kNow + 1h);
}

TEST(Authentication, NobodyIsAnonymous) {
  const auto nobody = authenticate(net::ServerRequest{}, {}, kNow);
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.error().code(), Code::kUnauthenticated);
  EXPECT_EQ(nobody.error().message(), "Unauthorized");
  EXPECT_FALSE(authenticate(with_certificate("", {"system:masters"}), {}, kNow).ok());
  EXPECT_FALSE(authenticate(with_token("anything"), {}, kNow).ok());
}

TEST(Authentication, ARefusedCertificateSaysWhy) {
  net::ServerRequest request;
  request.client_certificate_problem = "certificate has expired";
  const auto refused = authenticate(request, {}, kNow);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("certificate has expired"), std::string::npos);
}

TEST(Authentication, ATokenIsItsOwner) {
  const test::TempDir dir;
  pki::TokenFile tokens(dir / "tokens.json");
  SeededRandom random{1};
  const auto issued = tokens.issue(random, {"ann", {"strake:viewers"}, kNow + 1h}, kNow);
  const auto elsewhere = tokens.issue(random, {"ann", {}, kNow + 1h, {"join", ""}}, kNow);
  ASSERT_TRUE(issued.ok() && elsewhere.ok());
  const auto identity = authenticate(with_token(issued->secret), {&tokens, nullptr}, kNow);
  ASSERT_TRUE(identity.ok()) << identity.error().to_string();
  EXPECT_EQ(identity->caller.user, "ann");
  EXPECT_EQ(identity->caller.groups, (std::vector<std::string>{"strake:viewers", "system:authenticated"}));
  EXPECT_EQ(identity->expires, kNow + 1h);
  for (const std::string& wrong : {issued->secret + "x", elsewhere->secret}) {
    const auto refused = authenticate(with_token(wrong), {&tokens, nullptr}, kNow);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.error().code(), Code::kUnauthenticated);
    EXPECT_EQ(refused.error().message(), "Unauthorized: the token is unknown or has expired");
  }
  ASSERT_TRUE(write_file_atomic(dir / "tokens.json", "{", 0600).ok());
  EXPECT_FALSE(authenticate(with_token(issued->secret), {&tokens, nullptr}, kNow).ok());
}

TEST(Authentication, ARevokedCertificateIsNobody) {
  const test::TempDir dir;
  pki::Revocations revocations(dir / "revoked.json");
  const net::ServerRequest request = with_certificate("strake:agent:n1", {"strake:agents"});
  EXPECT_TRUE(authenticate(request, {nullptr, &revocations}, kNow).ok());
  ASSERT_TRUE(pki::Revocations(dir / "revoked.json").revoke({"4c", kNow + 1h, "lost"}, kNow).ok());
  const auto refused = authenticate(request, {nullptr, &revocations}, kNow);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kUnauthenticated);
  EXPECT_NE(refused.error().message().find("revoked"), std::string::npos);
  ASSERT_TRUE(write_file_atomic(dir / "revoked.json", "{", 0600).ok());
  EXPECT_FALSE(authenticate(request, {nullptr, &revocations}, kNow).ok()) << "a damaged list lets nobody in";
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

}  // namespace strake::apistore::rest::authentication_test
