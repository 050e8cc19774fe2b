#include "bootimage/check.h"

#include <functional>

#include <gtest/gtest.h>

#include "bootimage/platform.h"
#include "bootimage/report.h"
#include "bootimage/sample.h"

namespace strake::bootimage::check_test {

stream::Stream test_stream() {
  stream::Stream stream;
  stream.name = "rhcos-4.21";
  const auto publish = [&](const char* arch, const char* region, const char* ami) {
    stream::CloudImage& image = stream.architectures[arch].images["aws"].regions[region];
    image.release = "9.8.1";
    image.image = ami;
  };
  publish("x86_64", "us-east-1", "ami-x-us");
  publish("x86_64", "eu-west-1", "ami-x-eu");
  publish("aarch64", "us-east-1", "ami-a-us");
  publish("aarch64", "eu-west-1", "ami-a-eu");
  return stream;
}

kube::Object parse_object(std::string_view text) {
  Result<json::Value> value = json::parse(text);
  EXPECT_TRUE(value.ok()) << value.error().to_string();
  return kube::Object(*std::move(value));
}

kube::Object machine_set() {
  return parse_object(R"({
    "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
    "metadata": {"name": "workers", "namespace": "openshift-machine-api", "labels": {"fleet": "blue"}, "futureMeta": 1},
    "spec": {"replicas": 3, "futureSpec": {"a": [1, 2.5, null]},
      "template": {"metadata": {"labels": {"role": "worker"}},
        "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}], "providerSpec": {"futureSibling": "kept", "value": {
          "kind": "AWSMachineProviderConfig", "apiVersion": "machine.openshift.io/v1beta1",
          "ami": {"id": "ami-old", "futureAmi": true}, "instanceType": "m6i.xlarge", "metadataServiceOptions": {"authentication": "Required"},
          "placement": {"region": "us-east-1", "tenancy": "dedicated"}, "futureProvider": {"x": {"y": "z"}},
          "userDataSecret": {"name": "worker-user-data"}}}}}},
    "status": {"replicas": 3}})");
}

kube::Object control_plane_set() {
  return parse_object(R"({
    "apiVersion": "machine.openshift.io/v1", "kind": "ControlPlaneMachineSet",
    "metadata": {"name": "cluster", "namespace": "openshift-machine-api"},
    "spec": {"replicas": 3, "template": {"machineType": "machines_v1beta1_machine_openshift_io",
      "machines_v1beta1_machine_openshift_io": {"failureDomains": {"platform": "AWS"}, "spec": {"providerSpec": {"value": {
        "kind": "AWSMachineProviderConfig", "ami": {"id": "ami-old"}, "placement": {"region": "us-east-1"},
        "securityGroups": [{"id": "sg-1"}]}}}}}}})");
}

json::Value& provider_value(kube::Object& set) {
  return json::ensure(set.json(), {"spec", "template", "spec", "providerSpec", "value"});
}

/// RFC 7386, written again here so that the patch is judged by something other than the code that made it.
json::Value merged(json::Value target, const json::Value& patch) {
  if (!patch.is_object()) return patch;
  if (!target.is_object()) target = json::Object{};
  for (const auto& [key, value] : patch.get_object()) {
    if (value.is_null()) {
      target.get_object().erase(key);
    } else {
      target.get_object()[key] = merged(target.get_object()[key], value);
    }
  }
  return target;
}

TEST(BootImageCheck, CurrentAndBehind) {
  kube::Object set = machine_set();
  BootImageCheck check = check_machine_set(set, test_stream(), {});
  EXPECT_EQ(check.state, BootImageState::kBehind);
  EXPECT_EQ(check.code, CheckReason::kDiffersFromStream);
  EXPECT_EQ(check.current_image, "ami-old");
  EXPECT_EQ(check.desired_image, "ami-x-us");
  EXPECT_EQ(check.region, "us-east-1");
  EXPECT_EQ(check.arch, "x86_64");
  EXPECT_EQ(check.kind, "MachineSet");

  json::ensure(provider_value(set), {"ami", "id"}) = "ami-x-us";
  check = check_machine_set(set, test_stream(), {});
  EXPECT_EQ(check.state, BootImageState::kCurrent);
  EXPECT_TRUE(check.patch.is_null());
}

