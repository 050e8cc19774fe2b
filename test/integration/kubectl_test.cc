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
#include "support/servers.h"
#include "support/temp_dir.h"

namespace strake::kubectl_test {

using namespace std::chrono_literals;
using std::filesystem::path;

const path kSource = STRAKE_SOURCE_DIR;

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
    both({{.arguments = {"create", "namespace", "kt"}},
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

TEST_F(KubectlTest, ApplyAndDiff) {
  const std::string changed = with(kPool, "paused: false", "paused: true");
  const std::string map =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied, namespace: kt}\ndata: {a: one, b: two}\n";
  const std::string documents = kPool + "---\n" + map;
  both({{.arguments = {"apply", "--validate=strict", "--dry-run=server", "-f", "-"}, .input = documents},
        {.arguments = {"diff", "-f", "-"}, .input = map},
        {.arguments = {"apply", "--validate=strict", "-f", "-"}, .input = documents},
        {.arguments = {"apply", "-f", "-"}, .input = documents},
        {.arguments = {"diff", "-f", "-"}, .input = documents},
        {.arguments = {"diff", "-f", "-"}, .input = changed},
        {.arguments = {"diff", "-f", "-"}, .input = with(map, "b: two", "c: three")},
        {.arguments = {"apply", "-f", "-"}, .input = changed},
        {.arguments = {"apply", "-f", "-"}, .input = with(map, "b: two", "c: three")},
        {.arguments = {"get", "configmap", "applied", "-n", "kt", "-o", "yaml"}},
        {.arguments = {"get", "machineconfigpool", "kt-pool", "-o", "json"}},
        {.arguments = {"apply", "view-last-applied", "configmap/applied", "-n", "kt"}},
        {.arguments = {"apply", "--validate=strict", "-f", "-"}, .input = with(kPool, "paused: false", "pausd: false")},
        {.arguments = {"apply", "--validate=warn", "-f", "-"}, .input = with(changed, "spec:", "spec:\n  pausd: true")},
        {.arguments = {"apply", "--validate=ignore", "-f", "-"},
         .input = with(changed, "spec:", "spec:\n  pausd: true")},
        {.arguments = {"apply", "--validate=strict", "-f", "-"},
         .input = with(map, "data:", "dta:"),
         .difference = "builtin-fields"},
        {.arguments = {"apply", "--server-side", "-f", "-"}, .input = map, .difference = "server-side-apply"}});
}

TEST_F(KubectlTest, CreateReplaceAndWhatIsRefused) {
  const std::string map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made, namespace: kt}\ndata: {a: one}\n";
  both({{.arguments = {"create", "--validate=strict", "-f", "-"}, .input = map},
        {.arguments = {"create", "-f", "-"}, .input = map},
        {.arguments = {"replace", "-f", "-"}, .input = with(map, "one", "two")},
        {.arguments = {"replace", "-f", "-"}, .input = with(map, "name: made", "name: made, resourceVersion: \"1\"")},
        {.arguments = {"replace", "-f", "-"}, .input = with(map, "made", "missing")},
        {.arguments = {"create", "configmap", "literal", "-n", "kt", "--from-literal=k=v"}},
        {.arguments = {"create", "secret", "generic", "hidden", "-n", "kt", "--from-literal=k=v"}},
        {.arguments = {"get", "secret", "hidden", "-n", "kt", "-o", "yaml"}},
        {.arguments = {"create", "-f", "-"}, .input = with(map, "namespace: kt", "namespace: nowhere")},
        {.arguments = {"create", "-f", "-"}, .input = with(map, "made", "Not_A_Name")},
        {.arguments = {"create", "-f", "-"}, .input = with(kPool, "paused: false", "paused: \"no\"")},
        {.arguments = {"create", "-f", "-"}, .input = with(kPool, "spec:", "more:")},
        {.arguments = {"create", "-f", "-"},
         .input = with(kPool, "metadata: {name: kt-pool}", "metadata: {name: kt-pool, labels: {a: \"b c\"}}")},
        {.arguments = {"create", "--dry-run=server", "-f", "-"}, .input = with(map, "made", "dry")},
        {.arguments = {"get", "configmap", "dry", "-n", "kt"}},
        {.arguments = {"delete", "configmap", "made", "literal", "-n", "kt"}},
        {.arguments = {"delete", "configmap", "made", "-n", "kt"}},
        {.arguments = {"delete", "configmap", "made", "-n", "kt", "--ignore-not-found"}}});
}

TEST_F(KubectlTest, GetInEveryForm) {
  const std::string node = R"(apiVersion: v1
kind: Node
metadata: {name: kt-node, labels: {node-role.kubernetes.io/kt: "", zone: a}}
)";
  const std::string status =
      R"({"status":{"conditions":[{"type":"Ready","status":"True","reason":"Test","message":"up"}],
    "addresses":[{"type":"InternalIP","address":"10.0.0.7"}],
    "nodeInfo":{"kubeletVersion":"v1.34.4","osImage":"Test OS","kernelVersion":"6.1.0","containerRuntimeVersion":"none://1",
    "machineID":"","systemUUID":"","bootID":"","kubeProxyVersion":"","operatingSystem":"linux","architecture":"amd64"}}})";
  both({{.arguments = {"create", "-f", "-"}, .input = node},
        {.arguments = {"create", "-f", "-"}, .input = with(with(node, "kt-node", "kt-other"), "zone: a", "zone: b")},
        {.arguments = {"patch", "node", "kt-node", "--subresource=status", "-p", status}},
        {.arguments = {"get", "nodes"}},
        {.arguments = {"get", "nodes", "-o", "wide"}},
        {.arguments = {"get", "nodes", "--show-labels", "--no-headers"}},
        {.arguments = {"get", "nodes", "-L", "zone", "--sort-by=.metadata.name"}},
        {.arguments = {"get", "nodes", "-l", "zone in (b,c)", "-o", "name"}},
        {.arguments = {"get", "nodes", "--field-selector", "metadata.name=kt-node", "-o", "name"}},
        {.arguments = {"get", "nodes", "--field-selector", "spec.color=red"}, .difference = "messages"},
        {.arguments = {"get", "nodes", "-l", "zone in b"}, .difference = "messages"},
        {.arguments = {"get", "nodes", "--chunk-size=1", "-o", "jsonpath={.items[*].metadata.name}"}},
        {.arguments = {"get", "node", "kt-node", "-o", "custom-columns=N:.metadata.name,Z:.metadata.labels.zone"}},
        {.arguments = {"get", "node", "kt-node", "kt-other", "missing"}},
        {.arguments = {"get", "node/kt-node", "namespace/kt"}},
        {.arguments = {"get", "node", "kt-other", "-o", "yaml"}, .difference = "node-defaults"},
        {.arguments = {"describe", "namespace", "kt"}, .difference = "kinds"},
        {.arguments = {"describe", "node", "kt-node"}},
        {.arguments = {"get", "namespace", "kt", "-o", "yaml"}},
        {.arguments = {"get", "namespace", "kt"}}});
}

