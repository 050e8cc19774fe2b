#include "release/publish.h"

#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "api/conditions.h"
#include "api/kinds.h"
#include "api/release_contents.h"
#include "codec/json_patch.h"
#include "release/sample.h"
#include "support/temp_dir.h"

namespace strake::release::publish_test {

using kube::Call;
using kube::Object;
using kube::ObjectKey;
using kube::Resource;

/// An API server as far as a publication can tell: versions, generations, and status written only through its
/// subresource.
class SmallApi final : public kube::KubeApi {
 public:
  std::map<std::pair<std::string, ObjectKey>, Object> objects;
  std::function<void(const Resource&, const ObjectKey&)> before_write = [](const Resource&, const ObjectKey&) {};
  int writes = 0;

  Object& at(const Resource& resource, const ObjectKey& key) { return objects.at({resource.qualified_name(), key}); }

  Result<Object> get(const Resource& resource, const ObjectKey& key, const Call&) override {
    const auto found = objects.find({resource.qualified_name(), key});
    if (found == objects.end()) return error(Code::kNotFound, "{} not found", key.to_string());
    return found->second;
  }

  Result<Object> create(const Resource& resource, const Object& object, const kube::WriteOptions&,
                        const Call&) override {
    before_write(resource, object.key());
    if (objects.contains({resource.qualified_name(), object.key()})) {
      return error(Code::kExists, "{} exists", object.key().to_string());
    }
    Object stored = object;
    if (has_status(resource)) stored.json().get_object().erase("status");
    json::ensure(stored.json(), {"metadata", "generation"}) = 1;
    return store(resource, std::move(stored));
  }

  Result<Object> patch(const Resource& resource, const ObjectKey& key, kube::PatchType type, const json::Value& patch,
                       const kube::WriteOptions& options, const Call&) override {
    before_write(resource, key);
    EXPECT_EQ(type, kube::PatchType::kMerge);
    const auto found = objects.find({resource.qualified_name(), key});
    if (found == objects.end()) return error(Code::kNotFound, "{} not found", key.to_string());
    const std::string expected = json::find_string(patch, {"metadata", "resourceVersion"}).value_or("");
    if (!expected.empty() && expected != found->second.resource_version())
      return error(Code::kConflict, "changed meanwhile");
    const json::Value& before = found->second.json();
    json::Value after = json::apply_merge_patch(before, patch);
    if (options.subresource == "status") {
      json::Value status = after.get_object()["status"];
      after = before;
      after.get_object()["status"] = std::move(status);
    } else {
      if (has_status(resource)) restore_status(before, after);
      if (member(before, "spec") != member(after, "spec")) {
        json::ensure(after, {"metadata", "generation"}) = found->second.generation() + 1;
      }
    }
    return store(resource, Object(std::move(after)));
  }

  Result<kube::ListPage> list(const Resource&, const std::string&, const kube::ListOptions&, const Call&) override {
    return no();
  }
  Result<std::unique_ptr<kube::WatchStream>> watch(const Resource&, const std::string&, const kube::WatchOptions&,
                                                   const Call&) override {
    return no();
  }
  Result<Object> update(const Resource&, const Object&, const kube::WriteOptions&, const Call&) override {
    return no();
  }
  Result<Object> remove(const Resource&, const ObjectKey&, const kube::DeleteOptions&, const Call&) override {
    return no();
  }
  Status remove_collection(const Resource&, const std::string&, const kube::ListOptions&, const kube::DeleteOptions&,
                           const Call&) override {
    return no();
  }
  Status evict(const ObjectKey&, const kube::DeleteOptions&, const Call&) override { return no(); }

 private:
  static Error no() { return error(Code::kUnsupported, "a publication does not need this"); }
  static bool has_status(const Resource& resource) {
    return resource.kind == "ControllerConfig" || resource.kind == "OSImageStream" ||
           resource.kind == "MachineConfigPool";
  }
  static std::string member(const json::Value& object, std::string_view name) {
    const json::Value* value = json::find(object, {name});
    return value == nullptr ? "" : json::write_canonical(*value);
  }
  static void restore_status(const json::Value& before, json::Value& after) {
    after.get_object().erase("status");
    if (const json::Value* status = json::find(before, {"status"})) after.get_object()["status"] = *status;
  }

