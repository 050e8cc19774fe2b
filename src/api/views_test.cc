// Views: they read what is there, write only what the schema declares, and keep everything else.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "api/conditions.h"
#include "api/config_generator.h"
#include "api/controller_config.h"
#include "api/image_policy.h"
#include "api/kinds.h"
#include "api/machine_config.h"
#include "api/machine_config_node.h"
#include "api/machine_config_pool.h"
#include "api/machine_configuration.h"
#include "api/machine_set.h"
#include "api/mirror_policy.h"
#include "api/node_annotations.h"
#include "api/os_image_stream.h"
#include "api/strake_config.h"
#include "api/testing/schema.h"
#include "codec/json_patch.h"
#include "support/places.h"

namespace strake::api::views_test {

struct NamedTable {
  std::string_view kind;
  std::span<const std::string_view> paths;
};

template <std::size_t N>
NamedTable table(const FieldTable<N>& fields) {
  return {fields.qualified_kind(), fields.paths()};
}

const NamedTable kTables[] = {
    table(kControllerConfigFields),
    table(kControlPlaneMachineSetFields),
    table(kMachineConfigFields),
    table(kMachineConfigNodeFields),
    table(kMachineConfigPoolFields),
    table(kMachineConfigurationFields),
    table(kMachineSetFields),
    table(kOsImageStreamFields),
    table(kStrakeConfigFields),
    table(kKubeletConfigFields),
    table(kContainerRuntimeConfigFields),
    table(kImageDigestMirrorSetFields),
    table(kImageTagMirrorSetFields),
    table(kImageContentSourcePolicyFields),
    table(kImageConfigFields),
    table(kClusterImagePolicyFields),
};

json::Value parse(std::string_view text) { return *json::parse(text); }

std::string undeclared(const kube::Resource& resource, const json::Value& object) {
  const Result<testing::Crd> crd = testing::load_crd(resource.qualified_name());
  if (!crd.ok()) return crd.error().to_string();
  return fmt::format("{}", fmt::join(testing::undeclared_members(crd->schema(), object), " "));
}

TEST(FieldTables, EveryPathIsDeclaredByItsCrd) {
  for (const NamedTable& fields : kTables) {
    SCOPED_TRACE(fields.kind);
    const Result<testing::Crd> crd = testing::load_crd(fields.kind);
    ASSERT_TRUE(crd.ok()) << crd.error().to_string();
    for (const std::string_view path : fields.paths) {
      EXPECT_NE(testing::schema_at(crd->schema(), path), nullptr) << path;
    }
  }
}

TEST(FieldTables, AllOfThemAreInTheListAbove) {
  std::size_t declared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_folder() / "src/api")) {
    if (entry.path().extension() != ".h") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) declared += line.starts_with("inline constexpr FieldTable k");
  }
  EXPECT_EQ(declared, std::size(kTables));
}

TEST(Field, ReadsAbsentNullAndWrongTypesAsEmpty) {
  for (const char* text :
       {"{}", "[]", R"({"spec":null})", R"({"spec":{"osImageURL":7,"fips":"yes","extensions":{}}})"}) {
    SCOPED_TRACE(text);
    const json::Value object = parse(text);
    const MachineConfigView config(object);
    EXPECT_EQ(config.os_image_url(), "");
    EXPECT_FALSE(config.fips());
    EXPECT_TRUE(config.extensions().empty());
    EXPECT_EQ(config.config(), nullptr);
    EXPECT_EQ(config.ignition_version(), "");
  }
}

TEST(MachineConfig, ReadsAndWritesInPlace) {
  json::Value object =
      parse(R"({"spec":{"future":1,"config":{"ignition":{"version":"3.4.0"}},"kernelArguments":["a b","c"],
    "extensions":["usbguard"],"fips":true,"kernelType":"realtime","osImageURL":"q@x"}})");
  MachineConfigEdit config(object);
  EXPECT_EQ(config.ignition_version(), "3.4.0");
  EXPECT_EQ(config.kernel_arguments(), (std::vector<std::string>{"a b", "c"}));
  EXPECT_EQ(config.extensions(), std::vector<std::string>{"usbguard"});
  EXPECT_TRUE(config.fips());
  EXPECT_EQ(config.kernel_type(), "realtime");
  EXPECT_EQ(config.os_image_url(), "q@x");

  config.set_whole_spec(parse(R"({"kernelArguments":["k=1"],"fips":false,"baseOSExtensionsContainerImage":"e"})"));
  config.set_config(parse(R"({"ignition":{"version":"3.5.0"}})"));
  EXPECT_EQ(
      json::write(object),
      R"({"spec":{"future":1,"config":{"ignition":{"version":"3.5.0"}},"kernelArguments":["k=1"],"extensions":null,)"
      R"("fips":false,"kernelType":null,"osImageURL":null,"baseOSExtensionsContainerImage":"e"}})");
  EXPECT_EQ(undeclared(kMachineConfig, object), "spec.future");
}

