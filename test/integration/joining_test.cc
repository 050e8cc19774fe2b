// Machines join a cluster on the embedded API server; and what one server must bear.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "api/kinds.h"
#include "base/fd.h"
#include "base/time.h"
#include "codec/base64.h"
#include "integration/joining_stage.h"
#include "net/http_client.h"
#include "net/testing/raw_tls_client.h"
#include "support/strake_command.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;

/// Controllers look and do not touch, so that a test says what the pools run.
struct EmbeddedStage : UpStage {
  EmbeddedStage() {
    kube::Object modes(api::kStrakeConfig, {"", "cluster"});
    for (const char* capability : {"render", "rollout"}) {
      json::ensure(modes.json(), {"spec", "modes", capability}) = "observe";
    }
    EXPECT_TRUE(api().create(api::kStrakeConfig, modes, {}, call()).ok());
    joining = std::make_unique<JoiningStage>(api(), kubeconfig_for("mcs", 24h, {"strake:config-servers"}));
  }

  /// As if the controllers of another process led, and did nothing.
  void stand_controllers_down() {
    set_joining("observe");
    const auto holder = [this] {
      const auto lease = api().get(kube::core::kLease, {"strake-system", "strake-controller"}, call());
      return lease.ok() ? lease->text({"spec", "holderIdentity"}) : "";
    };
    EXPECT_TRUE(comes_true([&] { return holder().empty(); })) << daemon().log();
    kube::Object lease(kube::core::kLease, {"strake-system", "strake-controller"});
    json::ensure(lease.json(), {"spec"}) =
        json::Object{{"holderIdentity", "another"},
                     {"leaseDurationSeconds", 3600},
                     {"renewTime", format_rfc3339_micros(std::chrono::system_clock::now())}};
    joining->put(kube::core::kLease, lease);
    set_joining("own");
  }
  void let_controllers_act() {
    EXPECT_TRUE(api().remove(kube::core::kLease, {"strake-system", "strake-controller"}, {}, call()).ok());
  }

 private:
  void set_joining(std::string_view mode) {
    kube::Object modes(api::kStrakeConfig, {"", "cluster"});
    json::ensure(modes.json(), {"spec", "modes", "joining"}) = mode;
    joining->put(api::kStrakeConfig, modes);
  }

 public:
  std::unique_ptr<JoiningStage> joining;
};

EmbeddedStage& shared_stage() {
  static EmbeddedStage stage;
  return stage;
}

TEST(Joining, MachinesGetTheirConfigAndFollowARollout) { expect_machines_join(*shared_stage().joining); }
TEST(Joining, EveryVersionIsAcceptedByItsValidator) { expect_every_byte_valid(*shared_stage().joining); }
TEST(Joining, CertificatesAreReplacedInPlace) { expect_certificates_replaced(*shared_stage().joining); }
TEST(Joining, AStubOfTheFirstYearsIsConverted) {
  expect_old_stub_converted(*shared_stage().joining, shared_stage().kubeconfig());
}
TEST(Joining, TheAuthorityIsReplacedWhileMachinesAsk) {
  shared_stage().stand_controllers_down();
  expect_authority_rotated(*shared_stage().joining, shared_stage().kubeconfig());
  shared_stage().let_controllers_act();
}
TEST(Joining, StubsOutsideTheClusterAreWaitedFor) {
  shared_stage().stand_controllers_down();
  expect_outside_stubs_waited_for(*shared_stage().joining, shared_stage().kubeconfig());
  shared_stage().let_controllers_act();
}
TEST(Joining, OnlyWhoMayIsServed) {
  expect_only_who_may_is_served(*shared_stage().joining, shared_stage().kubeconfig());
}
TEST(Joining, EveryRefusalHasAReason) { expect_refusals_explained(*shared_stage().joining); }

std::size_t peak_memory_kib(const Daemon& daemon) {
  std::ifstream status(fmt::format("/proc/{}/status", daemon.pid()));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoul(line.substr(6));
  }
  return 0;
}