  Result<Object> store(const Resource& resource, Object object) {
    json::ensure(object.json(), {"metadata", "resourceVersion"}) = std::to_string(++version_);
    ++writes;
    return objects.insert_or_assign({resource.qualified_name(), object.key()}, std::move(object)).first->second;
  }

  int version_ = 0;
};

ReleasePayload sample(SampleRelease which) {
  const test::TempDir dir;
  EXPECT_TRUE(write_sample_release(dir.path(), which).ok());
  Result<ReleasePayload> payload = read_payload_of_layout(dir.path(), kSampleReleaseReference);
  EXPECT_TRUE(payload.ok()) << payload.error().to_string();
  return *std::move(payload);
}

/// What it is believed for is another test's matter.
ProvenRelease taken(ReleasePayload payload) { return ProvenRelease::accept_unsigned(std::move(payload)); }

Publisher publisher(std::string version = "0.1.0") {
  return {std::move(version), std::chrono::system_clock::time_point(std::chrono::seconds(1'800'000'000))};
}

std::vector<std::string> step_names(const std::vector<PublicationStep>& steps) {
  std::vector<std::string> names;
  for (const PublicationStep& step : steps) names.push_back(step.to_string());
  return names;
}

const ObjectKey kController{"", "machine-config-controller"};
const ObjectKey kStreams{"", "cluster"};
const ObjectKey kContents{"openshift-machine-config-operator", "strake-release"};
const ObjectKey kBootImages{"openshift-machine-config-operator", "coreos-bootimages"};

TEST(Publish, FirstReleaseOnAnEmptyCluster) {
  SmallApi api;
  const ReleasePayload a = sample(SampleRelease::kA);
  const auto steps = publish(api, taken(a), publisher(), {});
  ASSERT_TRUE(steps.ok()) << steps.error().to_string();
  EXPECT_EQ(step_names(*steps),
            (std::vector<std::string>{
                "create namespaces openshift-machine-config-operator",
                "create controllerconfigs.machineconfiguration.openshift.io machine-config-controller",
                "create configmaps openshift-machine-config-operator/strake-release",
                "create osimagestreams.machineconfiguration.openshift.io cluster",
                "patch status of osimagestreams.machineconfiguration.openshift.io cluster",
                "create configmaps openshift-machine-config-operator/coreos-bootimages",
                "create machineconfigpools.machineconfiguration.openshift.io master",
                "create machineconfigpools.machineconfiguration.openshift.io worker",
                "patch status of controllerconfigs.machineconfiguration.openshift.io machine-config-controller"}));

  const Object& controller = api.at(api::kControllerConfig, kController);
  EXPECT_EQ(controller.annotation("machineconfiguration.openshift.io/generated-by-version"), "0.1.0");
  EXPECT_EQ(controller.annotation("machineconfiguration.openshift.io/release-image-version"), a.version);
  EXPECT_EQ(controller.text({"spec", "baseOSContainerImage"}), a.os_streams[0].image.pull_spec);
  EXPECT_EQ(controller.text({"spec", "releaseImage"}), a.pull_spec);
  EXPECT_EQ(json::find(controller.json(), {"status", "observedGeneration"}), nullptr)
      << "the template controller's, when the base configs are made";
  EXPECT_FALSE(api::find_condition(controller.json(), "TemplateControllerCompleted"));
  EXPECT_EQ(api::find_condition(controller.json(), "ReleaseSigned")->last_transition_time, "2027-01-15T08:00:00Z");

  const Object& streams = api.at(api::kOsImageStream, kStreams);
  EXPECT_EQ(streams.annotation("machineconfiguration.openshift.io/release-image-version"), "0.1.0");
  EXPECT_EQ(streams.text({"status", "defaultStream"}), "rhel-9");
  const json::Value& stream = json::find(streams.json(), {"status", "availableStreams"})->as_array().at(0);
  EXPECT_EQ(json::find_string(stream, {"osImage"}), a.os_streams[0].image.pull_spec);
  EXPECT_EQ(json::find_string(stream, {"osExtensionsImage"}), a.os_streams[0].extensions->pull_spec);

  const auto contents = api::parse_release_contents(api.at(kube::core::kConfigMap, kContents).json());
  ASSERT_TRUE(contents.ok()) << contents.error().to_string();
  EXPECT_EQ(contents->release_image, a.pull_spec);
  EXPECT_EQ(contents->release_version, a.version);
  ASSERT_EQ(contents->base_configs.size(), 2u);
  EXPECT_EQ(json::find_string(contents->base_configs.at("worker"), {"config", "ignition", "version"}), "3.5.0");
  ASSERT_EQ(contents->os_images.size(), 1u);
  ASSERT_TRUE(contents->os_images[0].has_value()) << "the OS image lies beside the release, and was looked into";
  EXPECT_EQ(contents->os_images[0]->image, a.os_streams[0].image.pull_spec);
  EXPECT_TRUE(contents->os_images[0]->files.empty());

  const Object& pool = api.at(api::kMachineConfigPool, {"", "master"});
  EXPECT_TRUE(pool.label("operator.machineconfiguration.openshift.io/required-for-upgrade").has_value());
  EXPECT_EQ(json::find_string(pool.json(), {"spec", "nodeSelector", "matchLabels", "node-role.kubernetes.io/master"}),
            "");
  EXPECT_EQ(api.at(kube::core::kConfigMap, kBootImages).text({"data", "releaseVersion"}), a.version);
}

TEST(Publish, SecondTimeThereIsNothingToDo) {
  SmallApi api;
  const ReleasePayload a = sample(SampleRelease::kA);
  ASSERT_TRUE(publish(api, taken(a), publisher(), {}).ok());
  const int writes = api.writes;
  Publisher later = publisher();
  later.now += std::chrono::hours(1);
  const auto steps = publish(api, taken(a), later, {});
  ASSERT_TRUE(steps.ok()) << steps.error().to_string();
  EXPECT_EQ(step_names(*steps), std::vector<std::string>{});
  EXPECT_EQ(api.writes, writes);
}

TEST(Publish, UpgradeChangesExactlyWhatDiffers) {
  SmallApi api;
  const ReleasePayload a = sample(SampleRelease::kA);
  const ReleasePayload b = sample(SampleRelease::kB);
  ASSERT_TRUE(publish(api, taken(a), publisher(), {}).ok());
  // Somebody else's fields on our objects.
  json::ensure(api.at(kube::core::kConfigMap, kBootImages).json(), {"data", "MCOVersionHash"}) = "abc";
  json::ensure(api.at(api::kControllerConfig, kController).json(), {"spec", "clusterDNSIP"}) = "10.0.0.10";
  json::ensure(api.at(kube::core::kConfigMap, kContents).json(), {"metadata", "annotations", "mine"}) = "yes";
  json::ensure(api.at(api::kMachineConfigPool, {"", "worker"}).json(), {"spec", "maxUnavailable"}) = 3;

  const auto steps = publish(api, taken(b), publisher(), {});
  ASSERT_TRUE(steps.ok()) << steps.error().to_string();
  EXPECT_EQ(step_names(*steps),
            (std::vector<std::string>{
                "patch controllerconfigs.machineconfiguration.openshift.io machine-config-controller",
                "patch configmaps openshift-machine-config-operator/strake-release",
                "patch status of osimagestreams.machineconfiguration.openshift.io cluster",
                "patch osimagestreams.machineconfiguration.openshift.io cluster",
                "patch configmaps openshift-machine-config-operator/coreos-bootimages",
                "patch status of controllerconfigs.machineconfiguration.openshift.io machine-config-controller"}));
  const auto worker_arguments = [&] {
    const auto contents = api::parse_release_contents(api.at(kube::core::kConfigMap, kContents).json());
    return json::write(*json::find(contents->base_configs.at("worker"), {"kernelArguments"}));
  };
  EXPECT_EQ(worker_arguments(), R"(["audit=1","mitigations=auto"])");

  EXPECT_EQ(api.at(kube::core::kConfigMap, kBootImages).text({"data", "MCOVersionHash"}), "abc");
  EXPECT_EQ(api.at(kube::core::kConfigMap, kBootImages).text({"data", "stream"}), b.boot_images->stream);
  const Object& controller = api.at(api::kControllerConfig, kController);
  EXPECT_EQ(controller.text({"spec", "clusterDNSIP"}), "10.0.0.10");
  EXPECT_EQ(controller.text({"spec", "baseOSContainerImage"}), b.os_streams[0].image.pull_spec);
  EXPECT_EQ(api.at(kube::core::kConfigMap, kContents).annotation("mine"), "yes");
  EXPECT_EQ(json::find_int(api.at(api::kMachineConfigPool, {"", "worker"}).json(), {"spec", "maxUnavailable"}), 3);
  EXPECT_EQ(step_names(*publish(api, taken(b), publisher(), {})), std::vector<std::string>{});

  // And back again: what B added goes.
  Publisher back = publisher();
  back.allow_downgrade = true;
  ASSERT_TRUE(publish(api, taken(a), back, {}).ok());
  EXPECT_EQ(worker_arguments(), R"(["audit=1"])");
}

TEST(Publish, RenderingIsHeldBackUntilEverythingIsThere) {
  SmallApi api;
  ASSERT_TRUE(publish(api, taken(sample(SampleRelease::kA)), publisher(), {}).ok());
  json::ensure(api.at(api::kControllerConfig, kController).json(), {"status", "observedGeneration"}) = 1;
  // While the other objects change, ControllerConfig must look unfinished to whoever renders.
  int gated_writes = 0;
  api.before_write = [&](const Resource& resource, const ObjectKey&) {
    if (resource.kind == "ControllerConfig") return;
    const Object& controller = api.at(api::kControllerConfig, kController);
    EXPECT_EQ(controller.generation(), 2) << resource.kind;
    ++gated_writes;
  };
  ASSERT_TRUE(publish(api, taken(sample(SampleRelease::kB)), publisher(), {}).ok());
  EXPECT_EQ(gated_writes, 4);
  EXPECT_EQ(json::find_int(api.at(api::kControllerConfig, kController).json(), {"status", "observedGeneration"}), 1)
      << "publishing opens no gate";
}

TEST(Publish, WhatIsTooMuchForOneObjectIsRefusedBeforeAnythingIsWritten) {
  SmallApi api;
  ReleasePayload large = sample(SampleRelease::kA);
  json::ensure(large.base_configs.at("worker"), {"config", "note"}) = std::string(api::kMaxReleaseContentsBytes, 'x');
  const auto steps = publish(api, taken(large), publisher(), {});
  ASSERT_FALSE(steps.ok());
  EXPECT_NE(steps.error().to_string().find("the limit is 1000000"), std::string::npos) << steps.error().to_string();
  EXPECT_EQ(api.writes, 0);
}

TEST(Publish, NewStrakeVersionRestampsOnlyAnnotations) {
  SmallApi api;
  const ReleasePayload a = sample(SampleRelease::kA);
  ASSERT_TRUE(publish(api, taken(a), publisher("0.1.0"), {}).ok());
  const auto steps = publish(api, taken(a), publisher("0.2.0"), {});
  ASSERT_TRUE(steps.ok());
  for (const PublicationStep& step : *steps) {
    if (step.action == PublicationStep::Action::kPatchStatus) continue;
    EXPECT_EQ(json::find(step.body, {"spec"}), nullptr) << step.to_string();
    EXPECT_NE(json::find(step.body, {"metadata", "annotations"}), nullptr) << step.to_string();
  }
  EXPECT_EQ(
      api.at(api::kControllerConfig, kController).annotation("machineconfiguration.openshift.io/generated-by-version"),
      "0.2.0");
}

TEST(Publish, LostRacesAreRunAgain) {
  SmallApi api;
  const ReleasePayload a = sample(SampleRelease::kA);
  // Somebody creates the worker pool between our look and our write, once, and touches ControllerConfig at every status
  // write, twice.
  bool pool_created = false;
  int touches = 0;
  api.before_write = [&](const Resource& resource, const ObjectKey& key) {
    if (resource.kind == "MachineConfigPool" && key.name == "worker" && !pool_created) {
      pool_created = true;
      Object pool(api::kMachineConfigPool, key);
      json::ensure(pool.json(), {"spec", "maxUnavailable"}) = "50%";
      json::ensure(pool.json(), {"metadata", "resourceVersion"}) = "900";
      api.objects.insert_or_assign({api::kMachineConfigPool.qualified_name(), key}, pool);
    }
    if (resource.kind == "ControllerConfig" && api.objects.contains({resource.qualified_name(), key}) && touches < 2) {
      ++touches;
      json::ensure(api.at(resource, key).json(), {"metadata", "resourceVersion"}) = fmt::format("9{}", touches);
    }
  };
  const auto steps = publish(api, taken(a), publisher(), {});
  ASSERT_TRUE(steps.ok()) << steps.error().to_string();
  EXPECT_TRUE(pool_created);
  EXPECT_EQ(touches, 2);
  const Object& pool = api.at(api::kMachineConfigPool, {"", "worker"});
  EXPECT_EQ(pool.text({"spec", "maxUnavailable"}), "50%");  // a pool's spec is the user's
  EXPECT_TRUE(pool.label("machineconfiguration.openshift.io/mco-built-in").has_value());
  EXPECT_TRUE(api::find_condition(api.at(api::kControllerConfig, kController).json(), "ReleaseSigned"));
}

TEST(Publish, EndlessConflictIsReported) {
  SmallApi api;
  int version = 900;
  api.before_write = [&](const Resource& resource, const ObjectKey& key) {
    if (api.objects.contains({resource.qualified_name(), key})) {
      json::ensure(api.at(resource, key).json(), {"metadata", "resourceVersion"}) = std::to_string(++version);
    }
  };
  const auto steps = publish(api, taken(sample(SampleRelease::kA)), publisher(), {});
  ASSERT_FALSE(steps.ok());
  EXPECT_EQ(steps.error().code(), Code::kConflict);
  EXPECT_NE(steps.error().to_string().find("publishing release 4.21.0-sample-a"), std::string::npos);
}

TEST(Publish, ReleaseWithoutBaseConfigsOrBootImages) {
  ReleasePayload bare = sample(SampleRelease::kA);
  bare.base_configs.clear();
  bare.boot_images.reset();
  const std::vector<PublicationStep> steps = *plan_publication(taken(bare), ObservedObjects(), publisher());
  std::set<std::string> names;
  for (const PublicationStep& step : steps) {
    names.insert(step.to_string());
    if (step.key != kContents) continue;
    EXPECT_TRUE(api::parse_release_contents(step.body)->base_configs.empty());
  }
  EXPECT_TRUE(names.contains("create configmaps openshift-machine-config-operator/strake-release"));
  EXPECT_FALSE(names.contains("create configmaps openshift-machine-config-operator/coreos-bootimages"));
}

TEST(Publish, AdministratorsDefaultStreamIsKept) {
  ReleasePayload payload = sample(SampleRelease::kA);
  OsStream ten = payload.os_streams[0];
  ten.name = "rhel-10";
  ten.image.pull_spec = "registry.example.com/os10@" + ten.image.digest.to_string();
  payload.os_streams.insert(payload.os_streams.begin(), ten);
  Object wish(api::kOsImageStream, kStreams);
  json::ensure(wish.json(), {"spec", "defaultStream"}) = "rhel-10";
  ObservedObjects observed;
  observed.put(api::kOsImageStream, wish);
  bool seen_status = false;
  const auto steps = plan_publication(taken(payload), observed, publisher());
  ASSERT_TRUE(steps.ok());
  for (const PublicationStep& step : *steps) {
    if (step.resource == api::kControllerConfig && step.action == PublicationStep::Action::kCreate) {
      EXPECT_EQ(json::find_string(step.body, {"spec", "baseOSContainerImage"}), ten.image.pull_spec);
    }
    if (step.resource == api::kOsImageStream && step.action == PublicationStep::Action::kPatchStatus) {
      seen_status = true;
      EXPECT_EQ(json::find_string(step.body, {"status", "defaultStream"}), "rhel-10");
      EXPECT_EQ(json::find(step.body, {"status", "availableStreams"})->as_array().size(), 2u);
    }
    if (step.resource == api::kOsImageStream) {
      EXPECT_EQ(json::find(step.body, {"spec"}), nullptr);
    }
  }
  EXPECT_TRUE(seen_status);
}

TEST(Publish, WhetherTheReleaseIsSignedIsKept) {
  SmallApi api;
  const ReleasePayload a = sample(SampleRelease::kA);
  ASSERT_TRUE(publish(api, taken(a), publisher(), {}).ok());
  const Object& controller = api.at(api::kControllerConfig, kController);
  EXPECT_EQ(controller.annotation("strake.dev/release-signature"), "unsigned");
  const auto condition = api::find_condition(controller.json(), "ReleaseSigned");
  ASSERT_TRUE(condition.has_value());
  EXPECT_EQ(condition->status, api::ConditionStatus::kFalse);
  EXPECT_EQ(condition->reason, "Unsigned");
}

TEST(Publish, BackOnlyWhenToldAndNeverBeforeTheBeginning) {
  SmallApi api;
  const auto with_version = [](std::string version) {
    ReleasePayload payload = sample(SampleRelease::kA);
    payload.version = std::move(version);
    return taken(std::move(payload));
  };
  Publisher back = publisher();
  back.allow_downgrade = true;
  ASSERT_TRUE(publish(api, with_version("4.20.3"), publisher(), {}).ok());
  ASSERT_TRUE(publish(api, with_version("4.21.0"), publisher(), {}).ok());
  EXPECT_EQ(api.at(api::kControllerConfig, kController).annotation("strake.dev/installed-version"), "4.20.3");

  const int writes = api.writes;
  const auto older = publish(api, with_version("4.20.9"), publisher(), {});
  ASSERT_FALSE(older.ok());
  EXPECT_EQ(older.error().verdict(), Verdict::kBlocked);
  EXPECT_NE(older.error().to_string().find("--allow-downgrade"), std::string::npos) << older.error().to_string();
  const auto before_all = publish(api, with_version("4.20.2"), back, {});
  ASSERT_FALSE(before_all.ok());
  EXPECT_NE(before_all.error().to_string().find("installed with"), std::string::npos);
  EXPECT_EQ(api.writes, writes) << "nothing of a refused release is written";

  ASSERT_TRUE(publish(api, with_version("4.20.9"), back, {}).ok());
  EXPECT_EQ(api.at(api::kControllerConfig, kController).annotation("strake.dev/installed-version"), "4.20.3");
}

/// Two who publish at once: the older one decided when the newer was not there yet.
TEST(Publish, WhatIsOlderIsNoticedWhenSomebodyElseWasFaster) {
  SmallApi api;
  ReleasePayload first = sample(SampleRelease::kA);
  first.version = "4.20.0";
  ASSERT_TRUE(publish(api, taken(first), publisher(), {}).ok());
  bool overtaken = false;
  api.before_write = [&](const Resource& resource, const ObjectKey& key) {
    if (overtaken || resource != api::kControllerConfig) return;
    overtaken = true;
    Object& controller = api.at(resource, key);
    controller.set_annotation("machineconfiguration.openshift.io/release-image-version", "4.22.0");
    json::ensure(controller.json(), {"metadata", "resourceVersion"}) = "1000";
  };
  ReleasePayload late = sample(SampleRelease::kA);
  late.version = "4.21.0";
  const auto published = publish(api, taken(late), publisher(), {});
  ASSERT_FALSE(published.ok());
  EXPECT_TRUE(overtaken);
  EXPECT_EQ(published.error().verdict(), Verdict::kBlocked) << published.error().to_string();
}

}  // namespace strake::release::publish_test
