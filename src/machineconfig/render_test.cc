#include "machineconfig/render.h"

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "machineconfig/merge.h"
#include "machineconfig/rendered_name.h"

namespace strake::machineconfig::render_test {

json::Value from_text(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.ok()) << (value.ok() ? "" : value.error().to_string());
  return *std::move(value);
}

json::Value spec(std::string os_image, std::string extensions_image, std::string_view config) {
  return json::Object{{"osImageURL", os_image},      {"baseOSExtensionsContainerImage", extensions_image},
                      {"config", from_text(config)}, {"kernelArguments", json::Array{}},
                      {"extensions", json::Array{}}, {"fips", false},
                      {"kernelType", "default"}};
}

std::string repeat4(const std::string& text) { return text + text + text + text; }

TEST(RenderedName, GoldenVectorsOfThePlatform) {
  const std::string minimal = R"({"ignition":{"version":"3.5.0"}})";
  EXPECT_EQ(*spec_hash(spec("", "", minimal)), "6da92b29d98fcd722bbf117520c22ee4");  // V1
  json::Value second = spec("registry.example.com/os@sha256:" + repeat4("0123456789abcdef"),
                            "registry.example.com/ext@sha256:" + repeat4("fedcba9876543210"), minimal);
  second.get_object()["kernelArguments"] = json::Array{"nosmt", "foo=bar baz", "a: b"};
  second.get_object()["extensions"] = json::Array{"usbguard"};
  second.get_object()["fips"] = true;
  second.get_object()["kernelType"] = "realtime";
  EXPECT_EQ(*spec_hash(second), "c13312b8bd5049dd0b7efbc5632d142f");  // V2
  EXPECT_EQ(
      *spec_hash(spec(
          "img", "",
          R"({"ignition":{"version":"3.5.0"},"passwd":{"users":[{"name":"core","passwordHash":"$6$x","sshAuthorizedKeys":["k1","k2","k3"]}]},"storage":{"files":[{"overwrite":true,"path":"/etc/b","contents":{"source":"data:,one"},"mode":420},{"overwrite":true,"path":"/etc/a","contents":{"source":"data:,two","verification":{"hash":"sha256-0000000000000000000000000000000000000000000000000000000000000000"}}},{"overwrite":true,"path":"/etc/c","contents":{"source":"data:,three"}}]},"systemd":{"units":[{"contents":"[Unit]\nDescription=x\n[Install]\nWantedBy=multi-user.target\n","dropins":[{"contents":"[Service]\nEnvironment=A=2\n","name":"10-a.conf"},{"contents":"[Service]\nEnvironment=B=2\n","name":"20-b.conf"}],"enabled":true,"name":"x.service"},{"mask":true,"name":"y.service"}]}})")),
      "727584ed332c970857e69fadba615991");  // V3
  EXPECT_EQ(
      *spec_hash(spec(
          "img", "",
          R"({"ignition":{"version":"3.5.0"},"systemd":{"units":[{"name":"t.service","contents":"[Service]\nExecStart=/usr/bin/foo \\\n\t--first-option=value-one --second-option=value-two --third-option=value-three --fourth=4\n"}]}})")),
      "f23af49d4c03905bddcc322c34d07bfe");  // V5
}

TEST(RenderedName, ChangesWithTheSpecAndOnlyWithIt) {
  const json::Value one = spec("img", "", R"({"ignition":{"version":"3.5.0"}})");
  const std::string name = *rendered_name("worker", one);
  EXPECT_TRUE(*name_matches_spec(name, one));
  EXPECT_FALSE(*name_matches_spec(name, spec("img2", "", R"({"ignition":{"version":"3.5.0"}})")));
}

kube::ObjectPtr shared(kube::Object object) { return std::make_shared<const kube::Object>(std::move(object)); }

kube::Object machine_config(const std::string& name, const std::string& role, std::string_view spec_text) {
  kube::Object config(api::kMachineConfig, {"", name});
  config.set_label(api::label::kRole, role);
  config.json().get_object()["spec"] = from_text(spec_text);
  return config;
}

kube::Object pool_for(const std::string& name, std::string_view selector) {
  kube::Object pool(api::kMachineConfigPool, {"", name});
  json::ensure(pool.json(), {"metadata", "uid"}) = "pool-uid";
  json::ensure(pool.json(), {"spec", "machineConfigSelector"}) = from_text(selector);
  return pool;
}

constexpr std::string_view kWorkerSelector = R"({"matchLabels":{"machineconfiguration.openshift.io/role":"worker"}})";
constexpr std::string_view kInfraSelector =
    R"({"matchExpressions":[{"key":"machineconfiguration.openshift.io/role","operator":"In","values":["worker","infra"]}]})";

