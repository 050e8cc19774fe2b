// Programs of others that keep things in an API server: the official Python client and Helm's storage of releases. Each
// runs on both servers and must print the same; see test/servers/clients.
#include "kubectl_fixture.h"
#include "support/places.h"
#include "support/servers.h"

namespace strake::kubectl_test {

using namespace std::chrono_literals;
using std::filesystem::path;

class ClientsTest : public KubectlTest {
 protected:
  void SetUp() override {
    KubectlTest::SetUp();
    auto programs = test::client_programs();
    ASSERT_TRUE(programs.ok()) << programs.error().to_string();
    programs_ = *programs;
  }

  /// What the program prints on each server. KUBECONFIG stands for the server's.
  void expect_same_output(const std::vector<std::string>& argv, const std::vector<std::string>& env) {
    std::vector<std::string> printed;
    for (const path& kubeconfig : {real(), embedded()}) {
      Command command;
      for (const std::string& argument : argv)
        command.argv.push_back(argument == "KUBECONFIG" ? kubeconfig.string() : argument);
      std::vector<std::string> all = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home().string()};
      all.insert(all.end(), env.begin(), env.end());
      command.env = std::move(all);
      command.timeout = 120s;
      const auto output = run(command);
      ASSERT_TRUE(output.ok()) << output.error().to_string();
      EXPECT_TRUE(output->exit.success()) << kubeconfig << "\n" << output->stdout_bytes << output->stderr_bytes;
      printed.push_back(masked(output->stdout_bytes));
    }
    EXPECT_EQ(printed[1], printed[0]);
    EXPECT_NE(printed[0], "");
  }

  path programs_;
};

TEST_F(ClientsTest, HelmKeepsItsReleasesHere) {
  for (const char* kind : {"secrets", "configmaps"}) {
    expect_same_output({(programs_ / "helmstore").string(), "KUBECONFIG", "kt", kind}, {});
  }
}

TEST_F(ClientsTest, ThePythonClientFindsWhatItExpects) {
  both({{"create namespace kt-python"}});
  expect_same_output(
      {(programs_ / "python3").string(), (test::source_folder() / "test/servers/clients/python/use_client.py").string(),
       "KUBECONFIG", "kt-python"},
      {"PYTHONPATH=" + (programs_ / "python").string(), "PYTHONDONTWRITEBYTECODE=1"});
}

}  // namespace strake::kubectl_test
