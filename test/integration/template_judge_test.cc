// Base configs by our templates, whatever the OS image has, as the real validator of Ignition reads them.
#include <gtest/gtest.h>

#include "codec/base64.h"
#include "ignition_judge.h"
#include "machineconfig/testing/template_cluster.h"
#include "support/pki.h"
#include "support/servers.h"

namespace strake::test::template_judge_test {

using machineconfig::template_cluster::Cluster;

/// Everything a cluster adds to the templates.
void add_cluster_files(Cluster& cluster, const std::string& authority_pem) {
  kube::Object secret(kube::core::kSecret, {"openshift-config", "pull-secret"});
  json::ensure(secret.json(), {"data", ".dockerconfigjson"}) =
      codec::encode_base64(R"({"auths":{"registry.example":{"auth":"YTpi"}}})");
  cluster.pull_secret = std::move(secret);
  json::Value& config = cluster.controller_config.json();
  json::ensure(config, {"spec", "additionalTrustBundle"}) = codec::encode_base64(authority_pem);
  json::ensure(config, {"spec", "proxy", "httpsProxy"}) = "http://user:pw@proxy.example:3128";
}

TEST(TemplateJudge, IgnitionTakesEveryBaseConfig) {
  const auto programs = judge_programs();
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  TempDir folder;
  const auto pki = TestPki::create(folder.path());
  ASSERT_TRUE(pki.ok()) << pki.error().to_string();
  const auto authority = read_file(pki->authority().certificate, 1 << 20);
  ASSERT_TRUE(authority.ok());
  const std::set<std::string> images[] = {
      {"/usr/bin/strake"},
      {"/usr/bin/podman"},
      {"/usr/bin/strake", "/usr/bin/crio", "/usr/bin/kubelet"},
      {"/usr/bin/podman", "/usr/bin/containerd", "/usr/bin/kubelet"},
      {"/usr/bin/strake", "/usr/bin/crio", "/usr/bin/kubelet", "/usr/lib/systemd/system/kubelet.service"},
  };
  std::vector<std::string> names, texts;
  for (const std::set<std::string>& image : images) {
    for (const bool has_cluster_files : {false, true}) {
      Cluster cluster;
      cluster.image_has(image);
      if (!image.contains("/usr/bin/strake")) cluster.agent_image(machineconfig::template_cluster::kAgentImage);
      if (has_cluster_files) add_cluster_files(cluster, *authority);
      const machineconfig::TemplatePlan plan = cluster.plan();
      ASSERT_EQ(plan.outcome, machineconfig::TemplatePlan::Outcome::kReady) << plan.reason;
      for (const kube::Object& config : plan.configs) {
        names.push_back(config.name());
        texts.push_back(json::write(*json::find(config.json(), {"spec", "config"})));
      }
    }
  }
  // The judge has to be able to refuse.
  names.emplace_back("broken");
  texts.emplace_back(R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"not/absolute"}]}})");
  const auto verdicts = judge({(*programs / "judge-ignition3").string()}, texts);
  ASSERT_EQ(verdicts.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const bool is_clean = json::find_string(verdicts[i], {"error"}).value_or("?").empty() &&
                          json::find(verdicts[i], {"entries"})->as_array().empty();
    EXPECT_EQ(is_clean, names[i] != "broken") << names[i] << ": " << json::write(verdicts[i]) << "\n" << texts[i];
  }
  EXPECT_GE(texts.size(), 30u) << "no image had a kubelet or a runtime";
}

}  // namespace strake::test::template_judge_test