TEST_F(KubectlTest, ChangesInPlace) {
  const std::string config = R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: kt-config, labels: {role: kt}}
spec: {config: {ignition: {version: 3.4.0}}, kernelArguments: [a]}
)";
  const std::string node = "apiVersion: v1\nkind: Node\nmetadata: {name: kt-changed}\n";
  both({{.arguments = {"create", "-f", "-"}, .input = config},
        {.arguments = {"create", "-f", "-"}, .input = node},
        {.arguments = {"patch", "mc", "kt-config", "--type=merge", "-p", R"({"spec":{"fips":true}})"}},
        {.arguments = {"patch", "mc", "kt-config", "--type=merge", "-p", R"({"spec":{"fips":true}})"}},
        {.arguments = {"patch", "mc", "kt-config", "--type=json", "-p",
                       R"([{"op":"add","path":"/spec/kernelArguments/-","value":"b"}])"}},
        {.arguments = {"patch", "mc", "kt-config", "--type=json", "-p",
                       R"([{"op":"test","path":"/spec/fips","value":false}])"},
         .difference = "messages"},
        {.arguments = {"patch", "mc", "kt-config", "--type=strategic", "-p", R"({"spec":{"fips":false}})"}},
        {.arguments = {"patch", "mc", "missing", "--type=merge", "-p", "{}"}},
        {.arguments = {"patch", "node", "kt-changed", "-p", R"({"metadata":{"labels":{"a":"b"}}})"}},
        {.arguments = {"label", "node", "kt-changed", "a=c"}},
        {.arguments = {"label", "node", "kt-changed", "a=c", "--overwrite"}},
        {.arguments = {"label", "node", "kt-changed", "a-"}},
        {.arguments = {"annotate", "mc", "kt-config", "note=hello"}},
        {.arguments = {"annotate", "mc", "kt-config", "note-"}},
        {.arguments = {"taint", "node", "kt-changed", "k=v:NoSchedule"}},
        {.arguments = {"cordon", "kt-changed"}},
        {.arguments = {"cordon", "kt-changed"}},
        {.arguments = {"get", "node", "kt-changed"}},
        {.arguments = {"uncordon", "kt-changed"}},
        {.arguments = {"taint", "node", "kt-changed", "k-"}},
        {.arguments = {"set", "env", "node/kt-changed", "A=b"}},
        {.arguments = {"edit", "mc", "kt-config"}, .editor = "true"},
        {.arguments = {"edit", "mc", "kt-config"}, .editor = "sed -i s/3.4.0/3.5.0/"},
        {.arguments = {"edit", "mc", "kt-config"}, .editor = "sed -i s/kernelArguments/kernelArgumnts/"},
        {.arguments = {"get", "mc", "kt-config"}},
        {.arguments = {"get", "mc", "kt-config", "-o", "yaml"}},
        {.arguments = {"describe", "mc", "kt-config"}},
        {.arguments = {"scale", "--replicas=2", "mc/kt-config"}}});
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

