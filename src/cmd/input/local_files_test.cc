#include "cmd/input/local_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace strake::cmd::local_files_test {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& contents) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << contents;
}

class LocalFilesTest : public ::testing::Test {
 protected:
  LocalFilesTest() {
    write(root_ / "outside", "secret");
    write(root_ / "files/a", "A");
    write(root_ / "files/tree/etc/x", "X");
    write(root_ / "files/tree/b", "B");
    fs::permissions(root_ / "files/tree/b", fs::perms(0711));
    fs::create_symlink("../a", root_ / "files/tree/link");
    fs::create_symlink("a", root_ / "files/inside");
    fs::create_symlink("../outside", root_ / "files/leads-out");
    fs::create_symlink(root_ / "outside", root_ / "files/leads-out-absolutely");
    fs::create_directory_symlink("..", root_ / "files/up");
    fs::create_symlink("circle", root_ / "files/circle");
    EXPECT_EQ(mkfifo((root_ / "files/pipe").c_str(), 0600), 0);
  }

  LocalFolder folder() { return *LocalFolder::open((root_ / "files").string()); }

  strake::test::TempDir root_;
};

TEST_F(LocalFilesTest, ReadsWhatIsBelow) {
  EXPECT_EQ(*folder().read("a"), "A");
  EXPECT_EQ(*folder().read("inside"), "A");
  EXPECT_EQ(*folder().read("tree/link"), "A");
}

TEST_F(LocalFilesTest, NothingLeadsOut) {
  for (const std::string path : {"../outside", "leads-out", "leads-out-absolutely", "up/outside", "/etc/passwd"}) {
    const auto read = folder().read(path);
    ASSERT_FALSE(read.ok()) << path;
    EXPECT_NE(read.error().message().find("leads out of"), std::string::npos) << read.error().message();
  }
  EXPECT_FALSE(folder().walk("up").ok());
  EXPECT_FALSE(folder().walk("..").ok());
}

TEST_F(LocalFilesTest, OnlyFilesAreRead) {
  for (const std::string path : {"tree", "pipe", "circle", "missing"}) EXPECT_FALSE(folder().read(path).ok()) << path;
  EXPECT_FALSE(folder().walk("a").ok());
  EXPECT_FALSE(folder().walk(".").ok());  // the pipe in it
}

TEST_F(LocalFilesTest, TreesAreWalkedByName) {
  const auto entries = folder().walk("tree");
  ASSERT_TRUE(entries.ok()) << entries.error().to_string();
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].path, "b");
  EXPECT_TRUE((*entries)[0].is_executable);
  EXPECT_EQ((*entries)[1].path, "etc/x");
  EXPECT_EQ((*entries)[1].contents, "X");
  EXPECT_FALSE((*entries)[1].is_executable);
  EXPECT_EQ((*entries)[2].kind, ignition::LocalEntry::Kind::kLink);
  EXPECT_EQ((*entries)[2].contents, "../a");
}

TEST_F(LocalFilesTest, SizeIsBounded) {
  write(root_ / "files/large", "");
  fs::resize_file(root_ / "files/large", kMaxLocalFileBytes + 1);
  const auto read = folder().read("large");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), Code::kExhausted);
  EXPECT_FALSE(LocalFolder::open((root_ / "none").string()).ok());
}

}  // namespace strake::cmd::local_files_test
