#include "stream/checksum_list.h"

#include <gtest/gtest.h>

namespace strake::stream::checksum_list_test {

TEST(ChecksumList, IsReadStrictly) {
  const std::string sum(64, 'b');
  struct Case {
    const char* name;
    std::string text;
    const char* says;
  };
  const Case cases[] = {
      {"no digest", "hello\n", "sha256sum.txt:1"},
      {"short digest", sum + "  rhcos-qemu.x86_64.qcow2.gz\nabc  x\n", "sha256sum.txt:2"},
      {"no name", sum + "\n", "sha256sum.txt:1"},
      {"path", sum + "  ../rhcos-qemu.x86_64.qcow2.gz\n", "not the name of a file"},
  };
  for (const Case& c : cases) {
    const auto stream = stream_of_checksums(c.text, "https://m.example/x/", "1", "1", "x86_64");
    ASSERT_FALSE(stream.ok()) << c.name;
    EXPECT_NE(stream.error().to_string().find(c.says), std::string::npos)
        << c.name << ": " << stream.error().to_string();
  }
  // Old folders: no aliases, no second architecture in the name; binary mode.
  const auto old = stream_of_checksums(
      sum + " *rhcos-4.2.0-x86_64-metal-bios.raw.gz\n" + sum + "  rhcos-4.2.0-x86_64-installer.iso\n",
      "https://m.example/x", "42.80", "4.2.0", "x86_64");
  ASSERT_TRUE(old.ok()) << old.error().to_string();
  EXPECT_EQ(json::find_string(
                *old, {"architectures", "x86_64", "artifacts", "metal", "formats", "bios.raw.gz", "disk", "location"}),
            "https://m.example/x/rhcos-4.2.0-x86_64-metal-bios.raw.gz");
  EXPECT_NE(json::find(*old, {"architectures", "x86_64", "artifacts", "metal", "formats", "installer.iso"}), nullptr);
  // Only the names without a version.
  const auto plain =
      stream_of_checksums(sum + "  rhcos-openstack.x86_64.qcow2.gz\n", "https://m.example/x/", "1", "1", "x86_64");
  EXPECT_NE(json::find(*plain, {"architectures", "x86_64", "artifacts", "openstack", "formats", "qcow2.gz"}), nullptr);
}

}  // namespace strake::stream::checksum_list_test
