#include "machineconfig/generate/generate_set.h"

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "machineconfig/generate/generated_config.h"
#include "machineconfig/testing/builders.h"

namespace strake::machineconfig::generate_set_test {

using builders::from_text;
using builders::shared;

ConfigSet sample_set(const char* settings = R"({"pidsLimit":2048})") {
  ConfigSet set;
  kube::Object pool = builders::pool_of("worker", {"worker"});
  pool.set_label("limits", "yes");
  set.pools.push_back(shared(std::move(pool)));
  set.configs.push_back(shared(builders::machine_config("50-site", "worker", builders::file_spec("/etc/a", "1"))));
  kube::Object limits(api::kContainerRuntimeConfig, {"", "limits"});
  json::ensure(limits.json(), {"spec"}) = from_text(fmt::format(
      R"({{"machineConfigPoolSelector":{{"matchLabels":{{"limits":"yes"}}}},"containerRuntimeConfig":{}}})", settings));
  set.generators.push_back(shared(std::move(limits)));
  set.mirror_policies.push_back(shared(kube::Object(from_text(
      R"({"kind":"ImageDigestMirrorSet","metadata":{"name":"m"},"spec":{"imageDigestMirrors":[{"source":"q.io/x","mirrors":["m"]}]}})"))));
  return set;
}

TEST(GeneratedInASet, WhatIsMissingIsNamedAndCanBeAdded) {
  const ConfigSet set = sample_set();
  EXPECT_EQ(
      generated_notes(set, "1.0"),
      (std::vector<std::string>{
          "99-worker-generated-containerruntime is not in the input: a cluster makes it of ContainerRuntimeConfig "
          "limits, and the rendered name will differ",
          "99-worker-generated-registries is not in the input: a cluster makes it of the mirror sets, image policies "
          "and the Image config, and the rendered name will differ"}));
  const auto whole = with_generated(set, "1.0");
  ASSERT_TRUE(whole.ok()) << whole.error().to_string();
  EXPECT_TRUE(generated_notes(*whole, "1.0").empty());
  const auto before = render_pool(render_input(set, set.pools[0]));
  const auto after = render_pool(render_input(*whole, set.pools[0]));
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(after->sources, (std::vector<std::string>{"50-site", "99-worker-generated-containerruntime",
                                                      "99-worker-generated-registries"}));
  EXPECT_NE(before->rendered.name(), after->rendered.name());
}

TEST(GeneratedInASet, WhatTheSetHoldsStays) {
  ConfigSet set = sample_set();
  kube::Object theirs = generated_config("99-worker-generated-registries", "worker", {{"/etc/theirs", "x"}}, "abc");
  set.configs.push_back(shared(theirs));
  EXPECT_EQ(generated_notes(set, "1.0").size(), 1u) << "how another manager writes it is its own affair";
  const auto whole = with_generated(set, "1.0");
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->configs.size(), 3u);
  kube::Object ours = generated_config("99-worker-generated-containerruntime", "worker", {{"/etc/old", "x"}}, "1.0");
  ours.set_annotation(api::config_annotation::kGeneratedFrom, "ContainerRuntimeConfig/limits@1");
  set.configs.push_back(shared(ours));
  ASSERT_EQ(generated_notes(set, "1.0").size(), 1u);
  EXPECT_NE(generated_notes(set, "1.0")[0].find("is not what ContainerRuntimeConfig limits makes of it now"),
            std::string::npos);
}

TEST(GeneratedInASet, WhoseBaseIsNotInTheInput) {
  ConfigSet set = sample_set();
  kube::Object kubelet(api::kKubeletConfig, {"", "small"});
  json::ensure(kubelet.json(), {"spec"}) =
      from_text(R"({"machineConfigPoolSelector":{"matchLabels":{"limits":"yes"}},"kubeletConfig":{"maxPods":100}})");
  set.generators = {shared(kubelet)};
  set.mirror_policies.clear();
  ASSERT_EQ(generated_notes(set, "1.0").size(), 1u);
  EXPECT_TRUE(generated_notes(set, "1.0")[0].starts_with("KubeletConfig small is not rendered: no base MachineConfig"));
  set.configs.push_back(shared(generated_config("99-worker-generated-kubelet", "worker", {}, "abc")));
  EXPECT_TRUE(generated_notes(set, "1.0").empty()) << "another manager has made it already";
}

TEST(GeneratedInASet, Refusals) {
  const ConfigSet set = sample_set(R"({"pidsLimit":3})");
  ASSERT_EQ(generated_notes(set, "1.0").size(), 2u);
  EXPECT_TRUE(generated_notes(set, "1.0")[0].starts_with(
      "ContainerRuntimeConfig limits would be refused: spec.containerRuntimeConfig.pidsLimit: 3"));
  const auto whole = with_generated(set, "1.0");
  ASSERT_FALSE(whole.ok());
  EXPECT_TRUE(whole.error().to_string().starts_with("ContainerRuntimeConfig limits: spec.containerRuntimeConfig"))
      << whole.error().to_string();
}

}  // namespace strake::machineconfig::generate_set_test
