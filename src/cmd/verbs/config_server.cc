#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/verbs/daemon.h"
#include "controlplane/config_service.h"

namespace strake::cmd {

namespace {

// In the order of net::TlsVersion.
constexpr std::string_view kTlsVersionWords[] = {"1.2", "1.3"};

constexpr OptionSpec kConfigServerOptions[] = {
    {"listen", "ADDR:PORT", "where machines ask; an IPv6 address stands in brackets: [::]:22623", "127.0.0.1:22623",
     kEndpointValue},
    {"tls-cert", "FILE", "the serving certificate with its chain (default: Secret machine-config-server-tls)", "",
     kFileValue},
    {"tls-key", "FILE", "its key; both files are looked at again every 5 seconds", "", kFileValue},
    {"tls-min-version", "VERSION", "the oldest TLS that is spoken: 1.2 or 1.3", "1.2", one_of(kTlsVersionWords)},
    {"tls-cipher-suites", "LIST", "suites of TLS 1.2 by their IANA or OpenSSL names, best first", "", kListValue},
    {"apiserver-url", "URL",
     "the API server as new machines reach it, for their kubeconfig (default: as this process does)"},
    {"no-bootstrap-token", "",
     "serve although there is no Secret node-bootstrapper-token: machines get their credentials in another way"},
    {"always-require", "",
     "refuse who shows neither token nor certificate, whatever `strake config-server auth` says; also while it says "
     "nothing"},
    {"refused-per-second", "COUNT",
     "how often one address may be refused, before it hears 429; bursts of 20 times that", "10",
     integer_from(1, 100'000)},
    {"tell-callers-every", "DURATION",
     "how often the cluster is told who asked, when somebody did, and servers tell each other uses of counted tokens",
     "10s", kDurationValue},
    {"bootstrap-dir", "DIR", "serve the pools master and arbiter from this directory instead of a cluster", "",
     kFolderValue},
    {"bootstrap-kubeconfig", "FILE", "with --bootstrap-dir: the kubeconfig machines get", "", kFileValue},
    {"bootstrap-cert", "REGISTRY=FILE",
     "with --bootstrap-dir: authorities of a registry, for /etc/docker/certs.d; may be repeated", "", kListValue},
    {"token-file", "FILE",
     "with --bootstrap-dir: who may ask, one line `POOL TOKEN` each; nobody else is served. Looked at every 5 seconds",
     "", kFileValue},
    kKubeconfigOption,
    kContextOption,
    kMetricsListenOption,
    kLogFormatOption,
    kLogLevelOption};

Result<configserver::BootstrapInput> bootstrap_input(const Invocation& invocation) {
  configserver::BootstrapInput input;
  input.directory = invocation.path("bootstrap-dir");
  input.kubeconfig = invocation.path("bootstrap-kubeconfig");
  if (input.kubeconfig.empty()) {
    return error(Code::kInvalidArgument, "--bootstrap-dir needs --bootstrap-kubeconfig FILE: what machines are to use");
  }
  for (const std::string& item : invocation.list("bootstrap-cert")) {
    const std::size_t equals = item.find('=');
    const std::string registry = item.substr(0, equals);
    if (equals == std::string::npos || registry.empty() || registry.find('/') != std::string::npos ||
        registry.find("..") != std::string::npos) {
      return error(Code::kInvalidArgument, "--bootstrap-cert {}: write it as REGISTRY=FILE", item);
    }
    input.registry_authorities.emplace_back(registry, item.substr(equals + 1));
  }
  return input;
}

Result<controlplane::ConfigServiceOptions> service_options(const Invocation& invocation) {
  controlplane::ConfigServiceOptions options;
  options.listen = invocation.endpoint("listen");
  options.tls.minimum = invocation.choice<net::TlsVersion>("tls-min-version");
  if (invocation.has("tls-cipher-suites")) options.tls.cipher_suites = invocation.list("tls-cipher-suites");
  options.bootstrap_token_optional = invocation.is_set("no-bootstrap-token");
  options.gate.always_require = invocation.is_set("always-require");
  const auto refused = static_cast<unsigned>(invocation.integer("refused-per-second"));
  options.gate.refused = {.per_second = refused, .burst = 20 * refused};
  options.tell_callers_every = invocation.duration("tell-callers-every");
  if (invocation.has("tls-cert") != invocation.has("tls-key")) {
    return error(Code::kInvalidArgument, "--tls-cert and --tls-key belong together: give both, or neither");
  }
  if (invocation.has("tls-cert")) options.identity = {invocation.path("tls-cert"), invocation.path("tls-key")};
  if (invocation.has("bootstrap-dir")) {
    STRAKE_TRY(options.bootstrap, bootstrap_input(invocation));
    if (!options.identity) {
      return error(Code::kInvalidArgument,
                   "--bootstrap-dir needs --tls-cert and --tls-key: there is no cluster to ask");
    }
    if (options.gate.always_require && !invocation.has("token-file")) {
      return error(Code::kInvalidArgument,
                   "--bootstrap-dir with --always-require needs --token-file FILE: who may ask");
    }
    if (invocation.has("token-file")) options.token_file = invocation.path("token-file");
  } else if (invocation.has("token-file")) {
    return error(Code::kInvalidArgument,
                 "--token-file goes with --bootstrap-dir; for a cluster use `strake stub token create`");
  }
  return options;
}

Result<int> run_config_server(const Invocation& invocation) {
  STRAKE_TRY(controlplane::ConfigServiceOptions options, service_options(invocation));
  runtime::ThreadRuntime runtime;
  std::unique_ptr<kube::KubeApi> api;
  if (!options.bootstrap) {
    STRAKE_TRY(const kube::ClusterAccess access, find_cluster(invocation));
    options.api_server_url = invocation.has("apiserver-url") ? invocation.value("apiserver-url") : access.server;
    STRAKE_TRY(api, connect(runtime, invocation));
  }
  STRAKE_TRY(const auto daemon, Daemon::start(runtime, invocation));
  daemon->signals().listen_to(options);
  STRAKE_TRY_CONTEXT(const auto service, controlplane::ConfigService::start(runtime, api.get(), std::move(options)),
                     "serving configs at {}", invocation.value("listen"));
  daemon->signals().watch_age(*service);
  (void)runtime.sleep(std::chrono::hours(24 * 365 * 10), invocation.stop);
  service->stop();
  daemon->signals().forget_config_service();
  return kExitOk;
}

constexpr ExitMeaning kConfigServerExits[] = {{kExitOk, "stopped by a signal"}};

}  // namespace

const CommandSpec kConfigServerCommand{
    "config-server",
    "Hand new machines the config of their pool, over TLS.",
    "GET /config/POOL answers with the pool's rendered config in the Ignition version the machine asks for (2.2, 3.1 "
    "to "
    "3.5), and what the machine needs to join. Answers are made when objects change and served from memory; while the "
    "API is away the last ones are served on, and /metrics says for how long.\n\n"
    "It listens as soon as it has a certificate, and answers 500 until there is a config. Refusals have no body: the "
    "log says why. docs/joining.md has the whole of it.\n\n"
    "  strake config-server --listen 0.0.0.0:22623 --apiserver-url https://api-int.example:6443\n"
    "  strake config-server --tls-cert tls.crt --tls-key tls.key --no-bootstrap-token",
    {},
    kConfigServerOptions,
    run_config_server,
    kConfigServerExits,
    Lifetime::kDaemon};

}  // namespace strake::cmd
