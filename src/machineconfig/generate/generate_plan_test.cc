#include "machineconfig/generate/generate_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "machineconfig/testing/builders.h"
#include "machineconfig/testing/kubelet_cases.h"

namespace strake::machineconfig::generate_plan_test {

using builders::from_text;
using builders::shared;

/// A cluster with the pools master, worker and infra, whose base configs have a kubelet.conf.
struct Cluster {
  Cluster() {
    for (const char* name : {"master", "worker", "infra"}) {
      kube::Object pool = builders::pool_of(name, {"worker", name});
      pool.set_label(fmt::format("{}{}", api::label::kPoolPrefix, name), "");
      input.pools.push_back(shared(std::move(pool)));
    }
    for (const char* role : {"master", "worker"}) {
      input.configs.push_back(
          shared(generated_config(fmt::format("01-{}-kubelet", role), role,
                                  {{"/etc/kubernetes/kubelet.conf", std::string(builders::kKubeletBase)}}, "1.0")));
    }
    input.version = "1.0";
  }

  struct Generator {
    const char* name;
    const char* pool = "worker";  ///< "" selects none
    const char* settings = R"({"maxPods":100})";
    const char* created = "2026-01-01T00:00:00Z";
    std::optional<std::string> suffix = std::nullopt;
    bool deleting = false;
    std::vector<std::string> finalizers = {};
    const kube::Resource& resource = api::kKubeletConfig;
  };
  Cluster& add(const Generator& wanted) {
    kube::Object object(wanted.resource, {"", wanted.name});
    json::ensure(object.json(), {"metadata", "creationTimestamp"}) = wanted.created;
    json::ensure(object.json(), {"metadata", "generation"}) = 3;
    if (wanted.deleting) json::ensure(object.json(), {"metadata", "deletionTimestamp"}) = "2026-01-02T00:00:00Z";
    if (wanted.suffix) object.set_annotation(api::config_annotation::kConfigNameSuffix, *wanted.suffix);
    json::Array finalizers;
    for (const std::string& name : wanted.finalizers) finalizers.emplace_back(name);
    if (!finalizers.empty()) json::ensure(object.json(), {"metadata", "finalizers"}) = std::move(finalizers);
    if (*wanted.pool != '\0') {
      json::ensure(object.json(), {"spec", "machineConfigPoolSelector", "matchExpressions"}) = json::Array{
          json::Object{{"key", fmt::format("{}{}", api::label::kPoolPrefix, wanted.pool)}, {"operator", "Exists"}}};
    }
    const bool kubelet = wanted.resource.kind == api::kKubeletConfig.kind;
    json::ensure(object.json(), {"spec", kubelet ? "kubeletConfig" : "containerRuntimeConfig"}) =
        from_text(wanted.settings);
    input.generators.push_back(shared(std::move(object)));
    return *this;
  }
  Cluster& add_config(const std::string& name, const std::string& version, const std::string& from = "") {
    kube::Object config = generated_config(name, "worker", {}, version);
    if (!from.empty()) config.set_annotation(api::config_annotation::kGeneratedFrom, from);
    input.configs.push_back(shared(std::move(config)));
    return *this;
  }
  Cluster& add_policy(const char* text) {
    input.policies.push_back(shared(kube::Object(from_text(text))));
    return *this;
  }

  GeneratePlan plan() const { return plan_generated(input); }

