#include "kube/credentials.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/simulation.h"
#include "base/time.h"
#include "codec/json.h"
#include "support/temp_dir.h"

namespace strake::kube::credentials_test {

using namespace std::chrono_literals;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

ClusterAccess exec_access() {
  ClusterAccess access;
  access.server = "https://api.test";
  access.ca_pem = "CA";
  ExecConfig exec;
  exec.api_version = kV1;
  exec.command = "login";
  exec.args = {"get", "a b"};
  exec.env = {{"PROFILE", "dev"}, {"PATH", "/plugin/bin"}};
  exec.install_hint = "install login from example.test";
  exec.provide_cluster_info = true;
  access.exec = exec;
  return access;
}

std::string answer(std::string_view token, std::string_view expires = "") {
  json::Object status{{"token", token}};
  if (!expires.empty()) status["expirationTimestamp"] = expires;
  return json::write(json::Object{{"kind", "ExecCredential"}, {"apiVersion", kV1}, {"status", std::move(status)}});
}

/// A stand-in for starting programs: hands out what the test prepared and keeps what it was asked.
struct Runner {
  ExecOptions options() {
    ExecOptions options;
    options.environment = {"HOME=/h", "PATH=/usr/bin"};
    options.run = [this](const Command& command, std::stop_token) -> Result<ProcessOutput> {
      commands.push_back(command);
      return output;
    };
    return options;
  }
  std::vector<Command> commands;
  Result<ProcessOutput> output = ProcessOutput{};
};

TEST(ExecPlugin, IsRunByArgumentListAndToldAboutTheCluster) {
  Runner runner;
  runner.output = ProcessOutput{{}, answer("tok", "2026-01-01T01:00:00Z"), "", false};
  const Result<ExecCredential> credential = run_exec_plugin(exec_access(), runner.options(), {});
  ASSERT_TRUE(credential.ok()) << credential.error().to_string();
  EXPECT_EQ(credential->token, "tok");
  EXPECT_EQ(credential->expires, *parse_rfc3339("2026-01-01T01:00:00Z"));
  const Command& command = runner.commands.at(0);
  EXPECT_EQ(command.argv, (std::vector<std::string>{"login", "get", "a b"}));
  EXPECT_TRUE(command.timeout.has_value());
  ASSERT_EQ(command.env->size(), 4u);
  EXPECT_EQ(command.env->at(0), "HOME=/h");
  EXPECT_EQ(command.env->at(1), "PROFILE=dev");
  EXPECT_EQ(command.env->at(2), "PATH=/plugin/bin");
  EXPECT_EQ(
      command.env->at(3),
      R"(KUBERNETES_EXEC_INFO={"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
      R"("spec":{"interactive":false,"cluster":{"server":"https://api.test","certificate-authority-data":"Q0E="}}})");
}

TEST(ExecPlugin, FailuresSayWhatToDo) {
  Runner runner;
  ClusterAccess access = exec_access();
  runner.output = error(Code::kNotFound, "login is not installed");
  EXPECT_NE(run_exec_plugin(access, runner.options(), {}).error().to_string().find("install login from example.test"),
            std::string::npos);
  runner.output = ProcessOutput{{3, 0}, "", "please log in first", false};
  const Result<ExecCredential> failed = run_exec_plugin(access, runner.options(), {});
  EXPECT_EQ(failed.error().code(), Code::kUnauthenticated);
  EXPECT_NE(failed.error().to_string().find("please log in first"), std::string::npos);
  access.exec->api_version = "client.authentication.k8s.io/v1alpha1";
  EXPECT_EQ(run_exec_plugin(access, runner.options(), {}).error().code(), Code::kUnsupported);
  access = exec_access();
  access.exec->interactive_mode = "Always";
  EXPECT_EQ(run_exec_plugin(access, runner.options(), {}).error().code(), Code::kUnsupported);
}

TEST(ExecPlugin, RunsARealProgram) {
  test::TempDir folder;
  ASSERT_TRUE(write_file_atomic(folder / "plugin", "#!/bin/sh\nprintf '" + answer("from-$1") + "'\n", 0700).ok());
  ClusterAccess access = exec_access();
  access.exec->command = (folder / "plugin").string();
  access.exec->env.clear();
  const Result<ExecCredential> credential = run_exec_plugin(access, exec_options_from_process(), {});
  ASSERT_TRUE(credential.ok()) << credential.error().to_string();
  EXPECT_EQ(credential->token, "from-$1");
}

TEST(ExecCredential, RefusesIncompleteAnswers) {
  for (
      const char* text :
      {"", "{}",
       R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"t"}})",
       R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{}})",
       R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"clientKeyData":"k"}})",
       R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t","expirationTimestamp":"soon"}})"}) {
    EXPECT_FALSE(parse_exec_credential(text, kV1).ok()) << text;
  }
}

void in_simulation(const std::function<void(sim::Simulation&, const runtime::Call&)>& body) {
  sim::Simulation simulation(1);
  auto task = simulation.spawn("test", [&](std::stop_token stop) { body(simulation, {stop, {}}); });
  EXPECT_EQ(simulation.run(), sim::RunEnd::kAllDone);
}

TEST(CredentialSource, StaticCredentialsStay) {
  in_simulation([](sim::Simulation& simulation, const runtime::Call& call) {
    ClusterAccess access;
    access.bearer_token = "t";
    CredentialSource source(simulation, access, {});
    const Result<Credentials> credentials = source.current(call);
    ASSERT_TRUE(credentials.ok());
    EXPECT_EQ(credentials->bearer_token, "t");
    EXPECT_FALSE(source.refused(*credentials));
  });
}

