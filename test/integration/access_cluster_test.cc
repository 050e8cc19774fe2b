// `strake access` against a real Kubernetes: certificates by its own signer, and a plain word about what it cannot do.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "support/servers.h"
#include "support/strake_command.h"
#include "support/temp_dir.h"

namespace strake::access_cluster_test {

class AccessClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    auto cluster = test::shared_cluster();
    ASSERT_TRUE(cluster.ok()) << cluster.error().to_string();
    cluster_ = *cluster;
  }
  ProcessOutput access(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "access");
    arguments.insert(arguments.end(), {"--kubeconfig", cluster_->kubeconfig().string()});
    return test::run_strake(std::move(arguments));
  }
  std::string whoami(const std::filesystem::path& kubeconfig) const {
    const auto answer = cluster_->kubectl(
        {.arguments = {"auth", "whoami", "-o", "jsonpath={.status.userInfo.username} {.status.userInfo.groups}"},
         .kubeconfig = kubeconfig});
    return answer.ok() ? answer->stdout_bytes + answer->stderr_bytes : answer.error().to_string();
  }

  test::KubeCluster* cluster_ = nullptr;
  test::TempDir dir_;
};

TEST_F(AccessClusterTest, ACertificateComesFromKubernetesOwnSigner) {
  const std::filesystem::path file = dir_ / "w1.kubeconfig";
  const ProcessOutput issued =
      access({"issue", "certificate", "--role", "agent", "--node", "w1", "--out", file.string()});
  ASSERT_EQ(issued.exit.exit_code, 0) << issued.stdout_bytes << issued.stderr_bytes;
  EXPECT_NE(issued.stdout_bytes.find("cannot revoke"), std::string::npos) << issued.stdout_bytes;
  struct stat info{};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  EXPECT_EQ(whoami(file), R"(strake:agent:w1 ["strake:agents","system:authenticated"])");
  const std::filesystem::path viewer = dir_ / "ann.kubeconfig";
  ASSERT_EQ(access({"issue", "certificate", "--role", "config-viewer", "--user", "ann", "--out", viewer.string()})
                .exit.exit_code,
            0);
  EXPECT_EQ(whoami(viewer), R"(ann ["strake:viewers","strake:config-viewers","system:authenticated"])");
}

TEST_F(AccessClusterTest, WhatKubernetesDoesInItsOwnWayIsSaidAndBlocked) {
  struct Case {
    std::vector<std::string> arguments;
    std::string message;
  };
  const Case cases[] = {
      {{"issue", "token", "--role", "viewer", "--user", "ann"}, "kubectl create token"},
      {{"issue", "join-token", "--node", "w1"}, "join the node to Kubernetes"},
      {{"list"}, "kubectl get csr"},
      {{"revoke", "--user", "ann"}, "take the rights away"},
      {{"ca", "show"}, "authorities of its own"},
      {{"ca", "rotate"}, "authorities of its own"},
  };
  for (const Case& c : cases) {
    const ProcessOutput output = access(c.arguments);
    EXPECT_EQ(output.exit.exit_code, 3) << output.stderr_bytes;
    EXPECT_NE(output.stderr_bytes.find(c.message), std::string::npos) << c.message << ": " << output.stderr_bytes;
  }
}

}  // namespace strake::access_cluster_test
