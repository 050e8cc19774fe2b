// The real kubectl against the embedded API server and against kube-apiserver: the same commands, the same words.
//
// Every step runs twice and its normalised output must be equal: exit status, stdout and stderr, with times,
// identifiers, versions of objects and addresses masked. A step that is known to differ names its row in
// docs/api-differences.md; it must really differ.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "apistore/rest/api_server.h"
#include "base/fd.h"
#include "base/subprocess.h"
#include "support/places.h"
#include "support/servers.h"
#include "support/temp_dir.h"

namespace strake::kubectl_test {

using namespace std::chrono_literals;
using std::filesystem::path;

const path kSource = test::source_folder();

struct Step {
  std::vector<std::string> arguments;
  std::string input = {};
  std::string difference = {};  ///< the row of docs/api-differences.md, when the outputs are known to differ
  std::string editor = "false";
};

std::string masked(std::string text) {
  static const std::vector<std::pair<std::regex, std::string>> kMasks = {
      {std::regex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"},
      {std::regex("[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}(\\.[0-9]+)?(Z| [+]0000)"), "TIME"},
      {std::regex("(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} [+]0000"), "TIME"},
      {std::regex("(resourceVersion\"?: \"|Resource Version: +)[0-9]+"), "$01VERSION"},
      {std::regex("v1\\.34\\.4\\+strake-[0-9a-z.]+"), "v1.34.4"},
      {std::regex("https://127\\.0\\.0\\.1:[0-9]+"), "SERVER"},
      {std::regex("[^ \\n\"]*/(LIVE|MERGED)-[0-9]+"), "$1"},
      {std::regex("\"?[^ \\n\"]*/kubectl-edit-[^ \\n\"]*"), "FILE"},
      {std::regex("(^|[ \\t(])[0-9]+(s|m|m[0-9]+s)(?=$|[ \\t\\n)])"), "$01AGE"},
      {std::regex("[ \\t]+"), " "},  // columns are as wide as what was masked
  };
  for (const auto& [pattern, mask] : kMasks) text = std::regex_replace(text, pattern, mask);
  return text;
}

Result<path> find_kubectl() {
  path directory;
  if (const char* given = std::getenv("STRAKE_TEST_SERVERS_KUBE"); given != nullptr && *given != '\0') {
    directory = given;
  } else {
    Command command;
    command.argv = {kSource / "test/servers/build.sh", "kube", "--print-dir"};
    command.timeout = 30s;
    STRAKE_TRY(ProcessOutput output, run_checked(command));
    while (output.stdout_bytes.ends_with('\n')) output.stdout_bytes.pop_back();
    directory = output.stdout_bytes;
  }
  return directory / "kubectl";
}

/// The embedded API server in this process.
class EmbeddedServer {
 public:
  static Result<std::unique_ptr<EmbeddedServer>> start() {
    STRAKE_TRY(apistore::Registry registry, apistore::Registry::standard());
    auto embedded = std::make_unique<EmbeddedServer>();
    apistore::ServiceOptions options;
    options.store.directory = embedded->directory_ / "store";
    std::filesystem::create_directory(options.store.directory);
    STRAKE_TRY(embedded->service_,
               apistore::Service::open(embedded->runtime_,
                                       std::make_shared<const apistore::Registry>(std::move(registry)), options));
    embedded->service_->start();
    apistore::rest::ApiServerOptions server_options;
    server_options.port = 0;
    server_options.state_directory = embedded->directory_.path();
    STRAKE_TRY(embedded->server_, apistore::rest::ApiServer::start(*embedded->service_, std::move(server_options)));
    STRAKE_TRY(embedded->kubeconfig_, embedded->server_->write_kubeconfig(embedded->directory_ / "kubeconfig"));
    return embedded;
  }
  const path& kubeconfig() const { return kubeconfig_; }

 private:
  runtime::ThreadRuntime runtime_;
  test::TempDir directory_;
  std::unique_ptr<apistore::Service> service_;
  std::unique_ptr<apistore::rest::ApiServer> server_;
  path kubeconfig_;
};

class KubectlTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto cluster = test::shared_cluster();
    ASSERT_TRUE(cluster.ok()) << cluster.error().to_string();
    real_ = (*cluster)->kubeconfig();
    const auto definitions = (*cluster)->kubectl_checked({"create", "-f", kSource / "deploy/crds"});
    ASSERT_TRUE(definitions.ok()) << definitions.error().to_string();
    const auto established = (*cluster)->kubectl_checked(
        {"wait", "--for=condition=Established", "--timeout=30s", "customresourcedefinitions", "--all"});
    ASSERT_TRUE(established.ok()) << established.error().to_string();
    auto embedded = EmbeddedServer::start();
    ASSERT_TRUE(embedded.ok()) << embedded.error().to_string();
    embedded_ = *std::move(embedded);
    auto program = find_kubectl();
    ASSERT_TRUE(program.ok()) << program.error().to_string();
    kubectl_ = *program;
    auto differences = read_file(kSource / "docs/api-differences.md", 1 << 20);
    ASSERT_TRUE(differences.ok()) << differences.error().to_string();
    differences_ = *differences;
    home_ = std::make_unique<test::TempDir>();
    both({{.arguments = {"apply", "-f", "-"}, .input = "{apiVersion: v1, kind: Namespace, metadata: {name: kt}}"},
          {.arguments = {"wait", "--for=jsonpath={.status.phase}=Active", "namespace/kt"}}});
  }
  static void TearDownTestSuite() {
    embedded_.reset();
    home_.reset();
  }
  void SetUp() override { ASSERT_NE(embedded_, nullptr) << "the servers did not start"; }

