#include <gtest/gtest.h>

#include "base/fd.h"
#include "oci/mirrors.h"
#include "oci/testing/sample_image.h"
#include "release/mirror_folder.h"
#include "release/mirror_plan.h"
#include "release/release_signatures.h"
#include "release/sample.h"
#include "support/temp_dir.h"

namespace strake::release::mirror_test {

ReleasePayload sample_payload() {
  const test::TempDir dir;
  EXPECT_TRUE(write_sample_release(dir.path(), SampleRelease::kA).ok());
  auto payload = read_payload_of_layout(dir.path(), kSampleReleaseReference);
  EXPECT_TRUE(payload.ok());
  return *std::move(payload);
}

std::vector<std::string> tags_of(const std::vector<MirrorStep>& plan) {
  std::vector<std::string> tags;
  for (const MirrorStep& step : plan) tags.push_back(step.tag);
  return tags;
}

TEST(MirrorPlan, TheReleaseComesLast) {
  const ReleasePayload payload = sample_payload();
  auto artifacts = boot_artifacts_of(payload.boot_images->set);
  ASSERT_TRUE(artifacts.ok());
  ASSERT_FALSE(artifacts->artifacts.empty());
  const BootArtifact first = artifacts->artifacts.front();
  const std::string hex = payload.digest.hex();
  EXPECT_EQ(tags_of(plan_mirror(payload, "x86_64", std::vector{first}, true)),
            (std::vector<std::string>{"4.21.0-sample-a-x86_64-rhel-coreos",
                                      "4.21.0-sample-a-x86_64-rhel-coreos-extensions", boot_artifact_tag(first.digest),
                                      fmt::format("sha256-{}.gpg", hex), "4.21.0-sample-a-x86_64"}));
  EXPECT_EQ(plan_mirror(payload, "multi", {}, false).back().tag, "4.21.0-sample-a-multi");
  EXPECT_EQ(release_tag("4.21.0+build 1", "x86_64"), "4.21.0-build-1-x86_64");
}

TEST(MirrorPlan, ArtifactsAreChosenByPlatformAndArchitecture) {
  const ReleasePayload payload = sample_payload();
  const auto all = boot_artifacts_of(payload.boot_images->set)->artifacts;
  const auto count = [&](std::string_view platforms, const std::set<std::string>& archs) {
    const auto chosen = choose_artifacts(all, platforms, archs);
    return chosen.ok() ? static_cast<int>(chosen->size()) : -1;
  };
  EXPECT_EQ(count("all", {}), static_cast<int>(all.size()));
  EXPECT_EQ(count("none", {}), 0);
  const int x86 = count("all", {"x86_64"});
  EXPECT_GT(x86, 0);
  EXPECT_LT(x86, static_cast<int>(all.size()));
  EXPECT_GT(count(all.front().platform, {}), 0);
  std::vector<BootArtifact> ova(1, all.front());
  ova.front().platform = "vmware";
  EXPECT_EQ(choose_artifacts(ova, "vsphere", {})->size(), 1u) << "another name for it";
  const auto unknown = choose_artifacts(all, "metal,betamax", {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code(), Code::kNotFound);
  EXPECT_NE(unknown.error().to_string().find(all.front().platform), std::string::npos);
}

TEST(MirrorPlan, MirrorSetsLeadToTheMirror) {
  const ReleasePayload payload = sample_payload();
  const auto plan = plan_mirror(payload, "x86_64", {}, false);
  const auto rules = oci::rules_from_mirror_sets(mirror_sets(plan, "mirror.example.com/ocp/release"));
  ASSERT_TRUE(rules.ok()) << rules.error().to_string();
  for (const std::string& name : {payload.pull_spec, payload.components.at("rhel-coreos").pull_spec}) {
    const auto places = oci::places_to_try(*rules, *oci::parse_reference(name));
    ASSERT_TRUE(places.ok());
    EXPECT_EQ(places->front().reference.name(), "mirror.example.com/ocp/release") << name;
    EXPECT_TRUE(places->front().is_mirror);
  }
  EXPECT_TRUE(mirror_sets(std::vector{plan.back()}, plan.back().repository).empty());
}

TEST(MirrorFolder, IndexIsReadBack) {
  const MirrorIndex index{{{"4.21.0", "sha256:12", "quay.io/a/b", "4.21.0-x86_64"}},
                          {{"quay.io/a/b", "images/quay.io_a_b"}}};
  EXPECT_EQ(*parse_mirror_index(write_mirror_index(index)), index);
  struct Case {
    const char* name;
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"other kind", R"({"apiVersion":"v1","kind":"List"})", "StrakeMirror"},
      {"folder outside",
       R"({"apiVersion":"strake.dev/v1alpha1","kind":"StrakeMirror","repositories":{"a/b":"images/../../etc"}})",
       "repositories.a/b"},
      {"absolute folder", R"({"apiVersion":"strake.dev/v1alpha1","kind":"StrakeMirror","repositories":{"a/b":"/etc"}})",
       "images/"},
      {"release without digest",
       R"({"apiVersion":"strake.dev/v1alpha1","kind":"StrakeMirror","releases":[{"version":"1"}]})",
       "releases[0].digest"},
      {"no JSON", "{", "line 1"},
  };
  for (const Case& c : cases) {
    const auto parsed = parse_mirror_index(c.text);
    ASSERT_FALSE(parsed.ok()) << c.name;
    EXPECT_NE(parsed.error().to_string().find(c.message), std::string::npos)
        << c.name << ": " << parsed.error().to_string();
  }
}

class MirrorFolderTest : public ::testing::Test {
 protected:
  /// An empty layout per repository is enough to see where things go.
  void add(const std::string& version, const std::string& repository) {
    auto writer = MirrorWriter::open(dir_.path(), runtime_);
    ASSERT_TRUE(writer.ok()) << writer.error().to_string();
    ASSERT_TRUE((*writer)->target(repository).ok());
    ASSERT_TRUE(
        (*writer)->add_release({version, "sha256:" + std::string(64, 'a'), repository, version + "-x86_64"}).ok());
  }
  Result<std::unique_ptr<ReleasePlace>> open(std::string_view release) {
    return open_mirror(std::make_shared<oci::FolderFiles>(dir_.path()), release);
  }
  std::map<std::string, std::string> repositories() {
    return parse_mirror_index(*read_file(dir_ / kMirrorIndexFile, 1u << 20))->repositories;
  }

