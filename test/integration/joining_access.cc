// Who may ask: tokens made, carried by stubs, used by the real Ignition, revoked, counted and told.
#include <gtest/gtest.h>

#include <functional>

#include "api/kinds.h"
#include "base/fd.h"
#include "codec/base64.h"
#include "integration/joining_stage.h"
#include "net/http_client.h"
#include "support/servers.h"
#include "support/strake_command.h"

namespace strake::test {

using namespace std::chrono_literals;

namespace {

constexpr const char* kAccessSecret = "access-user-data";

void put_stub(JoiningStage& stage, const std::string& stub) {
  kube::Object secret(kube::core::kSecret, {std::string(api::kMachineApiNamespace), kAccessSecret});
  json::ensure(secret.json(), {"data", "userData"}) = codec::encode_base64(stub);
  stage.put(kube::core::kSecret, secret);
}

std::string stub_in_cluster(JoiningStage& stage) {
  const auto secret =
      stage.admin().get(kube::core::kSecret, {std::string(api::kMachineApiNamespace), kAccessSecret}, stage.call());
  return secret.ok() ? codec::decode_base64(secret->text({"data", "userData"})).value_or("") : "";
}

int status_with(JoiningStage& stage, const std::string& token, const net::testing::TestAuthority& authority,
                const net::testing::TestIdentity& identity = {}) {
  net::ClientOptions options;
  options.ca_pem = authority.pem();
  options.client_certificate_pem = identity.certificate_pem;
  options.client_key_pem = identity.key_pem;
  options.proxy = net::ProxySettings{};
  const auto client = net::HttpClient::create(options);
  net::Request request{"GET", stage.url() + "/config/joiner", {}, {}};
  if (!token.empty()) request.headers.add("Authorization", "Bearer " + token);
  const auto response = client->send(request, {.timeout = 30s, .idle_timeout = {}, .stop = {}});
  EXPECT_TRUE(response.ok()) << response.error().to_string();
  EXPECT_TRUE(!response.ok() || response->status == 200 || response->body.empty());
  return response.ok() ? response->status : 0;
}

/// What is said about the pool, under this reason.
std::string pool_event(JoiningStage& stage, std::string_view reason) {
  std::string messages;
  const auto events = stage.admin().list(kube::core::kEvent, "default", {}, stage.call());
  for (const kube::Object& event : events.ok() ? events->items : std::vector<kube::Object>{}) {
    if (event.text({"involvedObject", "name"}) == "joiner" && event.text({"reason"}) == reason) {
      messages += event.text({"message"}) + "\n";
    }
  }
  return messages;
}

/// While tokens are required. `token` is a good one.
void expect_client_certificates_count(JoiningStage& stage,
                                      const std::function<ProcessOutput(std::vector<std::string>)>& strake,
                                      const net::testing::TestAuthority& server, const std::string& token) {
  const TempDir folder;
  net::testing::TestAuthority clients("machines"), strangers("strangers");
  EXPECT_TRUE(write_file_atomic(folder / "clients.pem", clients.pem(), 0600).ok());
  const auto machine = clients.client("machine-1", {"somebody", "strake:pool:joiner"});
  EXPECT_EQ(status_with(stage, "", server, machine), 401) << "its authority does not count yet";
  const ProcessOutput set =
      strake({"config-server", "auth", "set", "require", "--client-ca", (folder / "clients.pem").string(), "--yes"});
  EXPECT_EQ(set.exit.exit_code, 0) << set.stderr_bytes;
  EXPECT_TRUE(comes_true([&] { return status_with(stage, "", server, machine) == 200; })) << stage.daemon().log();
  const auto elsewhere = clients.client("machine-2", {"strake:pool:infra"});
  EXPECT_EQ(status_with(stage, "", server, elsewhere), 403);
  EXPECT_EQ(status_with(stage, "", server, clients.client("machine-3", {"joiner"})), 403) << "no pool at all";
  EXPECT_EQ(status_with(stage, "", server, strangers.client("machine-1", {"strake:pool:joiner"})), 401);
  EXPECT_EQ(status_with(stage, token, server, elsewhere), 200) << "a good token beside it";
  EXPECT_EQ(status_with(stage, "nonsense", server, machine), 200) << "a good certificate beside a wrong token";
  EXPECT_EQ(status_with(stage, "", server), 401);
  EXPECT_EQ(strake({"config-server", "auth", "set", "require", "--no-client-ca", "--yes"}).exit.exit_code, 0);
  EXPECT_TRUE(comes_true([&] { return status_with(stage, "", server, machine) == 401; })) << stage.daemon().log();
}

}  // namespace

void expect_only_who_may_is_served(JoiningStage& stage, const std::filesystem::path& admin) {
  net::testing::TestAuthority authority;
  stage.put_identity(authority);
  stage.put_token("BOOTSTRAP-TOKEN");
  stage.put_config("rendered-joiner-9", "nine\n");
  stage.put_pool("joiner", "rendered-joiner-9", "rendered-joiner-9", 1);
  const auto strake = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--kubeconfig", admin.string()});
    return run_strake(std::move(arguments));
  };
  EXPECT_EQ(strake({"config-server", "auth", "set", "open"}).exit.exit_code, 0);
  stage.start({"--refused-per-second", "1000", "--tell-callers-every", "250ms"});
  ASSERT_TRUE(stage.daemon().says({"get this config", "pool=joiner", "rendered-joiner-9"})) << stage.daemon().log();
  put_stub(stage,
           fmt::format(R"({{"ignition":{{"version":"3.1.0","config":{{"merge":[{{"source":"{}/config/joiner"}}]}},)"
                       R"("security":{{"tls":{{"certificateAuthorities":[{{"source":"data:;base64,{}"}}]}}}}}}}})",
                       stage.url(), codec::encode_base64(authority.pem())));