TEST(MachineConfigPool, TargetIsReachedAsAWhole) {
  json::Value object = parse(R"({"metadata":{"name":"worker"},"spec":{"configuration":{"name":"old","uid":"kept"},
    "machineConfigSelector":{"matchLabels":{"a":"b"}},"nodeSelector":{},"osImageStream":{"name":"rhel-10"}}})");
  MachineConfigPoolEdit pool(object);
  ASSERT_NE(pool.machine_config_selector(), nullptr);
  ASSERT_NE(pool.node_selector(), nullptr);
  EXPECT_EQ(pool.os_image_stream(), "rhel-10");
  EXPECT_FALSE(pool.paused());
  EXPECT_EQ(pool.reached(), "");

  pool.set_paused(true);
  pool.set_target("rendered-worker-1", std::vector<std::string>{"00-worker", "99-user"});
  EXPECT_TRUE(pool.paused());
  EXPECT_EQ(pool.target(), "rendered-worker-1");
  EXPECT_EQ(pool.target_sources(), (std::vector<std::string>{"00-worker", "99-user"}));
  EXPECT_EQ(pool.reached(), "");

  pool.mark_target_reached();
  EXPECT_EQ(pool.reached(), "rendered-worker-1");
  EXPECT_EQ(pool.reached_sources(), pool.target_sources());
  EXPECT_EQ(json::find_string(object, {"status", "configuration", "uid"}), "kept");

  const PoolCounts counts{5, 4, 3, 2, 1};
  pool.set_counts(counts);
  EXPECT_EQ(pool.counts(), counts);
  pool.set_observed_generation(9);
  EXPECT_EQ(pool.observed_generation(), 9);
  pool.set_node_selector(json::Object{{"matchLabels", json::Object{{"c", "d"}}}});
  EXPECT_EQ(json::find_string(*pool.node_selector(), {"matchLabels", "c"}), "d");
  EXPECT_EQ(undeclared(kMachineConfigPool, object), "");
}

TEST(MachineConfigPool, NothingIsReachedWithoutATarget) {
  json::Value object = parse("{}");
  MachineConfigPoolEdit(object).mark_target_reached();
  EXPECT_EQ(json::write(object), "{}");
}

TEST(MachineConfigNode, ReadsWhatIsWishedAndWhatIsReported) {
  const json::Value object = parse(
      R"({"spec":{"configVersion":{"desired":"r-2"}},"status":{"configVersion":{"current":"r-1","desired":"r-2"}}})");
  const MachineConfigNodeView node(object);
  EXPECT_EQ(node.desired_config(), "r-2");
  EXPECT_EQ(node.current_config(), "r-1");
  EXPECT_EQ(node.accepted_config(), "r-2");
  EXPECT_EQ(undeclared(kMachineConfigNode, object), "");
}

TEST(ControllerConfig, ReadsAndWrites) {
  json::Value object = parse(R"({"spec":{"infra":null,"rootCAData":"Y2E=","osImageURL":"old","kept":1}})");
  ControllerConfigEdit config(object);
  EXPECT_EQ(config.infrastructure(), nullptr);
  EXPECT_EQ(config.root_ca_base64(), "Y2E=");
  EXPECT_EQ(config.legacy_os_image(), "old");
  config.set_release_image("r@1");
  config.set_base_os_images("os@1", "ext@1");
  config.set_observed_generation(2);
  EXPECT_EQ(config.release_image(), "r@1");
  EXPECT_EQ(config.base_os_image(), "os@1");
  EXPECT_EQ(config.base_os_extensions_image(), "ext@1");
  EXPECT_EQ(config.observed_generation(), 2);
  EXPECT_EQ(undeclared(kControllerConfig, object), "spec.kept");
}

