// Nothing fails silently: each way in which daemons get into trouble, on the real program, seen as a person sees it who
// has only kubectl, the log and the metrics.
#include <gtest/gtest.h>

#include <fstream>

#include "api/kinds.h"
#include "integration/signals_stage.h"
#include "support/strake_command.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> controller(const std::filesystem::path& kubeconfig) {
  return {"controller", "--kubeconfig", kubeconfig.string(), "--metrics-listen", "127.0.0.1:0"};
}

/// What must be seen of a controller that cannot work with its server.
void expect_trouble(const std::filesystem::path& kubeconfig, const TempDir& folder, const std::string& cause,
                    const std::string& advice) {
  Daemon daemon(controller(kubeconfig), folder / "controller.log");
  EXPECT_TRUE(daemon.says({"WARNING cannot read the API", "resource=strakeconfigs", cause, advice})) << daemon.log();
  EXPECT_TRUE(daemon.metric("strake_informer_failures_total{resource=\"strakeconfigs")) << daemon.get("/metrics");
  EXPECT_TRUE(daemon.get("/readyz").starts_with("503 ")) << daemon.get("/readyz");
  EXPECT_EQ(daemon.get("/healthz"), "ok\n");
  EXPECT_TRUE(daemon.alive()) << "it waits for the trouble to end";
  EXPECT_EQ(daemon.stop(), 0) << daemon.log();
}

TEST(Signals, ADeadServerIsSaidAtOnceAndRecoveredFrom) {
  UpStage up;
  kube::ClusterAccess nowhere = up.access();
  nowhere.server = "https://127.0.0.1:1";
  expect_trouble(up.write_kubeconfig("nowhere", nowhere), up.folder(), "Failed to connect",
                 "check that the API server runs");

  up.daemon().stop();
  Daemon daemon(controller(up.kubeconfig()), up.folder() / "again.log");
  EXPECT_TRUE(daemon.says({"WARNING cannot read the API", "check that the API server runs"})) << daemon.log();
  up.start_again();
  // Which of the kinds was asked for in vain before the server was back is a matter of luck; that all are read is not.
  EXPECT_TRUE(daemon.says({"INFO", "reading the API again", "after_failures="})) << daemon.log();
  EXPECT_TRUE(daemon.says({"another process leads"})) << daemon.log();
  EXPECT_TRUE(comes_true([&] { return daemon.get("/readyz") == "ok\n"; })) << daemon.get("/readyz");
}

TEST(Signals, AnExpiredCertificateIsSaidWithWhatToDo) {
  UpStage up;
  expect_trouble(up.kubeconfig_for("system:admin", -24h), up.folder(), "expired", "renew the certificate or token");
}

TEST(Signals, MissingRightsAreSaidWithWhatToDo) {
  UpStage up;
  expect_trouble(up.kubeconfig_for("nobody", 24h), up.folder(), "nobody", "apply deploy/rbac");
}

TEST(Signals, AServerNobodyVouchesForIsSaidWithWhatToDo) {
  UpStage up;
  UpStage other;
  kube::ClusterAccess wrong = up.access();
  wrong.ca_pem = other.access().ca_pem;
  expect_trouble(up.write_kubeconfig("wrong-ca", wrong), up.folder(), "certificate", "check certificate-authority");
}

TEST(Signals, AControllerThatIsWellIsReadyAndSaysWhoLeads) {
  UpStage up;
  Daemon daemon(controller(up.kubeconfig()), up.folder() / "controller.log");
  EXPECT_TRUE(daemon.says({"INFO", "another process leads", "leader=strake-up"})) << daemon.log();
  EXPECT_TRUE(comes_true([&] { return daemon.get("/readyz") == "ok\n"; })) << daemon.get("/readyz");
  EXPECT_TRUE(daemon.metric("strake_lease_held 0"));
  EXPECT_TRUE(up.metric("strake_lease_held 1"));
  EXPECT_EQ(daemon.log().find("WARNING"), std::string::npos) << daemon.log();
  EXPECT_EQ(daemon.stop(), 0);
}

TEST(Signals, ADatabaseDamagedAfterACleanStopIsRefusedWithFileAndPage) {
  UpStage up;
  for (int i = 0; i < 100; ++i) {
    kube::Object map(kube::core::kConfigMap, {"default", fmt::format("filler-{}", i)});
    json::ensure(map.json(), {"data", "text"}) = std::string(4000, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(up.api().create(kube::core::kConfigMap, map, {}, up.call()).ok());
  }
  ASSERT_EQ(up.daemon().stop(), 0) << up.daemon().log();
  const std::filesystem::path database = up.state() / "db" / "state.db";
  constexpr std::size_t kPage = 4096;
  const std::size_t pages = std::filesystem::file_size(database) / kPage;
  {
    // Behind the first pages, with which nothing would start at all.
    std::fstream file(database, std::ios::in | std::ios::out | std::ios::binary);
    for (std::size_t page = pages / 2; page < pages; ++page) {
      file.seekp(static_cast<std::streamoff>(page * kPage));
      file << std::string(kPage, static_cast<char>(0xEE));
    }
  }
  const ProcessOutput output = run_strake({"up", "--state", up.state().string(), "--listen", "127.0.0.1:0"});
  EXPECT_EQ(output.exit.exit_code, 1) << output.stderr_bytes;
  EXPECT_NE(output.stderr_bytes.find(database.string()), std::string::npos) << output.stderr_bytes;
  EXPECT_NE(output.stderr_bytes.find("Page "), std::string::npos) << output.stderr_bytes;
  EXPECT_NE(output.stderr_bytes.find("restore the directory from a backup"), std::string::npos) << output.stderr_bytes;
}

TEST(Signals, LogLinesAreJsonOnRequest) {
  UpStage up({"--log-format", "json"});
  EXPECT_TRUE(up.daemon().says({R"("level":"info")", R"("message":"leading; controllers running")"}))
      << up.daemon().log();
}

TEST(Signals, WhatCannotWorkIsRefusedAtTheStart) {
  TempDir folder;
  struct Case {
    std::vector<std::string> arguments;
    std::string message;
  };
  const Case cases[] = {
      {{"controller", "--kubeconfig", (folder / "none").string()}, "none"},
      {{"up", "--state", (folder / "s").string(), "--log-level", "loud"},
       "--log-level loud: expected debug, info, warning, error"},
      {{"up", "--state", (folder / "s").string(), "--log-format", "xml"}, "--log-format xml: expected text, json"},
      {{"controller", "--metrics-listen", "0.0.0.0:0"}, "without TLS use 127.0.0.1 or ::1"},
      {{"controller", "--metrics-listen", "nowhere"}, "--metrics-listen: 'nowhere': the port is missing"},
  };
  for (const Case& test : cases) {
    const ProcessOutput output = run_strake(test.arguments);
    EXPECT_EQ(output.exit.exit_code, 1) << test.message << "\n" << output.stderr_bytes;
    EXPECT_NE(output.stderr_bytes.find(test.message), std::string::npos) << output.stderr_bytes;
  }
}

}  // namespace
}  // namespace strake::test