  GenerateInput input;
};

std::string names(const std::vector<kube::Object>& objects) {
  std::vector<std::string> found;
  for (const kube::Object& object : objects) found.push_back(object.name());
  return fmt::format("{}", fmt::join(found, " "));
}
std::string names(const std::vector<kube::ObjectPtr>& objects) {
  std::vector<std::string> found;
  for (const kube::ObjectPtr& object : objects) found.push_back(object->name());
  return fmt::format("{}", fmt::join(found, " "));
}
/// "name=suffix" or "name: refusal" of each.
std::string verdicts(const GeneratePlan& plan) {
  std::vector<std::string> found;
  for (const GeneratorVerdict& verdict : plan.generators) {
    found.push_back(verdict.refusal ? fmt::format("{}: {}", verdict.generator->name(), verdict.refusal->to_string())
                                    : fmt::format("{}={}", verdict.generator->name(), verdict.suffix.value_or("-")));
  }
  return fmt::format("{}", fmt::join(found, "; "));
}

TEST(GeneratePlan, AKubeletConfigBecomesAMachineConfigOfItsPool) {
  const GeneratePlan plan = Cluster().add({"small"}).plan();
  ASSERT_EQ(names(plan.configs), "99-worker-generated-kubelet");
  const kube::Object& config = plan.configs[0];
  EXPECT_EQ(config.label(api::label::kRole), "worker");
  EXPECT_EQ(config.annotation(api::config_annotation::kGeneratedByController), "1.0");
  EXPECT_EQ(config.annotation(api::config_annotation::kGeneratedFrom), "KubeletConfig/small@3");
  EXPECT_EQ(plan.generators[0].final_finalizers(), std::vector<std::string>{"99-worker-generated-kubelet"});
  EXPECT_TRUE(builders::fragments_of({config})[0].generated);
}

TEST(GeneratePlan, Numbers) {
  struct Case {
    const char* name;
    std::vector<Cluster::Generator> generators;
    const char* verdicts;
  };
  const Case cases[] = {
      {"the first has none, the second 1", {{.name = "b", .created = "2026-01-02T00:00:00Z"}, {"a"}}, "a=; b=1"},
      {"at the same time, by name", {{"b"}, {"a"}}, "a=; b=1"},
      {"a number once given stays", {{.name = "a", .created = "2026-01-02T00:00:00Z", .suffix = ""}, {"b"}}, "b=1; a="},
      {"one above the highest", {{.name = "a", .suffix = "4"}, {"b"}}, "a=4; b=5"},
      {"pools are counted apart", {{"a"}, {"b", "infra"}}, "a=; b="},
      {"kinds are counted apart",
       {{"a"}, {.name = "b", .settings = "{}", .resource = api::kContainerRuntimeConfig}},
       "a=; b="},
      {"no number left",
       {{.name = "a", .suffix = "9"}, {"b"}},
       "a=9; b: pool worker has no number left for a KubeletConfig: the limit is 10; delete the one whose "
       "MachineConfig "
       "ends in -9 or another and create it anew"},
      {"a copied number",
       {{.name = "a", .suffix = "1"}, {.name = "b", .suffix = "1"}},
       "a=1; b: annotation machineconfiguration.openshift.io/mc-name-suffix: '1' is taken by KubeletConfig a in pool "
       "worker; remove it"},
      {"no number at all",
       {{.name = "a", .suffix = "x"}},
       "a: annotation machineconfiguration.openshift.io/mc-name-suffix: 'x' is neither empty nor 1 to 9; remove it"},
      {"no pool",
       {{"a", "edge"}},
       "a: spec.machineConfigPoolSelector: selects the labels of no MachineConfigPool; correct it, or label the pool "
       "it "
       "is meant for"},
      {"no selector",
       {{"a", ""}},
       "a: spec.machineConfigPoolSelector: selects the labels of no MachineConfigPool; correct it, or label the pool "
       "it "
       "is meant for"},
      {"refused ones do not hold up others",
       {{.name = "a", .settings = R"({"maxPods":-1})"}, {"b"}},
       "a: spec.kubeletConfig.maxPods: -1 is not a whole number of at least 0; b=1"},
  };
  for (const Case& c : cases) {
    Cluster cluster;
    for (const Cluster::Generator& generator : c.generators) cluster.add(generator);
    EXPECT_EQ(verdicts(cluster.plan()), c.verdicts) << c.name;
  }
}

TEST(GeneratePlan, WhatNobodyAsksForGoesAndTheUsersOwnStays) {
  Cluster cluster;
  cluster.add({.name = "gone", .deleting = true, .finalizers = {"99-worker-generated-kubelet", "someone.else/x"}})
      .add({.name = "moved", .pool = "infra", .suffix = "1", .finalizers = {"99-worker-generated-kubelet-1"}})
      .add_config("99-worker-generated-kubelet", "1.0")
      .add_config("99-worker-generated-kubelet-1", "0.9")
      .add_config("99-worker-generated-registries", "1.0")
      .add_config("99-worker-generated-containerruntime", "")
      .add_config("99-worker-ssh", "1.0");
  const GeneratePlan plan = cluster.plan();
  EXPECT_EQ(names(plan.configs), "99-infra-generated-kubelet-1");
  EXPECT_EQ(names(plan.stale),
            "99-worker-generated-kubelet 99-worker-generated-kubelet-1 99-worker-generated-registries")
      << "one without a version is not a controller's";
  EXPECT_EQ(plan.generators[0].final_finalizers(), std::vector<std::string>{"someone.else/x"});
  EXPECT_EQ(plan.generators[1].final_finalizers(), std::vector<std::string>{"99-infra-generated-kubelet-1"});
}

TEST(GeneratePlan, WhatIsRefusedLeavesWhatItMadeBefore) {
  Cluster cluster;
  cluster
      .add({.name = "bad",
            .settings = R"({"clusterDNS":["1.1.1.1"]})",
            .suffix = "",
            .finalizers = {"99-worker-generated-kubelet"}})
      .add_config("99-worker-generated-kubelet", "1.0")
      .add_config("99-infra-generated-kubelet-3", "1.0", "KubeletConfig/bad@2")
      .add_config("99-worker-generated-registries", "1.0")
      .add_policy(
          R"({"kind":"Image","metadata":{"name":"cluster"},"spec":{"registrySources":{"allowedRegistries":["a"],"blockedRegistries":["b"]}}})");
  const GeneratePlan plan = cluster.plan();
  EXPECT_EQ(names(plan.configs), "");
  EXPECT_EQ(names(plan.stale), "");
  EXPECT_TRUE(plan.registries_refusal.has_value());
  EXPECT_EQ(plan.generators[0].final_finalizers(), std::vector<std::string>{"99-worker-generated-kubelet"});
}

TEST(GeneratePlan, RegistriesAreForThePoolsEveryClusterHas) {
  Cluster cluster;
  cluster.add_policy(
      R"({"kind":"ImageDigestMirrorSet","metadata":{"name":"m"},"spec":{"imageDigestMirrors":[{"source":"quay.io/x","mirrors":["m"]}]}})");
  EXPECT_EQ(names(cluster.plan().configs), "99-master-generated-registries 99-worker-generated-registries")
      << "infra inherits the workers'";
  EXPECT_EQ(cluster.plan().configs[0].label(api::label::kRole), "master");
  kube::Object controller(api::kControllerConfig, {"", "machine-config-controller"});
  json::ensure(controller.json(), {"spec", "releaseImage"}) = "quay.io/release@sha256:0";
  cluster.input.controller_config = shared(std::move(controller));
  cluster.add_policy(
      R"({"kind":"Image","metadata":{"name":"cluster"},"spec":{"registrySources":{"blockedRegistries":["quay.io"]}}})");
  ASSERT_TRUE(cluster.plan().registries_refusal.has_value()) << "the release comes from there";
}

TEST(GeneratePlan, AContainerRuntimeConfig) {
  const GeneratePlan plan = Cluster()
                                .add({.name = "limits",
                                      .pool = "infra",
                                      .settings = R"({"pidsLimit":2048})",
                                      .resource = api::kContainerRuntimeConfig})
                                .plan();
  EXPECT_EQ(names(plan.configs), "99-infra-generated-containerruntime");
  EXPECT_EQ(plan.configs[0].annotation(api::config_annotation::kGeneratedFrom), "ContainerRuntimeConfig/limits@3");
}

}  // namespace strake::machineconfig::generate_plan_test
