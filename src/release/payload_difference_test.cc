#include "release/payload_difference.h"

#include <gtest/gtest.h>

#include "release/sample.h"
#include "support/temp_dir.h"

namespace strake::release::payload_difference_test {

ReleasePayload sample(SampleRelease which) {
  const test::TempDir folder;
  EXPECT_TRUE(write_sample_release(folder.path(), which).ok());
  auto payload = read_payload_of_layout(folder.path(), kSampleReleaseReference);
  EXPECT_TRUE(payload.ok()) << payload.error().to_string();
  return *std::move(payload);
}

Component component(const std::string& tag, const std::string& content,
                    std::map<std::string, std::string> annotations = {}) {
  const codec::Digest digest = codec::Digest::sha256_of(content);
  return {tag, "registry.example.com/x@" + digest.to_string(), digest, std::move(annotations)};
}

TEST(PayloadDifference, OfARealPair) {
  const ReleasePayload a = sample(SampleRelease::kA);
  const ReleasePayload b = sample(SampleRelease::kB);
  const PayloadDifference difference = compare_payloads(a, b);
  EXPECT_TRUE(difference.any());
  const std::string text = describe_payload_difference(a, b, difference);
  EXPECT_NE(text.find("4.21.0-sample-a -> 4.21.1-sample-b"), std::string::npos) << text;
  EXPECT_NE(text.find("~ rhel-coreos"), std::string::npos) << text;
  EXPECT_NE(text.find("aws"), std::string::npos) << text;
  const json::Object object = payload_difference_json(a, b, difference);
  EXPECT_EQ(json::find_string(object, {"after", "version"}), "4.21.1-sample-b");
  EXPECT_FALSE(object.at("bootImages").get_array().empty());
  EXPECT_FALSE(object.at("manifests").get_array().empty());
}

TEST(PayloadDifference, TheSameReleaseHasNone) {
  const ReleasePayload a = sample(SampleRelease::kA);
  const PayloadDifference difference = compare_payloads(a, a);
  EXPECT_FALSE(difference.any());
  EXPECT_NE(describe_payload_difference(a, a, difference).find("Both are 4.21.0-sample-a"), std::string::npos);
}

TEST(PayloadDifference, ComponentsVersionsAndManifests) {
  ReleasePayload a = sample(SampleRelease::kA);
  ReleasePayload b = a;
  b.digest = codec::Digest::sha256_of("another image");
  EXPECT_FALSE(compare_payloads(a, b).any()) << "another digest alone says nothing about what is in it";
  const auto versions = [](const std::string& text) {
    return std::map<std::string, std::string>{{"io.openshift.build.versions", text}};
  };
  a.components = {{"same", component("same", "1", versions("kubernetes=1.33.1"))},
                  {"gone", component("gone", "2")},
                  {"moved", component("moved", "3")}};
  b.components = {{"same", component("same", "1", versions("kubernetes=1.34.0,new=1"))},
                  {"come", component("come", "4")},
                  {"moved", component("moved", "5")}};
  b.manifests.begin()->second += " ";
  b.manifests["0000_10_new.yaml"] = "{}";
  b.manifests["image-references"] = "not shown as a manifest";
  const PayloadDifference difference = compare_payloads(a, b);
  EXPECT_EQ(difference.same_components, 1u);
  std::string found;
  for (const ComponentDifference& each : difference.components) {
    found += fmt::format("{} {} {};", each.tag, each.before.has_value(), each.after.has_value());
  }
  EXPECT_EQ(found, "come false true;gone true false;moved true true;");
  found.clear();
  for (const VersionDifference& each : difference.versions) {
    found += fmt::format("{} {}>{};", each.name, each.before, each.after);
  }
  EXPECT_EQ(found, "kubernetes 1.33.1>1.34.0;new >1;");
  for (const NamedDifference& each : difference.manifests) EXPECT_NE(each.name, "image-references");
  EXPECT_EQ(difference.manifests.size(), 2u);
  PayloadDifference cut = difference;
  keep_parts(cut, {.components = false, .boot_images = false, .manifests = true});
  EXPECT_TRUE(cut.components.empty() && cut.versions.empty());
  EXPECT_FALSE(cut.manifests.empty());
}

}  // namespace strake::release::payload_difference_test
