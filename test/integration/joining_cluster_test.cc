// Machines join a cluster on a real kube-apiserver, served with the rights of deploy/rbac.
#include <gtest/gtest.h>

#include "api/kinds.h"
#include "base/fd.h"
#include "codec/base64.h"
#include "integration/joining_stage.h"
#include "kube/cluster_access.h"
#include "kube/https_api.h"
#include "support/places.h"
#include "support/servers.h"
#include "support/strake_command.h"

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
TEST_F(JoiningCluster, StubsOutsideTheClusterAreWaitedFor) {
  expect_outside_stubs_waited_for(*stage_, admin_kubeconfig_);
}
TEST_F(JoiningCluster, OnlyWhoMayIsServed) { expect_only_who_may_is_served(*stage_, admin_kubeconfig_); }
TEST_F(JoiningCluster, EveryRefusalHasAReason) { expect_refusals_explained(*stage_); }

/// The Cluster API keeps a stub under another key, in a namespace of its own.
TEST_F(JoiningCluster, StubsOfTheClusterApiAreFoundAndLeftWhereTheyAre) {
  const TempDir folder;
  constexpr std::string_view kDefinition = R"(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: machinedeployments.cluster.x-k8s.io}
spec:
  group: cluster.x-k8s.io
  names: {kind: MachineDeployment, plural: machinedeployments}
  scope: Namespaced
  versions:
    - name: v1beta1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
)";
  const std::string stub = codec::encode_base64(
      R"({"ignition":{"version":"2.2.0","config":{"append":[{"source":"https://127.0.0.1:22623/config/worker"}]}}})");
  const std::string objects = fmt::format(R"(apiVersion: v1
kind: Namespace
metadata: {{name: clusters}}
---
apiVersion: v1
kind: Secret
metadata: {{name: boot, namespace: clusters}}
data: {{value: {0}, format: aWduaXRpb24=}}
---
apiVersion: v1
kind: Secret
metadata: {{name: worker-user-data, namespace: clusters}}
data: {{value: {0}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {{name: md, namespace: clusters}}
spec: {{template: {{spec: {{bootstrap: {{dataSecretName: boot}}}}}}}}
)",
                                          stub);
  ASSERT_TRUE(write_file_atomic(folder / "crd.yaml", kDefinition, 0600).ok());
  ASSERT_TRUE(write_file_atomic(folder / "objects.yaml", objects, 0600).ok());
  KubeCluster& cluster = **shared_cluster();
  ASSERT_TRUE(cluster.kubectl_checked({"apply", "-f", folder / "crd.yaml"}).ok());
  ASSERT_TRUE(comes_true([&] { return cluster.kubectl_checked({"apply", "-f", folder / "objects.yaml"}).ok(); }));
  const auto strake = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--kubeconfig", admin_kubeconfig_.string()});
    return run_strake(std::move(arguments));
  };
  const std::string listed = strake({"stub", "list"}).stdout_bytes;
  EXPECT_NE(listed.find("clusters/boot"), std::string::npos) << listed;
  EXPECT_NE(listed.find("MachineDeployment/md"), std::string::npos) << listed;
  const ProcessOutput checked = strake({"stub", "check", "clusters/boot", "clusters/worker-user-data"});
  EXPECT_EQ(checked.exit.exit_code, 2);
  EXPECT_NE(checked.stdout_bytes.find("[old-spec]"), std::string::npos) << checked.stdout_bytes;
  EXPECT_EQ(checked.stdout_bytes.find("[unreadable]"), std::string::npos) << checked.stdout_bytes;
  const ProcessOutput converted = strake({"stub", "convert", "boot", "--machineset", "all"});
  EXPECT_EQ(converted.exit.exit_code, 3);
  EXPECT_NE(converted.stderr_bytes.find("belongs to the Cluster API (MachineDeployment/md)"), std::string::npos)
      << converted.stderr_bytes;
  EXPECT_FALSE(admin_->get(kube::core::kSecret, {"clusters", "boot-spec3"}, stage_->call()).ok());
  // The same name in two namespaces is not guessed.
  kube::Object twin(kube::core::kSecret, {std::string(api::kMachineApiNamespace), "worker-user-data"});
  json::ensure(twin.json(), {"data", "userData"}) = stub;
  stage_->put(kube::core::kSecret, twin);
  const ProcessOutput ambiguous = strake({"stub", "convert", "worker-user-data", "--machineset", "all"});
  EXPECT_EQ(ambiguous.exit.exit_code, 1);
  EXPECT_NE(ambiguous.stderr_bytes.find("write the namespace with it"), std::string::npos) << ambiguous.stderr_bytes;
  EXPECT_TRUE(cluster.kubectl_checked({"delete", "-f", folder / "objects.yaml", "--wait=false"}).ok());
  EXPECT_TRUE(cluster.kubectl_checked({"delete", "-f", folder / "crd.yaml"}).ok());
}

}  // namespace
}  // namespace strake::test
