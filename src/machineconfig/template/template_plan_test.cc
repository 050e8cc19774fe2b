#include "machineconfig/template/template_plan.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "api/machine_config.h"
#include "api/node_annotations.h"
#include "api/release_contents.h"
#include "codec/base64.h"
#include "ignition/unit_syntax/unit_syntax.h"
#include "machineconfig/agent_files.h"
#include "machineconfig/generate/generated_config.h"
#include "machineconfig/lint/lint_config.h"
#include "machineconfig/testing/builders.h"
#include "machineconfig/testing/template_cluster.h"
#include "machineconfig/validate.h"

namespace strake::machineconfig::template_plan_test {

using builders::from_text;
using builders::shared;
using template_cluster::Cluster;
using template_cluster::kAgentImage;
using template_cluster::kRelease;

std::vector<std::string> names_of(const TemplatePlan& plan) {
  std::vector<std::string> names;
  for (const kube::Object& config : plan.configs) names.push_back(config.name());
  return names;
}

const kube::Object& config_named(const TemplatePlan& plan, std::string_view name) {
  const auto found = std::ranges::find(plan.configs, name, [](const kube::Object& config) { return config.name(); });
  EXPECT_NE(found, plan.configs.end()) << name;
  return *found;
}

const json::Value* unit_named(const kube::Object& config, std::string_view name) {
  const json::Value* units = json::find(config.json(), {"spec", "config", "systemd", "units"});
  if (units == nullptr) return nullptr;
  for (const json::Value& unit : units->as_array()) {
    if (json::find_string(unit, {"name"}) == name) return &unit;
  }
  return nullptr;
}

std::string unit_text(const kube::Object& config, std::string_view name) {
  const json::Value* unit = unit_named(config, name);
  return unit == nullptr ? "" : json::find_string(*unit, {"contents"}).value_or("");
}

std::optional<std::string> file_of(const kube::Object& config, std::string_view path) {
  return base_file({shared(config)}, path);
}

TEST(TemplatePlan, TheProgramOfTheOsImageIsTheAgent) {
  Cluster cluster;
  cluster.image_has({"/usr/bin/strake"});
  const TemplatePlan plan = cluster.plan();
  ASSERT_EQ(plan.outcome, TemplatePlan::Outcome::kReady) << plan.reason;
  EXPECT_EQ(names_of(plan), (std::vector<std::string>{"00-master", "00-worker"}));
  const kube::Object& worker = config_named(plan, "00-worker");
  EXPECT_EQ(worker.label(api::label::kRole), "worker");
  EXPECT_EQ(worker.annotation(api::config_annotation::kGeneratedByController), "1.0");
  EXPECT_EQ(worker.annotation(api::config_annotation::kGeneratedFrom), "ControllerConfig/machine-config-controller@3");
  EXPECT_EQ(worker.annotation(api::config_annotation::kReleaseImageVersion), "4.21.0");
  EXPECT_EQ(file_of(worker, "/etc/strake/first-boot"), "role=worker\n");
  EXPECT_NE(unit_text(worker, "strake-agent.service").find("\nExecStart=/usr/bin/strake agent --root=/\n"),
            std::string::npos);
  EXPECT_EQ(unit_named(worker, "strake-agent-image.service"), nullptr);
  // There is no such verb yet: a unit the kubelet requires must not be started.
  const json::Value* first_boot = unit_named(worker, "strake-firstboot.service");
  ASSERT_NE(first_boot, nullptr);
  EXPECT_EQ(json::write(*json::find(*first_boot, {"enabled"})), "false");
}

TEST(TemplatePlan, PodmanRunsTheAgentOfTheNamedImage) {
  Cluster cluster;
  cluster.agent_image(kAgentImage);
  const TemplatePlan plan = cluster.plan();
  ASSERT_EQ(plan.outcome, TemplatePlan::Outcome::kReady) << plan.reason;
  const kube::Object& worker = config_named(plan, "00-worker");
  const std::string agent = unit_text(worker, "strake-agent.service");
  EXPECT_NE(agent.find(" --entrypoint=/usr/bin/strake " + kAgentImage + " agent --root=/rootfs\n"), std::string::npos)
      << agent;
  EXPECT_NE(agent.find("Requires=strake-agent-image.service\n"), std::string::npos);
  EXPECT_NE(unit_text(worker, "strake-agent-image.service").find("podman pull --quiet " + kAgentImage + "\n"),
            std::string::npos);
}

struct RefusedCase {
  const char* name;
  std::function<void(Cluster&)> change;
  const char* reason;
};

TEST(TemplatePlan, WithoutAnAgentNothingIsMade) {
  const RefusedCase cases[] = {
      {"neither", [](Cluster&) {},
       "OS image os@sha256:1 has no /usr/bin/strake, and StrakeConfig cluster names no image"},
      {"one of two images has it",
       [](Cluster& cluster) {
         cluster.contents.os_images = {api::OsImageFacts{"os@sha256:1", {"/usr/bin/strake"}},
                                       api::OsImageFacts{"os@sha256:2", {}}};
       },
       "OS image os@sha256:2 has no /usr/bin/strake"},
      {"nobody looked", [](Cluster& cluster) { cluster.contents.os_images = {std::nullopt}; },
       "lay elsewhere when it was applied"},
      {"no podman",
       [](Cluster& cluster) {
         cluster.image_has({});
         cluster.agent_image(kAgentImage);
       },
       "has neither /usr/bin/strake nor /usr/bin/podman"},
      {"by tag", [](Cluster& cluster) { cluster.agent_image("registry.example/strake:latest"); },
       "spec.agentImage: 'registry.example/strake:latest' does not name an image by digest"},
      {"two words", [](Cluster& cluster) { cluster.agent_image("x --privileged @sha256:" + std::string(64, 'a')); },
       "does not name an image by digest"},
      {"a specifier of systemd", [](Cluster& cluster) { cluster.agent_image("x%h@sha256:" + std::string(64, 'a')); },
       "does not name an image by digest"},
  };
  for (const RefusedCase& each : cases) {
    SCOPED_TRACE(each.name);
    Cluster cluster;
    each.change(cluster);
    const TemplatePlan plan = cluster.plan();
    EXPECT_EQ(plan.outcome, TemplatePlan::Outcome::kRefused);
    EXPECT_NE(plan.reason.find(each.reason), std::string::npos) << plan.reason;
    EXPECT_TRUE(plan.configs.empty() && plan.stale.empty());
  }
}

TEST(TemplatePlan, AReleasesOwnBaseConfigsComeFirst) {
  Cluster cluster;
  cluster.contents.base_configs = {
      {"worker", from_text(R"({"config":{"ignition":{"version":"3.5.0"}},"kernelArguments":["audit=1"]})")},
      {"master", from_text(R"({"config":{"ignition":{"version":"3.4.0"}}})")},
      {"edge", from_text(R"({"config":{"ignition":{"version":"3.4.0"}}})")}};
  json::ensure(cluster.controller_config.json(), {"spec", "proxy"}) =
      from_text(R"({"httpProxy":"http://proxy.example:3128"})");
  const TemplatePlan plan = cluster.plan();
  ASSERT_EQ(plan.outcome, TemplatePlan::Outcome::kReady)
      << "whoever brings base configs answers for the agent: " << plan.reason;
  EXPECT_EQ(names_of(plan), (std::vector<std::string>{"00-edge", "00-master", "00-worker"}));
  const kube::Object& worker = config_named(plan, "00-worker");
  EXPECT_EQ(json::write(*json::find(worker.json(), {"spec", "kernelArguments"})), R"(["audit=1"])");
  EXPECT_EQ(unit_named(worker, "strake-agent.service"), nullptr);
  EXPECT_EQ(file_of(worker, "/etc/mco/proxy.env"), "HTTP_PROXY=http://proxy.example:3128\n");
}

TEST(TemplatePlan, HooksOnlyForWhatTheImageHas) {
  struct Case {
    std::set<std::string> files;
    std::vector<std::string> configs;
  };
  const Case cases[] = {
      {{"/usr/bin/strake", "/usr/bin/crio"}, {"00-worker", "01-worker-container-runtime"}},
      {{"/usr/bin/strake", "/usr/bin/kubelet"}, {"00-worker"}},  // nothing to run pods with
      {{"/usr/bin/strake", "/usr/bin/kubelet", "/usr/bin/crio"},
       {"00-worker", "01-worker-container-runtime", "01-worker-kubelet"}},
      {{"/usr/bin/strake", "/usr/bin/kubelet", "/usr/bin/containerd", "/usr/lib/systemd/system/kubelet.service"},
       {"00-worker", "01-worker-container-runtime", "01-worker-kubelet"}},
  };
  for (const Case& each : cases) {
    Cluster cluster;
    cluster.image_has(each.files);
    const TemplatePlan plan = cluster.plan();
    std::vector<std::string> names = names_of(plan);
    std::erase_if(names, [](const std::string& name) { return name.find("worker") == std::string::npos; });
    EXPECT_EQ(names, each.configs) << fmt::format("{}", fmt::join(each.files, " "));
  }
}

TEST(TemplatePlan, AKubeletOfItsOwnKeepsItsFiles) {
  Cluster cluster;
  json::ensure(cluster.controller_config.json(), {"spec", "clusterDNSIP"}) = "172.30.0.10";
  cluster.image_has({"/usr/bin/strake", "/usr/bin/kubelet", "/usr/bin/crio"});
  const TemplatePlan whole = cluster.plan();
  const kube::Object& kubelet = config_named(whole, "01-worker-kubelet");
  EXPECT_NE(file_of(kubelet, "/etc/kubernetes/kubelet.conf")->find("clusterDNS: [\"172.30.0.10\"]\n"),
            std::string::npos);
  EXPECT_TRUE(file_of(kubelet, "/etc/node-sizing-enabled.env"));
  EXPECT_NE(unit_text(kubelet, "kubelet.service").find("unix:///var/run/crio/crio.sock"), std::string::npos);

  cluster.image_has(
      {"/usr/bin/strake", "/usr/bin/kubelet", "/usr/bin/crio", "/usr/lib/systemd/system/kubelet.service"});
  const TemplatePlan hook = cluster.plan();
  const kube::Object& kubeadm = config_named(hook, "01-worker-kubelet");
  EXPECT_FALSE(file_of(kubeadm, "/etc/kubernetes/kubelet.conf"));
  EXPECT_EQ(unit_text(kubeadm, "kubelet.service"), "");
  EXPECT_NE(json::find(*unit_named(kubeadm, "kubelet.service"), {"dropins"}), nullptr);
}

TEST(TemplatePlan, WaitsForTheBaseConfigsOfTheReleaseTheControllerConfigNames) {
  Cluster cluster;
  cluster.image_has({"/usr/bin/strake"});
  cluster.contents.release_image = "registry.example/release@sha256:a";
  TemplatePlan plan = cluster.plan();
  EXPECT_EQ(plan.outcome, TemplatePlan::Outcome::kWaiting);
  EXPECT_NE(plan.reason.find("belongs to release image registry.example/release@sha256:a, the cluster is moving to"),
            std::string::npos)
      << plan.reason;
  TemplateInput input = cluster.input();
  input.release_contents = nullptr;
  plan = plan_templates(input);
  EXPECT_EQ(plan.outcome, TemplatePlan::Outcome::kWaiting);
  EXPECT_NE(plan.reason.find("apply it again"), std::string::npos) << plan.reason;
}

TEST(TemplatePlan, WhatAnotherPublishedIsLeftAlone) {
  Cluster cluster;
  cluster.image_has({"/usr/bin/strake"});
  cluster.controller_config.set_annotation(api::config_annotation::kGeneratedByVersion, "v4.21");
  EXPECT_EQ(cluster.plan().outcome, TemplatePlan::Outcome::kNothing);
  EXPECT_EQ(plan_templates({}).outcome, TemplatePlan::Outcome::kNothing);
}

TEST(TemplatePlan, RolesThatHaveNoBaseConfigAnyMoreLoseTheirs) {
  Cluster cluster;
  cluster.image_has({"/usr/bin/strake"});
  cluster.pools = {shared(builders::pool_of("arbiter", {"arbiter"}))};
  const TemplatePlan before = cluster.plan();
  EXPECT_EQ(names_of(before), (std::vector<std::string>{"00-arbiter", "00-master", "00-worker"}));
  for (const kube::Object& config : before.configs) cluster.configs.push_back(shared(config));
  cluster.configs.push_back(shared(builders::machine_config("00-arbitrary", "arbitrary", "{}")));
  cluster.pools.clear();
  const TemplatePlan after = cluster.plan();
  ASSERT_EQ(after.stale.size(), 1u);
  EXPECT_EQ(after.stale[0]->name(), "00-arbiter");
}

/// Every image there can be, with everything a cluster can add.
std::vector<kube::Object> all_templates() {
  std::vector<kube::Object> configs;
  for (const std::set<std::string>& files : std::vector<std::set<std::string>>{
           {"/usr/bin/strake", "/usr/bin/kubelet", "/usr/bin/crio"},
           {"/usr/bin/podman", "/usr/bin/kubelet", "/usr/bin/containerd"},
           {"/usr/bin/podman", "/usr/bin/kubelet", "/usr/bin/crio", "/usr/lib/systemd/system/kubelet.service"}}) {
    Cluster cluster;
    cluster.image_has(files);
    cluster.agent_image(kAgentImage);
    TemplatePlan plan = cluster.plan();
    EXPECT_EQ(plan.outcome, TemplatePlan::Outcome::kReady) << plan.reason;
    for (kube::Object& config : plan.configs) configs.push_back(std::move(config));
  }
  return configs;
}

TEST(TemplatePlan, EveryTemplateIsReadAsAnyMachineConfigAndItsUnitsHaveNothingToComplainAbout) {
  for (const kube::Object& config : all_templates()) {
    const auto fragment = read_fragment(config);
    EXPECT_TRUE(fragment.ok()) << fragment.error().to_string();
    for (const json::Value& unit : json::find(config.json(), {"spec", "config", "systemd", "units"})->as_array()) {
      const std::string name = json::find_string(unit, {"name"}).value_or("");
      if (const auto text = json::find_string(unit, {"contents"})) {
        for (const auto& problem : ignition::check_unit_syntax(name, *text)) ADD_FAILURE() << name << problem.message;
      }
      const json::Value* dropins = json::find(unit, {"dropins"});
      if (dropins == nullptr) continue;
      const std::string text = json::find_string(dropins->as_array().at(0), {"contents"}).value_or("");
      for (const auto& problem : ignition::check_unit_syntax(name, text, ignition::UnitPart::kDropin)) {
        ADD_FAILURE() << name << problem.message;
      }
    }
  }
}

TEST(TemplatePlan, OnlyABaseConfigOfTheControllerInstallsTheAgent) {
  Cluster cluster;
  cluster.image_has({"/usr/bin/strake"});
  const TemplatePlan plan = cluster.plan();
  const kube::Object& genuine = config_named(plan, "00-worker");
  EXPECT_TRUE(is_template_config(genuine));
  EXPECT_TRUE(read_fragment(genuine).ok());
  const auto refused = [&](const std::function<void(kube::Object&)>& change) {
    kube::Object other = genuine;
    change(other);
    const auto read = read_fragment(other);
    return !read.ok() && read.error().to_string().find("belongs to the agent") != std::string::npos;
  };
  EXPECT_TRUE(refused([](kube::Object& config) { json::ensure(config.json(), {"metadata", "name"}) = "50-worker"; }));
  EXPECT_TRUE(refused([](kube::Object& config) {
    json::ensure(config.json(), {"metadata", "annotations"}) = json::Object{};
  })) << "the name alone is nobody's word";
  EXPECT_TRUE(refused([](kube::Object& config) {
    config.set_annotation(api::config_annotation::kGeneratedFrom, "KubeletConfig/small@1");
  }));
  EXPECT_TRUE(refused([](kube::Object& config) { config.set_label(api::label::kRole, "infra"); }));
  EXPECT_TRUE(refused([](kube::Object& config) {
    json::ensure(config.json(), {"spec", "config", "storage", "files"}) =
        from_text(R"([{"path":"/var/lib/strake/agent-journal.json"}])");
  })) << "the unit, and nothing else of the agent's";
  EXPECT_TRUE(refused([](kube::Object& config) {
    json::ensure(config.json(), {"spec", "config", "systemd", "units"}) =
        from_text(R"([{"name":"strake-agent.service","dropins":[{"name":"x.conf","contents":"[Service]\n"}]}])");
  }));
}

constexpr const char* kCertificate =
    "# ours\n-----BEGIN CERTIFICATE-----\nTUlJQnh6Q0NBVzJnQXdJQkFnSVU=\n-----END CERTIFICATE-----\n";

TEST(ClusterFiles, WhatTheClusterHasIsOnEveryMachine) {
  Cluster cluster;
  cluster.image_has({"/usr/bin/podman"});
  cluster.agent_image(kAgentImage);
  json::ensure(cluster.controller_config.json(), {"spec", "additionalTrustBundle"}) =
      codec::encode_base64(kCertificate);
  json::ensure(cluster.controller_config.json(), {"spec", "proxy"}) = from_text(
      R"({"httpProxy":"http://u:p%40ss@proxy:3128","httpsProxy":"http://proxy:3129","noProxy":".cluster.local,10.0.0.0/8"})");
  cluster.pull_secret = kube::Object(kube::core::kSecret, {"openshift-config", "pull-secret"});
  const std::string secret = R"({"auths":{"registry.example":{"auth":"eDp5"}}})";
  json::ensure(cluster.pull_secret.json(), {"data", ".dockerconfigjson"}) = codec::encode_base64(secret);
  const TemplatePlan plan = cluster.plan();
  ASSERT_EQ(plan.outcome, TemplatePlan::Outcome::kReady) << plan.reason;
  for (const char* name : {"00-master", "00-worker"}) {
    const kube::Object& config = config_named(plan, name);
    EXPECT_EQ(file_of(config, "/var/lib/kubelet/config.json"), secret);
    EXPECT_EQ(file_of(config, "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt"), kCertificate);
    EXPECT_EQ(
        file_of(config, "/etc/mco/proxy.env"),
        "HTTP_PROXY=http://u:p%40ss@proxy:3128\nHTTPS_PROXY=http://proxy:3129\nNO_PROXY=.cluster.local,10.0.0.0/8\n");
    for (const json::Value& file : json::find(config.json(), {"spec", "config", "storage", "files"})->as_array()) {
      const bool is_secret = json::find_string(file, {"path"}) == "/var/lib/kubelet/config.json";
      EXPECT_EQ(json::find_int(file, {"mode"}), is_secret ? 0600 : 0644);
    }
    EXPECT_NE(unit_text(config, "strake-agent-image.service").find("--authfile=/var/lib/kubelet/config.json "),
              std::string::npos);
  }
}

TEST(ClusterFiles, BrokenOnesAreRefusedAndNotQuoted) {
  const RefusedCase cases[] = {
      {"no key", [](Cluster& cluster) { json::ensure(cluster.pull_secret.json(), {"data"}) = json::Object{}; },
       "Secret openshift-config/pull-secret: data..dockerconfigjson: missing"},
      {"no JSON",
       [](Cluster& cluster) {
         json::ensure(cluster.pull_secret.json(), {"data", ".dockerconfigjson"}) = codec::encode_base64("SECRET");
       },
       "is not JSON"},
      {"no registries",
       [](Cluster& cluster) {
         json::ensure(cluster.pull_secret.json(), {"data", ".dockerconfigjson"}) =
             codec::encode_base64(R"({"SECRET":1})");
       },
       "has no auths"},
      {"a bundle without certificates",
       [](Cluster& cluster) {
         json::ensure(cluster.controller_config.json(), {"spec", "additionalTrustBundle"}) =
             codec::encode_base64("SECRET");
       },
       "spec.additionalTrustBundle: holds no PEM certificate"},
      {"a certificate cut off",
       [](Cluster& cluster) {
         json::ensure(cluster.controller_config.json(), {"spec", "additionalTrustBundle"}) =
             codec::encode_base64(std::string(kCertificate) + "-----BEGIN CERTIFICATE-----\nTUlJ\n");
       },
       "certificate 2 has no end"},
      {"a certificate that is none",
       [](Cluster& cluster) {
         json::ensure(cluster.controller_config.json(), {"spec", "additionalTrustBundle"}) =
             codec::encode_base64("-----BEGIN CERTIFICATE-----\n!SECRET!\n-----END CERTIFICATE-----\n");
       },
       "certificate 1 is broken"},
      {"a second line",
       [](Cluster& cluster) {
         json::ensure(cluster.controller_config.json(), {"spec", "proxy", "httpsProxy"}) =
             "http://SECRET@x\nLD_PRELOAD=y";
       },
       "the value for HTTPS_PROXY has a blank"},
  };
  for (const RefusedCase& each : cases) {
    SCOPED_TRACE(each.name);
    Cluster cluster;
    cluster.image_has({"/usr/bin/strake"});
    cluster.pull_secret = kube::Object(kube::core::kSecret, {"openshift-config", "pull-secret"});
    json::ensure(cluster.pull_secret.json(), {"data", ".dockerconfigjson"}) = codec::encode_base64(R"({"auths":{}})");
    each.change(cluster);
    const TemplatePlan plan = cluster.plan();
    EXPECT_EQ(plan.outcome, TemplatePlan::Outcome::kRefused);
    EXPECT_NE(plan.reason.find(each.reason), std::string::npos) << plan.reason;
    EXPECT_EQ(plan.reason.find("SECRET"), std::string::npos) << plan.reason;
  }
}

}  // namespace strake::machineconfig::template_plan_test
