#include "support/registry_server.h"

#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fd.h"
#include "codec/base64.h"
#include "support/server_process.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;
using std::filesystem::path;

constexpr int kRegistryPortAttempts = 3;
constexpr auto kRegistryStartDeadline = 60s;
constexpr auto kRegistryPause = 50ms;

/// `htpasswd -nbB bot pw`, at the lowest cost: the registry checks it at every request.
constexpr const char* kPasswordFile = "bot:$2b$05$abcdefghijklmnopqrstuuHIrMEWpUCQe2YqFR3sXwQ75u4od..9q\n";

}  // namespace

Result<std::unique_ptr<RegistryServer>> RegistryServer::start(RegistryLogin login) {
  std::unique_ptr<RegistryServer> server(new RegistryServer);
  STRAKE_CHECK_OK(server->prepare(login));
  for (int attempt = 1;; ++attempt) {
    Status launched = server->launch();
    if (launched.ok()) return server;
    if (attempt == kRegistryPortAttempts) return std::move(launched).context("starting docker-registry").error();
  }
}

std::optional<std::string> RegistryServer::token_host() const {
  if (!tokens_) return std::nullopt;
  const std::string realm = tokens_->realm();
  const std::size_t begin = realm.find("//") + 2;
  return realm.substr(begin, realm.find('/', begin) - begin);
}

RegistryServer::~RegistryServer() { stop(); }

void RegistryServer::stop() {
  if (process_) process_->kill_now();
  process_.reset();
}

Status RegistryServer::prepare(RegistryLogin login) {
  std::error_code failure;
  for (const path& folder : {directory() / "pki", certificate_folder(), login_folder(), directory() / "data"}) {
    if (!std::filesystem::create_directories(folder, failure)) return errno_error(failure.value(), folder.string());
  }
  STRAKE_TRY(pki_, TestPki::create(directory() / "pki"));
  STRAKE_TRY(server_, pki_->issue("server", {"registry", {}}, CertificateUse::kServer));
  std::filesystem::copy_file(ca_file(), certificate_folder() / "ca.crt", failure);
  if (failure) return errno_error(failure.value(), "copying the authority");
  if (login == RegistryLogin::kPassword) {
    STRAKE_CHECK_OK(write_file_atomic(directory() / "htpasswd", kPasswordFile, 0600));
    login_config_ = fmt::format("  htpasswd: {{realm: test, path: {}}}\n", (directory() / "htpasswd").string());
    return {};
  }
  TokenServerOptions options{"strake-test", kRegistryUser, kRegistryPassword, server_, {}};
  STRAKE_TRY(options.signer, pki_->issue("tokens", {"token server", {}}, CertificateUse::kServer));
  STRAKE_TRY(tokens_, TokenServer::start(std::move(options)));
  login_config_ = fmt::format("  token: {{realm: \"{}\", service: test, issuer: strake-test, rootcertbundle: {}}}\n",
                              tokens_->realm(), ca_file().string());
  return {};
}

Status RegistryServer::launch() {
  STRAKE_TRY(const std::vector<std::uint16_t> ports, free_ports(1));
  host_ = fmt::format("127.0.0.1:{}", ports[0]);
  const std::string config = fmt::format(
      "version: 0.1\n"
      "log: {{level: error, accesslog: {{disabled: true}}}}\n"
      "storage:\n"
      "  filesystem: {{rootdirectory: {}}}\n"
      "  delete: {{enabled: true}}\n"
      "  maintenance: {{uploadpurging: {{enabled: false}}}}\n"
      "http:\n"
      "  addr: {}\n"
      "  secret: test\n"
      "  tls: {{certificate: {}, key: {}, minimumtls: tls1.2}}\n"
      "auth:\n{}",
      (directory() / "data").string(), host_, server_.certificate.string(), server_.key.string(), login_config_);
  STRAKE_CHECK_OK(write_file_atomic(directory() / "registry.yaml", config, 0600));
  STRAKE_CHECK_OK(
      write_file_atomic(login_folder() / "config.json",
                        fmt::format(R"({{"auths":{{"{}":{{"auth":"{}"}}}}}})", host_,
                                    codec::encode_base64(fmt::format("{}:{}", kRegistryUser, kRegistryPassword))),
                        0600));
  Command command;
  command.argv = {"docker-registry", "serve", directory() / "registry.yaml"};
  command.env =
      std::vector<std::string>{"PATH=/usr/bin:/bin", "HOME=" + directory().string(), "TMPDIR=" + directory().string()};
  command.log_file = directory() / "registry.log";
  STRAKE_TRY(process_, ChildProcess::start(command));
  const auto deadline = std::chrono::steady_clock::now() + kRegistryStartDeadline;
  while (std::chrono::steady_clock::now() < deadline) {
    Command curl;
    curl.argv = {"curl",      "-q", "-s",           "-m",       "5",       "-o",
                 "/dev/null", "-w", "%{http_code}", "--cacert", ca_file(), fmt::format("https://{}/v2/", host_)};
    curl.env = command.env;
    curl.timeout = 10s;
    STRAKE_TRY(const ProcessOutput answer, run(curl));
    if (answer.stdout_bytes == "401") return {};
    if (process_->wait_exit(kRegistryPause)) break;
  }
  process_->kill_now();
  return error(Code::kUnavailable, "docker-registry does not serve; its log:\n{}", last_lines(command.log_file));
}

Result<std::string> RegistryServer::run_client(std::vector<std::string> argv) const {
  Command command;
  command.argv = std::move(argv);
  command.env = std::vector<std::string>{
      "PATH=/usr/bin:/bin:/usr/sbin:/sbin",       "HOME=" + directory().string(),
      "TMPDIR=" + directory().string(),           "SSL_CERT_FILE=" + ca_file().string(),
      "DOCKER_CONFIG=" + login_folder().string(), "REGISTRY_AUTH_FILE=" + (login_folder() / "config.json").string()};
  command.cwd = directory();
  command.timeout = 120s;
  command.stdout_limit_bytes = std::size_t{256} << 20;
  STRAKE_TRY_CONTEXT(ProcessOutput output, run_checked(command), "{}", fmt::join(command.argv, " "));
  return std::move(output.stdout_bytes);
}

}  // namespace strake::test
