// `strake up` as a user runs it: the real program, real folders, killed at any moment.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/fd.h"
#include "base/subprocess.h"
#include "net/endpoint.h"
#include "net/testing/raw_tls_client.h"
#include "support/strake_command.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> once(const TempDir& state) {
  return {"up", "--state", (state / "s").string(), "--listen", "127.0.0.1:0", "--nodes",
          "6",  "--once",  "--boot-time",          "300ms"};
}

/// What the config server adds for one machine: an address, and the object as one API server has it.
bool is_of_one_cluster(const std::string& path) {
  return path.ends_with("etc/kubernetes/kubeconfig") || path.ends_with("etc/mcs-machine-config-content.json") ||
         path.ends_with("etc/ignition-machine-config-encapsulated.json");
}

/// Every file below the nodes' folders but those that count boots or carry times.
std::map<std::string, std::string> node_files(const std::filesystem::path& state) {
  std::map<std::string, std::string> files;
  const std::filesystem::path nodes = state / "nodes";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(nodes)) {
    const std::string path = std::filesystem::relative(entry.path(), nodes).string();
    if (path.find("var/lib/strake/") != std::string::npos || path.find("currentconfig") != std::string::npos) continue;
    if (is_of_one_cluster(path)) continue;
    if (entry.is_symlink()) {
      files[path] = "-> " + std::filesystem::read_symlink(entry.path()).string();
    } else if (entry.is_regular_file()) {
      files[path] = *read_file(entry.path(), 1 << 20);
    }
  }
  return files;
}

TEST(Up, OnceTakesBothReleasesThroughTheCluster) {
  TempDir state;
  const ProcessOutput output = run_strake(once(state));
  EXPECT_EQ(output.exit.exit_code, 0) << output.stdout_bytes << output.stderr_bytes;
  EXPECT_NE(output.stdout_bytes.find("All 6 nodes and 2 pools ended as planned."), std::string::npos)
      << output.stdout_bytes;
  EXPECT_NE(output.stdout_bytes.find("kernel argument mitigations=auto added"), std::string::npos);
  // Every machine began with the config of its pool, over TLS, from the config server.
  for (const char* words : {"master   2 new machines fetched rendered-master-",
                            "worker   4 new machines fetched rendered-worker-", "/config/worker (Ignition 3.5.0, "}) {
    EXPECT_NE(output.stdout_bytes.find(words), std::string::npos) << words << output.stdout_bytes;
  }
  for (const char* node : {"master-0", "worker-5"}) {
    const auto annotations =
        read_file(state / "s/nodes" / node / "etc/machine-config-daemon/node-annotations.json", 1 << 16);
    ASSERT_TRUE(annotations.ok()) << node;
    EXPECT_NE(annotations->find("currentConfig"), std::string::npos) << *annotations;
  }
  EXPECT_NE(output.stdout_bytes.find("1 current, 1 behind, 0 skipped"), std::string::npos);
  // Signed with a key of this run, and verified: anybody can do it again, and nobody can take one for the other.
  EXPECT_NE(output.stdout_bytes.find(", signed by "), std::string::npos) << output.stdout_bytes;
  const std::filesystem::path samples = state / "s/samples";
  const auto verify = [&](const std::filesystem::path& keyring) {
    return run_strake(
               {"release", "verify", (samples / "release-b").string(), "--keyring", keyring.string(), "--no-cache"})
        .exit.exit_code;
  };
  EXPECT_EQ(verify(samples / "keyring.asc"), 0);
  std::filesystem::copy(samples / "keyring.asc", state / "first.asc");
  const ProcessOutput again = run_strake(once(state));
  EXPECT_EQ(again.exit.exit_code, 0) << again.stdout_bytes << again.stderr_bytes;
  EXPECT_EQ(verify(state / "first.asc"), 6) << "every run has a key of its own";
}

