// Machines join a cluster on a real kube-apiserver, served with the rights of deploy/rbac.
#include <gtest/gtest.h>

#include "api/kinds.h"
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
  const kube::Resource definitions{"apiextensions.k8s.io", "v1", "CustomResourceDefinition",
                                   "customresourcedefinitions", false};
  const kube::Resource deployments{"cluster.x-k8s.io", "v1beta1", "MachineDeployment", "machinedeployments", true};
  kube::Object definition(definitions, {"", "machinedeployments.cluster.x-k8s.io"});
  json::ensure(definition.json(), {"spec"}) = *json::parse(
      R"({"group":"cluster.x-k8s.io","names":{"kind":"MachineDeployment","plural":"machinedeployments"},"scope":"Namespaced",)"
      R"("versions":[{"name":"v1beta1","served":true,"storage":true,"schema":{"openAPIV3Schema":)"
      R"({"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]})");
  stage_->put(definitions, definition);
  stage_->put(kube::core::kNamespace, kube::Object(kube::core::kNamespace, {"", "clusters"}));
  const std::string stub = codec::encode_base64(
      R"({"ignition":{"version":"2.2.0","config":{"append":[{"source":"https://127.0.0.1:22623/config/worker"}]}}})");
  for (const char* name : {"boot", "worker-user-data"}) {
    kube::Object secret(kube::core::kSecret, {"clusters", name});
    json::ensure(secret.json(), {"data", "value"}) = stub;
    stage_->put(kube::core::kSecret, secret);
  }
  kube::Object deployment(deployments, {"clusters", "md"});
  json::ensure(deployment.json(), {"spec", "template", "spec", "bootstrap", "dataSecretName"}) = "boot";
  ASSERT_TRUE(comes_true([&] { return admin_->create(deployments, deployment, {}, stage_->call()).ok(); }));
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
  // A Secret that a set names and that is not there.
  kube::Object set(api::kMachineSet, {std::string(api::kMachineApiNamespace), "joining-gone"});
  json::ensure(set.json(), {"spec", "template", "spec", "providerSpec", "value", "userDataSecret", "name"}) = "gone";
  stage_->put(api::kMachineSet, set);
  const ProcessOutput gone = strake({"stub", "convert", "gone", "--machineset", "all"});
  EXPECT_EQ(gone.exit.exit_code, 3);
  EXPECT_NE(gone.stderr_bytes.find("the Secret is not there"), std::string::npos) << gone.stderr_bytes;
  EXPECT_TRUE(admin_->remove(api::kMachineSet, set.key(), {}, stage_->call()).ok());
  // The same name in two namespaces is not guessed.
  kube::Object twin(kube::core::kSecret, {std::string(api::kMachineApiNamespace), "worker-user-data"});
  json::ensure(twin.json(), {"data", "userData"}) = stub;
  stage_->put(kube::core::kSecret, twin);
  const ProcessOutput ambiguous = strake({"stub", "convert", "worker-user-data", "--machineset", "all"});
  EXPECT_EQ(ambiguous.exit.exit_code, 1);
  EXPECT_NE(ambiguous.stderr_bytes.find("write the namespace with it"), std::string::npos) << ambiguous.stderr_bytes;
  EXPECT_TRUE(admin_->remove(definitions, definition.key(), {}, stage_->call()).ok());
  EXPECT_TRUE(admin_->remove(kube::core::kNamespace, {"", "clusters"}, {}, stage_->call()).ok());
}

}  // namespace
}  // namespace strake::test
