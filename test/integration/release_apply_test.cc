// `strake release apply` as a user runs it: a release in a real registry, signed by the real gpg, published to the
// control plane of `strake up`.
#include <gtest/gtest.h>

#include <csignal>

#include "base/fd.h"
#include "codec/json.h"
#include "oci/layout.h"
#include "release/sample.h"
#include "support/registry_release.h"
#include "support/running_strake.h"
#include "support/servers.h"
#include "support/strake_command.h"

namespace strake::test {
namespace {

class ReleaseApply : public testing::Test {
 protected:
  void SetUp() override {
    control_plane_.emplace(std::vector<std::string>{"up", "--state", (dir_ / "s").string(), "--listen", "127.0.0.1:0"},
                           dir_ / "up.log");
    ASSERT_TRUE(control_plane_->wait_until_said("Stop it with Ctrl-C"));
    ASSERT_TRUE(write_file_atomic(dir_ / "us.asc", signer_.public_key(), 0644).ok());
  }
  void TearDown() override { control_plane_->end_by(SIGINT); }

  ProcessOutput strake(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--kubeconfig", (dir_ / "s/kubeconfig").string()});
    return run_strake(std::move(arguments));
  }
  ProcessOutput apply(const std::string& release, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"release", "apply", release, "--no-cache"});
    return strake(std::move(more));
  }
  /// What `strake plan` says about the present release.
  std::string present(std::string_view member) {
    const auto plan = json::parse(strake({"plan", "-o", "json"}).stdout_bytes);
    EXPECT_TRUE(plan.ok());
    return plan.ok() ? json::find_string(*plan, {"release", member}).value_or("") : "";
  }
  /// One of the samples in a layout, signed by gpg.
  std::string sample(release::SampleRelease which) {
    const std::filesystem::path folder = dir_ / std::string(to_string(which));
    EXPECT_TRUE(release::write_sample_release(folder, which).ok());
    const std::string digest = oci::Layout::open(folder)->find_entry("release")->digest.to_string();
    signer_.store(dir_ / "store", digest, signer_.sign_digest(digest));
    return folder.string();
  }
  std::vector<std::string> trusting_us() const {
    return {"--keyring", (dir_ / "us.asc").string(), "--signature-store", (dir_ / "store").string()};
  }

  TempDir dir_;
  GpgSigner signer_;
  std::optional<RunningStrake> control_plane_;
};

TEST_F(ReleaseApply, WantsASignatureUnderAKeyringOfTheUsers) {
  auto registry = RegistryServer::start(RegistryLogin::kPassword);
  ASSERT_TRUE(registry.ok()) << registry.error().to_string();
  const RegistryRelease release(**registry);
  const auto apply_published = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--certificate-authority", (*registry)->ca_file().string(), "--authfile",
                             ((*registry)->login_folder() / "config.json").string(), "--signature-store",
                             release.signature_store().string()});
    return apply(release.reference(), std::move(more));
  };
  // The release names a keyring that fits: that is its own word.
  const ProcessOutput nobody = apply_published({});
  EXPECT_EQ(nobody.exit.exit_code, 3) << nobody.stderr_bytes;
  EXPECT_NE(nobody.stderr_bytes.find("strake release trust add"), std::string::npos) << nobody.stderr_bytes;
  const ProcessOutput stranger = apply_published({"--keyring", (dir_ / "us.asc").string()});
  EXPECT_EQ(stranger.exit.exit_code, 6) << stranger.stderr_bytes;
  EXPECT_EQ(present("version"), "") << "nothing was published";

  EXPECT_EQ(strake({"release", "trust", "add", "us", (dir_ / "us.asc").string()}).exit.exit_code, 0);
  EXPECT_EQ(apply_published({}).exit.exit_code, 6) << "a kept keyring of somebody else";
  EXPECT_EQ(strake({"release", "trust", "add", "us", release.keyring().string()}).exit.exit_code, 1) << "taken";
  EXPECT_EQ(strake({"release", "trust", "add", "vendor", release.keyring().string()}).exit.exit_code, 0);
  EXPECT_EQ(apply_published({}).exit.exit_code, 0);
  EXPECT_EQ(present("version"), kPublishedVersion);
  EXPECT_TRUE(present("signature").starts_with("signed by ")) << present("signature");
  EXPECT_TRUE(present("image").ends_with("@" + release.digest())) << present("image");

  const ProcessOutput listed = strake({"release", "trust", "list"});
  EXPECT_NE(listed.stdout_bytes.find("vendor"), std::string::npos) << listed.stdout_bytes;
  EXPECT_EQ(strake({"release", "trust", "remove", "vendor"}).exit.exit_code, 0);
  EXPECT_EQ(strake({"release", "trust", "remove", "vendor"}).exit.exit_code, 3);
  EXPECT_EQ(apply_published({}).exit.exit_code, 6);
}

TEST_F(ReleaseApply, UnsignedIsRecordedAndBackIsAsked) {
  const std::string a = sample(release::SampleRelease::kA), b = sample(release::SampleRelease::kB);
  EXPECT_EQ(apply(a, {"--unsigned", "--keyring", (dir_ / "us.asc").string()}).exit.exit_code, 1);
  const ProcessOutput taken = apply(a, {"--unsigned"});
  EXPECT_EQ(taken.exit.exit_code, 0) << taken.stderr_bytes;
  EXPECT_NE(taken.stderr_bytes.find("unsigned"), std::string::npos) << taken.stderr_bytes;
  EXPECT_EQ(present("signature"), "unsigned");

  const ProcessOutput good = apply(b, trusting_us());
  EXPECT_EQ(good.exit.exit_code, 0) << good.stderr_bytes;
  EXPECT_TRUE(present("signature").starts_with("signed by ")) << present("signature");
  EXPECT_EQ(present("installedVersion"), to_string(release::SampleRelease::kA));

  const ProcessOutput back = apply(a, trusting_us());
  EXPECT_EQ(back.exit.exit_code, 3) << back.stderr_bytes;
  EXPECT_EQ(present("version"), to_string(release::SampleRelease::kB));
  std::vector<std::string> permitted = trusting_us();
  permitted.push_back("--allow-downgrade");
  EXPECT_EQ(apply(a, permitted).exit.exit_code, 0);
  EXPECT_EQ(present("version"), to_string(release::SampleRelease::kA));
}

}  // namespace
}  // namespace strake::test
