#include "support/servers.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/fd.h"
#include "support/places.h"
#include "support/server_process.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;
using std::filesystem::path;

constexpr int kPortAttempts = 3;
constexpr auto kStartDeadline = 60s;  // a start takes 3 s; the rest is for machines that build something else meanwhile
constexpr auto kPauseBetweenTries = 50ms;

std::string yaml_quoted(const path& text) { return boost::json::serialize(boost::json::string(text.string())); }

std::string local_url(std::string_view scheme, std::uint16_t port) {
  return fmt::format("{}://127.0.0.1:{}", scheme, port);
}

/// The folder of one family of test/servers/build.sh, with these programs in it.
Result<path> family_programs(const std::string& family, const char* variable,
                             std::initializer_list<const char*> programs) {
  const path build = source_folder() / "test/servers/build.sh";
  path directory;
  if (const char* given = std::getenv(variable); given != nullptr && *given != '\0') {
    directory = given;
  } else {
    Command command;
    command.argv = {build.string(), family, "--print-dir"};
    command.timeout = 30s;
    STRAKE_TRY_CONTEXT(ProcessOutput output, run_checked(command), "looking for the test servers");
    while (output.stdout_bytes.ends_with('\n')) output.stdout_bytes.pop_back();
    directory = output.stdout_bytes;
  }
  for (const char* program : programs) {
    if (::access((directory / program).c_str(), X_OK) == 0) continue;
    return error(Code::kNotFound, "{} is missing: build the test servers with test/servers/build.sh {}",
                 (directory / program).string(), family);
  }
  return directory;
}

}  // namespace

Result<path> kube_programs() {
  return family_programs("kube", "STRAKE_TEST_SERVERS_KUBE",
                         {"etcd", "kube-apiserver", "kube-controller-manager", "kubectl"});
}

Result<path> judge_programs() {
  return family_programs("tools", "STRAKE_TEST_SERVERS_TOOLS",
                         {"crane", "ignition-validate", "ignition2-validate", "judge-ignition2", "judge-ignition3",
                          "judge-policy", "judge-render"});
}

Result<path> client_programs() {
  return family_programs("clients", "STRAKE_TEST_SERVERS_CLIENTS", {"helmstore", "python3"});
}

Result<path> os_image_programs() { return family_programs("rust", "STRAKE_TEST_SERVERS_RUST", {"oxt"}); }

KubeCluster::KubeCluster(KubeClusterOptions options, path programs)
    : options_(options), programs_(std::move(programs)), directory_(std::make_unique<TempDir>()) {}

KubeCluster::~KubeCluster() {
  kill_servers();
  // Given up, not removed: whoever looks at the logs removes the folder.
  if (std::getenv("STRAKE_TEST_KEEP") != nullptr) static_cast<void>(directory_.release());
}

Result<std::unique_ptr<KubeCluster>> KubeCluster::start(const KubeClusterOptions& options) {
  STRAKE_TRY(path programs, kube_programs());
  std::unique_ptr<KubeCluster> cluster(new KubeCluster(options, std::move(programs)));
  STRAKE_CHECK_OK(cluster->make_certificates());
  for (int attempt = 1;; ++attempt) {
    Status started = cluster->start_servers();
    if (started.ok()) return cluster;
    if (attempt == kPortAttempts || !cluster->a_server_lost_its_port()) {
      return std::move(started).context("starting a Kubernetes control plane").error();
    }
    cluster->kill_servers();
  }
}

Status KubeCluster::make_certificates() {
  const path folder = directory() / "pki";
  std::error_code failure;
  if (!std::filesystem::create_directory(folder, failure)) return errno_error(failure.value(), folder.string());
  STRAKE_TRY(pki_, TestPki::create(folder));
  STRAKE_TRY(server_, pki_->issue("server", {"kube-apiserver", {}}, CertificateUse::kServer));
  // Both uses: etcd's own gateway calls it back with this certificate.
  STRAKE_TRY(etcd_, pki_->issue("etcd", {"etcd", {}}, CertificateUse::kServerAndClient));
  STRAKE_TRY(etcd_client_, pki_->issue("etcd-client", {"kube-apiserver", {}}, CertificateUse::kClient));
  STRAKE_TRY(admin_, pki_->issue("admin", {"admin", {"system:masters"}}, CertificateUse::kClient));
  STRAKE_TRY(controller_manager_,
             pki_->issue("controller-manager", {"system:kube-controller-manager", {}}, CertificateUse::kClient));
  STRAKE_TRY(token_key_, pki_->make_key("service-account-tokens"));
  return {};
}

