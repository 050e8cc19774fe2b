// Credentials as an operator issues, uses and revokes them: `strake up`, a machine that joins from another folder, a
// rotation of the authority, on the real program.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "codec/json.h"
#include "net/x509.h"
#include "support/running_strake.h"
#include "support/strake_command.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

class AccessTest : public testing::Test {
 protected:
  AccessTest()
      : up_({"up", "--state", (dir_ / "s").string(), "--listen", "127.0.0.1:0", "--server-names",
             "strake.example,192.0.2.1"},
            dir_ / "up.log") {
    EXPECT_TRUE(up_.wait_until_said("The control plane is at"));
    std::filesystem::create_directories(root());
  }

  std::filesystem::path root() const { return dir_ / "machine"; }
  std::filesystem::path agents_own() const { return root() / "var/lib/strake/agent/kubeconfig"; }

  ProcessOutput as(const std::filesystem::path& kubeconfig, std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--kubeconfig", kubeconfig.string()});
    return run_strake(std::move(arguments));
  }
  /// As the administrator.
  ProcessOutput access(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "access");
    return as(dir_ / "s" / "kubeconfig", std::move(arguments));
  }
  std::string checked(std::vector<std::string> arguments) const {
    const std::string words = fmt::format("{}", fmt::join(arguments, " "));
    const ProcessOutput output = access(std::move(arguments));
    EXPECT_EQ(output.exit.exit_code, 0) << words << ": " << output.stdout_bytes << output.stderr_bytes;
    return output.stdout_bytes;
  }
  /// The line that is printed for the machine, as arguments.
  std::vector<std::string> join_line(const std::string& node) {
    const std::string file = (dir_ / (node + ".token")).string();
    const std::string line = checked({"issue", "join-token", "--node", node, "--out", file});
    std::vector<std::string> words;
    for (const std::string_view word : split(trimmed(line), ' ')) words.emplace_back(word);
    if (words.size() < 3) return {};
    words.erase(words.begin());
    std::ranges::replace(words, "DIR", root().string());
    return words;
  }
  std::string state_of(const std::string& kind, const std::string& node) {
    const auto listed = json::parse(checked({"list", "-o", "json"}));
    for (const json::Value& item : listed->at("credentials").as_array()) {
      if (json::find_string(item, {"kind"}) == kind && json::find_string(item, {"node"}) == node)
        return json::find_string(item, {"state"}).value_or("");
    }
    return "none";
  }
  /// Until its certificate was looked at once, and renewed where it is due.
  std::string agent_says(const std::string& awaited) {
    RunningStrake agent({"agent", "--root", root().string()}, dir_ / fmt::format("agent{}.log", ++agents_));
    EXPECT_TRUE(agent.wait_until_said(awaited));
    (void)agent.end_by(SIGTERM);
    return agent.said();
  }

  TempDir dir_;
  RunningStrake up_;
  int agents_ = 0;
};

