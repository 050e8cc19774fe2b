// What all verbs have in common, as a user meets it: signals, exit codes, a full disk, hostile text, words nobody
// knows.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "codec/json.h"
#include "support/running_strake.h"
#include "support/strake_command.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

using Words = std::vector<std::string>;

/// A port on this machine. Held and listening, whoever connects gets a connection and never a word; held and not
/// listening, nobody gets in, and nobody else can take the port.
class SilentPort {
 public:
  enum class Manner { kSilent, kRefusing };

  explicit SilentPort(Manner manner) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_.get(), generic, size), 0);
    EXPECT_EQ(::getsockname(socket_.get(), generic, &size), 0);
    if (manner == Manner::kSilent) {
      EXPECT_EQ(::listen(socket_.get(), 16), 0);
    }
    place_ = fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
  }

  const std::string& place() const { return place_; }

 private:
  Fd socket_;
  std::string place_;
};

struct CommandTest : testing::Test {
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  std::string kubeconfig_of(const SilentPort& port) {
    return write("kubeconfig", fmt::format(R"(apiVersion: v1
kind: Config
current-context: c
clusters: [{{name: c, cluster: {{server: "https://{}"}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
users: [{{name: u, user: {{token: not-a-real-token}}}}]
)",
                                           port.place()));
  }

  std::string fifo() {
    const std::string path = (folder_ / "fifo").string();
    if (!std::filesystem::exists(path)) {
      EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    }
    return path;
  }

  static std::string valid_config() {
    return "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 50-a\n"
           "  labels: {machineconfiguration.openshift.io/role: worker}\nspec: {}\n";
  }

  TempDir folder_;
};

TEST_F(CommandTest, ASignalEndsWhateverAVerbWaitsFor) {
  const SilentPort silent(SilentPort::Manner::kSilent);
  const std::string kubeconfig = kubeconfig_of(silent);
  struct Case {
    std::string name;
    Words arguments;
    Words through = {};
  };
  const Case cases[] = {
      {"a pipe nobody writes to", {"render", "-f", fifo()}},
      {"another", {"ignition", "validate", fifo()}},
      {"standard input that stays open",
       {"config", "lint", "-f", "-"},
       {"bash", "-c", "exec \"${@:2}\" <> \"$1\"", "bash", fifo()}},
      {"an API server that never answers", {"plan", "--kubeconfig", kubeconfig}},
      {"the same, asked by a watch", {"mode", "show", "--kubeconfig", kubeconfig}},
      {"a registry that never answers", {"os", "ls", silent.place() + "/os:latest", "--no-cache"}},
      {"a mirror that never answers", {"stream", "show", "--mirror", "http://" + silent.place() + "/pub"}},
  };
  for (const Case& c : cases) {
    for (const int signal : {SIGINT, SIGTERM}) {
      SCOPED_TRACE(fmt::format("{}, signal {}", c.name, signal));
      RunningStrake running(c.arguments, folder_ / "log", c.through);
      ASSERT_TRUE(running.wait_until_idle());
      EXPECT_EQ(running.end_by(signal), (ExitStatus{130, 0})) << running.said();
      std::filesystem::remove(folder_ / "log");
    }
  }
}

TEST_F(CommandTest, DaemonsEndInGoodOrder) {
  for (const int signal : {SIGINT, SIGTERM}) {
    RunningStrake up({"up", "--state", (folder_ / "s").string(), "--listen", "127.0.0.1:0"}, folder_ / "log");
    ASSERT_TRUE(up.wait_until_said("Stop it with Ctrl-C"));
    EXPECT_EQ(up.end_by(signal), (ExitStatus{0, 0})) << up.said();
    std::filesystem::remove(folder_ / "log");
  }
}

TEST_F(CommandTest, WhoCannotBeReachedIsCodeFour) {
  const SilentPort refusing(SilentPort::Manner::kRefusing), silent(SilentPort::Manner::kSilent);
  const std::string refused = kubeconfig_of(refusing);
  const auto code = [](Words arguments) {
    const ProcessOutput output = run_strake(std::move(arguments));
    EXPECT_EQ(std::ranges::count(output.stderr_bytes, '\n'), 1) << output.stderr_bytes;
    return output.exit.exit_code;
  };
  EXPECT_EQ(code({"plan", "--kubeconfig", refused}), 4);
  EXPECT_EQ(code({"version", "--server", "--kubeconfig", refused}), 4);
  EXPECT_EQ(code({"mode", "show", "--kubeconfig", refused, "--timeout", "2s"}), 4);
  EXPECT_EQ(code({"bootimage", "check", "--kubeconfig", refused}), 4);
  EXPECT_EQ(code({"explain", "worker", "/etc/x", "--kubeconfig", refused}), 4);
  EXPECT_EQ(code({"os", "ls", refusing.place() + "/os:latest", "--no-cache"}), 4);
  EXPECT_EQ(code({"release", "info", refusing.place() + "/release:1", "--no-cache"}), 4);
  EXPECT_EQ(code({"stream", "show", "--mirror", "http://" + refusing.place() + "/pub"}), 4);
  EXPECT_EQ(code({"stream", "show", "--mirror", "http://host.invalid/pub"}), 4) << "no such name";
  EXPECT_EQ(code({"plan", "--timeout", "300ms", "--kubeconfig", kubeconfig_of(silent)}), 4) << "no answer in time";
}

TEST_F(CommandTest, AKubeconfigThatNamesNoClusterNeverMeansAnother) {
  const std::string empty = write("empty", "");
  const ProcessOutput named = run_strake({"plan", "--kubeconfig", empty});
  EXPECT_EQ(named.exit.exit_code, 1);
  EXPECT_NE(named.stderr_bytes.find("--kubeconfig " + empty + " names no cluster"), std::string::npos)
      << named.stderr_bytes;
  // With a cluster of `strake up` beside it, whose kubeconfig would be found otherwise.
  RunningStrake up({"up", "--state", (folder_ / "strake").string(), "--listen", "127.0.0.1:0"}, folder_ / "log");
  ASSERT_TRUE(up.wait_until_said("Stop it with Ctrl-C"));
  const auto plan_in = [&](const std::string& variable) {
    Command command = strake_command({"plan"});
    command.argv.insert(command.argv.begin(), {"env", "-u", "KUBECONFIG", "XDG_STATE_HOME=" + folder_.path().string(),
                                               "HOME=" + (folder_ / "home").string()});
    if (!variable.empty()) command.argv.insert(command.argv.begin() + 5, "KUBECONFIG=" + variable);
    return *run(command);
  };
  EXPECT_EQ(plan_in("").exit.exit_code, 0) << plan_in("").stderr_bytes;
  const ProcessOutput by_variable = plan_in(empty);
  EXPECT_EQ(by_variable.exit.exit_code, 1) << by_variable.stdout_bytes;
  EXPECT_NE(by_variable.stderr_bytes.find("$KUBECONFIG " + empty), std::string::npos) << by_variable.stderr_bytes;
}

TEST_F(CommandTest, TheApiIsServedOnIpv6AndWhatUpPrintsCanBePasted) {
  RunningStrake up({"up", "--state", (folder_ / "my state").string(), "--listen", "[::1]:0"}, folder_ / "log");
  ASSERT_TRUE(up.wait_until_said("Stop it with Ctrl-C"));
  EXPECT_NE(up.said().find("API at https://[::1]:"), std::string::npos) << up.said();
  // The lines themselves, but for those that need kubectl.
  const std::string said = up.said();
  std::string script = "set -e\n";
  for (std::size_t at = 0; (at = said.find("\n  ", at)) != std::string::npos; ++at) {
    const std::string line = said.substr(at + 3, said.find('\n', at + 1) - at - 3);
    if (!line.starts_with("kubectl ") && line.find("bootimage check") == std::string::npos) script += line + "\n";
  }
  Command shell;
  shell.argv = {"env", "-i", "PATH=/usr/bin:/bin", "sh", "-c", script};
  shell.cwd = "/";
  const auto pasted = run(shell);
  ASSERT_TRUE(pasted.ok()) << pasted.error().to_string();
  EXPECT_EQ(pasted->exit, (ExitStatus{0, 0})) << script << pasted->stderr_bytes;
  EXPECT_NE(script.find("plan\n"), std::string::npos) << script;
}

TEST_F(CommandTest, WhatCannotBePrintedIsAnErrorOfEveryVerb) {
  const std::string config = write("config.yaml", valid_config());
  const std::string ignition = write("a.ign", R"({"ignition":{"version":"3.2.0"}})");
  for (const Words& arguments : {Words{"render", "-f", config}, Words{"config", "lint", "-f", config},
                                 Words{"ignition", "validate", ignition}, Words{"ignition", "merge", ignition},
                                 Words{"version"}, Words{"completion", "zsh"}, Words{"man"}, Words{"--help"}}) {
    Command command = strake_command(arguments);
    command.argv.insert(command.argv.begin(), {"bash", "-c", "exec \"$@\" > /dev/full", "bash"});
    const auto output = run(command);
    ASSERT_TRUE(output.ok()) << output.error().to_string();
    EXPECT_EQ(output->exit.exit_code, 1) << arguments.front();
    EXPECT_NE(output->stderr_bytes.find("strake: printing to standard output: "), std::string::npos)
        << arguments.front() << ": " << output->stderr_bytes;
  }
  // A reader that is gone before the first word.
  Command piped = strake_command({"version"});
  piped.argv.insert(piped.argv.begin(),
                    {"bash", "-c", "exec 3<> \"$1\"; exec 4> \"$1\"; exec 3<&-; exec \"${@:2}\" >&4", "bash", fifo()});
  const auto output = run(piped);
  ASSERT_TRUE(output.ok()) << output.error().to_string();
  EXPECT_EQ(output->exit, (ExitStatus{1, 0})) << output->stderr_bytes;
  EXPECT_NE(output->stderr_bytes.find("Broken pipe"), std::string::npos) << output->stderr_bytes;
}

TEST_F(CommandTest, TextOfOthersCannotSteerTheTerminal) {
  const std::string hostile = write("hostile.yaml",
                                    "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\n"
                                    "metadata:\n  name: \"50-\\e[2Ja\\u202e\"\n"
                                    "  labels: {machineconfiguration.openshift.io/role: worker}\n"
                                    "spec: {kernelType: \"\\e]0;x\\a\"}\n");
  for (const Words& arguments : {Words{"config", "lint", "-f", hostile}, Words{"render", "-f", hostile}}) {
    const ProcessOutput output = run_strake(arguments);
    EXPECT_NE(output.exit.exit_code, 0);
    const std::string all = output.stdout_bytes + output.stderr_bytes;
    EXPECT_EQ(all.find('\x1b'), std::string::npos) << all;
    EXPECT_EQ(all.find("\xe2\x80\xae"), std::string::npos) << all;
    EXPECT_NE(all.find("\\u001b"), std::string::npos) << all;
  }
}

TEST_F(CommandTest, UnknownWordsAreNamedWithTheNearest) {
  struct Case {
    Words arguments;
    std::string says;
  };
  for (const Case& c : {Case{{"frobnicate"}, "there is no verb 'frobnicate'"},
                        {{"pln"}, "there is no verb 'pln'; did you mean 'plan'?"},
                        {{"release", "verfy"}, "there is no verb 'release verfy'; did you mean 'verify'?"},
                        {{"plan", "--ouput", "json"}, "has no option '--ouput'; did you mean '--output'?"},
                        {{"plan", "-o", "jsn"}, "-o jsn: expected text, json; did you mean 'json'?"},
                        {{"release", "info", "./x", "--arhc", "amd64"}, "did you mean '--arch'?"}}) {
    const ProcessOutput output = run_strake(c.arguments);
    EXPECT_EQ(output.exit.exit_code, 1);
    EXPECT_NE(output.stderr_bytes.find(c.says), std::string::npos) << output.stderr_bytes;
  }
}

TEST_F(CommandTest, VersionIsTextOrJson) {
  EXPECT_TRUE(run_strake({"version"}).stdout_bytes.starts_with("strake "));
  EXPECT_EQ(run_strake({"version"}).stdout_bytes, run_strake({"--version"}).stdout_bytes);
  const auto json = json::parse(run_strake({"version", "-o", "json"}).stdout_bytes);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ("strake " + *json::find_string(*json, {"client", "version"}) + "\n", run_strake({"version"}).stdout_bytes);
}

TEST_F(CommandTest, ManPagesAreFoundByMan) {
  const std::string folder = (folder_ / "man").string();
  ASSERT_EQ(run_strake({"man", "--dir", folder}).exit.exit_code, 0);
  Command man;
  man.argv = {"man", "--warnings", "-M", folder, "strake-release-verify"};
  man.env = {"PATH=/usr/bin:/bin", "MANWIDTH=100", "LC_ALL=C"};
  const auto page = run_checked(man);
  ASSERT_TRUE(page.ok()) << page.error().to_string();
  EXPECT_EQ(page->stderr_bytes, "");
  EXPECT_NE(page->stdout_bytes.find("EXIT STATUS"), std::string::npos) << page->stdout_bytes;
}

}  // namespace
}  // namespace strake::test
