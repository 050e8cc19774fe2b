#include "kubectl_fixture.h"

#include <cstdlib>
#include <regex>

#include "apistore/rest/api_server.h"
#include "base/fd.h"
#include "support/places.h"
#include "support/servers.h"

namespace strake::kubectl_test {

using namespace std::chrono_literals;
using std::filesystem::path;

namespace {

/// The object a refused patch would have made: kube-apiserver shows it with managed fields, or only the patch as a Go
/// map.
std::string without_patched_objects(std::string text) {
  constexpr std::string_view kMarker = "patch: Invalid value: \"";
  for (std::size_t at = 0; (at = text.find(kMarker, at)) != std::string::npos;) {
    at += kMarker.size();
    std::size_t end = at;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    text.replace(at, std::min(end, text.size()) - at, "OBJECT");
  }
  return text;
}

}  // namespace

std::string masked(std::string text) {
  static const std::vector<std::pair<std::regex, std::string>> kMasks = {
      // The client's own remark about a watch that ends soon after it began.
      {std::regex("I[0-9]{4} [0-9:.]+ +[0-9]+ reflector\\.go[^\n]*\n"), ""},
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
  text = without_patched_objects(std::move(text));
  for (const auto& [pattern, mask] : kMasks) text = std::regex_replace(text, pattern, mask);
  return text;
}

std::string with(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "'" << from << "' is not in: " << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string config_map(std::string_view name) {
  return fmt::format("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}, namespace: kt}}\ndata: {{a: one}}\n",
                     name);
}

std::string tainted_node(std::string_view name) {
  return fmt::format(
      "apiVersion: v1\nkind: Node\nmetadata: {{name: {}}}\n"
      "spec: {{taints: [{{key: node.kubernetes.io/not-ready, effect: NoSchedule}}]}}\n",
      name);
}

/// The embedded API server in this process.
class EmbeddedServer {
 public:
  static Result<std::unique_ptr<EmbeddedServer>> start(runtime::Runtime& runtime) {
    STRAKE_TRY(apistore::Registry registry, apistore::Registry::standard());
    auto embedded = std::make_unique<EmbeddedServer>();
    apistore::ServiceOptions options;
    options.store.directory = embedded->directory_ / "store";
    std::filesystem::create_directory(options.store.directory);
    STRAKE_TRY(
        embedded->service_,
        apistore::Service::open(runtime, std::make_shared<const apistore::Registry>(std::move(registry)), options));
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
  test::TempDir directory_;
  std::unique_ptr<apistore::Service> service_;
  std::unique_ptr<apistore::rest::ApiServer> server_;
  path kubeconfig_;
};

void KubectlTest::SetUpTestSuite() {
  auto cluster = test::shared_cluster();
  ASSERT_TRUE(cluster.ok()) << cluster.error().to_string();
  real_ = (*cluster)->kubeconfig();
  const Status installed = (*cluster)->install_definitions();
  ASSERT_TRUE(installed.ok()) << installed.error().to_string();
  const Status collected = (*cluster)->collect_leftovers();
  ASSERT_TRUE(collected.ok()) << collected.error().to_string();
  const auto programs = test::kube_programs();
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  kubectl_ = *programs / "kubectl";
  auto differences = read_file(test::source_folder() / "docs/api-differences.md", 1 << 20);
  ASSERT_TRUE(differences.ok()) << differences.error().to_string();
  differences_ = *differences;
  home_ = std::make_unique<test::TempDir>();
  runtime_ = std::make_unique<runtime::ThreadRuntime>();
  auto started = EmbeddedServer::start(*runtime_);
  ASSERT_TRUE(started.ok()) << started.error().to_string();
  embedded_ = *std::move(started);
  both({{"create namespace kt"}, {"wait --for=jsonpath={.status.phase}=Active namespace/kt"}});
  // kube-apiserver admits Pods to a namespace only once it has its service account.
  const auto account = (*cluster)->kubectl_checked({"wait", "--for=create", "-n", "kt", "serviceaccount/default"});
  ASSERT_TRUE(account.ok()) << account.error().to_string();
}

void KubectlTest::TearDownTestSuite() {
  embedded_.reset();
  runtime_.reset();
  home_.reset();
}

void KubectlTest::SetUp() { ASSERT_NE(embedded_, nullptr) << "the servers did not start"; }

const path& KubectlTest::embedded() { return embedded_->kubeconfig(); }

Command KubectlTest::command(const path& kubeconfig, const Step& step) {
  Command command;
  command.argv = {kubectl_, "--kubeconfig=" + kubeconfig.string()};
  std::string_view rest = step.line;
  while (!rest.empty()) {
    const std::size_t blank = std::min(rest.find(' '), rest.size());
    command.argv.emplace_back(rest.substr(0, blank));
    rest.remove_prefix(std::min(blank + 1, rest.size()));
  }
  command.argv.insert(command.argv.end(), step.more.begin(), step.more.end());
  // Hundreds of short runs: a third of their time would be garbage collection that none of them needs.
  command.env = {"GOGC=off", "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home().string(),
                 "TMPDIR=" + home().string(), "KUBE_EDITOR=" + step.editor};
  command.cwd = home();
  command.stdin_bytes = step.input;
  command.timeout = 60s;
  return command;
}

std::string KubectlTest::outcome(const path& kubeconfig, const Step& step) {
  const auto output = run(command(kubeconfig, step));
  if (!output.ok()) return output.error().to_string();
  return masked(fmt::format("{}\n--- stdout\n{}\n--- stderr\n{}", to_string(output->exit), output->stdout_bytes,
                            output->stderr_bytes));
}

void KubectlTest::both(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    std::string expected;
    runtime::Task other = runtime_->spawn("kubectl", [&](std::stop_token) { expected = outcome(real_, step); });
    const std::string actual = outcome(embedded_->kubeconfig(), step);
    other.join();
    const std::string what = fmt::format("kubectl {} {}", step.line, fmt::join(step.more, " "));
    if (step.difference.empty()) {
      EXPECT_EQ(actual, expected) << what << "\n" << step.input;
      continue;
    }
    EXPECT_NE(actual, expected) << what << ": does not differ any more, see " << step.difference;
    EXPECT_NE(differences_.find(fmt::format("| {} |", step.difference)), std::string::npos)
        << what << ": docs/api-differences.md has no row " << step.difference;
  }
}

}  // namespace strake::kubectl_test