  static Command command(const path& kubeconfig, const Step& step) {
    Command command;
    command.argv = {kubectl_, "--kubeconfig=" + kubeconfig.string()};
    command.argv.insert(command.argv.end(), step.arguments.begin(), step.arguments.end());
    command.env = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home_->path().string(),
                   "TMPDIR=" + home_->path().string(), "KUBE_EDITOR=" + step.editor};
    command.cwd = home_->path();
    command.stdin_bytes = step.input;
    command.timeout = 60s;
    return command;
  }

  static std::string outcome(const path& kubeconfig, const Step& step) {
    const auto output = run(command(kubeconfig, step));
    if (!output.ok()) return output.error().to_string();
    return masked(fmt::format("{}\n--- stdout\n{}\n--- stderr\n{}", to_string(output->exit), output->stdout_bytes,
                              output->stderr_bytes));
  }

  static void both(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      const std::string expected = outcome(real_, step);
      const std::string actual = outcome(embedded_->kubeconfig(), step);
      const std::string what = fmt::format("kubectl {}", fmt::join(step.arguments, " "));
      if (step.difference.empty()) {
        EXPECT_EQ(actual, expected) << what;
        continue;
      }
      EXPECT_NE(actual, expected) << what << ": does not differ any more, see " << step.difference;
      EXPECT_NE(differences_.find(fmt::format("| {} |", step.difference)), std::string::npos)
          << what << ": docs/api-differences.md has no row " << step.difference;
    }
  }

  static inline path real_;
  static inline std::unique_ptr<EmbeddedServer> embedded_;
  static inline path kubectl_;
  static inline std::string differences_;
  static inline std::unique_ptr<test::TempDir> home_;
};

const std::string kPool = R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: kt-pool}
spec:
  machineConfigSelector: {matchLabels: {role: kt}}
  nodeSelector: {matchLabels: {node-role.kubernetes.io/kt: ""}}
  paused: false
)";

std::string with(std::string text, std::string_view from, std::string_view to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST_F(KubectlTest, Versions) {
  both({{.arguments = {"version"}},
        {.arguments = {"get", "--raw", "/livez"}},
        {.arguments = {"get", "--raw", "/readyz"}},
        {.arguments = {"api-resources", "--api-group=machineconfiguration.openshift.io"}},
        {.arguments = {"api-resources", "--api-group=policy", "-o", "wide"}},
        {.arguments = {"api-resources", "--api-group=coordination.k8s.io"}},
        {.arguments = {"api-resources", "--api-group=nothing.example.com"}},
        {.arguments = {"api-resources", "-o", "name"}, .difference = "kinds"},
        {.arguments = {"get", "widgets"}},
        {.arguments = {"get", "deployments"}, .difference = "kinds"}});
}

TEST_F(KubectlTest, Explain) {
  both({{.arguments = {"explain", "mcp.spec"}},
        {.arguments = {"explain", "mcp.spec.paused"}},
        {.arguments = {"explain", "machineconfigs.spec", "--recursive"}},
        {.arguments = {"explain", "mcp.status.conditions"}},
        {.arguments = {"explain", "mcp.spec.nothing"}},
        {.arguments = {"explain", "widgets"}},
        {.arguments = {"explain", "mcp"}, .difference = "descriptions"},
        {.arguments = {"explain", "node.spec.taints"}, .difference = "descriptions"}});
}

TEST_F(KubectlTest, EventsLeasesAndBudgets) {
  const std::string event = R"(apiVersion: v1
kind: Event
metadata: {name: kt.1, namespace: kt}
involvedObject: {kind: ConfigMap, namespace: kt, name: some}
reason: Tested
message: it was tested
type: Normal
source: {component: test}
firstTimestamp: "2026-01-01T00:00:00Z"
lastTimestamp: "2026-01-01T00:00:00Z"
count: 1
)";
  const std::string lease =
      "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: l, namespace: kt}\n"
      "spec: {holderIdentity: me, leaseDurationSeconds: 10}\n";
  const std::string budget =
      "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b, namespace: kt}\n"
      "spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}\n";
  both({{.arguments = {"create", "-f", "-"}, .input = event},
        {.arguments = {"get", "events", "-n", "kt", "--field-selector", "reason=Tested", "-o",
                       "custom-columns=R:.reason,M:.message"}},
        {.arguments = {"create", "-f", "-"}, .input = lease},
        {.arguments = {"get", "leases", "-n", "kt"}},
        {.arguments = {"create", "-f", "-"}, .input = budget},
        {.arguments = {"wait", "--for=jsonpath={.status.observedGeneration}=1", "--timeout=20s", "pdb/b", "-n", "kt"}},
        {.arguments = {"get", "pdb", "-n", "kt"}},
        {.arguments = {"delete", "pdb", "b", "-n", "kt"}},
        {.arguments = {"delete", "lease", "l", "-n", "kt"}}});
}

TEST_F(KubectlTest, Identity) {
  both({{.arguments = {"auth", "whoami"}, .difference = "reviews"},
        {.arguments = {"auth", "can-i", "get", "nodes"}, .difference = "reviews"},
        {.arguments = {"get", "nodes", "--as=somebody", "-o", "name"}}});
}

/// Waiting for output of a program that does not end: its own end is what is waited for, a little at a time.
std::string output_until(ChildProcess& process, const path& log, std::string_view marker) {
  std::string text;
  for (int tries = 0; tries < 300; ++tries) {
    text = read_file(log, 1 << 20).value_or("");
    if (text.find(marker) != std::string::npos || process.wait_exit(100ms)) break;
  }
  return text;
}

}  // namespace strake::kubectl_test
