#include "apistore/rest/reviews.h"

#include <gtest/gtest.h>

#include <set>

#include "apistore/testing/test_service.h"

namespace strake::apistore::rest::reviews_test {

const Caller kAdmin{"root", {"strake:admins", "system:authenticated"}};
const Caller kViewer{"ann", {"strake:viewers", "system:authenticated"}};
const Caller kAgent{"strake:agent:n1", {"strake:agents", "system:authenticated"}};
const Caller kStranger{"eve", {"system:authenticated"}};

Result<json::Value> ask(const char* plural, const Caller& caller, const std::string& body) {
  const char* group =
      plural == std::string_view("selfsubjectreviews") ? "authentication.k8s.io" : "authorization.k8s.io";
  const ReviewKind* review = find_review({"apis", group, "v1", plural});
  kube::StatusDetails details;
  return answer_review(*review, testkit::parse(body), {caller, {"rendered-a", "rendered-b"}}, details);
}

bool may(const Caller& caller, const std::string& attributes) {
  const auto answer = ask("selfsubjectaccessreviews", caller, R"({"spec":{"resourceAttributes":)" + attributes + "}}");
  EXPECT_TRUE(answer.ok()) << answer.error().to_string();
  return json::find_bool(*answer, {"status", "allowed"}).value();
}

TEST(Reviews, WhoAmI) {
  const auto answer = ask("selfsubjectreviews", kViewer, "{}");
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(json::find_string(*answer, {"kind"}), "SelfSubjectReview");
  EXPECT_EQ(json::find_string(*answer, {"status", "userInfo", "username"}), "ann");
  EXPECT_EQ(json::write(*json::find(*answer, {"status", "userInfo", "groups"})),
            R"(["strake:viewers","system:authenticated"])");
}

TEST(Reviews, MayI) {
  const std::string get_nodes = R"({"verb":"get","resource":"nodes"})";
  const std::string get_secrets = R"({"verb":"get","resource":"secrets","namespace":"default"})";
  const std::string everything = R"({"verb":"*","resource":"*","group":"*"})";
  const std::string get_everything = R"({"verb":"get","resource":"*","group":"*"})";
  const std::string patch_own = R"({"verb":"patch","resource":"nodes","subresource":"status","name":"n1"})";
  const std::string patch_other = R"({"verb":"patch","resource":"nodes","subresource":"status","name":"n2"})";
  const std::string config =
      R"({"verb":"get","group":"machineconfiguration.openshift.io","resource":"machineconfigs",)";
  for (const std::string* question : {&get_nodes, &get_secrets, &everything, &get_everything, &patch_other}) {
    EXPECT_TRUE(may(kAdmin, *question)) << *question;
    EXPECT_FALSE(may(kStranger, *question)) << *question;
  }
  EXPECT_TRUE(may(kViewer, get_nodes));
  EXPECT_FALSE(may(kViewer, get_secrets));
  EXPECT_FALSE(may(kViewer, get_everything)) << "Secrets are something, too";
  EXPECT_FALSE(may(kViewer, patch_own));
  EXPECT_TRUE(may(kAgent, patch_own));
  EXPECT_FALSE(may(kAgent, patch_other));
  EXPECT_TRUE(may(kAgent, config + R"("name":"rendered-a"})"));
  EXPECT_FALSE(may(kAgent, config + R"("name":"rendered-c"})"));
  EXPECT_FALSE(may(kViewer, config + R"("name":"rendered-a"})"));
}

TEST(Reviews, MayIReadAPath) {
  const auto may_read = [](const Caller& caller, const char* path, const char* verb) {
    const auto answer =
        ask("selfsubjectaccessreviews", caller,
            fmt::format(R"({{"spec":{{"nonResourceAttributes":{{"path":"{}","verb":"{}"}}}}}})", path, verb));
    return json::find_bool(*answer, {"status", "allowed"}).value();
  };
  EXPECT_TRUE(may_read(kAdmin, "/metrics", "get"));
  EXPECT_FALSE(may_read(kViewer, "/metrics", "get"));
  EXPECT_TRUE(may_read(kStranger, "/version", "get"));
  EXPECT_TRUE(may_read(kStranger, "/apis/policy", "get"));
  EXPECT_FALSE(may_read(kStranger, "/versions", "get"));
  EXPECT_FALSE(may_read(kStranger, "/version", "post"));
}

TEST(Reviews, WhatMayI) {
  const auto rules = [](const Caller& caller, const char* ns) {
    const auto answer = ask("selfsubjectrulesreviews", caller, fmt::format(R"({{"spec":{{"namespace":"{}"}}}})", ns));
    std::set<std::string> lines;
    for (const json::Value& item : json::find(*answer, {"status", "resourceRules"})->get_array()) {
      const json::Value* names = json::find(item, {"resourceNames"});
      lines.insert(json::write(*json::find(item, {"resources"})) + json::write(*json::find(item, {"verbs"})) +
                   (names == nullptr ? "" : json::write(*names)));
    }
    return lines;
  };
  EXPECT_EQ(rules(kAdmin, "default"), std::set<std::string>{R"(["*"]["*"])"});
  const auto viewer = rules(kViewer, "default");
  EXPECT_TRUE(viewer.contains(R"(["nodes"]["get","list","watch"])"));
  for (const std::string& line : viewer) EXPECT_EQ(line.find("secrets"), std::string::npos) << line;
  const auto agent = rules(kAgent, "default");
  EXPECT_TRUE(agent.contains(R"(["nodes"]["get","list","watch"]["n1"])")) << agent.size();
  EXPECT_TRUE(agent.contains(R"(["nodes/status"]["patch"]["n1"])"));
  EXPECT_TRUE(agent.contains(R"(["machineconfigs"]["get"]["rendered-a","rendered-b"])"));
  EXPECT_EQ(agent.size(), 3u + 1u + 3u) << "and MachineConfiguration/cluster, and the reviews";
  EXPECT_EQ(rules(kStranger, "default").size(), 3u) << "asking is all a stranger may";
}

TEST(Reviews, QuestionsWithoutSenseAreRefused) {
  EXPECT_EQ(ask("selfsubjectaccessreviews", kAdmin, "{}").error().reason(), "Invalid");
  EXPECT_EQ(ask("selfsubjectaccessreviews", kAdmin, R"({"spec":{"resourceAttributes":{},"nonResourceAttributes":{}}})")
                .error()
                .reason(),
            "Invalid");
  EXPECT_EQ(ask("selfsubjectreviews", kAdmin, R"({"kind":"Pod"})").error().reason(), "BadRequest");
  EXPECT_EQ(ask("selfsubjectreviews", kAdmin, "[]").error().reason(), "BadRequest");
  EXPECT_EQ(find_review({"apis", "authorization.k8s.io", "v1", "subjectaccessreviews"}), nullptr);
  EXPECT_EQ(find_review({"apis", "authorization.k8s.io", "v1beta1", "selfsubjectaccessreviews"}), nullptr);
}

}  // namespace strake::apistore::rest::reviews_test
