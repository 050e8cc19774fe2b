#include "ostree/repository_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ostree/owner_mapping.h"
#include "ostree/testing/sample_tree.h"
#include "support/temp_dir.h"

namespace strake::ostree::repository_writer_test {

using testing::SampleFile;
using testing::SampleTree;

/// Owners a test can give files to whoever runs it.
std::vector<SampleFile> files_of_the_caller() {
  const auto uid = static_cast<std::uint32_t>(::geteuid());
  const auto gid = static_cast<std::uint32_t>(::getegid());
  return {{.path = "usr/bin/tool", .content = std::string(300'000, 'x'), .mode = 04755, .uid = uid, .gid = gid},
          {.path = "usr/bin/sh", .symlink_target = "tool", .uid = uid, .gid = gid},
          {.path = "usr/empty", .mode = 0600, .uid = uid, .gid = gid},
          {.path = "usr/marked", .content = "x", .uid = uid, .gid = gid, .xattrs = {{"user.a", "1"}, {"user.b", "2"}}}};
}

/// What a repository of mode bare-user-only can hold.
std::vector<SampleFile> plain_files() {
  return {{"usr/a", "1"}, {.path = "usr/b", .content = "2", .mode = 0755}, {.path = "usr/l", .symlink_target = "b"}};
}

Status write_tree(RepositoryWriter& writer, const SampleTree& tree) {
  for (const auto& [checksum, file] : tree.files) {
    codec::MemorySource content(file.content);
    STRAKE_TRY(const Checksum written, writer.write_file(file.info, content, checksum));
    EXPECT_EQ(written, checksum);
  }
  for (const auto& [key, bytes] : tree.metadata) {
    STRAKE_TRY(const Checksum written, writer.write_metadata(key.first, bytes));
    EXPECT_EQ(written, key.second);
  }
  return writer.write_ref("os/stable", tree.commit());
}

std::size_t entries_in(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) count += entry.is_directory() ? 0 : 1;
  return count;
}

TEST(RepositoryWriter, WhatIsWrittenIsReadBackInEveryMode) {
  for (const RepositoryMode mode :
       {RepositoryMode::kBare, RepositoryMode::kBareUser, RepositoryMode::kBareUserOnly, RepositoryMode::kArchive}) {
    SCOPED_TRACE(to_string(mode));
    test::TempDir folder;
    const SampleTree tree(mode == RepositoryMode::kBareUserOnly ? plain_files() : files_of_the_caller());
    auto writer = RepositoryWriter::create(folder / "repo", mode);
    ASSERT_TRUE(writer.ok()) << writer.error().to_string();
    const Status written = write_tree(**writer, tree);
    ASSERT_TRUE(written.ok()) << written.error().to_string();
    EXPECT_EQ((*writer)->counts().objects_written, tree.files.size() + tree.metadata.size());
    EXPECT_EQ(entries_in(folder / "repo/tmp"), 0u);

    const auto repository = Repository::open(folder / "repo");
    ASSERT_TRUE(repository.ok()) << repository.error().to_string();
    EXPECT_EQ(repository->mode(), mode);
    EXPECT_EQ(*repository->resolve("os/stable"), tree.commit());
    for (const auto& [checksum, file] : tree.files) {
      codec::StringSink content;
      const Status copied = repository->copy_file(checksum, content);
      ASSERT_TRUE(copied.ok()) << copied.error().to_string();
      EXPECT_EQ(content.text(), file.content);
      EXPECT_EQ(*repository->read_file_info(checksum), file.info);
    }

    // A second writer finds everything, hashes it and writes nothing.
    auto again = RepositoryWriter::open(folder / "repo");
    ASSERT_TRUE(again.ok()) << again.error().to_string();
    ASSERT_TRUE(write_tree(**again, tree).ok());
    EXPECT_EQ((*again)->counts().objects_written, 0u);
    EXPECT_EQ((*again)->counts().objects_kept, tree.files.size() + tree.metadata.size());
  }
}

/// What another program left is not believed because of its name.
TEST(RepositoryWriter, ReplacesDamagedObjects) {
  for (const RepositoryMode mode : {RepositoryMode::kBare, RepositoryMode::kBareUser, RepositoryMode::kArchive}) {
    SCOPED_TRACE(to_string(mode));
    test::TempDir folder;
    const SampleTree tree(files_of_the_caller());
    auto first = RepositoryWriter::create(folder / "repo", mode, {.sync = SyncPolicy::kNever});
    ASSERT_TRUE(first.ok() && write_tree(**first, tree).ok());
    std::size_t damaged = 0;
    const auto damage = [&](const std::string& path) {
      if (std::filesystem::is_symlink(folder / "repo" / path)) return;
      // A byte more would be noticed by anybody: the size stays.
      auto bytes = read_file(folder / "repo" / path, 1 << 20);
      ASSERT_TRUE(bytes.ok());
      if (bytes->empty()) return;
      bytes->at(bytes->size() / 2) ^= 1;
      auto fd = open_file(folder / "repo" / path, O_WRONLY);
      ASSERT_TRUE(fd.ok() && write_all(fd->get(), *bytes).ok());
      ++damaged;
    };
    for (const auto& [checksum, file] : tree.files) damage(object_path(mode, ObjectType::kFile, checksum));
    for (const auto& [key, bytes] : tree.metadata) damage(object_path(mode, key.first, key.second));
    ASSERT_GT(damaged, 5u);

    auto second = RepositoryWriter::open(folder / "repo", {.sync = SyncPolicy::kEachObject});
    ASSERT_TRUE(second.ok());
    ASSERT_TRUE(write_tree(**second, tree).ok());
    EXPECT_EQ((*second)->counts().objects_damaged, damaged);
    EXPECT_EQ((*second)->counts().objects_written, damaged);
    for (const auto& [checksum, file] : tree.files) {
      codec::StringSink content;
      EXPECT_TRUE((*second)->repository().copy_file(checksum, content).ok());
    }
  }
}

TEST(RepositoryWriter, RefusesContentThatIsAnotherFile) {
  test::TempDir folder;
  auto writer = RepositoryWriter::create(folder / "repo", RepositoryMode::kBareUser);
  ASSERT_TRUE(writer.ok());
  const FileInfo info{0, 0, S_IFREG | 0644, 5, "", {}};
  const Checksum right = checksum_of_file(info, "right");
  const struct {
    const char* what;
    FileInfo info;
    const char* content;
    const char* says;
  } cases[] = {
      {"another byte", info, "wrong", "has the checksum"},
      {"too long", info, "right and more", "more content than the 5 bytes"},
      {"cut", info, "rig", "ends after 3"},
      {"another owner", {1, 0, S_IFREG | 0644, 5, "", {}}, "right", "has the checksum"},
      {"a device", {0, 0, S_IFCHR | 0644, 5, "", {}}, "right", "neither that of a file"},
      {"a link without a target", {0, 0, S_IFLNK | 0777, 0, "", {}}, "", "no target"},
      {"a link", {0, 0, S_IFLNK | 0777, 0, "x", {}}, "", "has the checksum"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.what);
    codec::MemorySource content(test.content);
    const auto written = (*writer)->write_file(test.info, content, right);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().code(), Code::kCorrupt);
    EXPECT_NE(written.error().to_string().find(test.says), std::string::npos) << written.error().to_string();
  }
  EXPECT_EQ((*writer)->counts().objects_written, 0u);
  EXPECT_EQ(entries_in(folder / "repo/tmp"), 0u);
  EXPECT_FALSE((*writer)->write_metadata(ObjectType::kDirTree, "no tree").ok());
  EXPECT_FALSE((*writer)->write_metadata(ObjectType::kFile, "").ok());
  EXPECT_FALSE((*writer)->write_detached_metadata(right, "no dictionary").ok());
}

TEST(RepositoryWriter, OneOfModeBareUserOnlyRefusesWhatItCannotKeep) {
  test::TempDir folder;
  auto writer = RepositoryWriter::create(folder / "repo", RepositoryMode::kBareUserOnly);
  ASSERT_TRUE(writer.ok());
  for (const FileInfo& info : {FileInfo{1, 0, S_IFREG | 0644, 0, "", {}}, FileInfo{0, 0, S_IFREG | 04755, 0, "", {}},
                               FileInfo{0, 0, S_IFREG | 0644, 0, "", {{"user.a", "1"}}}}) {
    codec::MemorySource content("");
    const auto written = (*writer)->write_file(info, content);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().code(), Code::kUnsupported);
  }
}

