#include "codec/cpio.h"

#include <sys/stat.h>

#include <memory>

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace strake::codec::cpio_test {

constexpr std::uint32_t kTime = 1'700'000'000;

using Members = std::vector<std::pair<CpioEntry, std::string>>;

Members sample_members() {
  return {{{.path = "etc", .mode = S_IFDIR | 0755, .size = 0}, ""},
          {{.path = "etc/hostname", .mode = S_IFREG | 0640, .uid = 1000, .gid = 10, .size = 5}, "core\n"},
          {{.path = "etc/link", .mode = S_IFLNK | 0777, .size = 8}, "hostname"},
          {{.path = "empty", .mode = S_IFREG | 0644}, ""},
          {{.path = "dev-null", .mode = S_IFCHR | 0666, .device_major = 1, .device_minor = 3}, ""}};
}

std::string written(const Members& members) {
  StringSink out;
  CpioWriter writer(out, kTime);
  for (const auto& [entry, content] : members) {
    const auto status = writer.add(entry, content);
    EXPECT_TRUE(status.ok()) << status.error().to_string();
  }
  EXPECT_TRUE(writer.finish().ok());
  return std::move(out).take();
}

Result<Members> read_members(std::string_view archive, const CpioLimits& limits = {}) {
  MemorySource source(archive);
  CpioReader reader(source, limits);
  Members members;
  for (;;) {
    STRAKE_TRY(auto entry, reader.next());
    if (!entry) return members;
    STRAKE_TRY(std::string content, read_all(reader.content(), 1 << 24));
    members.emplace_back(std::move(*entry), std::move(content));
  }
}

/// What the writer fills in by itself.
Members as_written(Members members) {
  std::uint32_t inode = 1;
  for (auto& [entry, content] : members) {
    entry.inode = inode++;
    entry.mtime = kTime;
    entry.link_count = S_ISDIR(entry.mode) ? 2 : 1;
  }
  return members;
}

void expect_same(const Members& actual, const Members& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_TRUE(actual[i].first == expected[i].first) << expected[i].first.path;
    EXPECT_EQ(actual[i].second, expected[i].second) << expected[i].first.path;
  }
}

struct FreeArchive {
  void operator()(archive* a) const { archive_free(a); }
};
using ArchivePtr = std::unique_ptr<archive, FreeArchive>;

TEST(CpioWriter, LibarchiveReadsIt) {
  const std::string bytes = written(sample_members());
  ArchivePtr reader(archive_read_new());
  ASSERT_EQ(archive_read_support_format_cpio(reader.get()), ARCHIVE_OK);
  ASSERT_EQ(archive_read_open_memory(reader.get(), bytes.data(), bytes.size()), ARCHIVE_OK);
  std::int64_t inode = 1;
  for (const auto& [entry, content] : sample_members()) {
    archive_entry* header = nullptr;
    ASSERT_EQ(archive_read_next_header(reader.get(), &header), ARCHIVE_OK) << archive_error_string(reader.get());
    EXPECT_EQ(archive_entry_pathname(header), entry.path);
    EXPECT_EQ(archive_entry_mode(header), entry.mode);
    EXPECT_EQ(archive_entry_uid(header), entry.uid);
    EXPECT_EQ(archive_entry_gid(header), entry.gid);
    EXPECT_EQ(archive_entry_mtime(header), kTime);
    EXPECT_EQ(archive_entry_ino64(header), inode++);
    if (S_ISLNK(entry.mode)) {
      EXPECT_EQ(archive_entry_symlink(header), content);
      continue;
    }
    if (S_ISCHR(entry.mode)) {
      EXPECT_EQ(archive_entry_rdevmajor(header), entry.device_major);
      EXPECT_EQ(archive_entry_rdevminor(header), entry.device_minor);
    }
    std::string data(64, '\0');
    const auto size = archive_read_data(reader.get(), data.data(), data.size());
    ASSERT_GE(size, 0);
    EXPECT_EQ(data.substr(0, static_cast<std::size_t>(size)), content);
  }
  archive_entry* header = nullptr;
  EXPECT_EQ(archive_read_next_header(reader.get(), &header), ARCHIVE_EOF);
}

