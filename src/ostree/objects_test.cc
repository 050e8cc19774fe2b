#include "ostree/objects.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "ostree/testing/sample_tree.h"

namespace strake::ostree::objects_test {

using testing::SampleTree;

Checksum checksum(std::string_view hex) {
  auto parsed = Checksum::from_hex(hex);
  EXPECT_TRUE(parsed.ok()) << hex;
  return *parsed;
}

// Checksums computed by ostree itself.
TEST(Objects, ChecksumsAreThoseOfOstree) {
  const FileInfo file{0, 0, S_IFREG | 0644, 6, "", {}};
  EXPECT_EQ(checksum_of_file(file, "hello\n").hex(),
            "44f778e59f0a4748d6b0c90a47347212a231c4ad1e8f7ea5c5dffc7749153a6b");
  const FileInfo link{0, 0, S_IFLNK | 0777, 0, "f", {}};
  EXPECT_EQ(checksum_of_file(link, "").hex(), "43f338adeb68637b721d7ba4c39b7677a4fbb87e3adf4a363a3d50c9de9a35ed");
  EXPECT_EQ(Checksum::of(serialize_dirmeta({0, 0, S_IFDIR | 0755, {}})).hex(),
            "446a0ef11b7cc167f3b603e585c7eeeeb675faa412d5ec73f62988eb0b6c5488");
  EXPECT_EQ(Checksum::of(serialize_dirtree({})).hex(),
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
}

TEST(Objects, ChecksumText) {
  EXPECT_FALSE(Checksum::from_hex("44F778E59F0A4748D6B0C90A47347212A231C4AD1E8F7EA5C5DFFC7749153A6B").ok());
  EXPECT_FALSE(Checksum::from_hex("44f7").ok());
  EXPECT_FALSE(Checksum::from_bytes("short").ok());
}

TEST(Objects, CommitSurvives) {
  const SampleTree tree({{"usr/bin/a", "1"}}, {{"version", "42.1"}, {"ostree.linux", "6.1"}});
  const auto bytes = tree.load_metadata(ObjectType::kCommit, tree.commit());
  ASSERT_TRUE(bytes.ok());
  const auto commit = parse_commit(*bytes);
  ASSERT_TRUE(commit.ok()) << commit.error().to_string();
  EXPECT_EQ(commit->text("version"), "42.1");
  EXPECT_EQ(commit->text("ostree.linux"), "6.1");
  EXPECT_EQ(commit->text("none"), std::nullopt);
  EXPECT_FALSE(commit->flag("version"));
  EXPECT_EQ(commit->subject, "sample");
  EXPECT_EQ(commit->timestamp, 1'700'000'000u);
  EXPECT_EQ(serialize_commit(*commit), *bytes);
}

TEST(Objects, DirtreeNames) {
  const Checksum any = Checksum::of("any");
  struct Case {
    const char* name;
    DirTree tree;
    const char* expected;  ///< "": accepted
  };
  const Case cases[] = {
      {"good", {{{"a", any}, {"b", any}}, {{"c", any, any}}}, ""},
      {"out of order", {{{"b", any}, {"a", any}}, {}}, "file 'a' stands after 'b': names are sorted"},
      {"twice", {{{"a", any}, {"a", any}}, {}}, "file 'a' stands after 'a': names are sorted"},
      {"file and folder", {{{"a", any}, {"m", any}}, {{"m", any, any}}}, "'m' is a file and a folder at once"},
      {"empty", {{{"", any}}, {}}, "'' is no name for a file"},
      {"upwards", {{}, {{"..", any, any}}}, "'..' is no name for a folder"},
      {"a path", {{{"a/b", any}}, {}}, "'a/b' is no name for a file"},
  };
  for (const Case& c : cases) {
    const auto parsed = parse_dirtree(serialize_dirtree(c.tree));
    EXPECT_EQ(parsed.ok() ? "" : parsed.error().message(), c.expected) << c.name;
  }
}

TEST(Objects, ModesAreOfTheirKind) {
  EXPECT_TRUE(parse_dirmeta(serialize_dirmeta({1, 2, S_IFDIR | 01777, {{"user.a", "b"}}})).ok());
  EXPECT_FALSE(parse_dirmeta(serialize_dirmeta({0, 0, S_IFREG | 0755, {}})).ok());
  EXPECT_FALSE(parse_dirmeta(serialize_dirmeta({0, 0, 0755, {}})).ok());
}

TEST(Objects, XattrsPrintAsGlibDoes) {
  struct Case {
    Xattrs xattrs;
    const char* expected;
  };
  using namespace std::string_literals;
  const Case cases[] = {
      {{}, "@a(ayay) []"},
      {{{"user.foo", "bar"}}, "[(b'user.foo', [byte 0x62, 0x61, 0x72])]"},
      {{{"user.foo", "bar"}, {"user.q", "it's\001\n\\ \377 \"q\"\0"s}, {"user.z", "\0"s}},
       R"([(b'user.foo', [byte 0x62, 0x61, 0x72]), (b'user.q', b"it's\001\n\\ \377 \"q\""), (b'user.z', b'')])"},
      {{{"user.a", "x"}, {"user.b", "\0\xff"s}}, "[(b'user.a', [byte 0x78]), (b'user.b', [0x00, 0xff])]"},
      {{{"user.t", "\t\b\f\v\r\x7f\xc3\xa9 1\0011\0"s}}, R"([(b'user.t', b'\t\b\f\v\r\177\303\251 1\0011')])"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(print_xattrs(c.xattrs), c.expected);
    const auto again = parse_xattrs(serialize_xattrs(c.xattrs));
    ASSERT_TRUE(again.ok()) << again.error().to_string();
    EXPECT_EQ(*again, c.xattrs);
  }
}

TEST(Objects, ArchivedFiles) {
  const SampleTree tree({{.path = "f", .content = std::string(100'000, 'x'), .xattrs = {{"user.a", "b"}}},
                         {.path = "empty"},
                         {.path = "l", .symlink_target = "../f"}});
  for (const auto& [name, stored] : tree.files) {
    const std::string bytes = testing::archived(stored);
    codec::MemorySource source(bytes);
    const auto info = read_archived_header(source);
    ASSERT_TRUE(info.ok()) << info.error().to_string();
    EXPECT_EQ(*info, stored.info);
    codec::StringSink content;
    const Status copied = copy_archived(*info, source, name, content);
    ASSERT_TRUE(copied.ok()) << copied.error().to_string();
    EXPECT_EQ(content.text(), stored.content);
  }
}

/// One bit anywhere in an archived file makes it another one, or none.
TEST(Objects, EveryBitOfAnArchivedFileCounts) {
  const SampleTree tree({{.path = "f", .content = "some text, some text", .xattrs = {{"user.a", "b"}}}});
  const auto& [name, stored] = *tree.files.begin();
  const std::string good = testing::archived(stored);
  const auto read = [&name = name](const std::string& bytes) -> Status {
    codec::MemorySource source(bytes);
    STRAKE_TRY(const FileInfo info, read_archived_header(source));
    codec::StringSink content;
    return copy_archived(info, source, name, content);
  };
  ASSERT_TRUE(read(good).ok());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(read(bad).ok()) << "bit " << bit;
  }
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(read(good.substr(0, size)).ok()) << size;
}

TEST(Objects, ContentThatIsNotTheObject) {
  const FileInfo info{0, 0, S_IFREG | 0644, 6, "", {}};
  const Checksum name = checksum("44f778e59f0a4748d6b0c90a47347212a231c4ad1e8f7ea5c5dffc7749153a6b");
  struct Case {
    const char* content;
    const char* expected;
  };
  const Case cases[] = {
      {"hello\n", ""},
      {"hellO\n", "has the checksum"},
      {"hello", "has 5 bytes instead of 6"},
      {"hello\n\n", "there is more content than the 6 bytes announced"},
  };
  for (const Case& c : cases) {
    codec::MemorySource source(c.content);
    codec::StringSink sink;
    const Status copied = copy_checked(info, source, name, sink);
    EXPECT_EQ(copied.ok(), std::string_view(c.expected).empty()) << c.content;
    if (!copied.ok()) {
      EXPECT_NE(copied.error().to_string().find(c.expected), std::string::npos) << copied.error().to_string();
    }
  }
}

}  // namespace strake::ostree::objects_test
