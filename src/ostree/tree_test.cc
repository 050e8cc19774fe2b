#include "ostree/tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "ostree/repository.h"
#include "ostree/testing/sample_tree.h"
#include "support/temp_dir.h"

namespace strake::ostree::tree_test {

using testing::SampleTree;

Result<std::string> listed(const MetadataSource& source, const Checksum& commit, const TreeLimits& limits = {}) {
  std::string text;
  STRAKE_TRY(const Commit read, read_commit(source, commit));
  STRAKE_CHECK_OK(walk_tree(
      source, read,
      [&](const TreeEntry& entry) -> Status {
        text += fmt::format("/{}{} ", entry.path, entry.meta != nullptr ? fmt::format(":{:o}", entry.meta->mode) : "");
        return {};
      },
      limits));
  return text;
}

const std::vector<testing::SampleFile> kFiles = {{"usr/mm", "1"},
                                                 {"usr/aa/big", "2"},
                                                 {.path = "usr/aa/ln", .symlink_target = "big"},
                                                 {"a", "3"},
                                                 {.path = "tmp/", .mode = 01777}};

TEST(Tree, OrderIsThatOfOstree) {
  const SampleTree tree(kFiles);
  const auto text = listed(tree, tree.commit());
  ASSERT_TRUE(text.ok()) << text.error().to_string();
  EXPECT_EQ(*text, "/:40755 /a /tmp:41777 /usr:40755 /usr/mm /usr/aa:40755 /usr/aa/big /usr/aa/ln ");
}

TEST(Tree, EveryMetadataObjectIsChecked) {
  const SampleTree good(kFiles);
  for (const auto& [key, bytes] : good.metadata) {
    SampleTree tree(kFiles);
    tree.metadata[key].back() ^= 1;
    auto text = listed(tree, tree.commit());
    ASSERT_FALSE(text.ok()) << to_string(key.first);
    EXPECT_EQ(text.error().code(), Code::kCorrupt);
    EXPECT_NE(text.error().to_string().find(key.second.hex()), std::string::npos) << text.error().to_string();
    tree.metadata.erase(key);
    text = listed(tree, tree.commit());
    ASSERT_FALSE(text.ok()) << to_string(key.first);
    EXPECT_EQ(text.error().code(), Code::kNotFound);
    EXPECT_NE(text.error().to_string().find(key.second.hex()), std::string::npos) << text.error().to_string();
  }
}

/// Thirty folders, each twice in the one above: a billion paths from a few kilobytes.
TEST(Tree, SharedFoldersDoNotMakeItEndless) {
  SampleTree tree({});
  const Checksum meta = Checksum::of(serialize_dirmeta({0, 0, S_IFDIR | 0755, {}}));
  Checksum below = Checksum::of(serialize_dirtree({}));
  for (int i = 0; i < 30; ++i) {
    const std::string bytes = serialize_dirtree({{}, {{"a", below, meta}, {"b", below, meta}}});
    below = Checksum::of(bytes);
    tree.metadata.emplace(std::pair(ObjectType::kDirTree, below), bytes);
  }
  const Commit commit{Variant::array("{sv}", {}), std::nullopt, "", "", 0, below, meta};
  const auto visit = [](const TreeEntry&) -> Status { return {}; };
  EXPECT_EQ(walk_tree(tree, commit, visit, {.max_entries = 10'000}).error().code(), Code::kExhausted);
  EXPECT_EQ(walk_tree(tree, commit, visit, {.max_entries = 1'000'000, .max_depth = 20}).error().code(),
            Code::kExhausted);
  EXPECT_EQ(walk_tree(tree, commit, visit, {.max_path_bytes = 10}).error().code(), Code::kExhausted);
}

TEST(Repository, ArchiveOnDisk) {
  const test::TempDir directory;
  const SampleTree tree(kFiles);
  testing::write_archive_repository(directory.path(), tree, "os/stable");
  const auto repository = Repository::open(directory.path());
  ASSERT_TRUE(repository.ok()) << repository.error().to_string();
  EXPECT_EQ(repository->mode(), RepositoryMode::kArchive);
  for (const std::string& name : {std::string(), std::string("os/stable"), tree.commit().hex()}) {
    const auto commit = repository->resolve(name);
    ASSERT_TRUE(commit.ok()) << commit.error().to_string();
    EXPECT_EQ(commit->hex(), tree.commit().hex());
  }
  EXPECT_EQ(*listed(*repository, tree.commit()), *listed(tree, tree.commit()));
  for (const auto& [checksum, stored] : tree.files) {
    const auto info = repository->read_file_info(checksum);
    ASSERT_TRUE(info.ok()) << info.error().to_string();
    EXPECT_EQ(*info, stored.info);
    codec::StringSink content;
    ASSERT_TRUE(repository->copy_file(checksum, content).ok());
    EXPECT_EQ(content.text(), stored.content);
  }
  const auto missing = repository->read_file_info(Checksum::of("none"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
}

TEST(Repository, NamesThatAreNot) {
  const test::TempDir directory;
  testing::write_archive_repository(directory.path(), SampleTree(kFiles), "os/stable");
  testing::write_archive_repository(directory.path(), SampleTree(kFiles), "os/next");
  const auto repository = Repository::open(directory.path());
  ASSERT_TRUE(repository.ok());
  for (const char* name : {"", "os/old"}) {
    const auto commit = repository->resolve(name);
    ASSERT_FALSE(commit.ok());
    EXPECT_EQ(commit.error().code(), Code::kNotFound);
    EXPECT_NE(commit.error().message().find("os/next, os/stable"), std::string::npos) << commit.error().message();
  }
  EXPECT_FALSE(Repository::open(directory.path() / "objects").ok());
}

TEST(Repository, Modes) {
  struct Case {
    const char* config;
    const char* expected;
  };
  const Case cases[] = {
      {"[core]\nrepo_version=1\nmode=bare\n", "bare"},
      {"[core]\nmode = archive-z2 \nrepo_version = 1\n\n[remote \"x\"]\nmode=bare\n", "archive"},
      {"[core]\nrepo_version=1\nmode=bare-split-xattrs\n", "bare-split-xattrs"},
      {"[core]\nrepo_version=1\n", "bare"},
      {"[core]\nrepo_version=2\nmode=bare\n", "error: [core] repo_version is 2, expected 1"},
      {"", "error: [core] repo_version is missing, expected 1"},
      {"[core]\nrepo_version=1\nmode=new\n", "error: ostree repository mode 'new' is not known to this program"},
  };
  for (const Case& c : cases) {
    const auto mode = parse_repository_config(c.config);
    EXPECT_EQ(mode.ok() ? std::string(to_string(*mode)) : "error: " + mode.error().message(), c.expected) << c.config;
  }
}

}  // namespace strake::ostree::tree_test
