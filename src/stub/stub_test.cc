#include "stub/stub.h"

#include <gtest/gtest.h>

#include "codec/base64.h"
#include "codec/compress.h"
#include "codec/data_url.h"
#include "net/testing/test_authority.h"
#include "stub/token.h"

namespace strake::stub::stub_test {

std::string stub_text(std::string_view version, std::string_view list, std::string_view authority_source,
                      std::string_view more = "") {
  return fmt::format(
      R"({{"ignition":{{"config":{{"{}":[{{"source":"https://api-int.example:22623/config/worker"{}}}]}},"security":{{"tls":)"
      R"({{"certificateAuthorities":[{{"source":"{}"}}]}}}},"version":"{}"}}}})",
      list, more, authority_source, version);
}

TEST(Stub, WhatItPointsAtAndTrusts) {
  net::testing::TestAuthority authority("mcs");
  const std::string forms[] = {
      "data:text/plain;charset=utf-8;base64," + codec::encode_base64(authority.pem()),
      codec::encode_data_url(authority.pem()),
      "data:text/plain;charset=utf-8;base64," + codec::encode_base64(authority.pem() + authority.pem()),
  };
  for (const std::string& source : forms) {
    for (const auto& [version, list] : {std::pair{"2.2.0", "append"}, {"3.1.0", "merge"}, {"3.5.0", "merge"}}) {
      const auto stub = read_stub(stub_text(version, list, source));
      ASSERT_TRUE(stub.ok()) << stub.error().to_string();
      EXPECT_EQ(ignition::to_string(stub->version), version);
      ASSERT_EQ(stub->pointers.size(), 1U);
      EXPECT_EQ(stub->pointers[0].host, "api-int.example");
      EXPECT_EQ(stub->pointers[0].port, 22623);
      EXPECT_EQ(stub->pointers[0].pool, "worker");
      EXPECT_FALSE(stub->pointers[0].has_token);
      EXPECT_TRUE(stub->points_to_config_server());
      ASSERT_FALSE(stub->trusted().empty());
      EXPECT_EQ(stub->trusted()[0].info().sha256, authority.certificate().info().sha256);
      EXPECT_TRUE(stub->extras.empty());
    }
  }
}

TEST(Stub, ATokenIsSeenAndNotKept) {
  const auto stub = read_stub(
      stub_text("3.1.0", "merge", "data:,x", R"(,"httpHeaders":[{"name":"authorization","value":"Bearer secret"}])"));
  ASSERT_TRUE(stub.ok()) << stub.error().to_string();
  EXPECT_TRUE(stub->pointers[0].has_token);
  EXPECT_EQ(stub->pointers[0].token_sha256, token_sha256("secret"));
  EXPECT_FALSE(stub->authorities[0].problem.empty());
}

TEST(Stub, ATokenIsPutWhereThePoolsConfigIsFetched) {
  const std::string plain = stub_text("3.1.0", "merge", "data:,x");
  const auto first = with_token(plain, "worker", "one");
  ASSERT_TRUE(first.ok()) << first.error().to_string();
  EXPECT_EQ(*first, stub_text("3.1.0", "merge", "data:,x",
                              R"(,"httpHeaders":[{"name":"Authorization","value":"Bearer one"}])"));
  const auto second = with_token(*first, "worker", "two");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(read_stub(*second)->pointers[0].token_sha256, token_sha256("two"));
  EXPECT_EQ(second->size(), first->size()) << "in place of the old one";
  // Other fields stay, whichever way the name is written, and so does the form clouds keep it in.
  const std::string headers =
      R"(,"httpHeaders":[{"name":"X-Rack","value":"7"},{"name":"authorization","value":"Basic YTpi"},{"name":"X-Row","value":"1"}])";
  const auto kept = with_token(codec::gzip(stub_text("3.4.0", "merge", "data:,x", headers)), "worker", "one");
  ASSERT_TRUE(kept.ok()) << kept.error().to_string();
  EXPECT_EQ(
      *kept,
      stub_text(
          "3.4.0", "merge", "data:,x",
          R"(,"httpHeaders":[{"name":"X-Rack","value":"7"},{"name":"authorization","value":"Bearer one"},{"name":"X-Row","value":"1"}])"));
  const auto replaced = with_token(
      R"({"ignition":{"version":"3.2.0","config":{"merge":[{"source":"https://a/other"}],"replace":{"source":"https://a/config/worker","httpHeaders":null}}}})",
      "worker", "one");
  ASSERT_TRUE(replaced.ok()) << replaced.error().to_string();
  EXPECT_FALSE(read_stub(*replaced)->pointers[0].has_token);
  EXPECT_TRUE(read_stub(*replaced)->pointers[1].has_token);
}

TEST(Stub, ATokenIsRefusedWhereItCannotBeCarried) {
  EXPECT_EQ(with_token(stub_text("2.2.0", "append", "data:,x"), "worker", "one").error().code(), Code::kUnsupported);
  EXPECT_EQ(with_token(stub_text("3.0.0", "merge", "data:,x"), "worker", "one").error().code(), Code::kUnsupported);
  EXPECT_EQ(with_token(stub_text("3.1.0", "merge", "data:,x"), "master", "one").error().code(), Code::kInvalidArgument);
  EXPECT_EQ(with_token(stub_text("3.1.0", "merge", "data:,x"), "", "one").error().code(), Code::kInvalidArgument);
  EXPECT_FALSE(with_token("nonsense", "worker", "one").ok());
}

TEST(Stub, CompressedAndInBase64AsCloudsKeepThem) {
  const std::string text = stub_text("3.1.0", "merge", "data:,x");
  const std::string zipped = codec::gzip(text);
  for (const std::string& bytes : {zipped, codec::encode_base64(zipped)}) {
    const auto stub = read_stub(bytes);
    ASSERT_TRUE(stub.ok()) << stub.error().to_string();
    EXPECT_EQ(stub->pointers[0].pool, "worker");
  }
}

TEST(Stub, OtherConfigsAreToldApart) {
  const auto full = read_stub(
      R"({"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/a"},{"path":"/etc/b"}]},"passwd":{"users":[{"name":"core"}]}})");
  ASSERT_TRUE(full.ok()) << full.error().to_string();
  EXPECT_FALSE(full->points_to_config_server());
  EXPECT_EQ(full->extras, (std::vector<std::string>{"storage.files (2)", "passwd.users (1)"}));
  const auto elsewhere =
      read_stub(R"({"ignition":{"version":"3.2.0","config":{"replace":{"source":"http://192.0.2.1/a.ign"}}}})");
  ASSERT_TRUE(elsewhere.ok());
  EXPECT_EQ(elsewhere->pointers[0].scheme, "http");
  EXPECT_FALSE(elsewhere->points_to_config_server());
  const auto six = read_stub(
      R"({"ignition":{"version":"3.2.0","config":{"merge":[{"source":"https://[fd00::1]:22623/config/master"}]}}})");
  ASSERT_TRUE(six.ok());
  EXPECT_EQ(six->pointers[0].host, "fd00::1");
}

TEST(Stub, WhatIsNoIgnitionIsSaidWithoutItsContents) {
  for (const char* bytes : {"", "SECRET", "#cloud-config\npassword: SECRET\n", R"({"password":"SECRET"})",
                            R"({"ignition":{"version":"SECRET"}})",
                            R"({"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"SECRET"}]}})"}) {
    const auto stub = read_stub(bytes);
    ASSERT_FALSE(stub.ok()) << bytes;
    EXPECT_EQ(stub.error().to_string().find("SECRET"), std::string::npos) << stub.error().to_string();
  }
}

}  // namespace strake::stub::stub_test
