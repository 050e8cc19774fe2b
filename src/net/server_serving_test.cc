// What a server of prepared answers needs: one body for many readers, and a say in which TLS is spoken.
#include <gtest/gtest.h>

#include <fstream>

#include "base/subprocess.h"
#include "net/testing/test_server.h"
#include "support/temp_dir.h"

namespace strake::net::server_serving_test {
namespace {

using namespace std::chrono_literals;
using testing::RawTlsClient;
using testing::TestServer;

Handler shared_answer(std::shared_ptr<const std::string> body) {
  return [body = std::move(body)](const ServerRequest&, const Responder& responder) {
    responder.send({200, {{"Content-Type", "application/json"}}}, body);
  };
}

TEST(ServerServing, ManySlowReadersOfOneBodyTakeNoRoom) {
  const auto body = std::make_shared<const std::string>(std::string(900'000, 'x') + "end");
  ServerOptions options;
  options.max_queued_bytes = 1'000'000;  // with bodies of their own two readers would be one too many
  TestServer server(shared_answer(body), options);
  std::vector<RawTlsClient> readers;
  for (int i = 0; i < 12; ++i) {
    readers.push_back(server.raw_client());
    ASSERT_TRUE(readers.back().write("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").ok());
  }
  for (RawTlsClient& reader : readers) ASSERT_TRUE(reader.readable_within(20s));  // all are under way, none was refused
  EXPECT_EQ(server.server().stats().queued_bytes, 0U);
  for (RawTlsClient& reader : readers) {
    const std::string answer = reader.read_to_end();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n"));
    EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4), *body);
  }
}

TEST(ServerServing, TheHeadOfASharedBodyHasItsLengthAndTheConnectionGoesOn) {
  TestServer server(shared_answer(std::make_shared<const std::string>("{\"a\":1}")));
  RawTlsClient client = server.raw_client();
  ASSERT_TRUE(client.write("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n").ok());
  const auto head = client.read_until("\r\n\r\n");
  ASSERT_TRUE(head.ok());
  EXPECT_NE(head->find("Content-Length: 7\r\n"), std::string::npos) << *head;
  EXPECT_NE(head->find("Content-Type: application/json\r\n"), std::string::npos) << *head;
  ASSERT_TRUE(client.write("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").ok());
  EXPECT_TRUE(client.read_to_end().ends_with("\r\n\r\n{\"a\":1}"));
}

/// What openssl, speaking nothing but TLS 1.2 with this suite, is told.
bool speaks_tls_1_2(TestServer& server, const std::string& suite) {
  const test::TempDir folder;
  std::ofstream(folder / "ca.pem") << server.authority().pem();
  Command command;
  command.argv = {"openssl", "s_client", "-brief", "-tls1_2", "-cipher", suite, "-CAfile", (folder / "ca.pem").string(),
                  "-verify_return_error", "-connect", fmt::format("127.0.0.1:{}", server.server().port())};
  command.timeout = 60s;
  const auto output = run(command);
  EXPECT_TRUE(output.ok());
  return output.ok() && output->exit.success();
}

TEST(ServerServing, OnlyTheChosenTlsIsSpoken) {
  const auto answer = shared_answer(std::make_shared<const std::string>("x"));
  constexpr const char* kOne = "ECDHE-ECDSA-AES128-GCM-SHA256";
  constexpr const char* kOther = "ECDHE-ECDSA-AES256-GCM-SHA384";
  TestServer any(answer);
  EXPECT_TRUE(speaks_tls_1_2(any, kOne));
  EXPECT_TRUE(speaks_tls_1_2(any, kOther));
  ServerOptions chosen;
  chosen.tls.cipher_suites = {"TLS_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"};
  TestServer picky(answer, chosen);
  EXPECT_TRUE(speaks_tls_1_2(picky, kOne));
  EXPECT_FALSE(speaks_tls_1_2(picky, kOther));
  ServerOptions modern;
  modern.tls.minimum = TlsVersion::k1_3;
  TestServer strict(answer, modern);
  EXPECT_FALSE(speaks_tls_1_2(strict, kOne));
  const auto got = strict.client().send({"GET", strict.url("/"), {}, {}});
  ASSERT_TRUE(got.ok()) << got.error().to_string();
  EXPECT_EQ(got->body, "x");
}

TEST(ServerServing, ASuiteThatIsUnknownOrUnsafeIsRefusedByName) {
  testing::TestAuthority authority;
  const auto identity = authority.server();
  for (const char* name : {"no-such-suite", "ALL", "TLS_RSA_WITH_3DES_EDE_CBC_SHA", "RC4-SHA", "", "AES128-SHA:ALL"}) {
    ServerOptions options;
    options.certificate_pem = identity.certificate_pem;
    options.key_pem = identity.key_pem;
    options.tls.cipher_suites = {"ECDHE-ECDSA-AES128-GCM-SHA256", name};
    const auto server = HttpsServer::start(options, [](const ServerRequest&, const Responder&) {});
    ASSERT_FALSE(server.ok()) << name;
    EXPECT_NE(server.error().to_string().find(fmt::format("'{}'", name)), std::string::npos)
        << server.error().to_string();
  }
}

}  // namespace
}  // namespace strake::net::server_serving_test
