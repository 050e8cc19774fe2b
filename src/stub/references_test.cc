#include "stub/references.h"

#include <gtest/gtest.h>

#include "codec/base64.h"
#include "codec/json_patch.h"

namespace strake::stub::references_test {

kube::ObjectPtr object(std::string_view text) {
  auto value = json::parse(text);
  STRAKE_INVARIANT(value.ok());
  return std::make_shared<const kube::Object>(*std::move(value));
}

kube::ObjectPtr machine_set(std::string_view name, std::string_view reference) {
  return object(fmt::format(
      R"({{"kind":"MachineSet","apiVersion":"machine.openshift.io/v1beta1","metadata":{{"name":"{}","namespace":"openshift-machine-api"}},)"
      R"("spec":{{"template":{{"spec":{{"providerSpec":{{"value":{{{}}}}}}}}}}}}})",
      name, reference));
}

kube::ObjectPtr secret(std::string_view name, std::string_view stub, std::string_view metadata = "") {
  return object(fmt::format(
      R"({{"kind":"Secret","apiVersion":"v1","metadata":{{"name":"{}","namespace":"openshift-machine-api"{}}},)"
      R"("data":{{"userData":"{}","disableTemplating":"dHJ1ZQo="}}}})",
      name, metadata, codec::encode_base64(stub)));
}

TEST(References, ByEveryWayAMachineNamesItsStub) {
  StubObjects objects;
  objects.machine_sets = {
      machine_set("aws", R"("userDataSecret":{"name":"worker-user-data"})"),
      machine_set("metal", R"("userData":{"name":"worker-user-data-managed","namespace":"openshift-machine-api"})"),
      machine_set("gone", R"("userDataSecret":{"name":"nobody"})"), machine_set("none", R"("ami":"x")")};
  objects.control_plane_machine_sets = {object(
      R"({"kind":"ControlPlaneMachineSet","metadata":{"name":"cluster","namespace":"openshift-machine-api"},"spec":{"template":{"machines_v1beta1_machine_openshift_io":{"spec":{"providerSpec":{"value":{"userDataSecret":{"name":"master-user-data"}}}}}}}})")};
  objects.machines = {object(
      R"({"metadata":{"name":"worker-a-1","namespace":"openshift-machine-api"},"spec":{"providerSpec":{"value":{"userDataSecret":{"name":"worker-user-data"}}}}})")};
  objects.cluster_api = {object(
      R"({"kind":"MachineDeployment","apiVersion":"cluster.x-k8s.io/v1beta1","metadata":{"name":"md","namespace":"clusters"},"spec":{"template":{"spec":{"bootstrap":{"dataSecretName":"boot"}}}}})")};
  objects.secrets = {
      secret("worker-user-data", "W"), secret("master-user-data", "M"), secret("unrelated", "U"),
      secret("infra-user-data", "I"),
      secret("worker-user-data-managed", "G",
             R"(,"labels":{"machineconfiguration.openshift.io/managed-ca-bundle-derived-from-configmap":""})")};
  const auto found = find_stubs(objects);
  std::vector<std::string> lines;
  for (const FoundStub& stub : found) {
    std::string users;
    for (const StubUser& user : stub.users) users += " " + user.to_string();
    lines.push_back(fmt::format("{}/{} {}{}{}{}", stub.ns, stub.secret, stub.bytes, stub.managed ? " managed" : "",
                                stub.problem.empty() ? "" : " problem", users));
  }
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "clusters/boot  problem MachineDeployment/md",
                       "openshift-machine-api/infra-user-data I",
                       "openshift-machine-api/master-user-data M ControlPlaneMachineSet/cluster",
                       "openshift-machine-api/nobody  problem MachineSet/gone",
                       "openshift-machine-api/worker-user-data W Machine/worker-a-1 MachineSet/aws",
                       "openshift-machine-api/worker-user-data-managed G managed MachineSet/metal",
                   }));
}