Status KubeCluster::start_servers() {
  STRAKE_TRY(const std::vector<std::uint16_t> ports, free_ports(3));
  ports_ = {ports[0], ports[1], ports[2]};
  url_ = local_url("https", ports_.apiserver);
  STRAKE_TRY(kubeconfig_, write_kubeconfig("admin", admin_));

  STRAKE_CHECK_OK(start_etcd());
  STRAKE_CHECK_OK(start_apiserver());  // without waiting for etcd: it tries again by itself
  STRAKE_CHECK_OK(wait_until_serving(url_ + "/readyz"));
  // "Ready" comes before the storage of every resource is: a list answers 429 for up to a second more.
  STRAKE_CHECK_OK(wait_until_serving(url_ + "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?limit=1"));
  if (!options_.controller_manager) return {};
  STRAKE_CHECK_OK(start_controller_manager());
  return wait_until_serving(url_ + "/api/v1/namespaces/default/serviceaccounts/default");
}

Status KubeCluster::start_etcd() {
  const path data = directory() / "etcd";
  std::error_code ignored;
  std::filesystem::remove_all(data, ignored);  // of an attempt whose port was taken
  const std::string client_url = local_url("https", ports_.etcd_client);
  const std::string peer_url = local_url("http", ports_.etcd_peer);
  std::vector<std::string> arguments{
      "--name=test",
      "--data-dir=" + data.string(),
      "--log-level=error",
      "--quota-backend-bytes=4294967296",
      "--listen-client-urls=" + client_url,
      "--advertise-client-urls=" + client_url,
      "--listen-peer-urls=" + peer_url,
      "--initial-advertise-peer-urls=" + peer_url,
      "--initial-cluster=test=" + peer_url,
      "--cert-file=" + etcd_.certificate.string(),
      "--key-file=" + etcd_.key.string(),
      "--client-cert-auth",
      "--trusted-ca-file=" + ca_file().string(),
  };
  if (!options_.durable_etcd) arguments.push_back("--unsafe-no-fsync");
  return start_server("etcd", std::move(arguments));
}

Status KubeCluster::start_apiserver() {
  std::vector<std::string> arguments{
      "--etcd-servers=" + local_url("https", ports_.etcd_client),
      "--etcd-cafile=" + ca_file().string(),
      "--etcd-certfile=" + etcd_client_.certificate.string(),
      "--etcd-keyfile=" + etcd_client_.key.string(),
      "--bind-address=127.0.0.1",
      "--advertise-address=127.0.0.1",
      fmt::format("--secure-port={}", ports_.apiserver),
      "--tls-cert-file=" + server_.certificate.string(),
      "--tls-private-key-file=" + server_.key.string(),
      "--client-ca-file=" + ca_file().string(),
      "--authorization-mode=RBAC",
      "--service-cluster-ip-range=10.0.0.0/24",
      "--cert-dir=" + (directory() / "apiserver-certs").string(),
      "--service-account-issuer=" + url_,
      "--service-account-key-file=" + token_key_.string(),
      "--service-account-signing-key-file=" + token_key_.string(),
      "--endpoint-reconciler-type=none",
      "--profiling=false",
  };
  if (options_.economical) arguments.push_back("--enable-priority-and-fairness=false");
  return start_server("kube-apiserver", std::move(arguments));
}

Status KubeCluster::start_controller_manager() {
  STRAKE_TRY(const path config, write_kubeconfig("controller-manager", controller_manager_));
  return start_server("kube-controller-manager",
                      {
                          "--kubeconfig=" + config.string(),
                          "--use-service-account-credentials=true",
                          "--leader-elect=false",
                          "--secure-port=0",
                          "--service-account-private-key-file=" + token_key_.string(),
                          "--root-ca-file=" + ca_file().string(),
                          "--cluster-signing-cert-file=" + ca_file().string(),
                          "--cluster-signing-key-file=" + pki_->authority().key.string(),
                          "--profiling=false",
                          "--controllers=namespace-controller,garbage-collector-controller,disruption-controller,"
                          "serviceaccount-controller,serviceaccount-token-controller,"
                          "root-ca-certificate-publisher-controller,certificatesigningrequest-signing-controller",
                      });
}

