// The generator controller on a real kube-apiserver, with the rights of its service account and no others.
#include <gtest/gtest.h>

#include <algorithm>

#include "api/conditions.h"
#include "api/kinds.h"
#include "api/node_annotations.h"
#include "kube/cluster_access.h"
#include "kube/https_api.h"
#include "machineconfig/generate/generated_config.h"
#include "machineconfig/generate/generator_controller.h"
#include "support/places.h"
#include "support/servers.h"

namespace strake::test::generator_cluster_test {

using namespace std::chrono_literals;

constexpr const char* kObjects = R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: generated-pool, labels: {generated: "yes", machineconfiguration.openshift.io/mco-built-in: ""}}
spec: {machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: generated-pool}}}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata: {name: small, annotations: {strake.dev/kubelet-base: small}}
spec:
  machineConfigPoolSelector: {matchLabels: {generated: "yes"}}
  kubeletConfig: {maxPods: 100}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: ContainerRuntimeConfig
metadata: {name: refused}
spec:
  machineConfigPoolSelector: {matchLabels: {generated: "yes"}}
  containerRuntimeConfig: {pidsLimit: 10}
---
apiVersion: operator.openshift.io/v1alpha1
kind: ImageContentSourcePolicy
metadata: {name: mirrors}
spec: {repositoryDigestMirrors: [{source: quay.io/x, mirrors: [mirror.example/x]}]}
---
apiVersion: config.openshift.io/v1
kind: Image
metadata: {name: cluster}
spec: {registrySources: {blockedRegistries: [bad.example]}}
---
apiVersion: config.openshift.io/v1
kind: ImagePolicy
metadata: {name: signed, namespace: default}
spec:
  scopes: [signed.example]
  policy:
    rootOfTrust:
      policyType: PublicKey
      publicKey: {keyData: LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KeAotLS0tLUVORCBQVUJMSUMgS0VZLS0tLS0K}
)";

/// Its key is base64, and no key.
constexpr const char* kWrongPolicy = R"(apiVersion: config.openshift.io/v1
kind: ImagePolicy
metadata: {name: wrong, namespace: default}
spec: {scopes: [b.example], policy: {rootOfTrust: {policyType: PublicKey, publicKey: {keyData: eHh4}}}}
)";

std::unique_ptr<kube::HttpsApi> api_with(runtime::Runtime& runtime, const std::filesystem::path& kubeconfig) {
  const auto config = kube::load_kubeconfig(kube::kubeconfig_locations(kubeconfig));
  EXPECT_TRUE(config.ok());
  auto access = kube::resolve_access(*config);
  EXPECT_TRUE(access.ok());
  auto api = kube::HttpsApi::create(runtime, *std::move(access));
  EXPECT_TRUE(api.ok());
  return *std::move(api);
}