TEST(RepositoryWriter, StaysInsideTheRepository) {
  test::TempDir folder;
  auto writer = RepositoryWriter::create(folder / "repo", RepositoryMode::kBareUser);
  ASSERT_TRUE(writer.ok());
  std::filesystem::create_directory(folder / "outside");
  for (const char* name : {"", "/abs", "a//b", "../x", "a/../../x", "a/./b", "a b", "a\nb", ".hidden", "a/"}) {
    EXPECT_FALSE((*writer)->write_ref(name, Checksum::of("")).ok()) << name;
    EXPECT_FALSE((*writer)->remove_ref(name).ok()) << name;
  }
  EXPECT_FALSE((*writer)->write_ref(std::string(300, 'a'), Checksum::of("")).ok());
  // Folders of the repository that lead out of it.
  std::filesystem::create_directory_symlink(folder / "outside", folder / "repo/refs/heads/link");
  EXPECT_FALSE((*writer)->write_ref("link/x", Checksum::of("")).ok());
  const Checksum empty = *Checksum::from_hex("446a0ef11b7cc167f3b603e585c7eeeeb675faa412d5ec73f62988eb0b6c5488");
  std::filesystem::create_directory_symlink(folder / "outside", folder / "repo/objects/44");
  const auto written = (*writer)->write_metadata(ObjectType::kDirMeta, serialize_dirmeta({0, 0, S_IFDIR | 0755, {}}));
  EXPECT_FALSE(written.ok()) << empty.hex();
  EXPECT_TRUE(std::filesystem::is_empty(folder / "outside"));
}