TEST(OsImageStream, ResolvesPoolThenInheritedThenDefault) {
  json::Value object = parse("{}");
  OsImageStreamEdit stream(object);
  EXPECT_EQ(stream.resolve("").error().code(), Code::kNotFound);
  const std::vector<OsStream> streams{{"rhel-9", "os9", "ext9"}, {"rhel-10", "os10", "ext10"}};
  stream.set_status("rhel-9", streams);
  EXPECT_EQ(stream.streams(), streams);
  EXPECT_EQ(stream.resolve("")->os_image, "os9");
  EXPECT_EQ(stream.resolve("", "rhel-10")->os_image, "os10");
  EXPECT_EQ(stream.resolve("rhel-9", "rhel-10")->extensions_image, "ext9");
  const Result<OsStream> missing = stream.resolve("rhel-8");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message().find("rhel-9, rhel-10"), std::string::npos);
  EXPECT_EQ(undeclared(kOsImageStream, object), "");
}

TEST(MachineSet, FindsTheProviderSpecOfBothKinds) {
  json::Value set = parse(
      R"({"kind":"MachineSet","spec":{"template":{"spec":{"providerSpec":{"value":{"kind":"AWSMachineProviderConfig","ami":{"id":"ami-1"}}}}}}})");
  json::Value control_plane =
      parse(R"({"kind":"ControlPlaneMachineSet","spec":{"template":{"machines_v1beta1_machine_openshift_io":
    {"spec":{"providerSpec":{"value":{"kind":"GCPMachineProviderSpec"}}}}}}})");
  EXPECT_EQ(MachineSetView(set).provider_kind(), "AWSMachineProviderConfig");
  EXPECT_TRUE(MachineSetView(control_plane).is_control_plane());
  EXPECT_EQ(MachineSetView(control_plane).provider_kind(), "GCPMachineProviderSpec");
  const json::Value change = parse(R"({"ami":{"id":"ami-2"}})");
  for (const json::Value* object : {&set, &control_plane}) {
    const json::Value patched = json::apply_merge_patch(*object, MachineSetView(*object).provider_spec_patch(change));
    EXPECT_EQ(json::find_string(*MachineSetView(patched).provider_spec(), {"ami", "id"}), "ami-2");
    EXPECT_EQ(MachineSetView(patched).provider_kind(), MachineSetView(*object).provider_kind()) << "the rest stays";
  }
  EXPECT_EQ(undeclared(kMachineSet, set), "");
  EXPECT_EQ(undeclared(kControlPlaneMachineSet, control_plane), "");
  const json::Value empty = parse("{}");
  EXPECT_EQ(MachineSetView(empty).provider_spec(), nullptr);
}

TEST(MachineSet, KnowsTheLabelsOfItsMachines) {
  const json::Value set = parse(R"({"spec":{"template":{"metadata":{"labels":{"a":"1"}}}}})");
  const json::Value nested = parse(R"({"spec":{"template":{"spec":{"metadata":{"labels":{"a":"2"}}}}}})");
  const json::Value control_plane =
      parse(R"({"spec":{"template":{"machines_v1beta1_machine_openshift_io":{"metadata":{"labels":{"a":"3"}}}}}})");
  EXPECT_EQ(MachineSetView(set).machine_labels("a"), std::vector<std::string>{"1"});
  EXPECT_EQ(MachineSetView(nested).machine_labels("a"), std::vector<std::string>{"2"});
  EXPECT_EQ(MachineSetView(control_plane).machine_labels("a"), std::vector<std::string>{"3"});
  EXPECT_TRUE(MachineSetView(control_plane).is_control_plane()) << "known by its template, without its kind";
  EXPECT_TRUE(MachineSetView(set).machine_labels("b").empty());
}

