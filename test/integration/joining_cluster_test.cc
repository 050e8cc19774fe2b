// Machines join a cluster on a real kube-apiserver, served with the rights of deploy/rbac.
#include <gtest/gtest.h>

#include "integration/joining_stage.h"
#include "kube/cluster_access.h"
#include "kube/https_api.h"
#include "support/places.h"
#include "support/servers.h"

namespace strake::test {
namespace {

class JoiningCluster : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto started = shared_cluster();
    ASSERT_TRUE(started.ok()) << started.error().to_string();
    KubeCluster& cluster = **started;
    for (const Status& prepared : {cluster.install_definitions(), cluster.collect_leftovers()}) {
      ASSERT_TRUE(prepared.ok()) << prepared.error().to_string();
    }
    const auto applied = cluster.kubectl_checked({"apply", "--server-side", "-f", source_folder() / "deploy/rbac"});
    ASSERT_TRUE(applied.ok()) << applied.error().to_string();
    const auto config = kube::load_kubeconfig(kube::kubeconfig_locations(cluster.kubeconfig()));
    ASSERT_TRUE(config.ok());
    auto access = kube::resolve_access(*config);
    ASSERT_TRUE(access.ok());
    auto api = kube::HttpsApi::create(runtime_, *std::move(access));
    ASSERT_TRUE(api.ok());
    admin_ = *std::move(api);
    admin_kubeconfig_ = cluster.kubeconfig();
    const auto server = cluster.client_kubeconfig("mcs", {"strake:config-servers"});
    ASSERT_TRUE(server.ok()) << server.error().to_string();
    stage_ = std::make_unique<JoiningStage>(*admin_, *server);
  }

  static void TearDownTestSuite() {
    stage_.reset();
    admin_.reset();
  }
  void SetUp() override { ASSERT_NE(stage_, nullptr) << "the cluster could not be prepared"; }

  static inline runtime::ThreadRuntime runtime_;
  static inline std::unique_ptr<kube::HttpsApi> admin_;
  static inline std::filesystem::path admin_kubeconfig_;
  static inline std::unique_ptr<JoiningStage> stage_;
};

TEST_F(JoiningCluster, MachinesGetTheirConfigAndFollowARollout) { expect_machines_join(*stage_); }
TEST_F(JoiningCluster, EveryVersionIsAcceptedByItsValidator) { expect_every_byte_valid(*stage_); }
TEST_F(JoiningCluster, CertificatesAreReplacedInPlace) { expect_certificates_replaced(*stage_); }
TEST_F(JoiningCluster, AStubOfTheFirstYearsIsConverted) { expect_old_stub_converted(*stage_, admin_kubeconfig_); }
TEST_F(JoiningCluster, TheAuthorityIsReplacedWhileMachinesAsk) { expect_authority_rotated(*stage_, admin_kubeconfig_); }
TEST_F(JoiningCluster, OnlyWhoMayIsServed) { expect_only_who_may_is_served(*stage_, admin_kubeconfig_); }
TEST_F(JoiningCluster, EveryRefusalHasAReason) { expect_refusals_explained(*stage_); }

}  // namespace
}  // namespace strake::test