TEST(Joining, AThousandClientsSlowOnesAndGarbageAtOnce) {
  JoiningStage& stage = *shared_stage().joining;
  net::testing::TestAuthority authority;
  stage.put_identity(authority);
  stage.put_token("BOOTSTRAP-TOKEN");
  stage.put_config("rendered-joiner-6", std::string(150'000, '6'));
  stage.put_config("rendered-joiner-7", std::string(150'000, '7'));
  stage.put_pool("joiner", "rendered-joiner-6", "rendered-joiner-6", 1);
  stage.start();
  ASSERT_TRUE(stage.daemon().says({"get this config", "pool=joiner", "rendered-joiner-6"})) << stage.daemon().log();
  const std::string six = stage.ask("/config/joiner", "3.2.0", authority).body;
  stage.put_pool("joiner", "rendered-joiner-7", "rendered-joiner-6", 1);
  ASSERT_TRUE(stage.daemon().says({"get this config", "pool=joiner", "rendered-joiner-7"})) << stage.daemon().log();
  const std::string seven = stage.ask("/config/joiner", "3.2.0", authority).body;
  ASSERT_GT(seven.size(), 300'000U);
  ASSERT_NE(six, seven);

  const std::string url = stage.url();
  const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  const std::string request =
      "GET /config/joiner HTTP/1.1\r\nHost: a\r\nAccept: application/vnd.coreos.ignition+json;version=3.2.0\r\n"
      "Connection: close\r\n\r\n";
  // A thousand that asked and read nothing yet: each holds its connection and its place in the answer.
  std::vector<net::testing::RawTlsClient> slow;
  for (int i = 0; i < 1000; ++i) {
    auto client = net::testing::RawTlsClient::connect(port, {.ca_pem = authority.pem(), .identity = {}});
    ASSERT_TRUE(client.ok()) << i << ": " << client.error().to_string();
    ASSERT_TRUE(client->write(i % 10 == 9 ? "\x01garbage \xff\r\n\r\n" : request).ok());
    slow.push_back(*std::move(client));
  }
  // Meanwhile 200 others ask one after the other while the pool goes back and forth.
  runtime::ThreadRuntime runtime;
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  {
    std::vector<runtime::Task> askers;
    for (int i = 0; i < 4; ++i) {
      askers.push_back(runtime.spawn("asker", [&](std::stop_token) {
        for (int n = 0; n < 50; ++n) {
          const net::Response response = stage.ask("/config/joiner", "3.2.0", authority);
          if (response.status != 200 || (response.body != six && response.body != seven)) ++wrong;
        }
      }));
    }
    runtime::Task swapper = runtime.spawn("swapper", [&](std::stop_token) {
      for (int i = 0; !stop; ++i) {
        const std::string target = i % 2 == 0 ? "rendered-joiner-6" : "rendered-joiner-7";
        stage.put_pool("joiner", target, target, 1);
      }
    });
    for (runtime::Task& asker : askers) asker.join();
    stop = true;
  }
  EXPECT_EQ(wrong, 0);
  int whole = 0, refused = 0, other = 0;
  for (net::testing::RawTlsClient& client : slow) {
    const std::string answer = client.read_to_end();
    const std::string body = answer.substr(std::min(answer.find("\r\n\r\n") + 4, answer.size()));
    if (answer.starts_with("HTTP/1.1 200") && (body == six || body == seven)) {
      ++whole;
    } else if (answer.starts_with("HTTP/1.1 400") && body.empty()) {
      ++refused;
    } else {
      ++other;
    }
  }
  EXPECT_EQ(whole, 900);
  EXPECT_EQ(refused, 100);
  EXPECT_EQ(other, 0);
  EXPECT_LT(peak_memory_kib(stage.daemon()), 300U * 1024);
  EXPECT_EQ(stage.daemon().stop(), 0);
}

TEST(Joining, TheLastAnswerIsServedWhileTheApiIsAway) {
  EmbeddedStage up;
  JoiningStage& stage = *up.joining;
  net::testing::TestAuthority authority;
  stage.put_identity(authority, {"::1"});
  stage.put_token("BOOTSTRAP-TOKEN");
  stage.put_config("rendered-joiner-1", "one\n");
  stage.put_pool("joiner", "rendered-joiner-1", "rendered-joiner-1", 1);
  stage.start({}, "[::1]:0");
  ASSERT_TRUE(stage.daemon().says({"get this config", "pool=joiner"})) << stage.daemon().log();
  const std::string before = stage.ask("/config/joiner", "3.2.0", authority).body;
  EXPECT_FALSE(before.empty());
  EXPECT_TRUE(stage.daemon().metric("strake_config_server_answers_unconfirmed_seconds 0"));
  EXPECT_EQ(up.daemon().stop(), 0);
  const auto confirmed = [&] {
    return stage.daemon().get("/metrics").find("\nstrake_config_server_answers_unconfirmed_seconds 0\n") !=
           std::string::npos;
  };
  EXPECT_TRUE(comes_true([&] { return !confirmed(); })) << stage.daemon().log();
  EXPECT_EQ(stage.ask("/config/joiner", "3.2.0", authority).body, before);
  EXPECT_TRUE(stage.fetch("3.1.0", "joiner", authority).ok) << "over IPv6, without an API server";
  EXPECT_EQ(stage.daemon().stop(), 0);
}

TEST(Joining, AConfigOfTenMegabytesIsServedFromABootstrapFolder) {
  const TempDir folder;
  for (const char* name : {"machine-pools", "machine-configs"}) std::filesystem::create_directory(folder / name);
  const std::string big(7'500'000, 'x');
  std::ofstream(folder / "machine-configs/rendered-master-1.yaml")
      << R"({"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","metadata":{"name":)"
      << R"("rendered-master-1"},"spec":{"config":{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":)"
      << R"("/etc/big","contents":{"source":"data:;base64,)" << codec::encode_base64(big) << R"("}}]}}}})";
  std::ofstream(folder / "machine-pools/master.yaml")
      << R"({"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfigPool","metadata":{"name":)"
      << R"("master"},"spec":{"configuration":{"name":"rendered-master-1"}},"status":{"configuration":{"name":)"
      << R"("rendered-master-1"}}})";
  std::ofstream(folder / "kubeconfig") << "apiVersion: v1\n";
  net::testing::TestAuthority authority;
  const net::testing::TestIdentity identity = authority.server();
  std::ofstream(folder / "tls.crt") << identity.certificate_pem;
  std::ofstream(folder / "tls.key") << identity.key_pem;
  std::ofstream(folder / "ca.crt") << authority.pem();
  JoiningStage& stage = *shared_stage().joining;
  stage.start({"--bootstrap-dir", folder.path().string(), "--bootstrap-kubeconfig", (folder / "kubeconfig").string(),
               "--tls-cert", (folder / "tls.crt").string(), "--tls-key", (folder / "tls.key").string()});
  Command curl;
  curl.argv = {"curl",
               "--silent",
               "--fail",
               "--cacert",
               (folder / "ca.crt").string(),
               "--retry",
               "60",
               "--retry-delay",
               "1",
               "--retry-all-errors",
               "--header",
               "Accept: application/vnd.coreos.ignition+json;version=3.2.0",
               "--output",
               (folder / "answer").string(),
               stage.url() + "/config/master"};
  const auto fetched = run_checked(curl);
  ASSERT_TRUE(fetched.ok()) << fetched.error().to_string() << stage.daemon().log();
  const auto answer = json::parse(read_file(folder / "answer", 64 << 20).value());
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(file_in(*answer, "/etc/big"), big);
  // What is not there is refused all the same.
  EXPECT_EQ(stage.ask("/config/infra", "3.2.0", authority).status, 500);
  EXPECT_EQ(stage.daemon().stop(), 0);
}

TEST(Joining, WrongOptionsSayWhatToDo) {
  const TempDir folder;
  std::ofstream(folder / "empty") << "";
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--tls-cert", "a.crt"}, "--tls-key"},
      {{"--bootstrap-dir", folder.path().string()}, "--bootstrap-kubeconfig"},
      {{"--bootstrap-dir", folder.path().string(), "--bootstrap-kubeconfig", "k"}, "--tls-cert"},
      {{"--bootstrap-dir", folder.path().string(), "--bootstrap-kubeconfig", "k", "--bootstrap-cert", "noequals"},
       "REGISTRY=FILE"},
      {{"--bootstrap-dir", folder.path().string(), "--bootstrap-kubeconfig", "k", "--bootstrap-cert", "../a=b"},
       "REGISTRY=FILE"},
      {{"--tls-min-version", "1.1"}, "1.2"},
      {{"--listen", "nowhere"}, "--listen"},
      {{"--bootstrap-dir", folder.path().string(), "--bootstrap-kubeconfig", "k", "--tls-cert",
        (folder / "empty").string(), "--tls-key", (folder / "empty").string()},
       "certificate"},
  };
  for (const auto& [arguments, named] : cases) {
    std::vector<std::string> all{"config-server"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const ProcessOutput output = run_strake(all);
    EXPECT_EQ(output.exit.exit_code, 1) << fmt::format("{}", fmt::join(arguments, " "));
    EXPECT_NE(output.stderr_bytes.find(named), std::string::npos) << output.stderr_bytes;
  }
}

}  // namespace
}  // namespace strake::test
