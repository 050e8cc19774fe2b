// Programs of others that keep things in an API server: the official Python client and Helm's storage of releases. Each
// runs on both servers and must print the same; see test/servers/clients.
#include "kubectl_fixture.h"
#include "support/places.h"
#include "support/servers.h"

namespace strake::kubectl_test {

using namespace std::chrono_literals;
using std::filesystem::path;

namespace {

/// What a program prints. "KUBECONFIG" among its arguments stands for the server's.
std::string printed_on(const path& kubeconfig, const std::vector<std::string>& argv,
                       const std::vector<std::string>& env) {
  Command command;
  for (const std::string& argument : argv)
    command.argv.push_back(argument == "KUBECONFIG" ? kubeconfig.string() : argument);
  command.env = env;
  command.timeout = 120s;
  const auto output = run(command);
  if (!output.ok()) return output.error().to_string();
  EXPECT_TRUE(output->exit.success()) << kubeconfig << "\n" << output->stdout_bytes << output->stderr_bytes;
  return masked(output->stdout_bytes);
}

}  // namespace

TEST_F(KubectlTest, HelmKeepsItsReleasesHere) {
  const auto programs = test::client_programs();
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  both({{"create namespace kt-helm"}});
  for (const char* kind : {"secrets", "configmaps"}) {
    const std::vector<std::string> argv = {(*programs / "helmstore").string(), "KUBECONFIG", "kt-helm", kind};
    const std::vector<std::string> env = {"HOME=" + home().string()};
    const std::string expected = printed_on(real(), argv, env);
    EXPECT_EQ(printed_on(embedded(), argv, env), expected);
    EXPECT_NE(expected.find("history is cut [demo.v3 deployed blue demo.v4"), std::string::npos) << expected;
  }
  both({{"delete namespace kt-helm --wait=false"}});
}

TEST_F(KubectlTest, ThePythonClientFindsWhatItExpects) {
  const auto programs = test::client_programs();
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  both({{"create namespace kt-python"}});
  const std::vector<std::string> argv = {(*programs / "python3").string(),
                                         (test::source_folder() / "test/servers/clients/python/use_client.py").string(),
                                         "KUBECONFIG", "kt-python"};
  const std::vector<std::string> env = {"HOME=" + home().string(), "PATH=/usr/local/bin:/usr/bin:/bin",
                                        "PYTHONPATH=" + (*programs / "python").string(), "PYTHONDONTWRITEBYTECODE=1"};
  const std::string expected = printed_on(real(), argv, env);
  EXPECT_EQ(printed_on(embedded(), argv, env), expected);
  EXPECT_NE(expected.find("custom delete Success"), std::string::npos) << expected;
  both({{"delete namespace kt-python --wait=false"}});
}

}  // namespace strake::kubectl_test
