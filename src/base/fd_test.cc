#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <iterator>
#include <set>

#include "support/temp_dir.h"

namespace strake::fd_test {

std::set<std::string> names_in(const std::filesystem::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.insert(entry.path().filename().string());
  return names;
}

TEST(WriteFileAtomic, CreatesAndReplacesWithExactlyTheGivenMode) {
  test::TempDir dir;
  const auto path = dir / "config.json";
  const mode_t old_mask = ::umask(0077);
  ASSERT_TRUE(write_file_atomic(path, "first version, the longer one", 0644).ok());
  ::umask(old_mask);
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644u);

  const std::string binary("second\0\n", 8);
  ASSERT_TRUE(write_file_atomic(path, binary, 0600).ok());
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(read_file(path, 100).value(), binary);
  EXPECT_EQ(names_in(dir.path()), (std::set<std::string>{"config.json"}));
}

TEST(WriteFileAtomic, AFailureLeavesTheTargetAndNoTemporaryFile) {
  test::TempDir dir;
  std::filesystem::create_directories(dir / "taken/inside");
  const Status written = write_file_atomic(dir / "taken", "bytes", 0644);
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().to_string().find((dir / "taken").string()), std::string::npos);
  EXPECT_EQ(names_in(dir.path()), (std::set<std::string>{"taken"}));
  EXPECT_TRUE(std::filesystem::is_directory(dir / "taken/inside"));
}

TEST(WriteFileAtomic, ReplacesALinkAndKeepsWhatItPointsTo) {
  test::TempDir dir;
  ASSERT_TRUE(write_file_atomic(dir / "target", "untouched", 0644).ok());
  std::filesystem::create_symlink("target", dir / "link");
  ASSERT_TRUE(write_file_atomic(dir / "link", "new", 0644).ok());
  EXPECT_FALSE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_EQ(read_file(dir / "target", 100).value(), "untouched");
}

TEST(WriteFileAtomic, RefusesAPathThatNamesNoFileOrNoFolder) {
  test::TempDir dir;
  EXPECT_EQ(write_file_atomic(dir / "", "x", 0644).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(write_file_atomic(dir / "absent/file", "x", 0644).error().code(), Code::kNotFound);
}

TEST(ReadFile, HoldsTheLimitExactly) {
  test::TempDir dir;
  const std::string content(200'000, 'x');
  ASSERT_TRUE(write_file_atomic(dir / "f", content, 0644).ok());
  EXPECT_EQ(read_file(dir / "f", content.size()).value(), content);
  const auto refused = read_file(dir / "f", content.size() - 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kExhausted);
}

TEST(ReadFile, SaysWhatIsMissing) {
  test::TempDir dir;
  const auto missing = read_file(dir / "absent", 10);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
  EXPECT_NE(missing.error().to_string().find((dir / "absent").string()), std::string::npos);
  EXPECT_FALSE(read_file(dir.path(), 10).ok());
}

TEST(ReadFileTail, GivesTheEndOrAllThereIs) {
  test::TempDir dir;
  ASSERT_TRUE(write_file_atomic(dir / "log", "one two three", 0644).ok());
  EXPECT_EQ(read_file_tail(dir / "log", 5).value(), "three");
  EXPECT_EQ(read_file_tail(dir / "log", 1000).value(), "one two three");
}

TEST(Fd, ClosesWhatItOwnsAndNothingItGaveAway) {
  int number = -1;
  {
    const Fd fd = open_file("/dev/null", O_RDONLY).value();
    number = fd.get();
    EXPECT_EQ(::fcntl(number, F_GETFD), FD_CLOEXEC);
  }
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);

  Fd first = open_file("/dev/null", O_RDONLY).value();
  number = first.get();
  Fd second = std::move(first);
  EXPECT_FALSE(first.valid());
  EXPECT_EQ(second.release(), number);
  Fd closer(number);
}

}  // namespace strake::fd_test