TEST(BootImageCheck, PatchChangesAmiIdAndNothingElse) {
  const kube::Object set = machine_set();
  const BootImageCheck check = check_machine_set(set, test_stream(), {});
  EXPECT_EQ(json::write(check.patch),
            R"({"spec":{"template":{"spec":{"providerSpec":{"value":{"ami":{"id":"ami-x-us"}}}}}}})");

  json::Value after = merged(set.json(), check.patch);
  EXPECT_EQ(check_machine_set(kube::Object(after), test_stream(), {}).state, BootImageState::kCurrent);
  json::ensure(after, {"spec", "template", "spec", "providerSpec", "value", "ami", "id"}) = "ami-old";
  EXPECT_EQ(json::write_canonical(after), json::write_canonical(set.json()));
}

TEST(BootImageCheck, ControlPlaneSetHasItsOwnPathAndIsOptIn) {
  kube::Object set = control_plane_set();
  EXPECT_EQ(check_machine_set(set, test_stream(), {}).code, CheckReason::kNotEnrolled);

  CheckPolicy policy;
  policy.control_plane_sets.mode = api::SelectionMode::kAll;
  // Items of a list may lack `kind`.
  set.json().get_object().erase("kind");
  const BootImageCheck check = check_machine_set(set, test_stream(), policy);
  EXPECT_EQ(check.kind, "ControlPlaneMachineSet");
  EXPECT_EQ(check.state, BootImageState::kBehind);
  json::Value after = merged(set.json(), check.patch);
  const std::initializer_list<std::string_view> path = {
      "spec", "template", "machines_v1beta1_machine_openshift_io", "spec", "providerSpec", "value", "ami", "id"};
  EXPECT_EQ(json::find_string(after, path), "ami-x-us");
  json::ensure(after, path) = "ami-old";
  EXPECT_EQ(json::write_canonical(after), json::write_canonical(set.json()));
}

TEST(BootImageCheck, EveryPlatformAnswersEveryQuestion) {
  ASSERT_FALSE(platforms().empty());
  for (const Platform* platform : platforms()) {
    EXPECT_EQ(find_platform(platform->provider_kind), platform) << "two platforms of one kind";
    EXPECT_TRUE(platform->read_present && platform->find_wanted && platform->refuse_to_replace && platform->change)
        << platform->provider_kind;
    // Whatever a set holds, it is read or refused; what nobody wrote down is refused.
    for (const char* text : {"null", "[]", "7", "{}", R"({"ami":[],"placement":"x"})"}) {
      PresentImage present;
      const json::Value spec = parse_object(text).json();
      EXPECT_TRUE(platform->read_present(spec, present).has_value()) << platform->provider_kind << " of " << text;
    }
  }
  EXPECT_EQ(find_platform(""), nullptr);
}