TEST(MachineSet, KnowsItsAuthority) {
  struct Case {
    const char* object;
    bool ours;
  };
  for (const Case& test :
       {Case{"{}", true}, Case{R"({"spec":{"authoritativeAPI":"MachineAPI"}})", true},
        Case{R"({"spec":{"authoritativeAPI":"ClusterAPI"}})", false},
        Case{R"({"spec":{"authoritativeAPI":"MachineAPI"},"status":{"authoritativeAPI":"Migrating"}})", false}}) {
    SCOPED_TRACE(test.object);
    const json::Value object = parse(test.object);
    EXPECT_EQ(MachineSetView(object).owned_by_machine_api(), test.ours);
  }
}

TEST(MachineConfiguration, TellsNoOpinionFromOptedOut) {
  const json::Value silent = parse(R"({"spec":{}})");
  const json::Value out = parse(R"({"spec":{"managedBootImages":{"machineManagers":[]}}})");
  EXPECT_FALSE(MachineConfigurationView(silent).wished_managers()->has_value());
  ASSERT_TRUE(MachineConfigurationView(out).wished_managers()->has_value());
  EXPECT_TRUE((*MachineConfigurationView(out).wished_managers())->empty());
}

TEST(MachineConfiguration, ReadsManagers) {
  json::Value object = parse(
      R"({"spec":{"managedBootImages":{"machineManagers":[{"resource":"machinesets","apiGroup":"machine.openshift.io",
    "selection":{"mode":"Partial","partial":{"machineResourceSelector":{"matchLabels":{"a":"b"}}}}}]},
    "bootImageSkewEnforcement":{"mode":"None"},"irreconcilableValidationOverrides":{"storage":["Raid"]},
    "nodeDisruptionPolicy":{"sshkey":{"actions":[{"type":"None"}]}}}})");
  const json::Value managers = *json::find(object, {"spec", "managedBootImages", "machineManagers"});
  json::ensure(object, {"status", "managedBootImagesStatus", "machineManagers"}) = managers;
  const MachineConfigurationView view(object);
  const auto wished = view.wished_managers();
  ASSERT_TRUE(wished.ok() && wished->has_value());
  ASSERT_EQ((*wished)->size(), 1u);
  const MachineManager& manager = (*wished)->front();
  EXPECT_EQ(manager.resource, "machinesets");
  EXPECT_EQ(manager.mode, SelectionMode::kPartial);
  EXPECT_EQ(json::find_string(manager.selector, {"matchLabels", "a"}), "b");
  EXPECT_EQ(view.wished_skew_mode(), "None");
  EXPECT_EQ(view.effective_skew_mode(), "");
  EXPECT_EQ(view.irreconcilable_storage(), std::vector<std::string>{"Raid"});
  ASSERT_NE(view.wished_disruption_policy(), nullptr);
  EXPECT_EQ(view.effective_disruption_policy(), nullptr);
  EXPECT_EQ((*view.effective_managers())->front().mode, SelectionMode::kPartial);
  EXPECT_EQ(undeclared(kMachineConfiguration, object), "");
}

TEST(MachineConfiguration, RefusesAnUnknownMode) {
  const json::Value object = parse(
      R"({"spec":{"managedBootImages":{"machineManagers":[{"resource":"machinesets","selection":{"mode":"Most"}}]}}})");
  const auto managers = MachineConfigurationView(object).wished_managers();
  ASSERT_FALSE(managers.ok());
  EXPECT_EQ(managers.error().code(), Code::kInvalidArgument);
}

TEST(StrakeConfig, SetsAndClearsModes) {
  json::Value object = parse("{}");
  StrakeConfigEdit config(object);
  EXPECT_FALSE(config.mode("rollout")->has_value());
  config.set_mode("rollout", Mode::kAssist);
  config.set_mode("bootimage", Mode::kOwn);
  EXPECT_EQ(*config.mode("rollout"), Mode::kAssist);
  EXPECT_EQ(config.modes()->size(), 2u);
  EXPECT_EQ(undeclared(kStrakeConfig, object), "");
  config.set_mode("rollout", std::nullopt);
  EXPECT_EQ(json::write(object), R"({"spec":{"modes":{"rollout":null,"bootimage":"own"}}})");
  EXPECT_FALSE(config.mode("rollout")->has_value());
  const json::Value wrong = parse(R"({"spec":{"modes":{"rollout":"full"}}})");
  EXPECT_NE(StrakeConfigView(wrong).mode("other").error().to_string().find("spec.modes.rollout"), std::string::npos);
}

}  // namespace strake::api::views_test
