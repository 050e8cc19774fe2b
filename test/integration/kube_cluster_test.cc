// The judge itself: that the control plane other suites rely on starts, tells users apart, and accepts our definitions.
#include <gtest/gtest.h>

#include <algorithm>

#include <boost/json.hpp>

#include "support/places.h"
#include "support/servers.h"

namespace strake::kube_cluster_test {

using test::KubeCluster;

const std::filesystem::path kCrdFolder = test::source_folder() / "deploy/crds";

std::vector<std::filesystem::path> crd_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kCrdFolder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

class KubeClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    auto cluster = test::shared_cluster();
    ASSERT_TRUE(cluster.ok()) << cluster.error().to_string();
    cluster_ = *cluster;
  }

  KubeCluster* cluster_ = nullptr;
};

TEST_F(KubeClusterTest, ServesThePinnedVersion) {
  const auto version = cluster_->kubectl_checked({"version", "-o", "json"});
  ASSERT_TRUE(version.ok()) << version.error().to_string();
  const auto document = boost::json::parse(*version);
  EXPECT_EQ(document.at("serverVersion").at("gitVersion").as_string(), "v1.34.4");
  EXPECT_EQ(document.at("clientVersion").at("gitVersion").as_string(), "v1.34.4");
}

TEST_F(KubeClusterTest, TheAdministratorSeesTheNamespaces) {
  const auto namespaces = cluster_->kubectl_checked({"get", "namespaces", "-o", "name"});
  ASSERT_TRUE(namespaces.ok()) << namespaces.error().to_string();
  for (const char* name : {"namespace/default\n", "namespace/kube-system\n"}) {
    EXPECT_NE(namespaces->find(name), std::string::npos) << *namespaces;
  }
}

TEST_F(KubeClusterTest, AnAgentIsKnownByNameAndForbiddenByDefault) {
  const auto kubeconfig = cluster_->client_kubeconfig("strake:agent:node-1", {"strake:agents", "more/one"});
  ASSERT_TRUE(kubeconfig.ok()) << kubeconfig.error().to_string();

  const auto whoami = cluster_->kubectl({.arguments = {"auth", "whoami", "-o", "json"}, .kubeconfig = *kubeconfig});
  ASSERT_TRUE(whoami.ok()) << whoami.error().to_string();
  ASSERT_TRUE(whoami->exit.success()) << whoami->stderr_bytes;
  const auto identity = boost::json::parse(whoami->stdout_bytes).at("status").at("userInfo");
  EXPECT_EQ(identity.at("username").as_string(), "strake:agent:node-1");
  EXPECT_EQ(identity.at("groups"), (boost::json::array{"strake:agents", "more/one", "system:authenticated"}));

  const auto refused = cluster_->kubectl({.arguments = {"get", "--raw", "/api/v1/nodes"}, .kubeconfig = *kubeconfig});
  ASSERT_TRUE(refused.ok()) << refused.error().to_string();
  EXPECT_EQ(refused->exit.exit_code, 1);
  EXPECT_NE(refused->stderr_bytes.find("(Forbidden): nodes is forbidden: User \"strake:agent:node-1\""),
            std::string::npos)
      << refused->stderr_bytes;
}

TEST_F(KubeClusterTest, AStrangersCertificateIsNobody) {
  test::TempDir dir;
  auto stranger = test::TestPki::create(dir.path());
  ASSERT_TRUE(stranger.ok()) << stranger.error().to_string();
  const auto impostor = stranger->issue("admin", {"admin", {"system:masters"}}, test::CertificateUse::kClient);
  ASSERT_TRUE(impostor.ok()) << impostor.error().to_string();
  Command curl;
  curl.argv = {"curl",
               "-q",
               "-sS",
               "-m",
               "10",
               "--cacert",
               cluster_->ca_file(),
               "--cert",
               impostor->certificate,
               "--key",
               impostor->key,
               "-o",
               "/dev/null",
               "-w",
               "%{http_code}",
               cluster_->url() + "/api/v1/nodes"};
  const auto answer = run(curl);
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->stdout_bytes, "401") << answer->stderr_bytes;
}

TEST_F(KubeClusterTest, TheControllerManagerMakesServiceAccounts) {
  ASSERT_TRUE(cluster_->kubectl_checked({"create", "namespace", "with-accounts"}).ok());
  const auto waited = cluster_->kubectl_checked(
      {"wait", "--for=create", "--timeout=20s", "-n", "with-accounts", "serviceaccount/default"});
  EXPECT_TRUE(waited.ok()) << waited.error().to_string();
}

TEST_F(KubeClusterTest, AcceptsEveryDefinitionOfOurs) {
  const auto files = crd_files();
  ASSERT_FALSE(files.empty()) << "no definitions in " << kCrdFolder;
  const Status installed = cluster_->install_definitions();
  ASSERT_TRUE(installed.ok()) << installed.error().to_string();
  const auto defined = cluster_->kubectl_checked({"get", "customresourcedefinitions", "-o", "name"});
  ASSERT_TRUE(defined.ok()) << defined.error().to_string();
  EXPECT_EQ(std::ranges::count(*defined, '\n'), std::ssize(files)) << "one definition a file:\n" << *defined;
}

}  // namespace strake::kube_cluster_test
