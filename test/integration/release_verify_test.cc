// `strake release info|images|verify` as a user runs them, on a sample release signed by the real gpg.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/fd.h"
#include "base/subprocess.h"
#include "oci/layout.h"
#include "release/sample.h"
#include "support/places.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;

ProcessOutput run_program(std::vector<std::string> argv, const std::string& input = "") {
  Command command;
  command.argv = std::move(argv);
  command.stdin_bytes = input;
  command.timeout = 120s;
  auto output = run(command);
  EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
  return output.ok() ? *std::move(output) : ProcessOutput{};
}

class SignedRelease : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(release::write_sample_release(layout_folder(), release::SampleRelease::kA).ok());
    const auto layout = oci::Layout::open(layout_folder());
    ASSERT_TRUE(layout.ok());
    digest_ = layout->find_entry(release::kSampleReleaseReference)->digest.to_string();
    std::filesystem::create_directory(home());
    std::filesystem::permissions(home(), std::filesystem::perms::owner_all);
    gpg({"--quick-generate-key", "us@strake.test", "nistp256", "sign", "never"});
    ASSERT_TRUE(write_file_atomic(dir_ / "us.asc", gpg({"--armor", "--export"}).stdout_bytes, 0644).ok());
  }
  void TearDown() override { run_program({"gpgconf", "--homedir", home().string(), "--kill", "all"}); }

  ProcessOutput gpg(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), {"gpg", "--homedir", home().string(), "--batch", "--quiet", "--pinentry-mode",
                                         "loopback", "--passphrase", ""});
    ProcessOutput output = run_program(std::move(arguments), input);
    EXPECT_TRUE(output.exit.success()) << output.stderr_bytes;
    return output;
  }

  /// Puts a signature for `digest` into the folder that is the signature store.
  void sign(const std::string& digest) {
    const std::string statement = R"({"critical":{"image":{"docker-manifest-digest":")" + digest +
                                  R"("},"type":"atomic container signature","identity":{"docker-reference":"x/y:z"}}})";
    std::string folder = digest_;
    folder.replace(folder.find(':'), 1, "=");
    std::filesystem::create_directories(dir_ / "store" / folder);
    ASSERT_TRUE(
        write_file_atomic(dir_ / "store" / folder / "signature-1", gpg({"--sign"}, statement).stdout_bytes, 0644).ok());
  }

  ProcessOutput strake(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin() + 1, layout_folder().string());
    arguments.insert(arguments.begin(), {strake_program().string(), "release"});
    return run_program(std::move(arguments));
  }
  ProcessOutput verify() {
    return strake({"verify", "--keyring", (dir_ / "us.asc").string(), "--signature-store", (dir_ / "store").string()});
  }

  std::filesystem::path layout_folder() const { return dir_ / "layout"; }
  std::filesystem::path home() const { return dir_ / "gnupg"; }

  TempDir dir_;
  std::string digest_;
};

TEST_F(SignedRelease, VerifyFollowsTheSignatureToTheDigest) {
  EXPECT_EQ(verify().exit.exit_code, 1) << "nothing is signed yet";
  sign(digest_);
  const ProcessOutput good = verify();
  EXPECT_EQ(good.exit.exit_code, 0) << good.stderr_bytes;
  EXPECT_NE(good.stdout_bytes.find("release 4.21.0-sample-a " + digest_), std::string::npos) << good.stdout_bytes;

  const ProcessOutput own_word = strake({"verify"});
  EXPECT_EQ(own_word.exit.exit_code, 1);
  EXPECT_NE(own_word.stderr_bytes.find("does not say whose signature"), std::string::npos) << own_word.stderr_bytes;

  sign("sha256:" + std::string(64, 'a'));
  const ProcessOutput other = verify();
  EXPECT_EQ(other.exit.exit_code, 1);
  EXPECT_NE(other.stderr_bytes.find("digest: the signature is for sha256:aaaa"), std::string::npos)
      << other.stderr_bytes;
}

TEST_F(SignedRelease, InfoAndImages) {
  const ProcessOutput info = strake({"info"});
  EXPECT_EQ(info.exit.exit_code, 0) << info.stderr_bytes;
  EXPECT_NE(info.stdout_bytes.find(digest_), std::string::npos) << info.stdout_bytes;
  const ProcessOutput image = strake({"images", "--image-for", "rhel-coreos"});
  EXPECT_TRUE(image.stdout_bytes.starts_with("registry.example.com/strake-sample/os@sha256:")) << image.stdout_bytes;
  const ProcessOutput absent = strake({"images", "--image-for", "ironic"});
  EXPECT_EQ(absent.exit.exit_code, 3);
  EXPECT_NE(absent.stderr_bytes.find("rhel-coreos, rhel-coreos-extensions"), std::string::npos) << absent.stderr_bytes;
  const ProcessOutput version =
      run_program({"python3", "-c", "import json,sys; print(json.load(sys.stdin)['metadata']['version'])"},
                  strake({"info", "-o", "json"}).stdout_bytes);
  EXPECT_EQ(version.stdout_bytes, "4.21.0-sample-a\n");
}

}  // namespace
}  // namespace strake::test
