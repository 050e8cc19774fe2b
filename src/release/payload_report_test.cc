#include "release/payload_report.h"

#include <gtest/gtest.h>

#include "release/sample.h"
#include "support/temp_dir.h"

namespace strake::release::payload_report_test {

ReleasePayload sample_payload() {
  const test::TempDir dir;
  EXPECT_TRUE(write_sample_release(dir.path(), SampleRelease::kA).ok());
  Result<ReleasePayload> payload = read_payload_of_layout(dir.path(), kSampleReleaseReference);
  EXPECT_TRUE(payload.ok()) << payload.error().to_string();
  return *std::move(payload);
}

TEST(PayloadReport, Text) {
  ReleasePayload payload = sample_payload();
  payload.components.at("rhel-coreos").annotations = {
      {"io.openshift.build.versions", "machine-os=9.8.20260428-0,kubernetes=1.34.1,odd"},
      {"io.openshift.build.version-display-names", "machine-os=Red Hat Enterprise Linux CoreOS"}};
  payload.components.at("rhel-coreos-extensions").annotations = {{"io.openshift.build.versions", "machine-os=10.2.1"}};
  const std::string digest = payload.digest.to_string();
  const std::string os = payload.os_streams[0].image.pull_spec;
  const std::string extensions = payload.os_streams[0].extensions->pull_spec;
  EXPECT_EQ(describe_release(payload),
            "release      4.21.0-sample-a\n"
            "digest       " +
                digest +
                "\n"
                "image        registry.example.com/strake-sample/release@" +
                digest +
                "\n"
                "kubernetes   1.34.1\n"
                "machine-os   10.2.1\n"
                "components   2\n"
                "\n"
                "OS STREAM          IMAGE\n"
                "rhel-9 (default)   " +
                os +
                "\n"
                "  extensions       " +
                extensions +
                "\n"
                "\n"
                "BOOT IMAGES   CALLS ITSELF   RELEASES\n"
                "rhel-9        rhcos-4.21     aarch64 9.8.20260401-0; x86_64 9.8.20260401-0\n");
  payload.boot_images.reset();
  payload.os_streams[0].verified = false;
  const std::string bare = describe_release(payload);
  EXPECT_NE(bare.find("The release carries no boot image data."), std::string::npos) << bare;
  EXPECT_NE(bare.find(os + " (not hashed)\n"), std::string::npos) << bare;
  EXPECT_EQ(describe_components(payload), "NAME                     IMAGE\nrhel-coreos              " + os +
                                              "\nrhel-coreos-extensions   " + extensions + "\n");
}

TEST(PayloadReport, JsonHasTheMembersScriptsKnow) {
  const ReleasePayload payload = sample_payload();
  const json::Value info = release_json(payload);
  EXPECT_EQ(json::find_string(info, {"digest"}), payload.digest.to_string());
  EXPECT_EQ(json::find_string(info, {"metadata", "version"}), "4.21.0-sample-a");
  EXPECT_EQ(json::find(info, {"references", "spec", "tags"})->as_array().size(), 2u);
  EXPECT_EQ(json::find_string(info, {"bootImages", "rhel-9", "stream"}), "rhcos-4.21");
  EXPECT_EQ(json::find(info, {"osStreams"})->as_array().at(0).at("osImage").as_string(),
            payload.os_streams[0].image.pull_spec);
  const json::Value components = components_json(payload);
  EXPECT_EQ(components.at("items").as_array().at(0).at("name").as_string(), "rhel-coreos");
}

}  // namespace strake::release::payload_report_test
