#include "codec/digest.h"

#include <gtest/gtest.h>

namespace strake::codec::digest_test {

const std::string kEmptySha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Digest, KnownHashes) {
  EXPECT_EQ(md5_hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(sha256_hex(""), kEmptySha256);
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Hasher sha1(HashAlgorithm::kSha1);
  sha1.update("abc");
  EXPECT_EQ(std::move(sha1).finish_hex(), "a9993e364706816aba3e25717850c26c9cd0d89d");
  Hasher sha512(Digest::Algorithm::kSha512);
  sha512.update("abc");
  EXPECT_EQ(std::move(sha512).finish().to_string(),
            "sha512:ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
}

TEST(Digest, PiecesHashLikeTheWhole) {
  Hasher hasher(Digest::Algorithm::kSha256);
  hasher.update("a");
  hasher.update("");
  hasher.update("bc");
  EXPECT_EQ(std::move(hasher).finish(), Digest::sha256_of("abc"));
}

TEST(Digest, Parse) {
  const auto digest = Digest::parse("sha256:" + kEmptySha256);
  ASSERT_TRUE(digest.ok());
  EXPECT_EQ(digest->algorithm(), Digest::Algorithm::kSha256);
  EXPECT_EQ(digest->hex(), kEmptySha256);
  EXPECT_EQ(digest->to_string(), "sha256:" + kEmptySha256);
  EXPECT_EQ(*digest, Digest::sha256_of(""));
}

TEST(Digest, ParseRefuses) {
  std::string upper = kEmptySha256;
  upper[0] = 'E';
  const std::pair<std::string, Code> cases[] = {{kEmptySha256, Code::kInvalidArgument},
                                                {"sha256:", Code::kInvalidArgument},
                                                {"sha256:" + kEmptySha256 + "0", Code::kInvalidArgument},
                                                {"sha256:" + upper, Code::kInvalidArgument},
                                                {"SHA256:" + kEmptySha256, Code::kUnsupported},
                                                {"md5:900150983cd24fb0d6963f7d28e17f72", Code::kUnsupported},
                                                {"sha512:" + kEmptySha256, Code::kInvalidArgument}};
  for (const auto& [text, code] : cases) {
    const auto digest = Digest::parse(text);
    ASSERT_FALSE(digest.ok()) << text;
    EXPECT_EQ(digest.error().code(), code) << text;
  }
}

TEST(Digest, Order) {
  const Digest low = *Digest::from_hex(Digest::Algorithm::kSha256, std::string(64, '0'));
  const Digest high = *Digest::from_hex(Digest::Algorithm::kSha256, std::string(64, 'f'));
  const Digest other = *Digest::from_hex(Digest::Algorithm::kSha512, std::string(128, '0'));
  EXPECT_LT(low, high);
  EXPECT_LT(high, other);
  EXPECT_NE(low, other);
}

TEST(Digest, AlgorithmNames) {
  for (auto algorithm : {HashAlgorithm::kMd5, HashAlgorithm::kSha1, HashAlgorithm::kSha256, HashAlgorithm::kSha512}) {
    EXPECT_EQ(*parse_hash_algorithm(to_string(algorithm)), algorithm);
  }
  EXPECT_EQ(parse_hash_algorithm("crc32").error().code(), Code::kUnsupported);
}

}  // namespace strake::codec::digest_test
