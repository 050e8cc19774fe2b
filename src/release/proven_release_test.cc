#include "release/proven_release.h"

#include <gtest/gtest.h>

#include "oci/copy.h"
#include "oci/testing/fake_registry.h"
#include "release/chain.h"
#include "release/sample.h"
#include "support/temp_dir.h"

namespace strake::release::proven_release_test {

using oci::testing::FakeRegistry;

/// Both samples in one repository: A is signed, B is not.
class MovingTag : public testing::Test {
 protected:
  MovingTag() : settings_(registry_.client_options(dir_.path(), false)), registries_(settings_, {}, runtime_) {
    demand_.keyrings = {signer_.keyring()};
    demand_.reader = &reader_;
    push(SampleRelease::kB, "b", false);
    push(SampleRelease::kA, "latest", true);
  }

  void push(SampleRelease sample, const std::string& tag, bool with_signature) {
    const std::filesystem::path folder = dir_ / tag;
    ASSERT_TRUE(write_sample_release(folder, sample).ok());
    if (with_signature) {
      ASSERT_TRUE(sign_sample_release(folder, signer_, runtime_, {}).ok());
    }
    const auto layout = oci::Layout::open(folder);
    const auto target = oci::RegistryTarget::open({registry_.host(), "up/release"}, registries_);
    for (const oci::Descriptor& entry : layout->index().manifests) {
      const std::string name = entry.annotations.at("org.opencontainers.image.ref.name");
      const auto copied = oci::copy_image(*layout, name, **target, name == "release" ? tag : name, {}, runtime_, {});
      ASSERT_TRUE(copied.ok()) << copied.error().to_string();
    }
  }

  /// Whoever asks for the tag a second time is sent to B.
  void move_the_tag_after_the_first_question() {
    registry_.intercept([this](const net::ServerRequest& request) -> std::optional<net::Response> {
      if (!request.target.path.ends_with("/manifests/latest")) return std::nullopt;
      if (asked_++ == 0) return std::nullopt;
      net::Response response;
      response.status = 200;
      response.headers.add("Content-Type", std::string(oci::media_type::kOciManifest));
      response.body = *registry_.manifest("up/release", "b");
      return response;
    });
  }

  std::unique_ptr<ReleasePlace> place() {
    return ReleasePlace::in_registry({registry_.host(), "up/release", "latest"}, registries_).value();
  }

  test::TempDir dir_;
  runtime::ThreadRuntime runtime_;
  FakeRegistry registry_;
  oci::RegistryOptions settings_;
  oci::Registries registries_;
  ReleaseSigner signer_ = ReleaseSigner::create("us", runtime_.wall_now()).value();
  UrlReader reader_ = UrlReader::create().value();
  SignatureDemand demand_;
  int asked_ = 0;
};

TEST_F(MovingTag, IsReadOnceForWhatIsPublished) {
  move_the_tag_after_the_first_question();
  const auto proven = read_proven_release(*place(), {}, demand_, runtime_, {});
  ASSERT_TRUE(proven.ok()) << proven.error().to_string();
  EXPECT_EQ(proven->payload().version, to_string(SampleRelease::kA));
  EXPECT_TRUE(proven->proof().is_signed());
  EXPECT_EQ(asked_, 1);
}

TEST_F(MovingTag, IsReadOnceForTheChain) {
  move_the_tag_after_the_first_question();
  ChainOptions options;
  options.signatures = demand_;
  ChainReport report;
  const Status outcome = verify_chain(*place(), options, report, runtime_, {});
  EXPECT_TRUE(outcome.ok()) << outcome.error().to_string();
  EXPECT_EQ(report.version, to_string(SampleRelease::kA));
  EXPECT_EQ(asked_, 1);
}

TEST_F(MovingTag, WhatIsNotSignedIsNoRelease) {
  const auto unsigned_one = ReleasePlace::in_registry({registry_.host(), "up/release", "b"}, registries_).value();
  const auto refused = read_proven_release(*unsigned_one, {}, demand_, runtime_, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().verdict(), Verdict::kNotGenuine) << refused.error().to_string();

  // Keyrings the release names itself are not enough, so none at all is refused too.
  demand_.keyrings.clear();
  EXPECT_FALSE(read_proven_release(*place(), {}, demand_, runtime_, {}).ok());
  const ReleaseSigner other = ReleaseSigner::create("them", runtime_.wall_now()).value();
  demand_.keyrings = {other.keyring()};
  EXPECT_FALSE(read_proven_release(*place(), {}, demand_, runtime_, {}).ok());
  // Of several kept keyrings any may have signed.
  demand_.keyrings = {any_of_keyrings({other.keyring(), signer_.keyring()})};
  const auto proven = read_proven_release(*place(), {}, demand_, runtime_, {});
  ASSERT_TRUE(proven.ok()) << proven.error().to_string();
  EXPECT_EQ(proven->proof().record(),
            fmt::format("signed by {} of keyring them, us", signer_.keyring().entities.front().primary.fingerprint));
}

}  // namespace strake::release::proven_release_test