  // Open: served without a token, and that is told.
  EXPECT_TRUE(comes_true([&] { return status_with(stage, "", authority) == 200; })) << stage.daemon().log();
  EXPECT_TRUE(comes_true([&] {
    const std::string callers = strake({"stub", "list", "--callers"}).stdout_bytes;
    return callers.find("joiner") != std::string::npos && callers.find("no-token") != std::string::npos;
  })) << strake({"stub", "list", "--callers"}).stdout_bytes
      << stage.daemon().log();

  // What would stop working is named, and nothing changes.
  const ProcessOutput refused = strake({"config-server", "auth", "set", "require"});
  EXPECT_EQ(refused.exit.exit_code, 3);
  EXPECT_NE(refused.stdout_bytes.find(kAccessSecret), std::string::npos) << refused.stdout_bytes;
  EXPECT_NE(strake({"config-server", "auth", "show"}).stdout_bytes.find("open"), std::string::npos);

  const ProcessOutput created = strake({"stub", "token", "create", "--into", kAccessSecret, "-o", "json"});
  ASSERT_EQ(created.exit.exit_code, 0) << created.stderr_bytes;
  const auto document = json::parse(created.stdout_bytes);
  ASSERT_TRUE(document.ok());
  const std::string id = json::find_string(*document, {"id"}).value_or("");
  EXPECT_EQ(created.stdout_bytes.find("strake-stub-"), std::string::npos) << "it is in the stub and nowhere else";
  const ProcessOutput counted = strake({"stub", "token", "create", "--pool", "joiner", "--uses", "1"});
  const std::string once = counted.stdout_bytes.substr(0, counted.stdout_bytes.find('\n'));
  ASSERT_TRUE(once.starts_with("strake-stub-")) << counted.stderr_bytes;
  const ProcessOutput elsewhere = strake({"stub", "token", "create", "--pool", "infra"});
  const std::string other = elsewhere.stdout_bytes.substr(0, elsewhere.stdout_bytes.find('\n'));

  const ProcessOutput set = strake({"config-server", "auth", "set", "require", "--yes"});
  EXPECT_EQ(set.exit.exit_code, 0) << set.stderr_bytes;
  EXPECT_TRUE(comes_true([&] { return status_with(stage, "", authority) == 401; })) << stage.daemon().log();
  EXPECT_EQ(status_with(stage, "nonsense", authority), 401);
  EXPECT_TRUE(comes_true([&] { return pool_event(stage, "MachineRefused").find("(no-token)") != std::string::npos; }))
      << pool_event(stage, "MachineRefused");
  EXPECT_EQ(status_with(stage, other, authority), 403);
  EXPECT_EQ(status_with(stage, once, authority), 200);
  expect_client_certificates_count(stage, strake, authority, once);

  // The real Ignition shows what its stub carries.
  const auto fetched = stage.fetch_with(stub_in_cluster(stage));
  EXPECT_TRUE(fetched.ok) << fetched.log;
  EXPECT_FALSE(stage.fetch("3.1.0", "joiner", authority).ok) << "without a token";
  EXPECT_EQ(strake({"stub", "check", kAccessSecret}).exit.exit_code, 0);

  // A flood of guesses disturbs nobody who may ask.
  for (int i = 0; i < 50; ++i) {
    EXPECT_NE(status_with(stage, fmt::format("guess{}", i), authority), 200);
    EXPECT_TRUE(i % 10 != 0 || status_with(stage, once, authority) == 200) << "the same use, asked for again";
  }

  EXPECT_EQ(strake({"stub", "token", "revoke", id}).exit.exit_code, 0);
  EXPECT_TRUE(comes_true([&] { return !stage.fetch_with(stub_in_cluster(stage)).ok; })) << stage.daemon().log();
  EXPECT_TRUE(stage.daemon().says({"token-revoked", "pool=joiner"})) << stage.daemon().log();
  const ProcessOutput checked = strake({"stub", "check", kAccessSecret});
  EXPECT_EQ(checked.exit.exit_code, 2);
  EXPECT_NE(checked.stdout_bytes.find("[bad-token]"), std::string::npos) << checked.stdout_bytes;
  EXPECT_TRUE(comes_true([&] {
    return strake({"stub", "token", "list"}).stdout_bytes.find("1 of 1") != std::string::npos;
  })) << strake({"stub", "token", "list"}).stdout_bytes;
  EXPECT_EQ(stage.daemon().log().find("strake-stub-"), std::string::npos) << "no token reaches the log";
  EXPECT_EQ(strake({"config-server", "auth", "set", "open"}).exit.exit_code, 0);
  EXPECT_TRUE(comes_true([&] { return status_with(stage, "", authority) == 200; })) << stage.daemon().log();
  EXPECT_EQ(stage.daemon().stop(), 0);
}

}  // namespace strake::test
