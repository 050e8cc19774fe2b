#include "base/file_tree.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_dir.h"

namespace strake::file_tree_test {

std::string contents_of(FileTree& tree, const std::string& path) {
  const auto state = tree.read(path);
  EXPECT_TRUE(state.ok());
  return state.ok() && *state ? (*state)->contents : "(absent)";
}

void basic_behaviour(FileTree& tree) {
  EXPECT_EQ(contents_of(tree, "/etc/a"), "(absent)");
  ASSERT_TRUE(tree.write("/etc/deep/er/a", "one", 0600, {}).ok());
  ASSERT_TRUE(tree.write("/etc/deep/er/a", "two", 0640, {}).ok());
  ASSERT_TRUE(tree.write("/etc/deep/b", "", 0644, {}).ok());
  ASSERT_TRUE(tree.write_link("/etc/deep/masked.service", "/dev/null").ok());
  const auto state = tree.read("/etc/deep/er/a");
  ASSERT_TRUE(state.ok() && *state);
  EXPECT_EQ((*state)->contents, "two");
  EXPECT_EQ((*state)->mode, 0640u);
  EXPECT_EQ((*tree.read("/etc/deep/masked.service"))->kind, FileState::Kind::kLink);
  EXPECT_EQ(*tree.list("/etc/deep"), (std::vector<std::string>{"b", "er", "masked.service"}));
  EXPECT_TRUE(tree.list("/nowhere")->empty());
  ASSERT_TRUE(tree.remove("/etc/deep/er/a").ok());
  ASSERT_TRUE(tree.remove("/etc/deep/er/a").ok());
  ASSERT_TRUE(tree.remove("/no/such/folder/x").ok());
  EXPECT_EQ(contents_of(tree, "/etc/deep/er/a"), "(absent)");
  // Files and folders do not replace each other.
  EXPECT_FALSE(tree.write("/etc/deep/b/below", "", 0644, {}).ok());
  EXPECT_EQ(contents_of(tree, "/etc/deep/b/below"), "(absent)");
  EXPECT_FALSE(tree.write("/etc/deep", "", 0644, {}).ok());
  EXPECT_FALSE(tree.make_folder("/etc/deep/b").ok());
  EXPECT_FALSE(tree.remove("/etc/deep").ok());
  EXPECT_EQ((*tree.read("/etc/deep"))->kind, FileState::Kind::kDirectory);
  EXPECT_FALSE(tree.remove_folder("/etc/deep").ok());
  EXPECT_FALSE(tree.remove_folder("/etc/deep/b").ok());
  ASSERT_TRUE(tree.remove_folder("/etc/deep/er").ok());
  ASSERT_TRUE(tree.remove_folder("/etc/deep/er").ok());
  EXPECT_EQ(contents_of(tree, "/etc/deep/er"), "(absent)");
  ASSERT_TRUE(tree.make_folder("/etc/new/folder").ok());
  ASSERT_TRUE(tree.make_folder("/etc/new/folder").ok());
  EXPECT_EQ((*tree.read("/etc/new/folder"))->kind, FileState::Kind::kDirectory);
  EXPECT_EQ((*tree.read("/etc/new/folder"))->mode, 0755u);
}

TEST(FileTree, MemoryAndFolderBehaveTheSame) {
  MemoryTree memory;
  basic_behaviour(memory);
  test::TempDir folder;
  DirectoryTree directory(folder.path(), false);
  basic_behaviour(directory);
}

TEST(FileTree, LinksCannotLeadOutOfTheFolder) {
  test::TempDir folder;
  std::filesystem::create_directories(folder / "outside");
  std::filesystem::create_directories(folder / "root");
  std::filesystem::create_directory_symlink(folder / "outside", folder / "root/etc");
  std::filesystem::create_directory_symlink("../../../outside", folder / "root/up");
  DirectoryTree tree(folder / "root", false);
  // As on a machine whose root this is: the absolute target does not exist there, and ".." stops at the root.
  EXPECT_FALSE(tree.write("/etc/x", "1", 0644, {}).ok());
  EXPECT_FALSE(tree.write("/up/x", "1", 0644, {}).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "outside/x"));
}

TEST(FileTree, AFileLeftByAnInterruptedWriteIsReplaced) {
  test::TempDir folder;
  std::ofstream(folder / ".a.strake-new") << "half";
  DirectoryTree tree(folder.path(), false);
  ASSERT_TRUE(tree.write("/a", "whole", 0644, {}).ok());
  EXPECT_EQ(contents_of(tree, "/a"), "whole");
  EXPECT_EQ(*tree.list("/"), std::vector<std::string>{"a"});
}

TEST(FileTree, AWriteThatFailsLeavesNothing) {
  test::TempDir folder;
  std::filesystem::create_directories(folder / "taken/below");
  DirectoryTree tree(folder.path(), false);
  EXPECT_FALSE(tree.write("/taken", "1", 0644, {}).ok());
  EXPECT_FALSE(tree.write_link("/taken", "target").ok());
  EXPECT_EQ(*tree.list("/"), std::vector<std::string>{"taken"});
}

TEST(FileTree, RefusesAPathThatIsNotAFile) {
  test::TempDir folder;
  DirectoryTree tree(folder.path(), false);
  for (const char* bad : {"", "etc/x", "/", "/etc/"}) EXPECT_FALSE(tree.write(bad, "", 0644, {}).ok()) << bad;
}

}  // namespace strake::file_tree_test
