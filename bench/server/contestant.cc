#include "server/contestant.h"

#include <fstream>
#include <optional>

#include "base/fd.h"
#include "base/subprocess.h"
#include "net/testing/raw_tls_client.h"
#include "support/places.h"
#include "support/server_process.h"

namespace strake::bench {

namespace {

using namespace std::chrono_literals;
using std::filesystem::path;

constexpr auto kStartLimit = 30s;
constexpr auto kLookAgain = 50ms;

class Program final : public Contestant {
 public:
  static Result<std::unique_ptr<Contestant>> start(runtime::Runtime& runtime, const Command& command,
                                                   std::uint16_t port) {
    STRAKE_TRY(ChildProcess process, ChildProcess::start(command));
    std::unique_ptr<Program> program(new Program(std::move(process), port));
    const runtime::TimePoint limit = runtime.now() + kStartLimit;
    while (!net::testing::port_is_open(port)) {
      if (program->process_.wait_exit(kLookAgain) || runtime.now() >= limit) {
        return error(Code::kUnavailable, "{} does not serve: {}", command.argv.front(),
                     read_file(command.log_file, 1 << 16).value_or("no log"));
      }
    }
    program->find_workers();
    return std::unique_ptr<Contestant>(std::move(program));
  }
  ~Program() override { process_.stop(5s); }

  std::uint16_t port() const override { return port_; }
  const std::vector<pid_t>& processes() const override { return processes_; }

 private:
  Program(ChildProcess process, std::uint16_t port) : process_(std::move(process)), port_(port) {}

  void find_workers() {
    processes_ = {process_.pid()};
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", process_.pid()));
    for (pid_t child = 0; children >> child;) processes_.push_back(child);
  }

  ChildProcess process_;
  std::uint16_t port_;
  std::vector<pid_t> processes_;
};

Status write_identity(const Stage& stage) {
  STRAKE_CHECK_OK(write_file_atomic(stage.folder / "tls.crt", stage.identity.certificate_pem, 0600));
  return write_file_atomic(stage.folder / "tls.key", stage.identity.key_pem, 0600);
}

}  // namespace

Result<std::unique_ptr<Contestant>> start_config_server(runtime::Runtime& runtime, const Stage& stage,
                                                        std::size_t served_bytes) {
  STRAKE_CHECK_OK(write_identity(stage));
  for (const char* folder : {"machine-pools", "machine-configs"})
    std::filesystem::create_directories(stage.folder / folder);
  STRAKE_CHECK_OK(write_file_atomic(stage.folder / "kubeconfig", "apiVersion: v1\nkind: Config\n", 0600));
  STRAKE_CHECK_OK(write_file_atomic(stage.folder / "machine-pools/master.yaml",
                                    "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\n"
                                    "metadata: {name: master}\nstatus: {configuration: {name: rendered-master-1}}\n",
                                    0600));
  // The contents are served twice: as a file, and in the MachineConfig beside it.
  STRAKE_CHECK_OK(write_file_atomic(
      stage.folder / "machine-configs/rendered-master-1.yaml",
      fmt::format("apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\n"
                  "metadata: {{name: rendered-master-1}}\nspec:\n  config:\n    ignition: {{version: 3.2.0}}\n"
                  "    storage: {{files: [{{path: /etc/large, mode: 420, contents: {{source: 'data:,{}'}}}}]}}\n",
                  std::string(served_bytes / 2, 'a')),
      0600));
  STRAKE_TRY(const std::vector<std::uint16_t> ports, test::free_ports(1));
  Command command;
  command.argv = {test::strake_program().string(),
                  "config-server",
                  "--listen",
                  fmt::format("127.0.0.1:{}", ports[0]),
                  "--bootstrap-dir",
                  stage.folder.string(),
                  "--bootstrap-kubeconfig",
                  (stage.folder / "kubeconfig").string(),
                  "--tls-cert",
                  (stage.folder / "tls.crt").string(),
                  "--tls-key",
                  (stage.folder / "tls.key").string()};
  command.log_file = stage.folder / "log";
  return Program::start(runtime, command, ports[0]);
}

Result<std::unique_ptr<Contestant>> start_nginx(runtime::Runtime& runtime, const Stage& stage,
                                                const std::string& body) {
  STRAKE_CHECK_OK(write_identity(stage));
  std::filesystem::create_directories(stage.folder / "root/config");
  STRAKE_CHECK_OK(write_file_atomic(stage.folder / "root" / path(kConfigPath).relative_path(), body, 0644));
  // Workers give up root's rights.
  std::filesystem::permissions(stage.folder, std::filesystem::perms(0755));
  STRAKE_TRY(const std::vector<std::uint16_t> ports, test::free_ports(1));
  const std::string settings = fmt::format(
      "daemon off;\nworker_processes 2;\npid {0}/pid;\nerror_log {0}/error.log;\nevents {{}}\nhttp {{\n"
      "  access_log {0}/access.log;\n  sendfile on;\n  tcp_nopush on;\n  keepalive_requests 1000000;\n"
      "  open_file_cache max=10;\n  default_type application/json;\n  client_body_temp_path {0}/body;\n"
      "  proxy_temp_path {0}/proxy;\n  fastcgi_temp_path {0}/fastcgi;\n  uwsgi_temp_path {0}/uwsgi;\n"
      "  scgi_temp_path {0}/scgi;\n"
      "  server {{\n    listen 127.0.0.1:{1} ssl;\n    ssl_certificate {0}/tls.crt;\n    ssl_certificate_key "
      "{0}/tls.key;\n    ssl_protocols TLSv1.2 TLSv1.3;\n    root {0}/root;\n  }}\n}}\n",
      stage.folder.string(), ports[0]);
  STRAKE_CHECK_OK(write_file_atomic(stage.folder / "nginx.conf", settings, 0644));
  Command command;
  command.argv = {"/usr/sbin/nginx", "-c", (stage.folder / "nginx.conf").string(), "-e",
                  (stage.folder / "error.log").string()};
  command.log_file = stage.folder / "log";
  return Program::start(runtime, command, ports[0]);
}

}  // namespace strake::bench
