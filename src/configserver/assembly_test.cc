#include "configserver/assembly.h"

#include <gtest/gtest.h>

#include "configserver/testing/objects.h"
#include "ignition/config.h"

namespace strake::configserver::assembly_test {

using objects::file_in;
using objects::from_text;
using objects::rendered;

constexpr ignition::SpecVersion kServedVersions[] = {{2, 2}, {3, 1}, {3, 2}, {3, 3}, {3, 4}, {3, 5}};
constexpr std::string_view kOneFile =
    R"({"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/a","mode":420,"contents":{"source":"data:,1"}}]}})";

AssemblyInput input_of(kube::Object config) {
  AssemblyInput input;
  input.config = std::make_shared<const kube::Object>(std::move(config));
  input.kubeconfig = "kubeconfig: text\n";
  return input;
}

json::Value must_assemble(const AssemblyInput& input, ignition::SpecVersion version) {
  const auto body = assemble(input, version);
  EXPECT_TRUE(body.ok()) << body.error().to_string();
  return body.ok() ? from_text(*body) : json::Value(json::Object{});
}

std::vector<std::string> paths_in(const json::Value& config) {
  std::vector<std::string> paths;
  for (const json::Value& file : json::find(config, {"storage", "files"})->as_array()) {
    paths.push_back(*json::find_string(file, {"path"}));
  }
  return paths;
}

TEST(Assembly, WhatIsAddedAndInWhichOrder) {
  AssemblyInput input = input_of(rendered("rendered-worker-1", kOneFile));
  input.controller_config = std::make_shared<const kube::Object>(objects::controller_config("API CA", "CLOUD CA"));
  input.registry_authorities = {{"registry.example:5000", "REGISTRY CA"}};
  for (const ignition::SpecVersion version : kServedVersions) {
    const json::Value config = must_assemble(input, version);
    EXPECT_EQ(json::find_string(config, {"ignition", "version"}), ignition::to_string(version));
    EXPECT_EQ(paths_in(config),
              (std::vector<std::string>{"/etc/a", "/etc/kubernetes/kubelet-ca.crt",
                                        "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem",
                                        "/etc/machine-config-daemon/node-annotations.json",
                                        "/etc/kubernetes/kubeconfig", "/etc/mcs-machine-config-content.json",
                                        "/etc/docker/certs.d/registry.example:5000/ca.crt",
                                        "/etc/ignition-machine-config-encapsulated.json"}));
    EXPECT_EQ(file_in(config, machine_path::kApiServerCa), "API CA");
    EXPECT_EQ(file_in(config, machine_path::kCloudCa), "CLOUD CA");
    EXPECT_EQ(file_in(config, machine_path::kKubeconfig), "kubeconfig: text\n");
    EXPECT_EQ(file_in(config, machine_path::kNodeAnnotations),
              R"({"machineconfiguration.openshift.io/currentConfig":"rendered-worker-1",)"
              R"("machineconfiguration.openshift.io/desiredConfig":"rendered-worker-1",)"
              R"("machineconfiguration.openshift.io/firstPivotConfig":"rendered-worker-1",)"
              R"("machineconfiguration.openshift.io/state":"Done"})");
    for (const json::Value& file : json::find(config, {"storage", "files"})->as_array()) {
      EXPECT_EQ(json::find_int(file, {"mode"}), 420);
    }
  }
}

TEST(Assembly, EveryVersionIsValidToItsOwnReader) {
  for (const ignition::SpecVersion version : kServedVersions) {
    const auto body = assemble(input_of(rendered("rendered-worker-1", kOneFile)), version);
    ASSERT_TRUE(body.ok()) << body.error().to_string();
    const ignition::Checked checked = ignition::check_text(*body);
    EXPECT_EQ(checked.version, version);
    EXPECT_FALSE(checked.report.is_fatal());
  }
}

TEST(Assembly, TheAgentsCopyIsTheConfigWithoutItsIgnition) {
  kube::Object config = rendered("rendered-worker-1", kOneFile, R"(,"kernelArguments":["nosmt"],"fips":true)");
  json::ensure(config.json(), {"metadata", "creationTimestamp"}) = "2026-01-01T00:00:00Z";
  json::ensure(config.json(), {"metadata", "managedFields"}) = json::Array{};
  const AssemblyInput input = input_of(config);
  for (const ignition::SpecVersion version : kServedVersions) {
    const json::Value served = must_assemble(input, version);
    const json::Value copy = from_text(file_in(served, machine_path::kEncapsulated));
    EXPECT_EQ(json::write_canonical(*json::find(copy, {"spec"})),
              fmt::format(R"({{"config":{{"ignition":{{"version":"{}"}}}},"fips":true,"kernelArguments":["nosmt"],)"
                          R"("osImageURL":"quay.io/os@sha256:1"}})",
                          ignition::to_string(version)));
    EXPECT_EQ(json::find(copy, {"metadata", "creationTimestamp"}), nullptr);
    EXPECT_EQ(json::find(copy, {"metadata", "managedFields"}), nullptr);
    const std::string whole = file_in(served, machine_path::kConfigContent);
    EXPECT_EQ(*json::find(from_text(whole), {"spec"}), *json::find(config.json(), {"spec"}));
    EXPECT_TRUE(whole.starts_with("{\n    \"apiVersion\"")) << whole.substr(0, 40);
  }
  AssemblyInput bootstrap = input;
  bootstrap.bootstrap = true;
  const json::Value old = must_assemble(bootstrap, {2, 2});
  EXPECT_EQ(json::find_string(from_text(file_in(old, machine_path::kEncapsulated)),
                              {"spec", "config", "ignition", "version"}),
            "3.5.0");
}

TEST(Assembly, KernelArgumentsGoWhereTheMachineSetsThem) {
  const AssemblyInput input = input_of(rendered(
      "rendered-worker-1", R"({"ignition":{"version":"3.3.0"},"kernelArguments":{"shouldExist":["quiet","a=b"]}})",
      R"(,"kernelArguments":["nosmt"])"));
  const std::string before = json::write(input.config->json());
  for (int round = 0; round < 2; ++round) {  // answering one machine must not change what the next one gets
    for (const ignition::SpecVersion version : kServedVersions) {
      const json::Value config = must_assemble(input, version);
      const json::Value copy = from_text(file_in(config, machine_path::kEncapsulated));
      const bool by_ignition = version >= ignition::SpecVersion{3, 3};
      EXPECT_EQ(json::find(config, {"kernelArguments"}) != nullptr, by_ignition);
      const json::Value whole = from_text(file_in(config, machine_path::kConfigContent));
      for (const json::Value* object : {&copy, &whole}) {
        EXPECT_EQ(json::write(*json::find(*object, {"spec", "kernelArguments"})),
                  by_ignition ? R"(["nosmt"])" : R"(["nosmt","quiet","a=b"])");
      }
    }
  }
  EXPECT_EQ(json::write(input.config->json()), before);
}

TEST(Assembly, WhatAVersionCannotSayIsRefusedByName) {
  const std::tuple<const char*, ignition::SpecVersion, const char*> cases[] = {
      {R"({"ignition":{"version":"3.3.0"},"kernelArguments":{"shouldNotExist":["quiet"]}})", {3, 2}, "shouldNotExist"},
      {R"({"ignition":{"version":"3.2.0"},"storage":{"luks":[{"name":"root","device":"/dev/sda4"}]}})", {2, 2}, "luks"},
      {R"({"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/usr/local/bin/a","mode":2541}]}})",
       {2, 2},
       "mode"},
      {R"({"ignition":{"version":"3.1.0"}})", {3, 0}, "3.0"},
  };
  for (const auto& [config, version, named] : cases) {
    const auto body = assemble(input_of(rendered("rendered-worker-1", config)), version);
    ASSERT_FALSE(body.ok()) << config;
    EXPECT_EQ(body.error().code(), Code::kUnsupported) << body.error().to_string();
    EXPECT_NE(body.error().to_string().find(named), std::string::npos) << body.error().to_string();
    EXPECT_NE(body.error().to_string().find("rendered-worker-1"), std::string::npos) << body.error().to_string();
  }
}

TEST(Assembly, TheConfigsOwnFileOfAuthoritiesIsReplacedWhole) {
  AssemblyInput input = input_of(rendered(
      "rendered-worker-1",
      R"({"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/kubernetes/kubelet-ca.crt","mode":384,)"
      R"("contents":{"source":"data:,old","verification":{"hash":"sha256-)"
      R"(2e8a0dbdcf2e3c1d8b1d7d3fd1c7b7cfcf7b1b9f2d5f0a1a3c6bbe1fa5c8a0aa"}}}]}})"));
  EXPECT_EQ(file_in(must_assemble(input, {3, 2}), machine_path::kApiServerCa), "old") << "nothing to say";
  input.controller_config = std::make_shared<const kube::Object>(objects::controller_config("NEW"));
  const json::Value config = must_assemble(input, {3, 2});
  EXPECT_EQ(file_in(config, machine_path::kApiServerCa), "NEW");
  EXPECT_EQ(json::write(*json::find(json::find(config, {"storage", "files"})->as_array()[0], {"contents"})),
            R"({"source":"data:,NEW"})")
      << "the hash was that of the old contents";
  EXPECT_EQ(paths_in(config).front(), "/etc/kubernetes/kubelet-ca.crt");
  EXPECT_EQ(json::find_int(json::find(config, {"storage", "files"})->as_array()[0], {"mode"}), 384);
  EXPECT_EQ(file_in(config, machine_path::kCloudCa), "absent");
}