TEST_F(AccessTest, AMachineJoinsWorksWithItsOwnRightsAndIsShutOut) {
  const std::vector<std::string> line = join_line("w1");
  const ProcessOutput joined = run_strake(line);
  ASSERT_EQ(joined.exit.exit_code, 0) << joined.stdout_bytes << joined.stderr_bytes;
  struct stat info{};
  ASSERT_EQ(::stat(agents_own().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  EXPECT_EQ(run_strake(line).exit.exit_code, 3) << "twice";
  EXPECT_EQ(access({"issue", "join-token", "--node", "w1"}).exit.exit_code, 3) << "the name exists";
  EXPECT_EQ(state_of("join-token", "w1"), "used");

  // It reaches the server as itself, and no further than an agent may.
  const ProcessOutput issued = as(agents_own(), {"access", "issue", "token", "--role", "administrator", "--user", "m"});
  EXPECT_EQ(issued.exit.exit_code, 1);
  EXPECT_NE(issued.stderr_bytes.find("strake:agent:w1"), std::string::npos) << issued.stderr_bytes;
  RunningStrake agent({"agent", "--root", root().string()}, dir_ / "agent.log");
  EXPECT_TRUE(agent.wait_until_idle());
  EXPECT_EQ(agent.said().find("forbidden"), std::string::npos) << agent.said();
  EXPECT_TRUE(agent.end_by(SIGTERM).success());

  EXPECT_NE(checked({"revoke", "--node", "w1", "--reason", "sold"}).find("revoked certificate"), std::string::npos);
  EXPECT_EQ(state_of("certificate", "w1"), "revoked");
  EXPECT_NE(agent_says("has been revoked").find("has been revoked"), std::string::npos);
}

TEST_F(AccessTest, TheAuthorityIsRotatedUnderARunningServer) {
  ASSERT_EQ(run_strake(join_line("w1")).exit.exit_code, 0);
  const std::string ann = (dir_ / "ann.kubeconfig").string();
  (void)checked({"issue", "certificate", "--role", "viewer", "--user", "ann", "--out", ann});
  for (const char* step : {"announced", "signing"}) {
    EXPECT_NE(checked({"ca", "rotate"}).find(step), std::string::npos);
    const ProcessOutput early = access({"ca", "rotate"});
    EXPECT_EQ(early.exit.exit_code, 3) << early.stdout_bytes << early.stderr_bytes;
    EXPECT_NE(early.stdout_bytes.find("w1"), std::string::npos) << early.stdout_bytes;
    EXPECT_NE(early.stdout_bytes.find("ann"), std::string::npos) << early.stdout_bytes;
    (void)agent_says("renewed the certificate of a node");
    EXPECT_EQ(run_strake({"access", "renew", "--kubeconfig", ann}).exit.exit_code, 0);
  }
  EXPECT_NE(checked({"ca", "rotate"}).find("settled"), std::string::npos);
  EXPECT_EQ(as(ann, {"plan"}).exit.exit_code, 0) << "with the new authority alone";
  EXPECT_EQ(as(dir_ / "s" / "kubeconfig", {"plan"}).exit.exit_code, 0) << "written again by the server";
}

TEST_F(AccessTest, TheServerAnswersToTheNamesItWasGiven) {
  const auto certificate = net::Certificate::from_pem(*read_file(dir_ / "s" / "pki" / "server.crt", 1 << 20));
  ASSERT_TRUE(certificate.ok());
  for (const char* name : {"strake.example", "192.0.2.1", "localhost"}) {
    EXPECT_TRUE(net::check_host(*certificate, name).ok()) << name;
  }
  const std::string line = checked({"issue", "join-token", "--node", "w9", "--url", "https://strake.example:7443"});
  EXPECT_TRUE(line.starts_with("strake agent join https://strake.example:7443 --ca-hash sha256:")) << line;
}

TEST_F(AccessTest, BadInputIsNamed) {
  struct Case {
    std::vector<std::string> arguments;
    int exit_code;
    std::string message;
  };
  const std::string there = (dir_ / "up.log").string(), machine = root().string();
  const Case cases[] = {
      {{"access", "issue", "token", "--user", "ann"}, 1, "--role is missing"},
      {{"access", "issue", "token", "--role", "viewer"}, 1, "needs a user name"},
      {{"access", "issue", "token", "--role", "viewer", "--user", "system:admin"}, 1, "begin with system:"},
      {{"access", "issue", "token", "--role", "agent", "--node", "../x"}, 1, "cannot be a node's name"},
      {{"access", "issue", "token", "--role", "viewer", "--user", "ann", "--lifetime", "9000h"}, 1, "at most a year"},
      {{"access", "issue", "certificate", "--role", "viewer", "--user", "ann"}, 1, "--out FILE is missing"},
      {{"access", "issue", "certificate", "--role", "viewer", "--user", "ann", "--out", there}, 3, "is there already"},
      {{"access", "issue", "certificate", "--role", "viewer", "--user", "nobody", "--out", "/nowhere/kubeconfig"},
       1,
       "writing to /nowhere"},
      {{"access", "issue", "certificate", "--role", "viewer", "--user", "ann", "--csr", there}, 1, "--csr"},
      {{"access", "revoke"}, 1, "say what to revoke"},
      {{"access", "revoke", "nobody"}, 3, "no credential of id nobody"},
  };
  for (const Case& c : cases) {
    const ProcessOutput output = as(dir_ / "s" / "kubeconfig", c.arguments);
    EXPECT_EQ(output.exit.exit_code, c.exit_code) << output.stderr_bytes;
    EXPECT_NE(output.stderr_bytes.find(c.message), std::string::npos) << c.message << ": " << output.stderr_bytes;
  }
  EXPECT_EQ(as(dir_ / "s" / "kubeconfig", {"access", "list"}).stdout_bytes.find("nobody"), std::string::npos)
      << "nothing is issued that cannot be written down";
  const std::vector<std::string> join = {"agent", "join", "https://127.0.0.1:1", "--root", machine};
  const Case joins[] = {
      {{}, 1, "give the join token"},
      {{"--token", "t"}, 1, "say whom to trust"},
      {{"--token", "t", "--ca-hash", "00"}, 1, "does not begin with sha256:"},
      {{"--token", "t", "--ca-hash", "sha256:" + std::string(64, '0')}, 4, ""},
      {{"--token-file", "/dev/null", "--ca-hash", "sha256:00"}, 1, "holds no token"},
  };
  for (const Case& c : joins) {
    std::vector<std::string> arguments = join;
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const ProcessOutput output = run_strake(arguments);
    EXPECT_EQ(output.exit.exit_code, c.exit_code) << output.stderr_bytes;
    EXPECT_NE(output.stderr_bytes.find(c.message), std::string::npos) << output.stderr_bytes;
  }
}

}  // namespace
}  // namespace strake::test