Status KubeCluster::start_server(const std::string& name, std::vector<std::string> arguments) {
  Command command;
  command.argv = std::move(arguments);
  command.argv.insert(command.argv.begin(), programs_ / name);
  command.env = server_environment();
  command.cwd = directory();
  command.log_file = directory() / (name + ".log");
  std::error_code ignored;
  std::filesystem::remove(command.log_file, ignored);  // of an earlier attempt, which must not explain this one
  STRAKE_TRY(ChildProcess process, ChildProcess::start(command));
  servers_.push_back(Server{name, command.log_file, std::move(process)});
  return {};
}

Status KubeCluster::wait_until_serving(const std::string& url) {
  Command curl;
  curl.argv = {"curl",         "-q",       "-sS",     "-m",     "1",          "-o",    "/dev/null", "-w",
               "%{http_code}", "--cacert", ca_file(), "--cert", admin_cert(), "--key", admin_key(), url};
  curl.env = server_environment();
  curl.timeout = 10s;
  std::string last_answer;
  const auto deadline = std::chrono::steady_clock::now() + kStartDeadline;
  while (std::chrono::steady_clock::now() < deadline) {
    STRAKE_CHECK_OK(check_servers_alive());
    STRAKE_TRY(const ProcessOutput answer, run(curl));
    if (answer.stdout_bytes == "200") return {};
    last_answer = answer.exit.success() ? "HTTP " + answer.stdout_bytes : answer.stderr_bytes;
    servers_.back().process.wait_exit(kPauseBetweenTries);  // a pause that a death ends early
  }
  Error late = error(Code::kTimeout, "{} did not answer 200 within {} s; the last answer was: {}", url,
                     kStartDeadline.count(), last_answer);
  for (const Server& server : servers_) {
    late = std::move(late).context(fmt::format("{} log:\n{}", server.name, last_lines(server.log)));
  }
  return late;
}

Result<std::string> KubeCluster::ask_etcd(const std::string& method, const std::string& body) const {
  Command curl;
  curl.argv = {"curl",
               "-q",
               "-sS",
               "-m",
               "10",
               "--fail-with-body",
               "--cacert",
               ca_file(),
               "--cert",
               etcd_client_.certificate,
               "--key",
               etcd_client_.key,
               "--data",
               body,
               fmt::format("{}/v3/kv/{}", local_url("https", ports_.etcd_client), method)};
  curl.env = server_environment();
  STRAKE_TRY_CONTEXT(ProcessOutput output, run_checked(curl), "asking etcd to {} {}", method, body);
  return std::move(output.stdout_bytes);
}

Status KubeCluster::install_definitions() {
  STRAKE_TRY_CONTEXT(
      const std::string applied,
      kubectl_checked({"apply", "--server-side", "--validate=strict", "-f", source_folder() / "deploy/crds"}),
      "defining our kinds");
  STRAKE_TRY_CONTEXT(
      const std::string established,
      kubectl_checked({"wait", "--for=condition=Established", "--timeout=20s", "customresourcedefinitions", "--all"}),
      "waiting until our kinds are served");
  return {};
}

Status KubeCluster::collect_leftovers() {
  STRAKE_TRY(std::string kinds, kubectl_checked({"get", "customresourcedefinitions", "-o", "name"}));
  std::string resources = "nodes";
  for (const std::string_view prefix = "customresourcedefinition.apiextensions.k8s.io/"; !kinds.empty();) {
    const std::string line = kinds.substr(0, kinds.find('\n'));
    kinds.erase(0, line.size() + 1);
    resources += "," + line.substr(prefix.size());
  }
  STRAKE_TRY_CONTEXT(const std::string deleted,
                     kubectl_checked({"delete", resources, "--all", "--all-namespaces", "--timeout=20s"}),
                     "collecting what earlier suites left");
  return {};
}

Status KubeCluster::compact_etcd() {
  STRAKE_TRY(const std::string answer, ask_etcd("range", R"({"key": "AA==", "count_only": true})"));
  const auto revision = boost::json::parse(answer).at("header").at("revision").as_string();
  STRAKE_TRY(const std::string compacted,
             ask_etcd("compaction", fmt::format(R"({{"revision": "{}"}})", std::string_view(revision))));
  return {};
}

