#include "machineconfig/merge/select.h"

#include <gtest/gtest.h>

#include "api/node_annotations.h"
#include "machineconfig/testing/builders.h"

namespace strake::machineconfig::select_test {

using builders::machine_config;
using builders::pool_of;
using builders::shared;

std::vector<std::string> names_of(const std::vector<kube::ObjectPtr>& configs) {
  std::vector<std::string> names;
  for (const kube::ObjectPtr& config : configs) names.push_back(config->name());
  return names;
}

kube::Object pool_with_selector(std::string_view selector) {
  kube::Object pool = pool_of("p", {});
  json::ensure(pool.json(), {"spec", "machineConfigSelector"}) = builders::from_text(selector);
  return pool;
}

TEST(SelectConfigs, WorkerFirstThenTheRestEachByName) {
  const std::vector<kube::ObjectPtr> configs{
      shared(machine_config("01-infra", "infra", "{}")),   shared(machine_config("99-worker", "worker", "{}")),
      shared(machine_config("10-worker", "worker", "{}")), shared(machine_config("9-worker", "worker", "{}")),
      shared(machine_config("00-master", "master", "{}")), shared(machine_config("Z-infra", "infra", "{}")),
      shared(machine_config("a-infra", "infra", "{}")),
  };
  const auto selected = select_configs(pool_of("infra", {"worker", "infra"}), configs);
  ASSERT_TRUE(selected.ok()) << selected.error().to_string();
  EXPECT_EQ(names_of(*selected),
            (std::vector<std::string>{"10-worker", "9-worker", "99-worker", "01-infra", "Z-infra", "a-infra"}));
}

TEST(SelectConfigs, Refusals) {
  kube::Object unlabelled = machine_config("10-unlabelled", "x", "{}");
  unlabelled.json().get_object()["metadata"].get_object().erase("labels");
  const std::vector<kube::ObjectPtr> configs{shared(machine_config("00-worker", "worker", "{}")), shared(unlabelled)};
  struct Case {
    const char* name;
    const char* selector;
    Code code;
    const char* message;
  };
  const Case cases[] = {
      {"everything", "{}", Code::kInvalidArgument, "an empty selector would select every MachineConfig"},
      {"absent", "null", Code::kNotFound, "no MachineConfig matches"},
      {"nothing", R"({"matchLabels":{"a":"b"}})", Code::kNotFound,
       "no MachineConfig matches the selector 'a=b' of pool p"},
      {"broken", R"({"matchExpressions":[{"key":"a","operator":"Maybe"}]})", Code::kInvalidArgument,
       "pool p: spec.machineConfigSelector"},
      {"no labels", R"({"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]})", Code::kInvalidArgument,
       "MachineConfig 10-unlabelled: metadata.labels"},
  };
  for (const Case& test : cases) {
    const auto selected = select_configs(pool_with_selector(test.selector), configs);
    ASSERT_FALSE(selected.ok()) << test.name;
    EXPECT_EQ(selected.error().code(), test.code) << test.name;
    EXPECT_NE(selected.error().to_string().find(test.message), std::string::npos) << selected.error().to_string();
  }
}

TEST(EffectiveOsImageStream, CustomPoolsInheritFromWorker) {
  const auto pool = [](const std::string& name, const std::string& stream) {
    kube::Object object = pool_of(name, {name});
    if (!stream.empty()) json::ensure(object.json(), {"spec", "osImageStream", "name"}) = stream;
    return object;
  };
  const kube::Object worker = pool("worker", "rhel-9");
  EXPECT_EQ(effective_os_image_stream(pool("infra", "rhel-10"), &worker), "rhel-10");
  EXPECT_EQ(effective_os_image_stream(pool("infra", ""), &worker), "rhel-9");
  EXPECT_EQ(effective_os_image_stream(pool("infra", ""), nullptr), "");
  EXPECT_EQ(effective_os_image_stream(pool("master", ""), &worker), "");
  EXPECT_EQ(effective_os_image_stream(pool("worker", ""), &worker), "");
}

}  // namespace strake::machineconfig::select_test