TEST(Up, KilledAtAnyMomentAndRunAgainItEndsTheSame) {
  TempDir undisturbed, disturbed;
  ASSERT_EQ(run_strake(once(undisturbed)).exit.exit_code, 0);
  // Moments spread over the whole job, from the first write to the last reboot.
  for (int kill = 1; kill <= 12; ++kill) {
    auto child = ChildProcess::start(strake_command(once(disturbed)));
    ASSERT_TRUE(child.ok()) << child.error().to_string();
    (void)child->wait_exit(std::chrono::milliseconds(60 * kill));
    child->kill_now();
  }
  const ProcessOutput output = run_strake(once(disturbed));
  EXPECT_EQ(output.exit.exit_code, 0) << output.stdout_bytes << output.stderr_bytes;
  EXPECT_EQ(node_files(disturbed / "s"), node_files(undisturbed / "s"));
}

TEST(Up, NewNodesWaitUntilThereIsAConfigForThem) {
  TempDir state;
  Command command = strake_command(
      {"up", "--state", (state / "s").string(), "--listen", "127.0.0.1:0", "--nodes", "1", "--log-level", "debug"});
  command.log_file = state / "log";
  auto up = ChildProcess::start(command);
  ASSERT_TRUE(up.ok());
  const auto said = [&] { return read_file(state / "log", 4 << 20).value_or(""); };
  for (int i = 0; i < 200 && said().find("waits for its first config") == std::string::npos; ++i)
    (void)up->wait_exit(50ms);
  EXPECT_NE(said().find("node=master-0 why=\"pool master has no stub yet"), std::string::npos) << said();
  EXPECT_NE(said().find("apply a release"), std::string::npos) << said();
  EXPECT_FALSE(std::filesystem::exists(state / "s/nodes/master-0/etc/kubernetes/kubeconfig"));
  EXPECT_TRUE(up->stop(10s).success()) << said();
}

TEST(Up, APortSomebodyHasIsRefusedBeforeAnythingIsServed) {
  TempDir state;
  const auto taken = net::ReservedEndpoint::reserve({"127.0.0.1", 0});
  ASSERT_TRUE(taken.ok());
  const std::string listen = taken->endpoint().to_string();
  auto holder = ChildProcess::start(
      strake_command({"up", "--state", (state / "a").string(), "--listen", "127.0.0.1:0", "--config-listen", listen}));
  ASSERT_TRUE(holder.ok());
  for (int i = 0; i < 200 && !net::testing::port_is_open(taken->endpoint().port); ++i) (void)holder->wait_exit(50ms);
  const ProcessOutput output =
      run_strake({"up", "--state", (state / "b").string(), "--listen", "127.0.0.1:0", "--config-listen", listen});
  EXPECT_EQ(output.exit.exit_code, 1) << output.stderr_bytes;
  EXPECT_NE(output.stderr_bytes.find("--config-listen " + listen), std::string::npos) << output.stderr_bytes;
  EXPECT_TRUE(holder->stop(10s).success());
}

TEST(Up, ASecondProcessOnTheSameFolderIsRefusedAndNamesTheHolder) {
  TempDir state;
  auto holder =
      ChildProcess::start(strake_command({"up", "--state", (state / "s").string(), "--listen", "127.0.0.1:0"}));
  ASSERT_TRUE(holder.ok());
  for (int i = 0; i < 100 && !std::filesystem::exists(state / "s" / "kubeconfig"); ++i) (void)holder->wait_exit(50ms);
  const ProcessOutput output = run_strake({"up", "--state", (state / "s").string(), "--listen", "127.0.0.1:0"});
  EXPECT_EQ(output.exit.exit_code, 3);
  EXPECT_NE(output.stderr_bytes.find((state / "s").string()), std::string::npos) << output.stderr_bytes;
  EXPECT_NE(output.stderr_bytes.find(std::to_string(holder->pid())), std::string::npos) << output.stderr_bytes;
}