std::vector<KubeCluster::Process> KubeCluster::processes() const {
  std::vector<Process> processes;
  for (const Server& server : servers_) processes.push_back({server.name, server.process.pid()});
  return processes;
}

Status KubeCluster::check_servers_alive() {
  for (Server& server : servers_) {
    const auto exit = server.process.wait_exit(0ms);
    if (!exit) continue;
    return error(Code::kUnavailable, "{} {}; its last log lines:\n{}", server.name, to_string(*exit),
                 last_lines(server.log));
  }
  return {};
}

bool KubeCluster::a_server_lost_its_port() const {
  return std::ranges::any_of(servers_, [](const Server& server) {
    return last_lines(server.log).find("address already in use") != std::string::npos;
  });
}

void KubeCluster::kill_servers() {
  for (Server& server : servers_) server.process.kill_now();
  servers_.clear();
}

Result<path> KubeCluster::write_kubeconfig(const std::string& name, const CertificateFiles& user) const {
  path file = directory() / (name + ".kubeconfig");
  const std::string text = fmt::format(
      "apiVersion: v1\n"
      "kind: Config\n"
      "clusters:\n"
      "- name: test\n"
      "  cluster:\n"
      "    server: {}\n"
      "    certificate-authority: {}\n"
      "users:\n"
      "- name: test\n"
      "  user:\n"
      "    client-certificate: {}\n"
      "    client-key: {}\n"
      "contexts:\n"
      "- name: test\n"
      "  context:\n"
      "    cluster: test\n"
      "    user: test\n"
      "current-context: test\n",
      yaml_quoted(url_), yaml_quoted(ca_file()), yaml_quoted(user.certificate), yaml_quoted(user.key));
  STRAKE_CHECK_OK(write_file_atomic(file, text, 0600));
  return file;
}

std::vector<std::string> KubeCluster::server_environment() const {
  std::vector<std::string> environment{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + directory().string(),
                                       "TMPDIR=" + directory().string()};
  // Trades a little processor time for a fifth of the apiserver's memory.
  if (options_.economical) environment.push_back("GOGC=40");
  return environment;
}

Result<CertificateFiles> KubeCluster::client_certificate(const std::string& common_name,
                                                         const std::vector<std::string>& organizations) {
  const std::string subject = fmt::format("{}\n{}", common_name, fmt::join(organizations, "\n"));
  if (const auto known = clients_.find(subject); known != clients_.end()) return known->second;
  STRAKE_TRY(CertificateFiles files, pki_->issue(fmt::format("client-{}", clients_.size() + 1),
                                                 {common_name, organizations}, CertificateUse::kClient));
  clients_.emplace(subject, files);
  return files;
}

Result<path> KubeCluster::client_kubeconfig(const std::string& common_name,
                                            const std::vector<std::string>& organizations) {
  STRAKE_TRY(const CertificateFiles files, client_certificate(common_name, organizations));
  return write_kubeconfig(files.certificate.stem(), files);
}

Result<ProcessOutput> KubeCluster::kubectl(const Kubectl& call) const {
  Command command;
  const path& config = call.kubeconfig.empty() ? kubeconfig_ : call.kubeconfig;
  command.argv = {programs_ / "kubectl", "--kubeconfig=" + config.string()};
  command.argv.insert(command.argv.end(), call.arguments.begin(), call.arguments.end());
  command.env = server_environment();
  command.cwd = directory();
  command.stdin_bytes = call.stdin_bytes;
  command.timeout = call.timeout;
  return run(command).context("kubectl {}", fmt::join(call.arguments, " "));
}

Result<std::string> KubeCluster::kubectl_checked(std::vector<std::string> arguments) const {
  const Kubectl call{.arguments = std::move(arguments)};
  STRAKE_TRY(ProcessOutput output, kubectl(call));
  if (output.exit.success()) return std::move(output.stdout_bytes);
  return error(Code::kIo, "kubectl {} {}: {}", fmt::join(call.arguments, " "), to_string(output.exit),
               output.stderr_bytes);
}

Result<KubeCluster*> shared_cluster() {
  static const Result<std::unique_ptr<KubeCluster>> cluster = KubeCluster::start();
  if (!cluster.ok()) return cluster.error();
  return cluster->get();
}

}  // namespace strake::test
