#include "controlplane/control_plane.h"

#include <vector>

#include "apistore/in_process_api.h"
#include "apistore/rest/api_server.h"
#include "apistore/service/service.h"
#include "base/private_folder.h"
#include "controlplane/config_service.h"
#include "controlplane/controllers.h"
#include "controlplane/first_config.h"
#include "controlplane/sandbox_machine.h"
#include "stub/access_store.h"

namespace strake::controlplane {

namespace {

/// As a kubelet does that has a Lease: nobody here doubts that a machine in our own process lives, and hundreds of them
/// that say so every ten seconds cost more than all else.
constexpr runtime::Duration kReportUnchanged = std::chrono::minutes(5);

/// As etcd's largest: ten thousand nodes with their history take a tenth of it, and a disk is not filled to its end.
constexpr std::uint64_t kMaxDatabaseBytes = 8ULL << 30;

}  // namespace

struct ControlPlane::Impl {
  /// A sandboxed machine with all it needs, in the order in which it may be taken apart.
  struct HostedMachine {
    std::unique_ptr<apistore::InProcessApi> kubelet_api;
    std::unique_ptr<apistore::InProcessApi> agent_api;
    std::unique_ptr<DirectoryTree> tree;
    std::unique_ptr<SandboxMachine> machine;
    runtime::Task task;
  };

  runtime::Runtime& runtime;
  ControlPlaneOptions options;
  Signals& signals;
  std::shared_ptr<const apistore::Registry> registry;
  std::unique_ptr<apistore::Service> service;
  std::unique_ptr<apistore::rest::ApiServer> server;
  std::filesystem::path kubeconfig;
  std::unique_ptr<apistore::InProcessApi> admin;
  std::optional<net::ReservedEndpoint> config_endpoint;
  std::optional<stub::ConfigServerPlace> config_place;
  std::unique_ptr<apistore::InProcessApi> config_api;
  std::unique_ptr<ConfigService> config_service;
  runtime::Task controllers;
  std::mutex fetches_mutex;
  std::vector<FirstFetch> fetches;
  std::vector<HostedMachine> machines;
  bool stopped = false;

  Impl(runtime::Runtime& in_runtime, const ControlPlaneOptions& in_options, Signals& in_signals)
      : runtime(in_runtime), options(in_options), signals(in_signals) {}