/// The Cluster API's has another key: the same Secret is one stub, and one that can be read.
TEST(References, ASecretIsOneStubWhicheverWayItWasFound) {
  const auto of_cluster_api = [](std::string_view name) {
    return object(fmt::format(
        R"({{"metadata":{{"name":"{}","namespace":"openshift-cluster-api"}},"data":{{"value":"{}","format":"aWduaXRpb24="}}}})",
        name, codec::encode_base64("C")));
  };
  StubObjects objects;
  objects.cluster_api = {object(
      R"({"kind":"MachineSet","apiVersion":"cluster.x-k8s.io/v1beta1","metadata":{"name":"ms","namespace":"openshift-cluster-api"},)"
      R"("spec":{"template":{"spec":{"bootstrap":{"dataSecretName":"worker-user-data"}}}}})")};
  objects.secrets = {of_cluster_api("worker-user-data"), of_cluster_api("infra-user-data")};
  const auto found = find_stubs(objects);
  ASSERT_EQ(found.size(), 2U);
  for (const FoundStub& stub : found) EXPECT_EQ(stub.problem + stub.key + stub.bytes, "valueC") << stub.secret;
}

TEST(References, WhatIsWrongWithTheTextOfASecretIsSaid) {
  EXPECT_EQ(*stub_text(*secret("a", "W")), "W");
  EXPECT_EQ(stub_text(*secret("a", "W"), "value").error().to_string(), "the Secret has no key 'value'");
  kube::Object broken = *secret("a", "W");
  json::ensure(broken.json(), {"data", "userData"}) = "?";
  EXPECT_EQ(stub_text(broken).error().to_string(), "data.userData is no base64");
  json::ensure(broken.json(), {"data", "userData"}) = 7;
  EXPECT_FALSE(stub_text(broken).ok());
}

TEST(References, ASetIsRepointedAndNothingElseOfItTouched) {
  const kube::ObjectPtr set = machine_set(
      "aws", R"("ami":{"id":"ami-1"},"userDataSecret":{"name":"worker-user-data"},"large":9007199254740993)");
  const auto patch = repoint_patch(*set, "worker-user-data", "worker-user-data-spec3");
  ASSERT_TRUE(patch.ok()) << patch.error().to_string();
  const json::Value changed = set->json();
  const auto applied = json::apply_json_patch(changed, *patch);
  ASSERT_TRUE(applied.ok()) << applied.error().to_string();
  const kube::ObjectPtr wanted = machine_set(
      "aws", R"("ami":{"id":"ami-1"},"userDataSecret":{"name":"worker-user-data-spec3"},"large":9007199254740993)");
  EXPECT_EQ(json::write(*applied), json::write(wanted->json()));
  EXPECT_FALSE(repoint_patch(*set, "another", "x").ok()) << "somebody changed it since";
  kube::Object foreign = *set;
  json::ensure(foreign.json(), {"spec", "authoritativeAPI"}) = "ClusterAPI";
  EXPECT_FALSE(repoint_patch(foreign, "worker-user-data", "x").ok());
}

TEST(References, ACopyKeepsWhatBelongsToTheSecret) {
  const kube::ObjectPtr original =
      secret("worker-user-data", "OLD", R"(,"uid":"u","resourceVersion":"7","labels":{"a":"b"})");
  const kube::Object copy = converted_copy(*original, "worker-user-data-spec3", "userData", "NEW");
  EXPECT_EQ(copy.name(), "worker-user-data-spec3");
  EXPECT_EQ(copy.text({"data", "disableTemplating"}), "dHJ1ZQo=");
  EXPECT_EQ(copy.text({"data", "userData"}), codec::encode_base64("NEW"));
  EXPECT_EQ(copy.annotation("strake.dev/stub-converted-from"), "worker-user-data");
  EXPECT_EQ(copy.uid(), "");
  EXPECT_EQ(original->text({"data", "userData"}), codec::encode_base64("OLD"));
}

}  // namespace strake::stub::references_test
