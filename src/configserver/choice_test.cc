#include "configserver/choice.h"

#include <gtest/gtest.h>

#include "configserver/testing/objects.h"

namespace strake::configserver::choice_test {

using objects::from_text;
using objects::pool;

TEST(Choice, MidRolloutTheNewConfigAsSoonAsOneMachineRunsIt) {
  EXPECT_EQ(*served_config(pool("worker", "rendered-worker-2", "rendered-worker-1", 0)), "rendered-worker-1");
  EXPECT_EQ(*served_config(pool("worker", "rendered-worker-2", "rendered-worker-1", 1)), "rendered-worker-2");
  EXPECT_EQ(*served_config(pool("worker", "rendered-worker-2", "rendered-worker-2", 0)), "rendered-worker-2");
}

TEST(Choice, APoolWithoutAConfigSaysWhichPartIsMissing) {
  const auto never = served_config(pool("worker", "", "", 0));
  ASSERT_FALSE(never.ok());
  EXPECT_NE(never.error().to_string().find("no rendered config yet"), std::string::npos);
  const auto unreported = served_config(pool("worker", "rendered-worker-1", "", 0));
  ASSERT_FALSE(unreported.ok());
  EXPECT_NE(unreported.error().to_string().find("status.configuration"), std::string::npos);
}

struct LayeredCase {
  const char* name;
  int updated;
  const char* os_config;
  const char* build;
  const char* image;
};

TEST(Choice, ALayeredImageOnlyWhenAMachineCouldReallyBootIt) {
  constexpr const char* kConfig =
      R"({"metadata":{"name":"layer"},"spec":{"machineConfigPool":{"name":"worker"}},"status":{"currentImagePullSpec":"reg.example/os@sha256:2"}})";
  constexpr const char* kBuild =
      R"({"spec":{"machineConfig":{"name":"r1"},"machineOSConfig":{"name":"layer"}},"status":{"conditions":[{"type":"Succeeded","status":"True"}]}})";
  const LayeredCase cases[] = {
      {"built, pushed, proven", 1, kConfig, kBuild, "reg.example/os@sha256:2"},
      {"no machine runs it", 0, kConfig, kBuild, ""},
      {"no build", 1, kConfig, R"({})", ""},
      {"the build goes on", 1, kConfig,
       R"({"spec":{"machineConfig":{"name":"r1"},"machineOSConfig":{"name":"layer"}},"status":{"conditions":[{"type":"Building","status":"True"},{"type":"Succeeded","status":"False"}]}})",
       ""},
      {"built for another config", 1, kConfig,
       R"({"spec":{"machineConfig":{"name":"r0"},"machineOSConfig":{"name":"layer"}},"status":{"conditions":[{"type":"Succeeded","status":"True"}]}})",
       ""},
      {"another pool's", 1,
       R"({"metadata":{"name":"layer"},"spec":{"machineConfigPool":{"name":"infra"}},"status":{"currentImagePullSpec":"reg.example/os@sha256:2"}})",
       kBuild, ""},
      {"no image yet", 1, R"({"metadata":{"name":"layer"},"spec":{"machineConfigPool":{"name":"worker"}}})", kBuild,
       ""},
      {"inside the cluster", 1,
       R"({"metadata":{"name":"layer"},"spec":{"machineConfigPool":{"name":"worker"}},"status":{"currentImagePullSpec":"image-registry.openshift-image-registry.svc:5000/ns/os@sha256:2"}})",
       kBuild, ""},
      {"only named like it", 1,
       R"({"metadata":{"name":"layer"},"spec":{"machineConfigPool":{"name":"worker"}},"status":{"currentImagePullSpec":"image-registry.openshift-image-registry.svcx/os@sha256:2"}})",
       kBuild, "image-registry.openshift-image-registry.svcx/os@sha256:2"},
  };
  for (const LayeredCase& c : cases) {
    const kube::ObjectPtr os_configs[] = {std::make_shared<const kube::Object>(from_text(c.os_config))};
    const kube::ObjectPtr builds[] = {std::make_shared<const kube::Object>(from_text(c.build))};
    EXPECT_EQ(layered_image(pool("worker", "r1", "r1", c.updated), "r1", os_configs, builds), c.image) << c.name;
  }
}

}  // namespace strake::configserver::choice_test