  Status open_service();
  Status claim_state();
  Status serve();
  Status serve_configs();
  std::string config_url() const;
  void start_controllers();
  Result<json::Value> first_config_of(const nodeshim::NodeIdentity& machine, std::stop_token stop);
  Status add_machine(std::size_t index);
};

Status ControlPlane::Impl::open_service() {
  STRAKE_TRY_CONTEXT(apistore::Registry loaded, apistore::Registry::standard(), "loading the built-in kinds");
  registry = std::make_shared<const apistore::Registry>(std::move(loaded));
  apistore::ServiceOptions service_options;
  service_options.store.directory = options.state / "db";
  service_options.store.max_bytes = kMaxDatabaseBytes;
  service_options.on_problem = signals.store_hook();
  STRAKE_CHECK_OK(
      claim_state().context("the state folder {} cannot be used; choose another with --state", options.state.string()));
  auto opened = apistore::Service::open(runtime, registry, service_options);
  if (!opened.ok() && opened.error().reason() == "Locked") {
    return std::move(opened).error().with_verdict(Verdict::kBlocked);
  }
  if (!opened.ok())
    return std::move(opened).error().context(fmt::format("opening the database in {}", options.state.string()));
  service = *std::move(opened);
  return {};
}

/// Before anything in it is believed: keys, tokens and objects decide who may do what.
Status ControlPlane::Impl::claim_state() {
  std::vector<std::string> changed;
  const auto claim = [&](Result<std::vector<std::string>> claimed) -> Status {
    STRAKE_TRY(const std::vector<std::string> words, std::move(claimed));
    changed.insert(changed.end(), words.begin(), words.end());
    return {};
  };
  STRAKE_CHECK_OK(claim(claim_private_folder(options.state)));
  STRAKE_CHECK_OK(claim(claim_private_files(options.state, {"db", "pki"})));
  STRAKE_CHECK_OK(claim(claim_private_folder(options.state / "nodes")));
  for (const std::string& words : changed) signals.log().warning(words);
  return {};
}

Status ControlPlane::Impl::serve() {
  apistore::rest::ApiServerOptions server_options;
  server_options.address = options.listen.address;
  server_options.port = options.listen.port;
  server_options.names = options.server_names;
  server_options.state_directory = options.state;
  server_options.program_version = options.version;
  server_options.audit_log = options.audit_log;
  server_options.more_metrics = [this] { return signals.metrics_text(); };
  auto started = apistore::rest::ApiServer::start(*service, server_options);
  if (!started.ok()) {
    const bool because_of_log = started.error().reason() == apistore::rest::kNoAuditLog;
    return std::move(started).error().context(because_of_log ? "starting the API server"
                                                             : fmt::format("--listen {}", options.listen.to_string()));
  }
  server = *std::move(started);
  STRAKE_TRY(kubeconfig, server->write_kubeconfig(options.state / "kubeconfig"));
  if (!options.kubeconfig_copy.empty()) {
    STRAKE_TRY(kubeconfig, server->write_kubeconfig(options.kubeconfig_copy));
  }
  return {};
}

/// Listens once the controllers have made its certificate; where it will is known, and kept for it, from here on.
Status ControlPlane::Impl::serve_configs() {
  if (!options.config_listen) return {};
  STRAKE_TRY_CONTEXT(net::ReservedEndpoint reserved, net::ReservedEndpoint::reserve(*options.config_listen),
                     "--config-listen {} (`none` runs no config server)", options.config_listen->to_string());
  config_endpoint.emplace(std::move(reserved));
  std::vector<std::string> names = options.server_names;
  names.emplace_back("localhost");
  STRAKE_TRY_CONTEXT(config_place, stub::make_place(config_url(), names), "--server-names");
  config_api = std::make_unique<apistore::InProcessApi>(*service, apistore::Caller::config_server("strake-up"));
  STRAKE_CHECK_OK(stub::ensure_callers(*admin, runtime.call_within(std::chrono::seconds(30))));
  ConfigServiceOptions service_options;
  service_options.server_name = "strake-up";  // the port may be another one next time
  service_options.listen = config_endpoint->endpoint();
  service_options.api_server_url = server->url();
  // Machines that join this API server bring a join token of their own.
  service_options.bootstrap_token_optional = true;
  signals.listen_to(service_options);
  STRAKE_TRY_CONTEXT(config_service, ConfigService::start(runtime, config_api.get(), std::move(service_options)),
                     "serving configs to new machines");
  signals.watch_age(*config_service);
  return {};
}

std::string ControlPlane::Impl::config_url() const {
  if (!config_endpoint) return "";
  const auto& [address, port] = config_endpoint->endpoint();
  const bool everywhere = address == "0.0.0.0" || address == "::";
  std::string host = address;
  if (everywhere)
    host = options.server_names.empty() ? (address == "::" ? "::1" : "127.0.0.1") : options.server_names.front();
  return fmt::format("https://{}", net::Endpoint{host, port}.to_string());
}

void ControlPlane::Impl::start_controllers() {
  controllers = runtime.spawn("controllers", [this](std::stop_token stop) {
    ControllersOptions controllers_options;
    // The lock on the state folder already keeps a second `strake up` away, so the name need not be unique: after a
    // crash the lease is still ours and nothing waits for it to run out.
    controllers_options.identity = "strake-up";
    controllers_options.version = options.version;
    controllers_options.lease_duration = std::chrono::minutes(1);
    controllers_options.config_server = config_place;
    signals.listen_to(controllers_options);
    run_controllers(runtime, *admin, controllers_options, stop);
  });
}

Result<json::Value> ControlPlane::Impl::first_config_of(const nodeshim::NodeIdentity& machine, std::stop_token stop) {
  const runtime::Call call = runtime.call_within(std::chrono::seconds(30), stop);
  STRAKE_TRY(const std::string stub, read_managed_stub(*admin, machine.role, call));
  STRAKE_TRY(FirstConfig first, fetch_first_config(stub, runtime, call));
  const std::lock_guard lock(fetches_mutex);
  fetches.push_back(
      {machine.name, machine.role, first.name, first.url, ignition::to_string(first.version), first.bytes});
  return std::move(first.config);
}

Status ControlPlane::Impl::add_machine(std::size_t index) {
  MachineOptions machine_options;
  machine_options.identity.role = index % 3 == 0 ? "master" : "worker";
  machine_options.identity.name = fmt::format("{}-{}", machine_options.identity.role, index);
  const std::string& name = machine_options.identity.name;
  const std::filesystem::path root = options.state / "nodes" / name;
  STRAKE_TRY(const std::vector<std::string> opened_up, claim_private_folder(root));
  for (const std::string& words : opened_up) signals.log().warning(words);
  machine_options.report_unchanged = kReportUnchanged;
  machine_options.boot_time = options.boot_time;
  if (config_endpoint) {
    machine_options.first_config = [this, identity = machine_options.identity](std::stop_token stop) {
      return first_config_of(identity, stop);
    };
  }
  signals.listen_to(machine_options);
  HostedMachine hosted;
  hosted.kubelet_api = std::make_unique<apistore::InProcessApi>(*service, apistore::Caller::kubelet(name));
  hosted.agent_api = std::make_unique<apistore::InProcessApi>(*service, apistore::Caller::agent(name));
  hosted.tree = std::make_unique<DirectoryTree>(root, false);
  hosted.machine =
      std::make_unique<SandboxMachine>(runtime, *hosted.kubelet_api, *hosted.agent_api, *hosted.tree, machine_options);
  hosted.task = runtime.spawn("node-" + name,
                              [machine = hosted.machine.get()](std::stop_token stop) { machine->keep_running(stop); });
  machines.push_back(std::move(hosted));
  return {};
}

Result<std::unique_ptr<ControlPlane>> ControlPlane::start(runtime::Runtime& runtime, const ControlPlaneOptions& options,
                                                          Signals& signals) {
  auto impl = std::make_unique<Impl>(runtime, options, signals);
  STRAKE_CHECK_OK(impl->open_service());
  STRAKE_CHECK_OK(impl->serve());
  impl->service->start();
  impl->admin = std::make_unique<apistore::InProcessApi>(*impl->service, apistore::Caller::system("controllers"));
  STRAKE_CHECK_OK(impl->serve_configs());
  impl->start_controllers();
  auto control_plane = std::unique_ptr<ControlPlane>(new ControlPlane(std::move(impl)));
  for (std::size_t i = 0; i < options.nodes; ++i) STRAKE_CHECK_OK(control_plane->impl_->add_machine(i));
  return control_plane;
}

ControlPlane::ControlPlane(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ControlPlane::~ControlPlane() { stop(); }

void ControlPlane::stop() {
  if (std::exchange(impl_->stopped, true)) return;
  for (Impl::HostedMachine& hosted : impl_->machines) hosted.task.request_stop();
  impl_->machines.clear();
  impl_->controllers.stop_and_join();
  if (impl_->config_service) {
    impl_->signals.forget_config_service();
    impl_->config_service->stop();
  }
  impl_->server->stop();
  impl_->service->stop();
}

kube::KubeApi& ControlPlane::admin_api() { return *impl_->admin; }

std::string ControlPlane::url() const { return impl_->server->url(); }

std::string ControlPlane::config_url() const { return impl_->config_url(); }

std::vector<FirstFetch> ControlPlane::first_fetches() const {
  const std::lock_guard lock(impl_->fetches_mutex);
  return impl_->fetches;
}

std::filesystem::path ControlPlane::kubeconfig() const { return impl_->kubeconfig; }

}  // namespace strake::controlplane
