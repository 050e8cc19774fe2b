#include "machineconfig/render/render.h"

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "machineconfig/render/rendered_name.h"
#include "machineconfig/testing/builders.h"

namespace strake::machineconfig::render_test {

using builders::file_spec;
using builders::machine_config;
using builders::pool_of;
using builders::shared;

kube::ObjectPtr streams_object(std::string_view default_stream) {
  kube::Object streams(api::kOsImageStream, {"", "cluster"});
  json::ensure(streams.json(), {"status"}) = builders::from_text(fmt::format(
      R"({{"defaultStream":"{}","availableStreams":[{{"name":"rhel-9","osImage":"os9","osExtensionsImage":"ext9"}},{{"name":"rhel-10","osImage":"os10","osExtensionsImage":"ext10"}}]}})",
      default_stream));
  return shared(std::move(streams));
}

RenderInput worker_input(std::vector<kube::Object> configs) {
  RenderInput input;
  input.pool = shared(pool_of("worker", {"worker"}));
  for (kube::Object& config : configs) input.configs.push_back(shared(std::move(config)));
  return input;
}

TEST(Render, ACustomPoolsConfigsWinOverWhatItInheritsWhateverTheirNames) {
  RenderInput input;
  input.pool = shared(pool_of("infra", {"worker", "infra"}));
  input.configs = {shared(machine_config("99-worker", "worker", file_spec("/etc/x", "worker"))),
                   shared(machine_config("01-infra", "infra", file_spec("/etc/x", "infra"))),
                   shared(machine_config("00-master", "master", file_spec("/etc/y", "master")))};
  const auto plan = plan_render(input);
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  EXPECT_EQ(plan->sources, (std::vector<std::string>{"99-worker", "01-infra"}));
  const json::Value* files = json::find(plan->rendered.json(), {"spec", "config", "storage", "files"});
  ASSERT_NE(files, nullptr);
  EXPECT_EQ(json::write_canonical(*files),
            R"([{"contents":{"source":"data:,infra"},"overwrite":true,"path":"/etc/x"}])");
  EXPECT_TRUE(*name_matches_spec(plan->rendered.name(), *json::find(plan->rendered.json(), {"spec"})));
  EXPECT_TRUE(plan->rendered.name().starts_with("rendered-infra-"));
}

TEST(Render, TheRenderedObjectIsOwnedByItsPoolAndSaysWhereItIsFrom) {
  RenderInput input = worker_input({machine_config("00", "worker", R"({"osImageURL":"mine"})")});
  input.version = "1.2.3";
  kube::Object controller_config(api::kControllerConfig, {"", "machine-config-controller"});
  controller_config.set_annotation(api::config_annotation::kReleaseImageVersion, "4.20.1");
  json::ensure(controller_config.json(), {"spec", "baseOSContainerImage"}) = "os";
  json::ensure(controller_config.json(), {"spec", "baseOSExtensionsContainerImage"}) = "ext";
  input.controller_config = shared(std::move(controller_config));
  const auto plan = render_pool(input);
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  EXPECT_EQ(
      json::write(*json::find(plan->rendered.json(), {"metadata"})),
      R"({"name":")" + plan->rendered.name() +
          R"(","annotations":{"machineconfiguration.openshift.io/generated-by-controller-version":"1.2.3","machineconfiguration.openshift.io/release-image-version":"4.20.1","machineconfiguration.openshift.io/os-image-url-overridden":"true"},"ownerReferences":[{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfigPool","name":"worker","uid":"pool-uid","controller":true,"blockOwnerDeletion":true}]})");
  EXPECT_TRUE(plan->os_image_overridden);
  EXPECT_EQ(plan->defaults.source, "ControllerConfig machine-config-controller");
  EXPECT_EQ(json::find_string(plan->rendered.json(), {"spec", "baseOSExtensionsContainerImage"}), "ext");
}

TEST(Render, APoolWithoutConfigsSaysWhatItWaitsFor) {
  RenderInput input = worker_input({});
  EXPECT_NE(plan_render(input).error().to_string().find("no MachineConfig matches"), std::string::npos);
  input.controller_config = shared(kube::Object(api::kControllerConfig, {"", "machine-config-controller"}));
  EXPECT_NE(plan_render(input).error().to_string().find("is not completed"), std::string::npos);
  kube::Object broken = *input.pool;
  json::ensure(broken.json(), {"spec", "machineConfigSelector"}) = json::Object{};
  input.pool = shared(std::move(broken));
  EXPECT_NE(plan_render(input).error().to_string().find("an empty selector"), std::string::npos)
      << "waiting does not repair a selector";
}

TEST(Render, AnImageAndAStreamExcludeEachOther) {
  RenderInput input = worker_input({machine_config("00", "worker", R"({"osImageURL":"mine"})"),
                                    machine_config("50", "worker", R"({"kernelArguments":["a"]})")});
  kube::Object pool = *input.pool;
  json::ensure(pool.json(), {"spec", "osImageStream", "name"}) = "rhel-9";
  input.pool = shared(std::move(pool));
  input.os_image_stream = streams_object("rhel-10");
  const auto plan = render_pool(input);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(
      plan.error().to_string(),
      "MachineConfig 00: spec.osImageURL: pool worker chooses an OS image stream (spec.osImageStream); remove one "
      "of them");
  // Naming the very image of the stream changes nothing and is let pass.
  input.configs[0] = shared(machine_config("00", "worker", R"({"osImageURL":"os9"})"));
  EXPECT_TRUE(render_pool(input).ok());
}

TEST(Render, RuncIsRefusedWhereTheStreamHasNone) {
  const std::string path = "/etc/crio/crio.conf.d/01-runtime";
  const std::string runc = "%5Bcrio.runtime%5D%0Adefault_runtime%3D%22runc%22";
  const std::string crun = "%5Bcrio.runtime%5D%0Adefault_runtime%3D%22crun%22";
  RenderInput input = worker_input({machine_config("10-runc", "worker", file_spec(path, runc)),
                                    machine_config("20-other", "worker", R"({"kernelArguments":["a"]})")});
  input.os_image_stream = streams_object("rhel-10");
  const auto refused = render_pool(input);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().to_string().find("MachineConfig 10-runc: spec.config: file " + path), 0u)
      << refused.error().to_string();
  input.os_image_stream = streams_object("rhel-9");
  const auto older_stream = render_pool(input);
  ASSERT_TRUE(older_stream.ok());
  EXPECT_EQ(older_stream->runtime, (RuntimeChoice{"runc", path}));
  EXPECT_EQ(older_stream->defaults.stream, "rhel-9");
  input.os_image_stream = streams_object("rhel-10");
  input.configs[1] = shared(machine_config("20-other", "worker", file_spec(path, crun)));
  EXPECT_TRUE(render_pool(input).ok());
}

TEST(Render, OneBadMachineConfigStopsThePool) {
  const auto plan = render_pool(worker_input(
      {machine_config("00", "worker", "{}"), machine_config("50-bad", "worker", R"({"kernelType":"fast"})")}));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().to_string().find("MachineConfig 50-bad: spec.kernelType"), 0u) << plan.error().to_string();
}

