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

using What = GeneratedNote::What;

/// The sentences, without what to do.
std::vector<std::string> said(const ConfigSet& set) {
  std::vector<std::string> sentences;
  for (const GeneratedNote& note : generated_notes(set)) {
    EXPECT_FALSE(note.next.empty()) << note.to_string();
    sentences.push_back(fmt::format("{} {}", note.subject, note.message));
  }
  return sentences;
}

std::vector<What> kinds_of(const ConfigSet& set) {
  std::vector<What> kinds;
  for (const GeneratedNote& note : generated_notes(set)) kinds.push_back(note.what);
  return kinds;
}

/// As another manager would write it: no mark of ours.
kube::ObjectPtr foreign(const std::string& name, const std::vector<GeneratedFile>& files) {
  return shared(generated_config(name, "worker", files, "0123abc"));
}

TEST(GeneratedInASet, WhatIsMissingIsNamedAndCanBeAdded) {
  const ConfigSet set = sample_set();
  EXPECT_EQ(
      said(set),
      (std::vector<std::string>{
          "99-worker-generated-containerruntime is not in the input: a cluster makes it of ContainerRuntimeConfig "
          "limits, and the rendered name will differ",
          "99-worker-generated-registries is not in the input: a cluster makes it of the mirror sets, image "
          "policies and the Image config, and the rendered name will differ"}));
  EXPECT_NE(generated_notes(set)[0].next.find("kubectl get machineconfig 99-worker-generated-containerruntime"),
            std::string::npos);
  const GeneratedSet whole = with_generated(set, "1.0");
  ASSERT_TRUE(whole.refusals.empty()) << whole.refusals[0].to_string();
  EXPECT_TRUE(generated_notes(whole.set).empty());
  const auto before = render_pool(render_input(set, set.pools[0]));
  const auto after = render_pool(render_input(whole.set, set.pools[0]));
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(after->sources, (std::vector<std::string>{"50-site", "99-worker-generated-containerruntime",
                                                      "99-worker-generated-registries"}));
  EXPECT_NE(before->rendered.name(), after->rendered.name());
}

TEST(GeneratedInASet, WhatAnotherManagerMadeStaysAndIsReadByItsMeaning) {
  ConfigSet set = sample_set();
  set.mirror_policies.clear();
  constexpr const char* kName = "99-worker-generated-containerruntime";
  constexpr const char* kPath = "/etc/crio/crio.conf.d/01-ctrcfg-pidsLimit";
  set.configs.push_back(foreign(kName, {{kPath, "[crio]\n  [crio.runtime]\n    pids_limit = 2_048  # theirs\n"}}));
  EXPECT_EQ(said(set), std::vector<std::string>{}) << "other bytes, the same settings";
  const kube::ObjectPtr theirs = foreign(kName, {{kPath, "[crio.runtime]\npids_limit = 100\n"}});
  set.configs.back() = theirs;
  EXPECT_EQ(said(set), (std::vector<std::string>{
                           "99-worker-generated-containerruntime is not what ContainerRuntimeConfig limits "
                           "asks for now (/etc/crio/crio.conf.d/01-ctrcfg-pidsLimit: "
                           "crio.runtime.pids_limit): a cluster changes it, and the rendered name will differ"}));
  EXPECT_EQ(with_generated(set, "1.0").set.configs.back(), theirs);
  set.configs.back() = foreign(kName, {{"/etc/else", "x"}});
  ASSERT_EQ(kinds_of(set), std::vector<What>{What::kOutdated}) << "a file that is not there";
}