la_ssize_t append_bytes(archive*, void* target, const void* bytes, std::size_t size) {
  static_cast<std::string*>(target)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

TEST(CpioReader, ReadsLibarchive) {
  std::string bytes;
  ArchivePtr writer(archive_write_new());
  ASSERT_EQ(archive_write_set_format_cpio_newc(writer.get()), ARCHIVE_OK);
  ASSERT_EQ(archive_write_open(writer.get(), &bytes, nullptr, append_bytes, nullptr), ARCHIVE_OK);
  archive_entry* header = archive_entry_new();
  archive_entry_set_pathname(header, "usr/bin/tool");
  archive_entry_set_mode(header, S_IFREG | 0755);
  archive_entry_set_size(header, 3);
  archive_entry_set_mtime(header, 77, 0);
  EXPECT_EQ(archive_write_header(writer.get(), header), ARCHIVE_OK);
  EXPECT_EQ(archive_write_data(writer.get(), "abc", 3), 3);
  archive_entry_free(header);
  ASSERT_EQ(archive_write_close(writer.get()), ARCHIVE_OK);

  const auto members = read_members(bytes);
  ASSERT_TRUE(members.ok()) << members.error().to_string();
  ASSERT_EQ(members->size(), 1u);
  EXPECT_EQ((*members)[0].first.path, "usr/bin/tool");
  EXPECT_EQ((*members)[0].first.mode, S_IFREG | 0755u);
  EXPECT_EQ((*members)[0].first.mtime, 77u);
  EXPECT_EQ((*members)[0].second, "abc");
}

TEST(Cpio, ReadingUndoesWriting) {
  const auto members = read_members(written(sample_members()));
  ASSERT_TRUE(members.ok()) << members.error().to_string();
  expect_same(*members, as_written(sample_members()));

  EXPECT_TRUE(rc::check([](const std::string& name, const std::string& content, std::uint32_t mode, std::uint32_t uid) {
    CpioEntry entry{.path = "p" + name, .mode = mode, .uid = uid, .size = static_cast<std::uint32_t>(content.size())};
    std::erase(entry.path, '\0');
    const Members expected = {{entry, content}, {entry, ""}};
    Members want = as_written(expected);
    want[1].first.size = 0;
    const auto back = read_members(written(expected));
    RC_ASSERT(back.ok());
    RC_ASSERT(*back == want);
  }));
}

TEST(CpioWriter, IsDeterministicAndPadded) {
  const std::string bytes = written(sample_members());
  EXPECT_EQ(bytes, written(sample_members()));
  EXPECT_EQ(bytes.size() % 512, 0u);
}

TEST(CpioReader, WalksThroughConcatenatedArchives) {
  const std::string one = written({{{.path = "a", .size = 1}, "1"}});
  const std::string two = written({{{.path = "b", .size = 1}, "2"}});
  for (std::size_t padding : {0, 4, 512, 3000}) {
    const std::string both = one + std::string(padding, '\0') + two + std::string(padding, '\0');
    MemorySource source(both);
    CpioReader reader(source);
    EXPECT_EQ((*reader.next())->path, "a");
    EXPECT_EQ(reader.archive_index(), 0u);
    EXPECT_EQ((*reader.next())->path, "b");
    EXPECT_EQ(reader.archive_index(), 1u);
    EXPECT_EQ(*read_all(reader.content(), 10), "2");
    EXPECT_FALSE(reader.next()->has_value());
    EXPECT_FALSE(reader.next()->has_value());
    EXPECT_EQ(reader.offset(), both.size());
  }
  EXPECT_TRUE(read_members("")->empty());
  EXPECT_TRUE(read_members(std::string(512, '\0'))->empty());
}

Code error_code(std::string_view archive, const CpioLimits& limits = {}) {
  const auto members = read_members(archive, limits);
  EXPECT_FALSE(members.ok());
  return members.ok() ? Code::kInternal : members.error().code();
}

TEST(CpioReader, CutAnywhereIsCorrupt) {
  const std::string bytes = written(sample_members());
  const std::size_t end = bytes.find("TRAILER!!!") + 11;
  for (std::size_t size = 1; size < end; ++size) {
    EXPECT_EQ(error_code(std::string_view(bytes).substr(0, size)), Code::kCorrupt) << size;
  }
  EXPECT_FALSE(read_members(std::string_view(bytes).substr(0, end + 1)).ok() &&
               read_members(std::string_view(bytes).substr(0, end + 1))->size() != sample_members().size());
}

TEST(CpioReader, RefusesDamage) {
  std::string bytes = written({{{.path = "a"}, ""}});
  bytes[5] = '7';
  EXPECT_EQ(error_code(bytes), Code::kCorrupt) << "the old binary-compatible format is another one";
  bytes = written({{{.path = "a"}, ""}});
  bytes[10] = 'x';
  EXPECT_EQ(error_code(bytes), Code::kCorrupt) << "not hexadecimal";
  bytes = written({{{.path = "abc"}, ""}});
  bytes[111] = '\0';
  EXPECT_EQ(error_code(bytes), Code::kCorrupt) << "NUL inside a name";
  const std::string archive = written({{{.path = "a"}, ""}});
  EXPECT_EQ(error_code(archive + "\x1f\x8b compressed"), Code::kCorrupt);
  EXPECT_EQ(error_code(archive + std::string(2, '\0') + archive), Code::kCorrupt) << "misaligned";
}

TEST(CpioReader, Limits) {
  const std::string bytes = written(sample_members());
  EXPECT_EQ(error_code(bytes, {.max_path_bytes = 4}), Code::kExhausted);
  EXPECT_EQ(error_code(bytes, {.max_entries = 3}), Code::kExhausted);
  EXPECT_EQ(error_code(bytes, {.max_total_bytes = 200}), Code::kExhausted);
  EXPECT_EQ(error_code(bytes + std::string(5000, '\0'), {.max_total_bytes = 2000}), Code::kExhausted);
}

TEST(CpioWriter, Refuses) {
  StringSink out;
  CpioWriter writer(out, 0);
  EXPECT_EQ(writer.add(CpioEntry{.path = ""}).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(writer.add(CpioEntry{.path = "TRAILER!!!"}).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(writer.add(CpioEntry{.path = std::string("a\0", 2)}).error().code(), Code::kInvalidArgument);
  MemorySource content("ab");
  EXPECT_EQ(writer.add(CpioEntry{.path = "short", .size = 3}, content).error().code(), Code::kInvalidArgument);
  MemorySource more("ab");
  EXPECT_EQ(writer.add(CpioEntry{.path = "long", .size = 1}, more).error().code(), Code::kInvalidArgument);
}

}  // namespace strake::codec::cpio_test