TEST(RepositoryWriter, RefsAreReplacedAndRemoved) {
  test::TempDir folder;
  auto writer = RepositoryWriter::create(folder / "repo", RepositoryMode::kArchive);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->write_ref("a/b_3A_c", Checksum::of("1")).ok());
  ASSERT_TRUE((*writer)->write_ref("a/b_3A_c", Checksum::of("2")).ok());
  EXPECT_EQ(*(*writer)->repository().resolve("a/b_3A_c"), Checksum::of("2"));
  EXPECT_TRUE((*writer)->remove_ref("a/b_3A_c").ok());
  EXPECT_TRUE((*writer)->remove_ref("a/b_3A_c").ok());
  EXPECT_TRUE((*writer)->remove_ref("never/was").ok());
  EXPECT_TRUE((*writer)->repository().refs()->empty());
}

/// The lock every ostree program takes: shared by those who add, alone for who removes.
TEST(RepositoryWriter, DoesNotWriteWhileSomebodyPrunes) {
  test::TempDir folder;
  const auto lock = [&](short type) {
    auto file = open_file(folder / "repo/.lock", O_RDWR);
    EXPECT_TRUE(file.ok());
    struct flock wanted{};
    wanted.l_type = type;
    const bool held = ::fcntl(file->get(), F_OFD_SETLK, &wanted) == 0;
    return std::pair(*std::move(file), held);
  };
  {
    const auto first = RepositoryWriter::create(folder / "repo", RepositoryMode::kBareUser);
    const auto second = RepositoryWriter::open(folder / "repo");
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_TRUE(lock(F_RDLCK).second);
    EXPECT_FALSE(lock(F_WRLCK).second);
  }
  const auto alone = lock(F_WRLCK);
  ASSERT_TRUE(alone.second);
  const auto writer = RepositoryWriter::open(folder / "repo");
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.error().code(), Code::kUnavailable);
}

TEST(RepositoryWriter, RemovesWhatDeadWritersLeft) {
  test::TempDir folder;
  ASSERT_TRUE(RepositoryWriter::create(folder / "repo", RepositoryMode::kBareUser).ok());
  const auto leave = [&](const std::string& name) {
    ASSERT_TRUE(write_file_atomic(folder / "repo/tmp" / name, "half", 0600).ok());
  };
  leave("strake-1-1");
  leave("somebody-elses");
  const auto first = RepositoryWriter::open(folder / "repo");
  EXPECT_EQ(entries_in(folder / "repo/tmp"), 1u);
  // Another one lives: what looks like a leftover may be his, and its name is not taken.
  leave(fmt::format("strake-{}-1", ::getpid()));
  const auto second = RepositoryWriter::open(folder / "repo");
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE((*second)->write_ref("a", Checksum::of("")).ok());
  EXPECT_EQ(entries_in(folder / "repo/tmp"), 2u);
}

TEST(RepositoryWriter, AnotherModeIsNoPlaceToWriteTo) {
  test::TempDir folder;
  ASSERT_TRUE(RepositoryWriter::create(folder / "repo", RepositoryMode::kArchive).ok());
  ASSERT_TRUE(RepositoryWriter::create(folder / "repo", RepositoryMode::kArchive).ok());
  const auto other = RepositoryWriter::create(folder / "repo", RepositoryMode::kBare);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code(), Code::kExists);
  EXPECT_EQ(RepositoryWriter::open(folder / "none").error().code(), Code::kNotFound);
  EXPECT_FALSE(RepositoryWriter::create(folder / "split", RepositoryMode::kBareSplitXattrs).ok());
}

TEST(OwnerMapping, GivesEverythingToOneWhoCanUseIt) {
  const OwnerMapping owner{1000, 1001};
  const Xattrs xattrs = {
      {"user.v", "v"}, {"security.capability", "c"}, {"trusted.t", "t"}, {"user.e", ""}, {"user.u", "u"}};
  const FileInfo file = mapped_to(owner, FileInfo{0, 0, S_IFREG | 04000, 3, "", xattrs});
  EXPECT_EQ(file, (FileInfo{1000, 1001, S_IFREG | 04600, 3, "", {{"user.u", "u"}, {"user.v", "v"}}}));
  const FileInfo link = mapped_to(owner, FileInfo{0, 0, S_IFLNK | 0777, 0, "x", xattrs});
  EXPECT_EQ(link, (FileInfo{1000, 1001, S_IFLNK | 0777, 0, "x", {}}));
  EXPECT_EQ(mapped_to(owner, DirMeta{0, 0, S_IFDIR, xattrs}),
            (DirMeta{1000, 1001, S_IFDIR | 0700, {{"user.u", "u"}, {"user.v", "v"}}}));
}

}  // namespace strake::ostree::repository_writer_test