TEST(GeneratorCluster, SourcesBecomeMachineConfigsAndGoWithThem) {
  const auto started = shared_cluster();
  ASSERT_TRUE(started.ok()) << started.error().to_string();
  KubeCluster& cluster = **started;
  for (const Status& prepared : {cluster.install_definitions(), cluster.collect_leftovers()}) {
    ASSERT_TRUE(prepared.ok()) << prepared.error().to_string();
  }
  const auto rights = cluster.kubectl_checked({"apply", "--server-side", "-f", source_folder() / "deploy/rbac"});
  ASSERT_TRUE(rights.ok()) << rights.error().to_string();
  const auto applied = cluster.kubectl({.arguments = {"apply", "-f", "-"}, .stdin_bytes = kObjects});
  ASSERT_TRUE(applied.ok() && applied->exit.exit_code == 0) << (applied.ok() ? applied->stderr_bytes : "");

  runtime::ThreadRuntime runtime;
  const auto admin = api_with(runtime, cluster.kubeconfig());
  const auto account = cluster.client_kubeconfig("system:serviceaccount:strake-system:strake-controller",
                                                 {"system:serviceaccounts", "system:serviceaccounts:strake-system"});
  ASSERT_TRUE(account.ok()) << account.error().to_string();
  const auto own_api = api_with(runtime, *account);
  machineconfig::GeneratorOptions options;
  options.version = "test";
  machineconfig::GeneratorController generator(runtime, *own_api, options);
  generator.start();

  const kube::Call call = runtime.call_within(1min, {});
  const auto get = [&](const kube::Resource& resource, const std::string& name) {
    const auto found = admin->get(resource, {"", name}, call);
    return found.ok() ? *found : kube::Object();
  };
  const auto reached = [&](const std::function<bool()>& condition) {
    for (int i = 0; i < 300; ++i) {
      if (condition()) return true;
      if (!runtime.sleep(50ms, {}).ok()) break;
    }
    return false;
  };
  const std::string kubelet = "99-generated-pool-generated-kubelet";
  const std::string registries = "99-generated-pool-generated-registries";
  EXPECT_TRUE(reached([&] {
    return api::condition_is_true(get(api::kKubeletConfig, "small").json(), "Success") &&
           get(api::kMachineConfig, registries).name() == registries;
  })) << json::write(get(api::kKubeletConfig, "small").json());
  EXPECT_EQ(get(api::kKubeletConfig, "small").finalizers(), std::vector<std::string>{kubelet});
  EXPECT_EQ(get(api::kMachineConfig, kubelet).annotation(api::config_annotation::kGeneratedFrom),
            "KubeletConfig/small@1");
  EXPECT_TRUE(reached([&] {
    const auto failure = api::find_condition(get(api::kContainerRuntimeConfig, "refused").json(), "Failure");
    return failure && failure->message.find("spec.containerRuntimeConfig.pidsLimit: 10") != std::string::npos;
  })) << json::write(get(api::kContainerRuntimeConfig, "refused").json());

  std::vector<std::string> paths;
  for (const machineconfig::GeneratedFile& file : machineconfig::files_in(get(api::kMachineConfig, registries))) {
    paths.push_back(file.path);
  }
  EXPECT_NE(std::ranges::find(paths, "/etc/crio/policies/default.json"), paths.end())
      << fmt::format("{}", fmt::join(paths, " "));
  const auto added = cluster.kubectl({.arguments = {"apply", "-f", "-"}, .stdin_bytes = kWrongPolicy});
  ASSERT_TRUE(added.ok() && added->exit.exit_code == 0) << (added.ok() ? added->stderr_bytes : "");
  EXPECT_TRUE(reached([&] {
    const auto events = admin->list(kube::core::kEvent, "default", {}, call);
    return events.ok() && std::ranges::any_of(events->items, [](const kube::Object& event) {
             return event.text({"involvedObject", "name"}) == "wrong" &&
                    event.text({"message"}).find("publicKey.keyData: is not base64 of PEM") != std::string::npos;
           });
  })) << "whoever wrote the policy is not told";
  EXPECT_EQ(get(api::kMachineConfig, registries).name(), registries) << "what was made before stays";

  ASSERT_TRUE(cluster.kubectl_checked({"delete", "kubeletconfig", "small", "--wait=false"}).ok());
  ASSERT_TRUE(cluster.kubectl_checked({"delete", "imagepolicies.config.openshift.io", "signed", "wrong"}).ok());
  ASSERT_TRUE(cluster.kubectl_checked({"delete", "imagecontentsourcepolicy", "mirrors"}).ok());
  ASSERT_TRUE(cluster.kubectl_checked({"delete", "image.config.openshift.io", "cluster"}).ok());
  EXPECT_TRUE(reached([&] {
    return get(api::kKubeletConfig, "small").name().empty() && get(api::kMachineConfig, kubelet).name().empty() &&
           get(api::kMachineConfig, registries).name().empty();
  })) << json::write(get(api::kKubeletConfig, "small").json());
  generator.stop();
  // A generator nobody answers for any more must not hold up what comes after.
  EXPECT_TRUE(cluster.collect_leftovers().ok());
}

}  // namespace strake::test::generator_cluster_test
