#include "base/private_folder.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "support/temp_dir.h"

namespace strake::private_folder_test {

namespace fs = std::filesystem;

mode_t mode_of(const fs::path& path) {
  struct stat info{};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

void write(const fs::path& path, mode_t mode) {
  std::ofstream(path) << "x";
  ASSERT_EQ(::chmod(path.c_str(), mode), 0);
}

struct PrivateFolder : testing::Test {
  test::TempDir temp;
  fs::path folder = temp / "deep" / "state";
};

TEST_F(PrivateFolder, IsMadeForItsOwnerWhateverTheUmask) {
  const mode_t before = ::umask(0);
  const auto claimed = claim_private_folder(folder);
  ::umask(before);
  ASSERT_TRUE(claimed.ok()) << claimed.error().to_string();
  EXPECT_TRUE(claimed->empty());
  EXPECT_EQ(mode_of(folder), 0700u);
}

TEST_F(PrivateFolder, LooserRightsAreTakenAwayWithAWord) {
  fs::create_directories(folder / "pki");
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  ASSERT_EQ(::chmod((folder / "pki").c_str(), 0755), 0);
  write(folder / "tokens.json", 0644);
  write(folder / "pki" / "ca.key", 0604);
  write(folder / "pki" / "ca.crt", 0600);
  const auto claimed = claim_private_folder(folder);
  ASSERT_TRUE(claimed.ok()) << claimed.error().to_string();
  ASSERT_EQ(claimed->size(), 1u);
  EXPECT_EQ((*claimed)[0],
            folder.string() + " was open to other users (mode 0777); now it is for its owner only (0700)");
  const auto files = claim_private_files(folder, {"pki", "absent"});
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  EXPECT_EQ(files->size(), 3u);
  EXPECT_EQ(mode_of(folder), 0700u);
  EXPECT_EQ(mode_of(folder / "pki"), 0700u);
  EXPECT_EQ(mode_of(folder / "tokens.json"), 0600u);
  EXPECT_EQ(mode_of(folder / "pki" / "ca.key"), 0600u);
  EXPECT_TRUE(claim_private_files(folder, {"pki"}).value_or({"x"}).empty()) << "the second time nothing is left to do";
}

/// What another user could have put there, each refused by name and as "blocked".
TEST_F(PrivateFolder, NothingPlantedIsAdopted) {
  const auto expect_refused = [](const auto& claimed, const fs::path& path) {
    ASSERT_FALSE(claimed.ok()) << path;
    EXPECT_EQ(claimed.error().code(), Code::kDenied);
    EXPECT_EQ(claimed.error().verdict(), Verdict::kBlocked);
    EXPECT_NE(claimed.error().to_string().find(path.string()), std::string::npos) << claimed.error().to_string();
  };
  fs::create_directories(folder / "pki");
  fs::create_symlink("/etc/hostname", folder / "pki" / "ca.key");
  expect_refused(claim_private_files(folder, {"pki"}), folder / "pki" / "ca.key");
  fs::remove(folder / "pki" / "ca.key");

  write(temp / "planted", 0600);
  fs::create_hard_link(temp / "planted", folder / "tokens.json");
  expect_refused(claim_private_files(folder, {"pki"}), folder / "tokens.json");
  fs::remove(folder / "tokens.json");

  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_refused(claim_private_files(folder, {}), folder / "pipe");
  fs::remove(folder / "pipe");

  fs::create_directory_symlink(temp.path(), folder / "db");
  expect_refused(claim_private_files(folder, {"db"}), folder / "db");
  fs::remove(folder / "db");

  write(temp / "file", 0600);
  EXPECT_EQ(claim_private_folder(temp / "file").error().code(), Code::kInvalidArgument);

  if (::geteuid() != 0) {  // only root can make files of other owners; some are there for everybody
    expect_refused(claim_private_folder("/usr"), "/usr");
    return;
  }
  constexpr uid_t kNobody = 65534;
  write(folder / "pki" / "ca.crt", 0600);
  ASSERT_EQ(::chown((folder / "pki" / "ca.crt").c_str(), kNobody, kNobody), 0);
  expect_refused(claim_private_files(folder, {"pki"}), folder / "pki" / "ca.crt");
  ASSERT_EQ(::chown((folder / "pki").c_str(), kNobody, kNobody), 0);
  expect_refused(claim_private_files(folder, {"pki"}), folder / "pki");
  ASSERT_EQ(::chown(folder.c_str(), kNobody, kNobody), 0);
  expect_refused(claim_private_folder(folder), folder);
  fs::create_directory_symlink(temp / "deep", temp / "link");
  ASSERT_EQ(::lchown((temp / "link").c_str(), kNobody, kNobody), 0);
  expect_refused(claim_private_folder(temp / "link"), temp / "link");
}

}  // namespace strake::private_folder_test