TEST(BootImageCheck, ArchitectureAnnotation) {
  struct Case {
    const char* name;
    const char* annotation;  // nullptr: absent
    bool multi_arch;
    BootImageState state;
    const char* arch;
  };
  const Case cases[] = {
      {"absent, one architecture", nullptr, false, BootImageState::kBehind, "x86_64"},
      {"absent, several architectures", nullptr, true, BootImageState::kSkipped, ""},
      {"amd64", "kubernetes.io/arch=amd64", true, BootImageState::kBehind, "x86_64"},
      {"arm64", "kubernetes.io/arch=arm64", false, BootImageState::kBehind, "aarch64"},
      {"among others", "a=b,kubernetes.io/arch=arm64,c=d", false, BootImageState::kBehind, "aarch64"},
      {"blanks", " a=b ,  kubernetes.io/arch=arm64 ", false, BootImageState::kBehind, "aarch64"},
      {"not published for AWS", "kubernetes.io/arch=s390x", false, BootImageState::kSkipped, "s390x"},
      {"RPM name is not the node's name", "kubernetes.io/arch=x86_64", false, BootImageState::kSkipped, ""},
      {"no value", "kubernetes.io/arch=", false, BootImageState::kSkipped, ""},
      {"only others", "a=b,c=d", false, BootImageState::kSkipped, ""},
      {"empty", "", false, BootImageState::kSkipped, ""},
      {"commas", ",,", false, BootImageState::kSkipped, ""},
  };
  for (const Case& c : cases) {
    kube::Object set = machine_set();
    if (c.annotation != nullptr) set.set_annotation("capacity.cluster-autoscaler.kubernetes.io/labels", c.annotation);
    CheckPolicy policy;
    policy.multi_arch_cluster = c.multi_arch;
    const BootImageCheck check = check_machine_set(set, test_stream(), policy);
    EXPECT_EQ(check.state, c.state) << c.name << ": " << check.reason;
    EXPECT_EQ(check.arch, c.arch) << c.name;
  }
}

TEST(BootImageCheck, EverySkipSaysWhy) {
  struct Case {
    const char* name;
    std::function<void(kube::Object&, CheckPolicy&)> change;
    CheckReason code;
    const char* mentions;
  };
  const Case cases[] = {
      {"owned",
       [](auto& set, auto&) { set.add_owner({"hive.openshift.io/v1", "MachinePool", "pool-7", "u", true, true}); },
       CheckReason::kOwned, "MachinePool pool-7"},
      {"other OS stream",
       [](auto& set, auto&) { set.set_label("machineconfiguration.openshift.io/osstream", "rhel-10"); },
       CheckReason::kOtherStream, "rhel-10"},
      {"windows",
       [](auto& set, auto&) {
         json::ensure(set.json(), {"spec", "template", "metadata", "labels", "machine.openshift.io/os-id"}) = "Windows";
       },
       CheckReason::kWindows, "Windows"},
      {"ruled by Cluster API",
       [](auto& set, auto&) { json::ensure(set.json(), {"spec", "authoritativeAPI"}) = "ClusterAPI"; },
       CheckReason::kOtherAuthority, "spec 'ClusterAPI'"},
      {"migrating",
       [](auto& set, auto&) {
         json::ensure(set.json(), {"spec", "authoritativeAPI"}) = "MachineAPI";
         json::ensure(set.json(), {"status", "authoritativeAPI"}) = "Migrating";
       },
       CheckReason::kOtherAuthority, "status 'Migrating'"},
      {"other platform",
       [](auto& set, auto&) { json::ensure(provider_value(set), {"kind"}) = "GCPMachineProviderSpec"; },
       CheckReason::kUnsupportedPlatform, "GCPMachineProviderSpec"},
      {"no provider spec",
       [](auto& set, auto&) { json::find(set.json(), {"spec", "template"})->get_object().erase("spec"); },
       CheckReason::kUnsupportedPlatform, "without a kind"},
      {"by ARN",
       [](auto& set, auto&) { json::ensure(provider_value(set), {"ami"}) = json::Object{{"arn", "arn:aws:x"}}; },
       CheckReason::kImageNotById, "ami.arn"},
      {"by filters",
       [](auto& set, auto&) {
         json::ensure(provider_value(set), {"ami"}) =
             json::Object{{"filters", json::Array{json::Object{{"name", "tag:Name"}}}}};
       },
       CheckReason::kImageNotById, "ami.filters"},
      {"no image", [](auto& set, auto&) { provider_value(set).get_object().erase("ami"); }, CheckReason::kImageNotById,
       "nowhere"},
      {"no region", [](auto& set, auto&) { provider_value(set).get_object().erase("placement"); },
       CheckReason::kRegionUnknown, "placement.region"},
      {"region not published",
       [](auto& set, auto&) { json::ensure(provider_value(set), {"placement", "region"}) = "us-gov-west-1"; },
       CheckReason::kNotPublished, "us-gov-west-1"},
      {"marketplace image", [](auto&, auto& policy) { policy.image_owners["ami-old"] = "679593333241"; },
       CheckReason::kForeignImage, "marketplace"},
      {"custom image", [](auto&, auto& policy) { policy.image_owners["ami-old"] = "123456789012"; },
       CheckReason::kForeignImage, "123456789012"},
      {"mode None", [](auto&, auto& policy) { policy.machine_sets.mode = api::SelectionMode::kNone; },
       CheckReason::kNotEnrolled, "mode All"},
      {"selector does not match",
       [](auto&, auto& policy) {
         policy.machine_sets = {api::SelectionMode::kPartial, *kube::Selector::from_labels({{"fleet", "green"}})};
       },
       CheckReason::kNotEnrolled, "selector"},
  };
  for (const Case& c : cases) {
    kube::Object set = machine_set();
    CheckPolicy policy;
    c.change(set, policy);
    const BootImageCheck check = check_machine_set(set, test_stream(), policy);
    EXPECT_EQ(check.state, BootImageState::kSkipped) << c.name;
    EXPECT_EQ(check.code, c.code) << c.name << ": " << to_string(check.code);
    EXPECT_NE(check.reason.find(c.mentions), std::string::npos) << c.name << ": " << check.reason;
    EXPECT_TRUE(check.patch.is_null()) << c.name;
  }
}

