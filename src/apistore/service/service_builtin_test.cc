// Kubernetes' own kinds: what the server makes of an object that its Go type would have made of it, and what it
// refuses.
#include <gtest/gtest.h>

#include "api/kinds.h"
#include "apistore/service/service.h"
#include "apistore/testing/test_service.h"

namespace strake::apistore::service_builtin_test {

using kube::core::kConfigMap;
using kube::core::kNode;
using kube::core::kPod;
using testkit::object;
using testkit::parse;

class BuiltinKindsTest : public ::testing::Test {
 protected:
  Result<ObjectAnswer> create(const kube::Resource& resource, const json::Value& value,
                              std::string_view validation = "Warn") {
    kube::WriteOptions options;
    options.field_validation = validation;
    return service_->create(request_, resource, "", value, options);
  }
  Result<ObjectAnswer> patch(const kube::Resource& resource, const kube::ObjectKey& key, std::string_view merge,
                             std::string_view validation = "Warn") {
    kube::WriteOptions options;
    options.field_validation = validation;
    return service_->patch(request_, resource, key, kube::PatchType::kMerge, parse(merge), options);
  }

  runtime::ThreadRuntime runtime_;
  std::unique_ptr<Service> service_ = testkit::open_service(runtime_);
  Request request_ = testkit::as_admin();
};

TEST_F(BuiltinKindsTest, UnknownFieldsArePrunedWarnedAboutOrRefused) {
  const json::Value pod = object(kPod, "default", "p", R"({"spec":{"containers":[{"name":"c","imge":"i"}]}})");
  const auto refused = create(kPod, pod, "Strict");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().to_string(),
            R"(Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field )"
            R"("spec.containers[0].imge")");
  const auto warned = create(kPod, pod);
  ASSERT_TRUE(warned.ok()) << warned.error().to_string();
  EXPECT_EQ(request_.warnings, std::vector<std::string>{R"(unknown field "spec.containers[0].imge")"});
  EXPECT_EQ(warned->text.find("imge"), std::string::npos) << warned->text;
}

TEST_F(BuiltinKindsTest, RefusedPatchesAreInvalidAndShowTheObject) {
  ASSERT_TRUE(create(kConfigMap, object(kConfigMap, "default", "m")).ok());
  for (const char* wrong : {R"({"dta":{}})", R"({"data":{"a":1}})"}) {
    const auto refused = patch(kConfigMap, {"default", "m"}, wrong, "Strict");
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.error().reason(), "Invalid") << wrong;
    ASSERT_EQ(request_.details.causes.size(), 1u) << wrong;
    EXPECT_EQ(request_.details.causes[0].field, "patch") << wrong;
    EXPECT_EQ(request_.details.name, "") << "the patch is wrong, not the object";
  }
  const auto custom = [&] {
    const json::Value pool = object(api::kMachineConfigPool, "", "p", R"({"spec":{"paused":true}})");
    EXPECT_TRUE(create(api::kMachineConfigPool, pool).ok());
    return patch(api::kMachineConfigPool, {"", "p"}, R"({"spec":{"pausd":true}})", "Strict");
  }();
  ASSERT_FALSE(custom.ok());
  EXPECT_NE(custom.error().to_string().find(R"(strict decoding error: unknown field "spec.pausd")"), std::string::npos)
      << custom.error().to_string();
}

TEST_F(BuiltinKindsTest, NullsAnywhereInAPodAreAnsweredLikeAnyWrongValue) {
  ASSERT_TRUE(create(kPod, object(kPod, "default", "p",
                                  R"({"spec":{"containers":[{"name":"c","image":"i"}],"tolerations":[{"key":"k"}]}})"))
                  .ok());
  for (const char* wrong : {R"([{"op":"replace","path":"/spec","value":null}])",
                            R"([{"op":"replace","path":"/spec/containers","value":null}])",
                            R"([{"op":"replace","path":"/spec/containers/0","value":null}])",
                            R"([{"op":"replace","path":"/spec/tolerations/0","value":null}])",
                            R"([{"op":"add","path":"/spec/schedulingGates","value":[null]}])"}) {
    const auto refused = service_->patch(request_, kPod, {"default", "p"}, kube::PatchType::kJson, parse(wrong), {});
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.error().reason(), "Invalid") << wrong << ": " << refused.error().to_string();
  }
}

TEST_F(BuiltinKindsTest, AValueOfAnotherTypeIsABadRequest) {
  const auto refused = create(kConfigMap, object(kConfigMap, "default", "m", R"({"data":{"a":1}})"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason(), "BadRequest");
  EXPECT_EQ(
      refused.error().to_string(),
      R"(ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct )"
      R"(field ConfigMap.data of type string)");
}

TEST_F(BuiltinKindsTest, EmptyIsTheSameAsAbsent) {
  const auto created = create(kConfigMap, object(kConfigMap, "default", "m", R"({"data":{"a":"b"},
      "metadata":{"labels":{},"annotations":{"x":"y"},"finalizers":[],"ownerReferences":[]}})"));
  ASSERT_TRUE(created.ok()) << created.error().to_string();
  const json::Value& metadata = created->object.at("metadata");
  for (const char* name : {"labels", "finalizers", "ownerReferences"}) {
    EXPECT_EQ(json::find(metadata, {name}), nullptr) << name;
  }
  const auto emptied =
      patch(kConfigMap, {"default", "m"}, R"({"data":{"a":null},"metadata":{"annotations":{"x":null}}})");
  ASSERT_TRUE(emptied.ok()) << emptied.error().to_string();
  EXPECT_EQ(json::find(emptied->object, {"data"}), nullptr);
  EXPECT_EQ(json::find(emptied->object, {"metadata", "annotations"}), nullptr);
}

TEST_F(BuiltinKindsTest, NodesShowWhatTheirTypeAlwaysHas) {
  const auto created = create(kNode, object(kNode, "", "n", R"({"status":{"capacity":{"cpu":"4"}}})"));
  ASSERT_TRUE(created.ok()) << created.error().to_string();
  EXPECT_EQ(json::write(created->object.at("spec")), "{}");
  EXPECT_EQ(json::find_int(created->object, {"status", "daemonEndpoints", "kubeletEndpoint", "Port"}), 0);
  EXPECT_EQ(json::find_string(created->object, {"status", "nodeInfo", "kubeletVersion"}), "");
  EXPECT_EQ(json::find_string(created->object, {"status", "allocatable", "cpu"}), "4");
}

}  // namespace strake::apistore::service_builtin_test
