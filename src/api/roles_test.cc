#include "api/roles.h"

#include <gtest/gtest.h>

namespace strake::api::roles_test {

TEST(Roles, EachHasAWordAndGroups) {
  for (const std::string_view word : kRoleWords) {
    const auto role = parse_role(word);
    ASSERT_TRUE(role.ok());
    EXPECT_EQ(to_string(*role), word);
    EXPECT_EQ(role_of_groups(groups_of(*role)), word);
  }
  EXPECT_FALSE(parse_role("root").ok());
  EXPECT_FALSE(parse_role("").ok());
  EXPECT_EQ(role_of_groups({"system:masters"}), "administrator");
  EXPECT_EQ(role_of_groups({"friends"}), "other");
}

TEST(Roles, AnAgentIsItsNode) {
  const auto subject = credential_subject(Role::kAgent, "", "worker-0.example.com");
  ASSERT_TRUE(subject.ok()) << subject.error().to_string();
  EXPECT_EQ(subject->user, "strake:agent:worker-0.example.com");
  EXPECT_EQ(subject->node, "worker-0.example.com");
  for (const std::string& wrong :
       {std::string(), std::string(".."), std::string("../etc"), std::string("Worker"), std::string("a_b"),
        std::string("a\nb"), std::string("a\0b", 3), std::string("-a"), std::string("a-"), std::string("a..b"),
        std::string("a/b"), std::string(52, 'a'), std::string("\xc3\xa4")}) {
    EXPECT_FALSE(credential_subject(Role::kAgent, "", wrong).ok()) << wrong;
  }
  EXPECT_TRUE(credential_subject(Role::kAgent, "", std::string(51, 'a')).ok());
  EXPECT_FALSE(credential_subject(Role::kAgent, "ann", "w1").ok());
}

TEST(Roles, NobodyIsGivenTheNameOfAnother) {
  for (const char* name : {"ann", "ann@example.com", "oidc:ann", "A.B-c_d"}) {
    EXPECT_TRUE(credential_subject(Role::kViewer, name, "").ok()) << name;
  }
  for (const std::string& wrong :
       {std::string(), std::string("system:admin"), std::string("strake:agent:w1"), std::string("a b"),
        std::string("a\x1b[31m"), std::string("-x"), std::string(65, 'a'), std::string("a/b"), std::string("a,O=x")}) {
    EXPECT_FALSE(credential_subject(Role::kAdministrator, wrong, "").ok()) << wrong;
  }
  EXPECT_FALSE(credential_subject(Role::kViewer, "ann", "w1").ok());
}

TEST(Roles, ANodesRoleIsOneWord) {
  for (const char* role : {"worker", "infra-2"}) EXPECT_TRUE(check_node_role(role).ok()) << role;
  for (const char* role : {"", "a/b", "Worker", "a.b", "..", "-"}) EXPECT_FALSE(check_node_role(role).ok()) << role;
}

}  // namespace strake::api::roles_test