TEST(GeneratedInASet, RegistriesInAnotherOrderAreTheSame) {
  ConfigSet set = sample_set();
  set.generators.clear();
  set.mirror_policies.push_back(shared(kube::Object(from_text(
      R"({"kind":"ImageDigestMirrorSet","metadata":{"name":"n"},"spec":{"imageDigestMirrors":[{"source":"q.io/y","mirrors":["m"]}]}})"))));
  const auto conf = [](std::string_view first, std::string_view second) {
    std::string text = "unqualified-search-registries = [\"registry.access.redhat.com\", \"docker.io\"]\n";
    for (const std::string_view scope : {first, second}) {
      text += fmt::format(
          "[[registry]]\nlocation = \"{}\"\ninsecure = false\n[[registry.mirror]]\nlocation = "
          "\"m\"\npull-from-mirror = \"digest-only\"\n",
          scope);
    }
    return text;
  };
  constexpr const char* kName = "99-worker-generated-registries";
  set.configs.push_back(foreign(kName, {{"/etc/containers/registries.conf", conf("q.io/y", "q.io/x")}}));
  EXPECT_EQ(said(set), std::vector<std::string>{});
  set.configs.back() = foreign(kName, {{"/etc/containers/registries.conf", conf("q.io/y", "q.io/z")}});
  EXPECT_EQ(kinds_of(set), std::vector<What>{What::kOutdated});
}

TEST(GeneratedInASet, WhatStrakeMadeIsMadeAnewOrGoes) {
  ConfigSet set = with_generated(sample_set(), "1.0").set;
  const auto names = [](const ConfigSet& of) {
    std::vector<std::string> all;
    for (const kube::ObjectPtr& config : of.configs) all.push_back(config->name());
    return all;
  };
  ASSERT_EQ(set.configs.size(), 3u);
  // Another limit, and no mirrors any more.
  ConfigSet changed = sample_set(R"({"pidsLimit":4096})");
  changed.configs = set.configs;
  changed.mirror_policies[0] = shared(kube::Object(
      from_text(R"({"kind":"ImageDigestMirrorSet","metadata":{"name":"m"},"spec":{"imageDigestMirrors":[]}})")));
  EXPECT_EQ(kinds_of(changed), (std::vector<What>{What::kOutdated, What::kOutdated}));
  EXPECT_EQ(said(changed)[1],
            "99-worker-generated-registries is asked for by nothing in the input (no mirror set, image policy or Image "
            "config for pool worker): a cluster removes it, and the rendered name will differ");
  const GeneratedSet anew = with_generated(changed, "1.0");
  EXPECT_EQ(names(anew.set), (std::vector<std::string>{"50-site", "99-worker-generated-containerruntime"}));
  EXPECT_TRUE(generated_notes(anew.set).empty());
}

TEST(GeneratedInASet, OnlyWhatIsMadeHereIsShown) {
  ConfigSet set = sample_set();
  EXPECT_TRUE(shows_generated(set, "ContainerRuntimeConfig"));
  EXPECT_FALSE(shows_generated(set, "FeatureGate")) << "nothing is made of it";
  set.configs.push_back(foreign("99-worker-generated-containerruntime-1", {}));
  EXPECT_FALSE(shows_generated(set, "ContainerRuntimeConfig")) << "another manager's stays as it is";
  EXPECT_TRUE(shows_generated(set, "KubeletConfig"));
  EXPECT_TRUE(shows_generated(set, "Image"));
  set.configs.push_back(foreign("99-worker-generated-registries", {}));
  EXPECT_FALSE(shows_generated(set, "Image"));
  EXPECT_FALSE(shows_generated(set, "ImageTagMirrorSet"));
}

TEST(GeneratedInASet, ANameFromAFileStaysOnItsLine) {
  ConfigSet set = sample_set(R"({"pidsLimit":3})");
  kube::Object odd = *set.generators[0];
  json::ensure(odd.json(), {"metadata", "name"}) = "x\ny";
  set.generators = {shared(std::move(odd))};
  EXPECT_EQ(generated_notes(set)[0].to_string().find('\n'), std::string::npos);
}

TEST(GeneratedInASet, GeneratedOnesWithoutTheirSourcesAreNobodysConcern) {
  ConfigSet set = sample_set();
  set.generators.clear();
  set.mirror_policies.clear();
  set.configs.push_back(foreign("99-infra-generated-kubelet-2", {{"/etc/kubernetes/kubelet.conf", "maxPods: 3\n"}}));
  EXPECT_EQ(said(set), std::vector<std::string>{}) << "who gives MachineConfigs alone left the rest out";
  set.generators = sample_set().generators;
  EXPECT_EQ(kinds_of(set), std::vector<What>{What::kMissing}) << "there is no KubeletConfig, so none was left out";
}

