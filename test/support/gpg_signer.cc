#include "support/gpg_signer.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/subprocess.h"

namespace strake::test {

GpgSigner::GpgSigner(const std::string& user) {
  std::filesystem::permissions(home_.path(), std::filesystem::perms::owner_all);
  gpg({"--quick-generate-key", user, "nistp256", "sign", "never"});
}

GpgSigner::~GpgSigner() {
  Command command;
  command.argv = {"gpgconf", "--homedir", home_.path().string(), "--kill", "all"};
  (void)run(command);
}

std::string GpgSigner::gpg(std::vector<std::string> arguments, const std::string& input) const {
  Command command;
  command.argv = {"gpg",      "--homedir",    home_.path().string(),
                  "--batch",  "--quiet",      "--pinentry-mode",
                  "loopback", "--passphrase", ""};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.stdin_bytes = input;
  command.timeout = std::chrono::seconds(60);
  const Result<ProcessOutput> output = run_checked(command);
  EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
  return output.ok() ? output->stdout_bytes : "";
}

std::string GpgSigner::public_key() const { return gpg({"--armor", "--export"}); }

std::string GpgSigner::sign_digest(std::string_view digest) const {
  return gpg({"--sign"}, R"({"critical":{"image":{"docker-manifest-digest":")" + std::string(digest) +
                             R"("},"type":"atomic container signature","identity":{"docker-reference":"x/y:z"}}})");
}

void GpgSigner::store(const std::filesystem::path& folder, std::string digest, const std::string& message) const {
  digest.replace(digest.find(':'), 1, "=");
  std::filesystem::create_directories(folder / digest);
  const Status written = write_file_atomic(folder / digest / "signature-1", message, 0644);
  EXPECT_TRUE(written.ok());
}

}  // namespace strake::test
