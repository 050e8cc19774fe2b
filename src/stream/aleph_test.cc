#include "stream/aleph.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "support/places.h"

namespace strake::stream::aleph_test {

std::string corpus_text(const char* name) {
  const Result<std::string> text = read_file(test::source_folder() / "test/corpus/aleph" / name, kMaxAlephBytes);
  EXPECT_TRUE(text.ok());
  return text.ok() ? *text : "";
}

TEST(Aleph, EveryShape) {
  const std::string commit = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";
  const std::string digest = "sha256:5b1f2c3d4e5f60718293a4b5c6d7e8f9005b1f2c3d4e5f60718293a4b5c6d7e8";
  struct Case {
    const char* file;
    Aleph expected;
  };
  const Case cases[] = {
      {"create-disk.json", {"415.92.202311241643-0", "rhcos-415.92.202311241643-0-qemu.x86_64.qcow2", "", commit}},
      {"osbuild-commit.json", {"39.20240128.3.0", "fedora:fedora/x86_64/coreos/stable", "", commit}},
      {"osbuild-container.json",
       {"9.6.20251212-1", "oci-archive:/rhcos-9.6.20251212-1-ostree.x86_64.ociarchive", digest, ""}},
      {"bootc-old.json", {"40.20240502.0", "quay.example/fedora/fedora-bootc:40", "", ""}},
      {"bootc-new.json", {"9.8.20260428-0", "ostree-unverified-registry:quay.example/os:9.8", digest, ""}},
  };
  for (const Case& c : cases) {
    const Result<Aleph> aleph = parse_aleph(corpus_text(c.file));
    ASSERT_TRUE(aleph.ok()) << c.file << ": " << aleph.error().to_string();
    EXPECT_EQ(aleph->version, c.expected.version) << c.file;
    EXPECT_EQ(aleph->image, c.expected.image) << c.file;
    EXPECT_EQ(aleph->image_digest, c.expected.image_digest) << c.file;
    EXPECT_EQ(aleph->ostree_commit, c.expected.ostree_commit) << c.file;
  }
}

TEST(Aleph, OtherDocumentsAreRefusedAndSayWhy) {
  struct Case {
    const char* name;
    std::string text;
    const char* says;
  };
  const Case cases[] = {
      {"no version", "{}", "neither version nor build"},
      {"list", "[]", "expected an object"},
      {"no JSON", "", ""},
      {"number", R"({"build":7})", "build: expected a string"},
      {"terminal escape", R"({"version":"1\u001b[31m"})", "control characters"},
      {"commit", R"({"version":"1","ostree-commit":"../../etc"})", "no checksum"},
      {"labels of the wrong type", R"({"labels":{"org.opencontainers.image.version":[]}})", "expected a string"},
  };
  for (const Case& c : cases) {
    const Result<Aleph> aleph = parse_aleph(c.text);
    ASSERT_FALSE(aleph.ok()) << c.name;
    EXPECT_NE(aleph.error().to_string().find(c.says), std::string::npos) << c.name << aleph.error().to_string();
  }
  EXPECT_EQ(parse_aleph(std::string(kMaxAlephBytes + 1, ' ')).error().code(), Code::kExhausted);
}

}  // namespace strake::stream::aleph_test
