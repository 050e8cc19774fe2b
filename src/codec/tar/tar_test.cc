#include "codec/tar.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <memory>

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "codec/tar/tar_format.h"

namespace strake::codec::tar_test {

using Members = std::vector<std::pair<TarEntry, std::string>>;

std::string written(const Members& members) {
  StringSink out;
  TarWriter writer(out);
  for (const auto& [entry, content] : members) {
    const auto status = writer.add(entry, content);
    EXPECT_TRUE(status.ok()) << status.error().to_string();
  }
  EXPECT_TRUE(writer.finish().ok());
  return std::move(out).take();
}

Result<Members> read_members(std::string_view archive, const TarLimits& limits = {}) {
  MemorySource source(archive);
  TarReader reader(source, limits);
  Members members;
  for (;;) {
    STRAKE_TRY(auto entry, reader.next());
    if (!entry) return members;
    STRAKE_TRY(std::string content, read_all(reader.content(), 1 << 24));
    members.emplace_back(std::move(*entry), std::move(content));
  }
}

TarEntry file(std::string path, std::uint64_t size = 0) {
  TarEntry entry;
  entry.path = std::move(path);
  entry.size = size;
  return entry;
}

/// One of everything, with what the old formats can express.
Members plain_members() {
  TarEntry hello = file("dir/hello.txt", 5);
  hello.mode = 0640, hello.uid = 1000, hello.gid = 100, hello.user = "core", hello.group = "users";
  hello.mtime.seconds = 1'700'000'000;
  TarEntry directory{.type = TarEntryType::kDirectory, .path = "dir", .mode = 0755};
  TarEntry link{.type = TarEntryType::kSymlink, .path = "dir/link", .link_target = "../hello", .mode = 0777};
  TarEntry hard{.type = TarEntryType::kHardLink, .path = "dir/hard", .link_target = "dir/hello.txt"};
  return {{directory, ""}, {hello, "hello"}, {link, ""}, {hard, ""}, {file("empty"), ""}, {file(".wh.gone"), ""}};
}

// ---- The stranger: libarchive ----

struct FreeArchive {
  void operator()(archive* a) const { archive_free(a); }
};
using ArchivePtr = std::unique_ptr<archive, FreeArchive>;

struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

la_ssize_t append_to_string(archive*, void* target, const void* bytes, std::size_t size) {
  static_cast<std::string*>(target)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

unsigned file_type_of(TarEntryType type) {
  switch (type) {
    case TarEntryType::kFile:
    case TarEntryType::kHardLink: return AE_IFREG;
    case TarEntryType::kSymlink: return AE_IFLNK;
    case TarEntryType::kCharacterDevice: return AE_IFCHR;
    case TarEntryType::kBlockDevice: return AE_IFBLK;
    case TarEntryType::kDirectory: return AE_IFDIR;
    case TarEntryType::kFifo: return AE_IFIFO;
  }
  return 0;
}

std::string written_by_libarchive(int (*set_format)(archive*), const Members& members) {
  std::string out;
  ArchivePtr writer(archive_write_new());
  EXPECT_EQ(set_format(writer.get()), ARCHIVE_OK);
  EXPECT_EQ(archive_write_open(writer.get(), &out, nullptr, append_to_string, nullptr), ARCHIVE_OK);
  for (const auto& [entry, content] : members) {
    std::unique_ptr<archive_entry, FreeEntry> header(archive_entry_new());
    archive_entry_set_pathname(header.get(), entry.path.c_str());
    archive_entry_set_filetype(header.get(), file_type_of(entry.type));
    archive_entry_set_perm(header.get(), entry.mode);
    archive_entry_set_uid(header.get(), static_cast<la_int64_t>(entry.uid));
    archive_entry_set_gid(header.get(), static_cast<la_int64_t>(entry.gid));
    archive_entry_set_uname(header.get(), entry.user.c_str());
    archive_entry_set_gname(header.get(), entry.group.c_str());
    archive_entry_set_mtime(header.get(), entry.mtime.seconds, static_cast<long>(entry.mtime.nanoseconds));
    archive_entry_set_size(header.get(), static_cast<la_int64_t>(entry.size));
    if (entry.type == TarEntryType::kSymlink) archive_entry_set_symlink(header.get(), entry.link_target.c_str());
    if (entry.type == TarEntryType::kHardLink) archive_entry_set_hardlink(header.get(), entry.link_target.c_str());
    archive_entry_set_rdevmajor(header.get(), entry.device_major);
    archive_entry_set_rdevminor(header.get(), entry.device_minor);
    for (const auto& [name, value] : entry.xattrs) {
      archive_entry_xattr_add_entry(header.get(), name.c_str(), value.data(), value.size());
    }
    EXPECT_EQ(archive_write_header(writer.get(), header.get()), ARCHIVE_OK) << archive_error_string(writer.get());
    if (!content.empty()) {
      EXPECT_EQ(archive_write_data(writer.get(), content.data(), content.size()),
                static_cast<la_ssize_t>(content.size()));
    }
  }
  EXPECT_EQ(archive_write_close(writer.get()), ARCHIVE_OK);
  return out;
}

std::string text_or_empty(const char* text) { return text != nullptr ? text : ""; }

TarEntryType type_from_libarchive(archive_entry* header) {
  if (archive_entry_hardlink(header) != nullptr) return TarEntryType::kHardLink;
  switch (archive_entry_filetype(header)) {
    case AE_IFLNK: return TarEntryType::kSymlink;
    case AE_IFCHR: return TarEntryType::kCharacterDevice;
    case AE_IFBLK: return TarEntryType::kBlockDevice;
    case AE_IFDIR: return TarEntryType::kDirectory;
    case AE_IFIFO: return TarEntryType::kFifo;
    default: return TarEntryType::kFile;
  }
}

Members read_by_libarchive(const std::string& bytes) {
  Members members;
  ArchivePtr reader(archive_read_new());
  EXPECT_EQ(archive_read_support_format_tar(reader.get()), ARCHIVE_OK);
  EXPECT_EQ(archive_read_open_memory(reader.get(), bytes.data(), bytes.size()), ARCHIVE_OK);
  archive_entry* header = nullptr;
  for (;;) {
    const int answer = archive_read_next_header(reader.get(), &header);
    if (answer == ARCHIVE_EOF) return members;
    EXPECT_EQ(answer, ARCHIVE_OK) << archive_error_string(reader.get());
    if (answer != ARCHIVE_OK) return members;
    TarEntry entry;
    entry.type = type_from_libarchive(header);
    entry.path = text_or_empty(archive_entry_pathname(header));
    if (entry.type == TarEntryType::kDirectory && entry.path.ends_with('/')) entry.path.pop_back();
    entry.mode = archive_entry_perm(header);
    entry.uid = static_cast<std::uint64_t>(archive_entry_uid(header));
    entry.gid = static_cast<std::uint64_t>(archive_entry_gid(header));
    entry.user = text_or_empty(archive_entry_uname(header));
    entry.group = text_or_empty(archive_entry_gname(header));
    entry.mtime = {archive_entry_mtime(header), static_cast<std::uint32_t>(archive_entry_mtime_nsec(header))};
    entry.link_target = entry.type == TarEntryType::kHardLink ? text_or_empty(archive_entry_hardlink(header))
                                                              : text_or_empty(archive_entry_symlink(header));
    if (entry.type == TarEntryType::kFile) entry.size = static_cast<std::uint64_t>(archive_entry_size(header));
    entry.device_major = static_cast<std::uint32_t>(archive_entry_rdevmajor(header));
    entry.device_minor = static_cast<std::uint32_t>(archive_entry_rdevminor(header));
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    archive_entry_xattr_reset(header);
    while (archive_entry_xattr_next(header, &name, &value, &size) == ARCHIVE_OK) {
      entry.xattrs[name] = std::string(static_cast<const char*>(value), size);
    }
    std::string content(entry.size, '\0');
    EXPECT_EQ(archive_read_data(reader.get(), content.data(), content.size()), static_cast<la_ssize_t>(content.size()));
    members.emplace_back(std::move(entry), std::move(content));
  }
}

void expect_same(const Members& actual, const Members& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_TRUE(actual[i].first == expected[i].first)
        << expected[i].first.path << " came back as " << actual[i].first.path;
    EXPECT_EQ(actual[i].second, expected[i].second) << expected[i].first.path;
  }
}

// ---- Reading what others write ----

TEST(TarReader, ReadsEveryFormatOfLibarchive) {
  const std::pair<const char*, int (*)(archive*)> formats[] = {
      {"ustar", archive_write_set_format_ustar},
      {"pax", archive_write_set_format_pax},
      {"pax restricted", archive_write_set_format_pax_restricted},
      {"gnutar", archive_write_set_format_gnutar},
      {"v7", archive_write_set_format_v7tar}};
  for (const auto& [name, format] : formats) {
    SCOPED_TRACE(name);
    Members expected = plain_members();
    if (std::string_view(name) == "v7") {
      for (auto& [entry, content] : expected) entry.user.clear(), entry.group.clear();
    }
    const auto members = read_members(written_by_libarchive(format, expected));
    ASSERT_TRUE(members.ok()) << members.error().to_string();
    expect_same(*members, expected);
  }
}

TEST(TarReader, ReadsLongNamesAndLargeNumbers) {
  TarEntry deep = file(std::string(60, 'd') + "/" + std::string(120, 'f'), 3);
  deep.uid = 4'000'000'000;
  TarEntry link{.type = TarEntryType::kSymlink, .path = "link", .link_target = std::string(300, 't'), .mode = 0777};
  const Members expected = {{deep, "abc"}, {link, ""}};
  for (auto* format : {archive_write_set_format_pax, archive_write_set_format_gnutar}) {
    const auto members = read_members(written_by_libarchive(format, expected));
    ASSERT_TRUE(members.ok()) << members.error().to_string();
    expect_same(*members, expected);
  }
}

TEST(TarReader, ReadsPaxAttributes) {
  TarEntry entry = file("x");
  entry.mtime = {1'700'000'000, 250'000'000};
  entry.xattrs["user.note"] = std::string("a\0=\nb", 5);
  const Members expected = {{entry, ""}};
  const auto members = read_members(written_by_libarchive(archive_write_set_format_pax, expected));
  ASSERT_TRUE(members.ok()) << members.error().to_string();
  expect_same(*members, expected);
}

TEST(TarReader, SkipsUnreadContent) {
  const std::string archive = written({{file("a", 1000), std::string(1000, 'a')}, {file("b", 1), "b"}});
  MemorySource source(archive);
  TarReader reader(source);
  ASSERT_EQ((*reader.next())->path, "a");
  std::array<std::byte, 10> some{};
  ASSERT_TRUE(reader.content().read(some).ok());
  ASSERT_EQ((*reader.next())->path, "b");
  EXPECT_EQ(*read_all(reader.content(), 10), "b");
  EXPECT_FALSE(reader.next()->has_value());
  EXPECT_FALSE(reader.next()->has_value()) << "the end stays the end";
}

TEST(TarReader, ToleratesAMissingEnd) {
  std::string archive = written({{file("a", 1), "a"}});
  archive.resize(1024);
  const auto members = read_members(archive);
  ASSERT_TRUE(members.ok()) << members.error().to_string();
  EXPECT_EQ(members->size(), 1u);
  EXPECT_TRUE(read_members("")->empty());
}

// ---- Hostile input ----

std::string raw_member(char type, std::string_view name, std::uint64_t size, std::string_view content) {
  TarHeader header;
  std::copy(kTarMagicUstar.begin(), kTarMagicUstar.end(), header.data() + kTarMagic.offset);
  header.set_text(kTarName, name);
  header.set_octal(kTarMode, 0644);
  header.set_octal(kTarSize, size);
  header.set_type(type);
  header.set_checksum();
  std::string bytes(header.bytes());
  bytes += content;
  bytes.resize(bytes.size() + tar_padding(content.size()));
  return bytes;
}

Code error_code(std::string_view archive, const TarLimits& limits = {}) {
  const auto members = read_members(archive, limits);
  EXPECT_FALSE(members.ok());
  return members.ok() ? Code::kInternal : members.error().code();
}

TEST(TarReader, CutAnywhereIsCorruptOrShorter) {
  const std::string archive = written({{file("a", 700), std::string(700, 'a')}, {file("b", 3), "bbb"}});
  const std::size_t end_of_a = 512 + 1024;
  const std::size_t end_of_b = end_of_a + 1024;
  for (std::size_t size = 1; size < end_of_b; size += 13) {
    if (size % 512 == 0) continue;
    EXPECT_EQ(error_code(std::string_view(archive).substr(0, size)), Code::kCorrupt) << size;
  }
}

TEST(TarReader, RefusesDamage) {
  std::string flipped = written({{file("a", 1), "a"}});
  flipped[3] = 'x';
  EXPECT_EQ(error_code(flipped), Code::kCorrupt);
  EXPECT_EQ(error_code(raw_member('x', "p", 5, "5 a=b")), Code::kCorrupt) << "record without newline";
  EXPECT_EQ(error_code(raw_member('x', "p", 4, "99 a")), Code::kCorrupt) << "record longer than its header";
  EXPECT_EQ(error_code(raw_member('x', "p", 5, "5 ab\n")), Code::kCorrupt) << "record without equals sign";
  EXPECT_EQ(error_code(raw_member('x', "p", 6, "6 a=b\n")), Code::kCorrupt) << "extended header without an entry";
  EXPECT_EQ(error_code(raw_member('x', "p", 10, "10 size=-\n") + raw_member('0', "f", 0, "")), Code::kCorrupt);
  EXPECT_EQ(error_code(raw_member('0', "", 0, "")), Code::kCorrupt) << "no name";
  EXPECT_EQ(error_code(raw_member('2', "link", 0, "")), Code::kCorrupt) << "no target";
  EXPECT_EQ(error_code(std::string(512, '\0') + raw_member('0', "a", 0, "")), Code::kCorrupt) << "lone zero block";
  EXPECT_EQ(error_code(std::string(512, 'x')), Code::kCorrupt);
}

TEST(TarReader, FailuresStay) {
  const std::string archive = raw_member('S', "sparse", 0, "") + raw_member('0', "fine", 0, "");
  MemorySource source(archive);
  TarReader reader(source);
  EXPECT_EQ(reader.next().error().code(), Code::kUnsupported);
  EXPECT_EQ(reader.next().error().code(), Code::kUnsupported);
}

TEST(TarReader, RefusesWhatItDoesNotUnderstand) {
  for (char type : {'S', 'M', 'D', 'Z'})
    EXPECT_EQ(error_code(raw_member(type, "x", 0, "")), Code::kUnsupported) << type;
  const std::string sparse = "22 GNU.sparse.major=1\n";
  EXPECT_EQ(error_code(raw_member('x', "p", sparse.size(), sparse) + raw_member('0', "f", 0, "")), Code::kUnsupported);
}

TEST(TarReader, Limits) {
  const std::string archive = written({{file("a/long/name", 600), std::string(600, 'a')}, {file("b"), ""}});
  EXPECT_EQ(error_code(archive, {.max_path_bytes = 10}), Code::kExhausted);
  EXPECT_EQ(error_code(archive, {.max_entries = 1}), Code::kExhausted);
  EXPECT_EQ(error_code(archive, {.max_total_bytes = 599}), Code::kExhausted);
  EXPECT_EQ(error_code(archive, {.max_total_bytes = 1600}), Code::kExhausted);
  EXPECT_EQ(error_code(raw_member('L', "l", 1u << 30, ""), {}), Code::kExhausted) << "a name of one gigabyte";

  std::string globals;
  for (int i = 0; i < 10; ++i) {
    const std::string record = fmt::format("103 k{}={}\n", i, std::string(95, 'v'));
    globals += raw_member('g', "g", record.size(), record);
  }
  EXPECT_EQ(error_code(globals, {.max_extended_header_bytes = 600}), Code::kExhausted);
  EXPECT_TRUE(read_members(globals, {.max_extended_header_bytes = 2000}).ok());
}

TEST(TarReader, FractionsOfNegativeTimesCountBackwards) {
  const std::string record = "15 mtime=-1.25\n";
  const auto members = read_members(raw_member('x', "x", record.size(), record) + raw_member('0', "a", 0, ""));
  ASSERT_TRUE(members.ok()) << members.error().to_string();
  EXPECT_EQ((*members)[0].first.mtime, (TarTime{.seconds = -2, .nanoseconds = 750'000'000}));
}

TEST(TarReader, GlobalRecordsApplyUntilOverridden) {
  const std::string global = "15 uname=alice\n";
  const std::string local = "13 uname=bob\n";
  const auto members = read_members(raw_member('g', "g", global.size(), global) + raw_member('0', "a", 0, "") +
                                    raw_member('x', "x", local.size(), local) + raw_member('0', "b", 0, "") +
                                    raw_member('0', "c", 0, ""));
  ASSERT_TRUE(members.ok()) << members.error().to_string();
  EXPECT_EQ((*members)[0].first.user, "alice");
  EXPECT_EQ((*members)[1].first.user, "bob");
  EXPECT_EQ((*members)[2].first.user, "alice");
}

// ---- Writing for others ----

/// Everything the old formats cannot say.
Members demanding_members() {
  Members members = plain_members();
  members.push_back({file(std::string(90, 'p') + "/" + std::string(90, 'n'), 1), "1"});
  members.push_back({file(std::string(200, 'n'), 1), "2"});
  members.push_back(
      {TarEntry{
           .type = TarEntryType::kDirectory, .path = std::string(99, 'd') + "/" + std::string(99, 'e'), .mode = 0755},
       ""});
  members.push_back({TarEntry{.type = TarEntryType::kSymlink, .path = "l", .link_target = std::string(150, 't')}, ""});
  TarEntry large = file("numbers");
  large.uid = 3'000'000, large.gid = 4'000'000'000, large.mtime = {1'700'000'000, 123'456'789};
  large.user = std::string(40, 'u');
  members.push_back({large, ""});
  TarEntry early = file("early");
  early.mtime = {-2, 0};
  members.push_back({early, ""});
  TarEntry attributes = file("attributes");
  attributes.xattrs = {{"user.empty", ""}, {"security.selinux", std::string("system_u:object_r\0", 18)}};
  members.push_back({attributes, ""});
  members.push_back(
      {TarEntry{
           .type = TarEntryType::kCharacterDevice, .path = "null", .mode = 0666, .device_major = 1, .device_minor = 3},
       ""});
  members.push_back({TarEntry{.type = TarEntryType::kFifo, .path = "fifo"}, ""});
  return members;
}

TEST(TarWriter, LibarchiveReadsIt) {
  const Members members = demanding_members();
  expect_same(read_by_libarchive(written(members)), members);
}

TEST(TarWriter, WeReadIt) {
  Members members = demanding_members();
  members.push_back({file("gr\xC3\xBC\xC3\x9F"
                          "e"),
                     ""});
  members.push_back({file("not utf-8 \xFF\xFE"), ""});
  TarEntry early = file("early, with a fraction");  // libarchive gives the fraction the wrong sign
  early.mtime = {-2, 750'000'000};
  members.push_back({early, ""});
  members.push_back({TarEntry{.type = TarEntryType::kBlockDevice,
                              .path = "disk",
                              .device_major = 4'000'000'000,
                              .device_minor = 4'000'000'001},
                     ""});
  const auto back = read_members(written(members));
  ASSERT_TRUE(back.ok()) << back.error().to_string();
  expect_same(*back, members);
}

TEST(TarWriter, PlainEntriesNeedNoPaxHeader) {
  const std::string archive = written(plain_members());
  EXPECT_EQ(archive.find("PaxHeaders"), std::string::npos);
  EXPECT_EQ(archive.size(), (plain_members().size() + 1 + 2) * 512);
  EXPECT_EQ(archive, written(plain_members()));
}

TEST(TarWriter, Refuses) {
  StringSink out;
  TarWriter writer(out);
  const auto code = [&](const TarEntry& entry, std::string_view content) {
    MemorySource source(content);
    const auto status = writer.add(entry, source);
    EXPECT_FALSE(status.ok());
    return status.ok() ? Code::kInternal : status.error().code();
  };
  EXPECT_EQ(code(file(""), ""), Code::kInvalidArgument);
  EXPECT_EQ(code(file(std::string("a\0b", 3)), ""), Code::kInvalidArgument);
  EXPECT_EQ(code(TarEntry{.type = TarEntryType::kSymlink, .path = "l"}, ""), Code::kInvalidArgument);
  EXPECT_EQ(code(TarEntry{.type = TarEntryType::kDirectory, .path = "d", .size = 1}, "x"), Code::kInvalidArgument);
  EXPECT_EQ(code(TarEntry{.path = "m", .mode = 0100644}, ""), Code::kInvalidArgument);
  EXPECT_EQ(code(TarEntry{.path = "x", .xattrs = {{"a=b", ""}}}, ""), Code::kInvalidArgument);
  EXPECT_EQ(code(file("short", 3), "ab"), Code::kInvalidArgument);
  EXPECT_EQ(code(file("long", 1), "ab"), Code::kInvalidArgument);
}

TEST(TarWriter, ReadingUndoesWriting) {
  EXPECT_TRUE(rc::check([](const std::string& path, const std::string& content, std::uint64_t uid, std::int64_t seconds,
                           const std::map<std::string, std::string>& attributes) {
    TarEntry entry = file("p" + path, content.size());
    std::erase(entry.path, '\0');
    entry.uid = uid;
    entry.mtime = {seconds, static_cast<std::uint32_t>(uid % 1'000'000'000)};
    for (const auto& [name, value] : attributes) {
      if (!name.empty() && name.find('=') == std::string::npos && name.find('\0') == std::string::npos) {
        entry.xattrs[name] = value;
      }
    }
    const auto back = read_members(written({{entry, content}}));
    RC_ASSERT(back.ok());
    RC_ASSERT(back->size() == 1u);
    RC_ASSERT(back->front().first == entry);
    RC_ASSERT(back->front().second == content);
  }));
}

TEST(ArchivePath, Cleans) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"a", "a"}, {"a/b", "a/b"}, {"./a//b/", "a/b"},    {"/etc/passwd", "etc/passwd"},
      {".", "."}, {"/", "."},     {"..a/b..", "..a/b.."}};
  for (const auto& [path, clean] : cases) EXPECT_EQ(*clean_archive_path(path), clean);
  for (std::string_view path : {"", "..", "../a", "a/../b", "a/..", "/..", "./../x"}) {
    EXPECT_EQ(clean_archive_path(path).error().code(), Code::kInvalidArgument) << path;
  }
  EXPECT_FALSE(clean_archive_path(std::string_view("a\0b", 3)).ok());
}

}  // namespace strake::codec::tar_test