/// The limit counts the JSON that Go writes, to the byte.
TEST(Render, TheSizeLimitHoldsToTheByte) {
  const auto with_file_of = [](std::size_t bytes) {
    return worker_input({machine_config("00-worker", "worker", file_spec("/etc/big", std::string(bytes, 'x')))});
  };
  const auto small = render_pool(with_file_of(1));
  ASSERT_TRUE(small.ok()) << small.error().to_string();
  const std::size_t frame = small->size_bytes - 1;
  const auto largest = render_pool(with_file_of(kMaxRenderedBytes - frame));
  ASSERT_TRUE(largest.ok()) << largest.error().to_string();
  EXPECT_EQ(largest->size_bytes, kMaxRenderedBytes);
  const json::Value& rendered = largest->rendered.json();
  EXPECT_EQ(rendered_size(rendered, *json::find(rendered, {"spec"})), kMaxRenderedBytes);
  RenderInput larger = with_file_of(kMaxRenderedBytes - frame + 1);
  const auto refused = render_pool(larger);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kExhausted);
  EXPECT_NE(refused.error().to_string().find("the largest first: /etc/big (1572"), std::string::npos)
      << refused.error().to_string();
  larger.size_limit = std::nullopt;
  EXPECT_TRUE(render_pool(larger).ok());
}

TEST(Render, AHugeConfigIsRefusedAndNotKept) {
  const auto plan = render_pool(worker_input(
      {machine_config("00-worker", "worker", file_spec("/etc/big", std::string(std::size_t{100} << 20, 'x')))}));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code(), Code::kExhausted);
}

}  // namespace strake::machineconfig::render_test