TEST(GeneratedInASet, WhatOnlyTheOperatorMakesIsNamedToo) {
  ConfigSet set = sample_set();
  set.generators.clear();
  const auto setting = [](const char* kind) {
    return shared(kube::Object(from_text(fmt::format(
        R"({{"apiVersion":"config.openshift.io/v1","kind":"{}","metadata":{{"name":"cluster"}}}})", kind))));
  };
  set.mirror_policies = {setting("Node"), setting("FeatureGate"), setting("APIServer")};
  set.pools.push_back(shared(builders::pool_of("infra", {"worker", "infra"})));
  EXPECT_EQ(said(set), (std::vector<std::string>{
                           "97-worker-generated-kubelet is not in the input: the Machine Config Operator makes it of "
                           "Node cluster, Strake does not, and the rendered name will differ",
                           "98-worker-generated-kubelet is not in the input: the Machine Config Operator makes it of "
                           "FeatureGate cluster, Strake does not, and the rendered name will differ"}));
  set.configs.push_back(foreign("97-worker-generated-kubelet", {}));
  set.configs.push_back(foreign("98-worker-generated-kubelet", {}));
  EXPECT_EQ(said(set), std::vector<std::string>{});
}

TEST(GeneratedInASet, WhoseBaseIsNotInTheInput) {
  ConfigSet set = sample_set();
  kube::Object kubelet(api::kKubeletConfig, {"", "small"});
  json::ensure(kubelet.json(), {"spec"}) =
      from_text(R"({"machineConfigPoolSelector":{"matchLabels":{"limits":"yes"}},"kubeletConfig":{"maxPods":100}})");
  set.generators = {shared(kubelet)};
  set.mirror_policies.clear();
  ASSERT_EQ(kinds_of(set), std::vector<What>{What::kUnknown});
  EXPECT_TRUE(said(set)[0].starts_with("KubeletConfig small is not rendered: no base MachineConfig"));
  set.configs.push_back(foreign("99-worker-generated-kubelet", {}));
  EXPECT_TRUE(generated_notes(set).empty()) << "another manager has made it already";
}

TEST(GeneratedInASet, PoolsByRoleHaveTheLabelsEveryClusterGivesThem) {
  ConfigSet set = sample_set();
  set.pools.clear();
  kube::Object limits = *set.generators[0];
  json::ensure(limits.json(), {"spec", "machineConfigPoolSelector"}) =
      from_text(R"({"matchLabels":{"pools.operator.machineconfiguration.openshift.io/worker":""}})");
  set.generators = {shared(std::move(limits))};
  EXPECT_EQ(kinds_of(set), (std::vector<What>{What::kMissing, What::kMissing}));
}

TEST(GeneratedInASet, Refusals) {
  const ConfigSet set = sample_set(R"({"pidsLimit":3})");
  const std::vector<GeneratedNote> notes = generated_notes(set);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].what, What::kRefused);
  EXPECT_EQ(notes[0].source, "ContainerRuntimeConfig limits");
  EXPECT_EQ(notes[0].field, (json::Steps{"spec", "containerRuntimeConfig", "pidsLimit"}));
  EXPECT_TRUE(notes[0].message.starts_with("would be refused: spec.containerRuntimeConfig.pidsLimit: 3"));
  const GeneratedSet whole = with_generated(set, "1.0");
  ASSERT_EQ(whole.refusals.size(), 1u);
  EXPECT_TRUE(whole.refusals[0].to_string().starts_with("ContainerRuntimeConfig limits: spec.containerRuntimeConfig"))
      << whole.refusals[0].to_string();
  EXPECT_EQ(whole.set.configs.size(), 2u) << "the mirrors are made all the same";
  ConfigSet mirrors = sample_set();
  mirrors.generators.clear();
  mirrors.mirror_policies = {shared(kube::Object(from_text(
      R"({"kind":"ImageDigestMirrorSet","metadata":{"name":"bad"},"spec":{"imageDigestMirrors":[{"source":"a b","mirrors":["m"]}]}})")))};
  ASSERT_EQ(kinds_of(mirrors), std::vector<What>{What::kRefused});
  EXPECT_EQ(generated_notes(mirrors)[0].source, "ImageDigestMirrorSet bad");
}

}  // namespace strake::machineconfig::generate_set_test