std::string file_config(const std::string& path, const std::string& contents) {
  return R"({"config":{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":")" + path +
         R"(","contents":{"source":"data:,)" + contents + R"("}}]}}})";
}

TEST(Render, ACustomPoolsConfigsWinOverWhatItInheritsWhateverTheirNames) {
  RenderInput input;
  input.pool = shared(pool_for("infra", kInfraSelector));
  input.configs = {shared(machine_config("99-worker", "worker", file_config("/etc/x", "worker"))),
                   shared(machine_config("01-infra", "infra", file_config("/etc/x", "infra"))),
                   shared(machine_config("00-master", "master", file_config("/etc/y", "master")))};
  const auto plan = plan_render(input);
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  EXPECT_EQ(plan->sources, (std::vector<std::string>{"99-worker", "01-infra"}));
  const json::Value* files = json::find(plan->rendered.json(), {"spec", "config", "storage", "files"});
  ASSERT_NE(files, nullptr);
  ASSERT_EQ(files->get_array().size(), 1u);
  EXPECT_EQ(json::find_string(files->get_array()[0], {"contents", "source"}), "data:,infra");
  EXPECT_EQ(json::find_bool(files->get_array()[0], {"overwrite"}), true);
  EXPECT_EQ(plan->rendered.owners().at(0).uid, "pool-uid");
  EXPECT_TRUE(plan->rendered.name().starts_with("rendered-infra-"));
}

TEST(Render, MergesScalarsListsAndImages) {
  auto with_image = machine_config("50-image", "worker",
                                   R"({"osImageURL":"mine@sha256:1","kernelType":"realtime","kernelArguments":["b"]})");
  auto generated =
      machine_config("60-generated", "worker",
                     R"({"osImageURL":"ignored","kernelType":"default","kernelArguments":["a","b"],"fips":true})");
  generated.set_annotation(api::config_annotation::kGeneratedByController, "1");
  const auto merged = merge_specs({shared(with_image), shared(generated)}, {"release@sha256:0", "ext@sha256:0"});
  ASSERT_TRUE(merged.ok()) << merged.error().to_string();
  EXPECT_EQ(json::find_string(*merged, {"osImageURL"}), "mine@sha256:1");
  EXPECT_EQ(json::find_string(*merged, {"baseOSExtensionsContainerImage"}), "ext@sha256:0");
  EXPECT_EQ(json::find_string(*merged, {"kernelType"}), "realtime");
  EXPECT_EQ(json::find_bool(*merged, {"fips"}), true);
  EXPECT_EQ(json::write(*json::find(*merged, {"kernelArguments"})), R"(["b","a","b"])");
  EXPECT_EQ(json::write(*json::find(*merged, {"config"})), R"({"ignition":{"version":"3.5.0"}})");
}

TEST(Render, RefusalsNameTheObjectAndTheField) {
  struct Case {
    const char* spec_text;
    const char* message;
  };
  const Case cases[] = {
      {R"({"kernelType":"fast"})", "MachineConfig 10-bad: spec.kernelType: 'fast' is invalid"},
      {R"({"config":{"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a","mode":2541}]}}})",
       "MachineConfig 10-bad: spec.config: file /a: mode"},
      {R"({"config":{"ignition":{"version":"9.9.9"}}})", "MachineConfig 10-bad: spec.config: ignition.version"},
      {R"({"config":{"ignition":{"version":"3.5.0"}},"extensions":["emacs"]})",
       "MachineConfig 10-bad: spec.extensions: unknown extension 'emacs'"},
  };
  for (const Case& test : cases) {
    const auto merged = merge_specs({shared(machine_config("10-bad", "worker", test.spec_text))}, {});
    ASSERT_FALSE(merged.ok()) << test.spec_text;
    EXPECT_EQ(merged.error().to_string().find(test.message), 0u) << merged.error().to_string();
  }
}

TEST(Render, SelectorsThatWouldTakeAllOrNothingAreErrors) {
  RenderInput input;
  input.configs = {shared(machine_config("00-worker", "worker", "{}"))};
  input.pool = shared(pool_for("all", "{}"));
  EXPECT_EQ(plan_render(input).error().code(), Code::kInvalidArgument);
  input.pool = shared(pool_for("none", R"({"matchLabels":{"machineconfiguration.openshift.io/role":"none"}})"));
  EXPECT_EQ(plan_render(input).error().code(), Code::kNotFound);
}

TEST(Render, AConfigTooLargeForTheApiIsRefusedWithItsSize) {
  RenderInput input;
  input.pool = shared(pool_for("worker", kWorkerSelector));
  input.configs = {
      shared(machine_config("00-worker", "worker", file_config("/etc/big", std::string(kMaxRenderedBytes, 'x'))))};
  const auto plan = plan_render(input);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code(), Code::kExhausted);
}

}  // namespace strake::machineconfig::render_test
