// Judged by gpgv (SignatureChecker runs it) and, for the keyring, by gpg.
#include "release/signature/openpgp_signer.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/subprocess.h"
#include "release/signature/signature.h"
#include "support/temp_dir.h"

namespace strake::release::openpgp_signer_test {

const auto kNow = std::chrono::system_clock::time_point(std::chrono::seconds(1'780'000'000));
const codec::Digest kDigest = codec::Digest::sha256_of("a release");

ReleaseSigner new_signer() { return ReleaseSigner::create("Sample <sample@strake.test>", kNow).value(); }

Result<SignatureVerdict> judge(const Keyring& keyring, const std::string& message, const codec::Digest& digest) {
  SignatureSearch search;
  search.found.push_back({"here", message});
  return verify_signatures(digest, std::span(&keyring, 1), search, SignatureChecker());
}

TEST(OpenPgpSigner, GpgvAcceptsItsSignatures) {
  // r and s are shorter than the curve's size once in a while.
  for (int i = 0; i < 8; ++i) {
    const ReleaseSigner signer = new_signer();
    const auto message = signer.sign_release(kDigest, "registry.example.com/x", kNow);
    ASSERT_TRUE(message.ok());
    const auto verdict = judge(signer.keyring(), *message, kDigest);
    ASSERT_TRUE(verdict.ok()) << verdict.error().to_string();
    EXPECT_EQ(verdict->accepted.front().key_fingerprint, signer.keyring().entities.front().primary.fingerprint);
    EXPECT_EQ(verdict->accepted.front().payload.docker_reference, "registry.example.com/x");
  }
}

TEST(OpenPgpSigner, AnotherKeyAnotherDigestOrOneWrongBitIsRefused) {
  const ReleaseSigner signer = new_signer(), other = new_signer();
  const std::string message = *signer.sign_release(kDigest, "x", kNow);
  EXPECT_FALSE(judge(other.keyring(), message, kDigest).ok());
  EXPECT_FALSE(judge(signer.keyring(), message, codec::Digest::sha256_of("another")).ok());
  std::string changed = message;
  changed[changed.find("docker-manifest")] ^= 1;
  EXPECT_FALSE(judge(signer.keyring(), changed, kDigest).ok());
}

TEST(OpenPgpSigner, GpgReadsTheArmouredKeyring) {
  const ReleaseSigner signer = new_signer();
  const std::string armoured = armour_keyring(signer.keyring().packets);
  const auto again = parse_keyring("again", armoured);
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(again->packets, signer.keyring().packets);
  const test::TempDir home;
  std::filesystem::permissions(home.path(), std::filesystem::perms::owner_all);
  Command command;
  command.argv = {"gpg", "--homedir", home.path().string(), "--batch", "--show-keys", "--with-colons"};
  command.stdin_bytes = armoured;
  const auto shown = run_checked(command);
  ASSERT_TRUE(shown.ok()) << shown.error().to_string();
  EXPECT_NE(shown->stdout_bytes.find(signer.keyring().entities.front().primary.fingerprint), std::string::npos);
  EXPECT_NE(shown->stdout_bytes.find("Sample <sample@strake.test>"), std::string::npos) << shown->stdout_bytes;
}

}  // namespace strake::release::openpgp_signer_test