TEST(BootImageCheck, PartialSelectionAndKnownOwnerStillCompare) {
  CheckPolicy policy;
  policy.machine_sets = {api::SelectionMode::kPartial, *kube::Selector::from_labels({{"fleet", "blue"}})};
  policy.image_owners["ami-old"] = "531415883065";
  EXPECT_EQ(check_machine_set(machine_set(), test_stream(), policy).state, BootImageState::kBehind);
}

TEST(BootImageCheck, PolicyOfMachineConfiguration) {
  struct Case {
    const char* name;
    const char* text;
    api::SelectionMode machine_sets;
    api::SelectionMode control_planes;
  };
  using Mode = api::SelectionMode;
  const Case cases[] = {
      {"nothing said", R"({})", Mode::kAll, Mode::kNone},
      {"empty list opts out", R"({"spec":{"managedBootImages":{"machineManagers":[]}}})", Mode::kNone, Mode::kNone},
      {"spec", R"({"spec":{"managedBootImages":{"machineManagers":[
         {"resource":"machinesets","apiGroup":"machine.openshift.io","selection":{"mode":"None"}},
         {"resource":"controlplanemachinesets","apiGroup":"machine.openshift.io","selection":{"mode":"All"}}]}}})",
       Mode::kNone, Mode::kAll},
      {"status wins", R"({"spec":{"managedBootImages":{"machineManagers":[
         {"resource":"machinesets","apiGroup":"machine.openshift.io","selection":{"mode":"None"}}]}},
         "status":{"managedBootImagesStatus":{"machineManagers":[
         {"resource":"machinesets","apiGroup":"machine.openshift.io","selection":{"mode":"Partial","partial":{"machineResourceSelector":{}}}}]}}})",
       Mode::kPartial, Mode::kNone},
      {"other groups are not ours", R"({"spec":{"managedBootImages":{"machineManagers":[
         {"resource":"machinesets","apiGroup":"cluster.x-k8s.io","selection":{"mode":"None"}}]}}})",
       Mode::kAll, Mode::kNone},
  };
  for (const Case& c : cases) {
    const Result<CheckPolicy> policy = policy_of_machine_configuration(parse_object(c.text));
    ASSERT_TRUE(policy.ok()) << c.name << ": " << policy.error().to_string();
    EXPECT_EQ(policy->machine_sets.mode, c.machine_sets) << c.name;
    EXPECT_EQ(policy->control_plane_sets.mode, c.control_planes) << c.name;
  }
  const Result<CheckPolicy> broken = policy_of_machine_configuration(parse_object(
      R"({"metadata":{"name":"cluster"},"spec":{"managedBootImages":{"machineManagers":[
         {"resource":"machinesets","apiGroup":"machine.openshift.io","selection":{"mode":"Some"}}]}}})"));
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.error().to_string().find("machineManagers[0]: selection mode 'Some'"), std::string::npos)
      << broken.error().to_string();
}