TEST(CredentialSource, ReadsATokenFileAgain) {
  in_simulation([](sim::Simulation& simulation, const runtime::Call& call) {
    test::TempDir folder;
    ASSERT_TRUE(write_file_atomic(folder / "token", "one\n", 0600).ok());
    ClusterAccess access;
    access.token_file = folder / "token";
    CredentialSource source(simulation, access, {});
    EXPECT_EQ(source.current(call)->bearer_token, "one");
    ASSERT_TRUE(write_file_atomic(folder / "token", "two", 0600).ok());
    EXPECT_EQ(source.current(call)->bearer_token, "one");
    const auto generation = source.current(call)->generation;
    ASSERT_TRUE(simulation.sleep(61s, call.stop).ok());
    EXPECT_EQ(source.current(call)->bearer_token, "two");
    EXPECT_NE(source.current(call)->generation, generation);
    // Missing for a moment: the last one is better than none.
    std::filesystem::remove(folder / "token");
    ASSERT_TRUE(simulation.sleep(61s, call.stop).ok());
    EXPECT_EQ(source.current(call)->bearer_token, "two");
  });
}

TEST(CredentialSource, RunsThePluginBeforeItsAnswerExpiresAndAfterARefusal) {
  in_simulation([](sim::Simulation& simulation, const runtime::Call& call) {
    Runner runner;
    runner.output = ProcessOutput{{}, answer("one", "2026-01-01T01:00:00Z"), "", false};
    CredentialSource source(simulation, exec_access(), runner.options());
    EXPECT_EQ(source.current(call)->bearer_token, "one");
    ASSERT_TRUE(simulation.sleep(59min, call.stop).ok());
    EXPECT_EQ(source.current(call)->bearer_token, "one");
    EXPECT_EQ(runner.commands.size(), 1u);
    ASSERT_TRUE(simulation.sleep(31s, call.stop).ok());
    runner.output = ProcessOutput{{}, answer("two"), "", false};
    const Credentials two = *source.current(call);
    EXPECT_EQ(two.bearer_token, "two");
    EXPECT_EQ(runner.commands.size(), 2u);
    EXPECT_TRUE(source.refused(two));
    EXPECT_EQ(source.current(call)->generation, two.generation);
    EXPECT_EQ(runner.commands.size(), 3u);
    EXPECT_FALSE(source.refused(two)) << "the plugin has nothing better";
  });
}

TEST(CredentialSource, OneRunServesAllWhoWait) {
  sim::Simulation simulation(1);
  int runs = 0;
  ExecOptions options;
  options.run = [&](const Command&, std::stop_token stop) -> Result<ProcessOutput> {
    ++runs;
    EXPECT_TRUE(simulation.sleep(1s, stop).ok());
    return ProcessOutput{{}, answer("t"), "", false};
  };
  CredentialSource source(simulation, exec_access(), options);
  std::vector<runtime::Task> tasks;
  for (int i = 0; i < 5; ++i) {
    tasks.push_back(
        simulation.spawn("caller", [&](std::stop_token stop) { EXPECT_TRUE(source.current({stop, {}}).ok()); }));
  }
  EXPECT_EQ(simulation.run(), sim::RunEnd::kAllDone);
  EXPECT_EQ(runs, 1);
}

std::string kubeconfig_text(const std::string& server, const std::string& certificate, const std::string& ca) {
  ClusterAccess access;
  access.server = server;
  access.ca_pem = "-----BEGIN CERTIFICATE-----\n" + ca;
  access.client_cert_pem = "-----BEGIN CERTIFICATE-----\n" + certificate;
  access.client_key_pem = "-----BEGIN PRIVATE KEY-----\n" + certificate;
  return *write_kubeconfig(kubeconfig_for("c", access));
}

TEST(CredentialSource, ACertificateThatIsRenewedInTheKubeconfigIsTakenWithItsAuthorities) {
  in_simulation([](sim::Simulation& simulation, const runtime::Call&) {
    runtime::Runtime& runtime = simulation;
    const test::TempDir dir;
    const auto write = [&](const std::string& text) { ASSERT_TRUE(write_file_atomic(dir / "k", text, 0600).ok()); };
    write(kubeconfig_text("https://api.test", "one", "ca1"));
    const auto access = resolve_access(*parse_kubeconfig(*read_file(dir / "k", 1 << 20), dir / "k"));
    ASSERT_TRUE(access.ok()) << access.error().to_string();
    CredentialSource source(runtime, *access, {});
    const Credentials first = *source.current({});
    write(kubeconfig_text("https://api.test", "two", "ca2"));
    EXPECT_EQ(source.current({})->generation, first.generation) << "not at every call";
    ASSERT_TRUE(runtime.sleep(61s, {}).ok());
    const Credentials second = *source.current({});
    EXPECT_NE(second.client_cert_pem.find("two"), std::string::npos);
    EXPECT_NE(second.ca_pem.find("ca2"), std::string::npos);
    EXPECT_NE(second.generation, first.generation);

    write(kubeconfig_text("https://api.test", "three", "ca2"));
    EXPECT_TRUE(source.refused(second)) << "a 401 is a reason to look at once";
    EXPECT_NE(source.current({})->client_cert_pem.find("three"), std::string::npos);
    write("not a kubeconfig: [");
    ASSERT_TRUE(runtime.sleep(61s, {}).ok());
    EXPECT_NE(source.current({})->client_cert_pem.find("three"), std::string::npos) << "what we have is likely good";
    write(kubeconfig_text("https://elsewhere.test", "four", "ca3"));
    ASSERT_TRUE(runtime.sleep(61s, {}).ok());
    EXPECT_EQ(source.current({})->client_cert_pem.find("four"), std::string::npos) << "not the credentials of another";
  });
}

}  // namespace strake::kube::credentials_test
