#include "osimage/listing.h"

#include <gtest/gtest.h>

namespace strake::osimage::listing_test {

OsNode node(NodeType type, std::uint32_t mode, std::uint64_t size = 0, std::string target = {}) {
  OsNode made;
  made.type = type;
  made.mode = mode;
  made.size = size;
  made.link_target = std::move(target);
  return made;
}

TEST(Listing, Modes) {
  struct Case {
    NodeType type;
    std::uint32_t mode;
    const char* expected;
  };
  const Case cases[] = {
      {NodeType::kFile, 0644, "-rw-r--r--"},       {NodeType::kDirectory, 01777, "drwxrwxrwt"},
      {NodeType::kFile, 04755, "-rwsr-xr-x"},      {NodeType::kFile, 06644, "-rwSr-Sr--"},
      {NodeType::kDirectory, 01770, "drwxrwx--T"}, {NodeType::kFile, 02755, "-rwxr-sr-x"},
      {NodeType::kSymlink, 0777, "lrwxrwxrwx"},    {NodeType::kCharacterDevice, 0, "c---------"},
      {NodeType::kFifo, 0600, "prw-------"},       {NodeType::kBlockDevice, 0660, "brw-rw----"},
  };
  for (const Case& c : cases) EXPECT_EQ(mode_text(node(c.type, c.mode)), c.expected);
}

/// Lines of `ostree ls` itself.
TEST(Listing, AsOstree) {
  OsNode folder = node(NodeType::kDirectory, 0755);
  folder.checksum = *ostree::Checksum::from_hex("6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
  folder.meta_checksum =
      *ostree::Checksum::from_hex("446a0ef11b7cc167f3b603e585c7eeeeb675faa412d5ec73f62988eb0b6c5488");
  OsNode file = node(NodeType::kFile, 0644, 6);
  file.checksum = *ostree::Checksum::from_hex("44f778e59f0a4748d6b0c90a47347212a231c4ad1e8f7ea5c5dffc7749153a6b");
  file.xattrs = SharedXattrs(ostree::Xattrs{{"user.foo", "bar"}});
  EXPECT_EQ(ostree_line("/empty", folder, {.checksum = true, .xattrs = true}),
            "d00755 0 0      0 6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d "
            "446a0ef11b7cc167f3b603e585c7eeeeb675faa412d5ec73f62988eb0b6c5488 { @a(ayay) [] } /empty");
  EXPECT_EQ(ostree_line("/usr/bin/a", file, {.xattrs = true}),
            "-00644 0 0      6 { [(b'user.foo', [byte 0x62, 0x61, 0x72])] } /usr/bin/a");
  EXPECT_EQ(ostree_line("/usr/bin/l", node(NodeType::kSymlink, 0777, 0, "a"), {}), "l00777 0 0      0 /usr/bin/l -> a");
  EXPECT_EQ(ostree_line("/big", node(NodeType::kFile, 04755, 30'000'000), {}), "-04755 0 0 30000000 /big");
}

TEST(Listing, NamesCannotPaintTheTerminal) {
  EXPECT_EQ(long_line("a\033[31m\n", node(NodeType::kFile, 0644, 5)),
            "-rw-r--r--     0     0          5 a\\u001b[31m\\n");
  EXPECT_EQ(long_line("l", node(NodeType::kSymlink, 0777, 0, "\a")), "lrwxrwxrwx     0     0          0 l -> \\u0007");
  EXPECT_EQ(long_line("d", node(NodeType::kDirectory, 0755)), "drwxr-xr-x     0     0          0 d/");
}

TEST(Listing, Json) {
  OsNode file = node(NodeType::kFile, 04755, 6);
  file.xattrs = SharedXattrs(ostree::Xattrs{{"user.foo", "bar"}});
  EXPECT_EQ(json::write(node_json("/a", file)),
            R"({"path":"/a","type":"file","mode":"4755","uid":0,"gid":0,"size":6,"xattrs":{"user.foo":"YmFy"}})");
  EXPECT_EQ(json::write(node_json("/\xff", node(NodeType::kFileOrSymlink, 0))),
            R"({"pathBase64":"L/8=","type":"file or symbolic link"})");
}

}  // namespace strake::osimage::listing_test