TEST(Up, AControllerBesideItWaitsForTheLease) {
  TempDir state;
  auto up = ChildProcess::start(strake_command({"up", "--state", (state / "s").string(), "--listen", "127.0.0.1:0"}));
  ASSERT_TRUE(up.ok());
  for (int i = 0; i < 100 && !std::filesystem::exists(state / "s" / "kubeconfig"); ++i) (void)up->wait_exit(50ms);
  Command command = strake_command({"controller", "--kubeconfig", (state / "s" / "kubeconfig").string()});
  command.log_file = state / "log";
  auto controller = ChildProcess::start(command);
  ASSERT_TRUE(controller.ok());
  const auto said = [&] { return read_file(state / "log", 1 << 20).value_or(""); };
  for (int i = 0; i < 200 && said().find("leads; waiting") == std::string::npos; ++i) (void)controller->wait_exit(50ms);
  EXPECT_NE(said().find("another process leads; waiting to take over leader=strake-up"), std::string::npos) << said();
  EXPECT_TRUE(controller->stop(10s).success()) << said();
  EXPECT_EQ(said().find("controllers running"), std::string::npos) << said();
}

TEST(Up, ADamagedDatabaseIsRefusedAndLeftAsItIs) {
  TempDir state;
  std::filesystem::create_directories(state / "s" / "db");
  const auto probe = run_strake(once(state));
  ASSERT_EQ(probe.exit.exit_code, 0);
  std::filesystem::path database;
  for (const auto& entry : std::filesystem::directory_iterator(state / "s" / "db")) {
    if (entry.path().extension() == ".db" || entry.path().extension() == ".sqlite") database = entry.path();
  }
  ASSERT_FALSE(database.empty());
  const std::string damaged(4096, 'x');
  std::ofstream(database, std::ios::binary | std::ios::trunc) << damaged;
  const ProcessOutput output = run_strake(once(state));
  EXPECT_EQ(output.exit.exit_code, 1);
  EXPECT_NE(output.stderr_bytes.find(database.parent_path().parent_path().string()), std::string::npos)
      << output.stderr_bytes;
  EXPECT_EQ(*read_file(database, 1 << 20), damaged);
}

TEST(Up, BadInputIsNamedAndEndsWithOne) {
  TempDir state;
  struct Case {
    std::vector<std::string> arguments;
    std::string message;
  };
  std::ofstream(state / "file") << "not a folder";
  std::filesystem::create_directories(state / "machine/run/systemd/system");
  const Case cases[] = {
      {{"up", "--nodes", "many"}, "--nodes many"},
      {{"up", "--state", (state / "s").string(), "--listen", "nowhere"}, "--listen: 'nowhere': the port is missing"},
      {{"up", "--state", (state / "s").string(), "--listen", "::1:7443"}, "an IPv6 address stands in brackets"},
      {{"up", "--state", (state / "s").string(), "--listen", "localhost:0"}, "--listen localhost:0"},
      {{"up", "--state", (state / "file").string(), "--listen", "127.0.0.1:0"}, "choose another with --state"},
      {{"up", "--once", "--state", (state / "s").string()}, "--nodes 6"},
      {{"release", "apply", (state / "no-such").string(), "--kubeconfig", (state / "none").string()},
       (state / "none").string()},
      {{"plan", "-o", "xml"}, "-o xml"},
      {{"agent", "--node", "n"}, "--root DIR is missing"},
      {{"agent", "--node", "n", "--root", "/"}, "this version changes sandboxed folders only"},
      {{"agent", "--node", "n", "--root", (state / "machine").string()}, "this version changes sandboxed folders only"},
  };
  for (const Case& test : cases) {
    const ProcessOutput output = run_strake(test.arguments);
    EXPECT_EQ(output.exit.exit_code, 1) << test.message << "\n" << output.stderr_bytes;
    EXPECT_NE(output.stderr_bytes.find(test.message), std::string::npos) << output.stderr_bytes;
  }
}

}  // namespace
}  // namespace strake::test