  test::TempDir dir_;
  runtime::ThreadRuntime runtime_;
};

TEST_F(MirrorFolderTest, HoldsSeveralReleases) {
  add("4.21.0", "quay.io/a/b");
  add("4.21.1", "quay.io/a/b");
  add("4.21.1", "quay.io/a/b");
  // Two repositories whose names make the same folder stay apart.
  add("4.20.0", "quay.io/a_b");
  const auto folders = repositories();
  EXPECT_EQ(folders.at("quay.io/a/b"), "images/quay.io_a_b");
  EXPECT_NE(folders.at("quay.io/a_b"), folders.at("quay.io/a/b"));
  const auto which = open("");
  ASSERT_FALSE(which.ok());
  EXPECT_NE(which.error().to_string().find("4.20.0-x86_64, 4.21.0-x86_64, 4.21.1-x86_64"), std::string::npos)
      << which.error().to_string();
  EXPECT_EQ(open("4.19.0").error().code(), Code::kNotFound);
}

TEST_F(MirrorFolderTest, PacksToTheSameBytes) {
  add("4.21.0", "quay.io/a/b");
  ASSERT_TRUE(write_file_atomic(dir_ / "images/quay.io_a_b/blobs/sha256/.x.partial", "half", 0644).ok());
  test::TempDir out;
  ASSERT_TRUE(pack_folder(dir_.path(), out / "1.tar").ok());
  ASSERT_TRUE(pack_folder(dir_.path(), out / "2.tar").ok());
  EXPECT_EQ(*read_file(out / "1.tar", 1u << 20), *read_file(out / "2.tar", 1u << 20));
  const auto names = oci::ArchiveFiles::names(out / "1.tar");
  ASSERT_TRUE(names.ok());
  EXPECT_TRUE(names->contains("strake-mirror.json"));
  EXPECT_FALSE(names->contains("images/quay.io_a_b/blobs/sha256/.x.partial"));
}

TEST(MirrorPlan, SetsOfTwoMirrorsHaveTwoNames) {
  const ReleasePayload payload = sample_payload();
  const auto plan = plan_mirror(payload, "x86_64", {}, false);
  const auto name = [](const std::vector<json::Value>& sets) {
    return json::find_string(sets.at(0), {"metadata", "name"}).value_or("");
  };
  const std::string one = name(mirror_sets(plan, "registry.example.com:5000/ocp/release"));
  EXPECT_TRUE(one.starts_with("strake-registry-example-com-5000-ocp-release-")) << one;
  EXPECT_EQ(one, name(mirror_sets(plan, "registry.example.com:5000/ocp/release"))) << "the same mirror, the same name";
  // Readable parts that are alike, other sources, and a name longer than Kubernetes takes.
  EXPECT_NE(one, name(mirror_sets(plan, "registry.example.com/5000/ocp/release")));
  EXPECT_NE(one, name(mirror_sets(std::vector{plan.front()}, "registry.example.com:5000/ocp/release")));
  const std::string long_name = name(mirror_sets(plan, "registry.example.com/" + std::string(200, 'a') + "/__b"));
  EXPECT_LE(long_name.size(), 63u) << long_name;
  EXPECT_EQ(long_name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos) << long_name;
}

}  // namespace strake::release::mirror_test