TEST(BootImageCheck, SamplesAreOneCurrentAndOneBehind) {
  const Result<std::vector<kube::Object>> sets = sample_machine_sets(test_stream());
  ASSERT_TRUE(sets.ok()) << sets.error().to_string();
  const BootImageReport report = check_all(*sets, {}, test_stream(), {});
  ASSERT_EQ(report.items.size(), 2u);
  EXPECT_EQ(report.items[0].key.name, "sample-eu-west-1b");
  EXPECT_EQ(report.items[0].state, BootImageState::kBehind);
  EXPECT_EQ(report.items[0].arch, "aarch64");
  EXPECT_EQ(report.items[1].state, BootImageState::kCurrent);
  EXPECT_EQ(report.exit_code(), 2);

  stream::Stream empty;
  EXPECT_FALSE(sample_machine_sets(empty).ok());
}

TEST(BootImageCheck, ReportOrderExitCodeAndRendering) {
  kube::Object current = machine_set();
  json::ensure(current.json(), {"metadata", "name"}) = "a";
  json::ensure(provider_value(current), {"ami", "id"}) = "ami-x-us";
  const std::vector<kube::Object> only_current{current};
  EXPECT_EQ(check_all(only_current, {}, test_stream(), {}).exit_code(), 0);
  EXPECT_EQ(check_all({}, {}, test_stream(), {}).exit_code(), 0);
  kube::Object unpublished = machine_set();
  json::ensure(provider_value(unpublished), {"placement", "region"}) = "us-gov-west-1";
  EXPECT_EQ(check_all(std::vector{current, unpublished}, {}, test_stream(), {}).exit_code(), 3);
  EXPECT_EQ(check_all(std::vector{machine_set(), unpublished}, {}, test_stream(), {}).exit_code(), 2);

  const std::vector<kube::Object> sets{machine_set(), current};
  const std::vector<kube::Object> control_planes{control_plane_set()};
  const BootImageReport report = check_all(sets, control_planes, test_stream(), {});
  EXPECT_EQ(
      render_text(report),
      "NAME                             STATE     ARCH     REGION      CURRENT    DESIRED    REASON\n"
      "controlplanemachineset/cluster   skipped   -        -           -          -          boot images of "
      "controlplanemachinesets are not managed here; set managedBootImages mode All for controlplanemachinesets in "
      "MachineConfiguration cluster to change that\n"
      "machineset/a                     current   x86_64   us-east-1   ami-x-us   ami-x-us   boots the image of the "
      "current release\n"
      "machineset/workers               behind    x86_64   us-east-1   ami-old    ami-x-us   the current release "
      "publishes another image, 9.8.1 (who owns the present one was not checked)\n"
      "1 current, 1 behind, 1 skipped\n");

  const json::Value rendered = render_json(report);
  ASSERT_EQ(rendered.at("items").as_array().size(), 3u);
  const json::Value& behind = rendered.at("items").as_array()[2];
  EXPECT_EQ(json::find_string(behind, {"state"}), "behind");
  EXPECT_EQ(json::find_string(behind, {"reason"}), "DiffersFromStream");
  EXPECT_NE(json::find(behind, {"patch", "spec"}), nullptr);
  EXPECT_EQ(json::find(rendered.at("items").as_array()[1], {"patch"}), nullptr);
  EXPECT_EQ(json::find_int(rendered, {"summary", "behind"}), 1);
}

}  // namespace strake::bootimage::check_test