TEST_F(KubectlTest, DeletionWaitsForFinalizers) {
  const std::string held =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, namespace: kt, labels: {group: d}, finalizers: "
      "[example.com/hold]}\n";
  const std::string free =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: free, namespace: kt, labels: {group: d}}\n";
  both(
      {{.arguments = {"create", "-f", "-"}, .input = held},
       {.arguments = {"create", "-f", "-"}, .input = free},
       {.arguments = {"delete", "configmap", "held", "-n", "kt", "--wait=false"}},
       {.arguments = {"wait", "--for=delete", "configmap/held", "-n", "kt", "--timeout=1s"}},
       {.arguments = {"get", "configmap", "held", "-n", "kt", "-o", "jsonpath={.metadata.deletionGracePeriodSeconds}"}},
       {.arguments = {"delete", "configmap", "-n", "kt", "-l", "group=d", "--wait=false", "--dry-run=server"}},
       {.arguments = {"patch", "configmap", "held", "-n", "kt", "--type=merge", "-p",
                      R"({"metadata":{"finalizers":null}})"}},
       {.arguments = {"wait", "--for=delete", "configmap/held", "-n", "kt", "--timeout=20s"}},
       {.arguments = {"delete", "configmap", "-n", "kt", "-l", "group=d"}},
       {.arguments = {"get", "configmap", "-n", "kt", "-l", "group=d"}}});
}

TEST_F(KubectlTest, WaitsForStatus) {
  const std::string pool = with(kPool, "kt-pool", "kt-waited");
  const std::string updated =
      R"({"status":{"machineCount":2,"conditions":[{"type":"Updated","status":"True","message":"","reason":""}]}})";
  both({{.arguments = {"create", "-f", "-"}, .input = pool},
        {.arguments = {"wait", "mcp/kt-waited", "--for=condition=Updated", "--timeout=1s"}},
        {.arguments = {"patch", "mcp", "kt-waited", "--subresource=status", "--type=merge", "-p", updated}},
        {.arguments = {"wait", "mcp/kt-waited", "--for=condition=Updated", "--timeout=20s"}},
        {.arguments = {"wait", "mcp/kt-waited", "--for=jsonpath={.status.machineCount}=2", "--timeout=20s"}},
        {.arguments = {"get", "mcp", "kt-waited"}},
        {.arguments = {"get", "mcp", "kt-waited", "--subresource=status", "-o", "yaml"}},
        {.arguments = {"describe", "mcp", "kt-waited"}},
        {.arguments = {"delete", "mcp", "kt-waited"}}});
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

TEST_F(KubectlTest, Watches) {
  std::vector<std::string> seen;
  for (const path& kubeconfig : {real_, embedded_->kubeconfig()}) {
    const auto step = [&](std::vector<std::string> arguments) {
      return outcome(kubeconfig, {.arguments = std::move(arguments)});
    };
    step({"create", "configmap", "watched", "-n", "kt"});
    Command watch = command(kubeconfig, {.arguments = {"get", "configmaps", "-n", "kt", "-w", "--output-watch-events",
                                                       "--field-selector", "metadata.name=watched"}});
    const path log = *home_ / fmt::format("watch-{}.log", seen.size());
    watch.log_file = log;
    auto process = ChildProcess::start(watch);
    ASSERT_TRUE(process.ok()) << process.error().to_string();
    output_until(*process, log, "ADDED");
    step({"create", "configmap", "unwatched", "-n", "kt"});
    step({"patch", "configmap", "watched", "-n", "kt", "-p", R"({"data":{"a":"b"}})"});
    output_until(*process, log, "MODIFIED");
    step({"delete", "configmap", "watched", "unwatched", "-n", "kt"});
    seen.push_back(masked(output_until(*process, log, "DELETED")));
    process->kill_now();
  }
  EXPECT_NE(seen[0].find("DELETED watched 1"), std::string::npos) << seen[0];
  EXPECT_EQ(seen[1], seen[0]);
}

}  // namespace strake::kubectl_test