TEST(Assembly, ALayeredImageIsWhatTheMachineBoots) {
  AssemblyInput input = input_of(rendered("rendered-worker-1", kOneFile));
  input.layered_image = "registry.example/os@sha256:2";
  const json::Value config = must_assemble(input, {3, 5});
  const json::Value copy = from_text(file_in(config, machine_path::kEncapsulated));
  EXPECT_EQ(json::find_string(copy, {"spec", "osImageURL"}), "registry.example/os@sha256:2");
  const json::Value annotations = from_text(file_in(config, machine_path::kNodeAnnotations));
  for (const char* name : {"currentImage", "desiredImage"}) {
    EXPECT_EQ(json::find_string(annotations, {fmt::format("machineconfiguration.openshift.io/{}", name)}),
              "registry.example/os@sha256:2");
  }
  kube::Object prebuilt = *input.config;
  prebuilt.set_annotation("machineconfiguration.openshift.io/pre-built-image", "registry.example/os@sha256:3");
  input.config = std::make_shared<const kube::Object>(prebuilt);
  EXPECT_EQ(json::find_string(from_text(file_in(must_assemble(input, {3, 5}), machine_path::kNodeAnnotations)),
                              {"machineconfiguration.openshift.io/currentImage"}),
            "registry.example/os@sha256:3");
}

TEST(Assembly, BrokenObjectsAreSaidNotServed) {
  AssemblyInput input = input_of(rendered("rendered-worker-1", R"({"ignition":{"version":"3.9.0"}})"));
  EXPECT_FALSE(assemble(input, {3, 5}).ok());
  input = input_of(rendered("rendered-worker-1", kOneFile));
  kube::Object cluster = objects::controller_config("x");
  json::ensure(cluster.json(), {"spec", "kubeAPIServerServingCAData"}) = "not base64!";
  input.controller_config = std::make_shared<const kube::Object>(cluster);
  const auto body = assemble(input, {3, 5});
  ASSERT_FALSE(body.ok());
  EXPECT_NE(body.error().to_string().find("kubeAPIServerServingCAData"), std::string::npos);
}

}  // namespace strake::configserver::assembly_test
