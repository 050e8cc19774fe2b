#include "conformance.h"

#include <atomic>
#include <filesystem>

#include "apistore/in_process_api.h"
#include "apistore/rest/api_server.h"
#include "kube/cluster_access.h"
#include "kube/https_api.h"
#include "support/places.h"
#include "support/servers.h"
#include "support/temp_dir.h"

namespace strake::conformance {

namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 30s;  // for controllers; what is waited for takes milliseconds on an idle machine
constexpr auto kLookAgain = 20ms;

runtime::ThreadRuntime& shared_runtime() {
  static runtime::ThreadRuntime runtime;
  return runtime;
}

/// Both clients of one server over HTTPS.
struct HttpsClients {
  std::unique_ptr<kube::HttpsApi> api;
  std::shared_ptr<kube::HttpsTransport> wire;

  static Result<HttpsClients> create(const kube::ClusterAccess& access) {
    HttpsClients clients;
    STRAKE_TRY(clients.api, kube::HttpsApi::create(shared_runtime(), access));
    STRAKE_TRY(clients.wire, kube::HttpsTransport::create(shared_runtime(), access, {}));
    return clients;
  }
};

class EmbeddedServer final : public Server {
 public:
  static Result<std::unique_ptr<Server>> start(bool over_https) {
    std::unique_ptr<EmbeddedServer> embedded(new EmbeddedServer);
    STRAKE_TRY(apistore::Registry registry, apistore::Registry::standard());
    apistore::ServiceOptions options;
    options.store.directory = embedded->folder_ / "db";
    std::filesystem::create_directory(options.store.directory);
    // Only compact() forgets, and forgets everything.
    options.store.keep_time = runtime::Duration::zero();
    options.store.keep_revisions = 0;
    options.sweep_interval = 1h;
    options.bookmark_interval = 1s;
    STRAKE_TRY(embedded->service_,
               apistore::Service::open(shared_runtime(),
                                       std::make_shared<const apistore::Registry>(std::move(registry)), options));
    embedded->service_->start();
    if (!over_https) {
      embedded->in_process_ =
          std::make_unique<apistore::InProcessApi>(*embedded->service_, apistore::Caller::system("conformance"));
      return std::unique_ptr<Server>(std::move(embedded));
    }
    apistore::rest::ApiServerOptions server_options;
    server_options.port = 0;
    server_options.state_directory = embedded->folder_.path();
    STRAKE_TRY(embedded->server_, apistore::rest::ApiServer::start(*embedded->service_, std::move(server_options)));
    STRAKE_TRY(embedded->clients_, HttpsClients::create(embedded->server_->admin_access()));
    return std::unique_ptr<Server>(std::move(embedded));
  }

  kube::KubeApi& api() override {
    if (in_process_) return *in_process_;
    return *clients_.api;
  }
  std::shared_ptr<kube::HttpsTransport> wire() override { return clients_.wire; }
  Result<std::filesystem::path> kubeconfig() override { return server_->write_kubeconfig(folder_ / "kubeconfig"); }
  Status compact() override { return service_->store().compact(); }
  Result<kube::ClusterAccess> client(const std::string& user, const std::vector<std::string>& groups) override {
    return server_->issue_client(user, groups, 1h);
  }

 private:
  EmbeddedServer() = default;

  test::TempDir folder_;
  std::unique_ptr<apistore::Service> service_;
  std::unique_ptr<apistore::InProcessApi> in_process_;
  std::unique_ptr<apistore::rest::ApiServer> server_;
  HttpsClients clients_;
};

class KubernetesServer final : public Server {
 public:
  static Result<std::unique_ptr<Server>> start() {
    std::unique_ptr<KubernetesServer> kubernetes(new KubernetesServer);
    STRAKE_TRY(kubernetes->cluster_, test::shared_cluster());
    STRAKE_CHECK_OK(kubernetes->cluster_->install_definitions());
    STRAKE_TRY(const kube::Kubeconfig config,
               kube::load_kubeconfig(kube::kubeconfig_locations(kubernetes->cluster_->kubeconfig())));
    STRAKE_TRY(const kube::ClusterAccess access, kube::resolve_access(config));
    STRAKE_TRY(kubernetes->clients_, HttpsClients::create(access));
    return std::unique_ptr<Server>(std::move(kubernetes));
  }

  kube::KubeApi& api() override { return *clients_.api; }
  std::shared_ptr<kube::HttpsTransport> wire() override { return clients_.wire; }
  Result<std::filesystem::path> kubeconfig() override { return cluster_->kubeconfig(); }
  Status compact() override { return cluster_->compact_etcd(); }
  Result<kube::ClusterAccess> client(const std::string& user, const std::vector<std::string>& groups) override {
    STRAKE_TRY(const std::filesystem::path kubeconfig, cluster_->client_kubeconfig(user, groups));
    STRAKE_TRY(const kube::Kubeconfig config, kube::load_kubeconfig(kube::kubeconfig_locations(kubeconfig)));
    return kube::resolve_access(config);
  }

 private:
  KubernetesServer() = default;

  test::KubeCluster* cluster_ = nullptr;
  HttpsClients clients_;
};

Result<std::unique_ptr<Server>> start_server(Backend backend) {
  switch (backend) {
    case Backend::kInProcess: return EmbeddedServer::start(false);
    case Backend::kEmbeddedHttps: return EmbeddedServer::start(true);
    case Backend::kKubernetes: return KubernetesServer::start();
  }
  return error(Code::kInternal, "no such backend");
}

}  // namespace

std::string backend_name(const testing::TestParamInfo<Backend>& backend) {
  switch (backend.param) {
    case Backend::kInProcess: return "InProcess";
    case Backend::kEmbeddedHttps: return "EmbeddedHttps";
    case Backend::kKubernetes: return "Kubernetes";
  }
  return "Unknown";
}

Result<Server*> shared_server(Backend backend) {
  shared_runtime();  // made first, so that it outlives the servers
  static std::map<Backend, Result<std::unique_ptr<Server>>> servers;
  const auto found = servers.find(backend);
  const auto& started =
      found != servers.end() ? found->second : servers.emplace(backend, start_server(backend)).first->second;
  if (!started.ok()) return started.error();
  return started->get();
}

json::Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? *std::move(value) : json::Value(json::Object{});
}

std::vector<std::string> names(const std::vector<kube::Object>& objects) {
  std::vector<std::string> names;
  for (const kube::Object& object : objects) names.push_back(object.name());
  return names;
}

void ConformanceTest::SetUp() {
  const auto started = shared_server(GetParam());
  ASSERT_TRUE(started.ok()) << started.error().to_string();
  server_ = *started;
  static std::atomic<int> namespaces = 0;
  ns_ = fmt::format("c{}", ++namespaces);
  const kube::Resource& kind = kube::core::kNamespace;
  const auto created = api().create(kind, kube::Object(kind, {"", ns_}), {}, call());
  ASSERT_TRUE(created.ok()) << created.error().to_string();
}

runtime::Runtime& ConformanceTest::runtime() { return shared_runtime(); }

kube::ObjectKey ConformanceTest::key(const kube::Resource& resource, const std::string& name) const {
  return {resource.namespaced ? ns_ : "", name};
}

kube::Object ConformanceTest::make(const kube::Resource& resource, const std::string& name,
                                   std::string_view more) const {
  kube::Object object(resource, key(resource, name));
  const json::Value members = parsed(more);
  for (const auto& [member, value] : members.get_object()) {
    if (member != "metadata") {
      object.json().get_object()[member] = value;
      continue;
    }
    for (const auto& [field, field_value] : value.get_object()) {
      json::ensure(object.json(), {"metadata", field}) = field_value;
    }
  }
  return object;
}

kube::Object ConformanceTest::create(const kube::Resource& resource, const std::string& name, std::string_view more,
                                     std::source_location where) {
  return expect_ok(try_create(resource, make(resource, name, more)), where);
}

Result<kube::Object> ConformanceTest::try_create(const kube::Resource& resource, const kube::Object& object,
                                                 const kube::WriteOptions& options) {
  return api().create(resource, object, options, call());
}

Result<kube::Object> ConformanceTest::try_update(const kube::Resource& resource, const kube::Object& object,
                                                 const kube::WriteOptions& options) {
  return api().update(resource, object, options, call());
}

Result<kube::Object> ConformanceTest::try_get(const kube::Resource& resource, const std::string& name) {
  return api().get(resource, key(resource, name), call());
}

kube::Object ConformanceTest::get(const kube::Resource& resource, const std::string& name, std::source_location where) {
  return expect_ok(try_get(resource, name), where);
}

Result<kube::Object> ConformanceTest::try_patch(const kube::Resource& resource, const std::string& name,
                                                kube::PatchType type, std::string_view patch,
                                                const kube::WriteOptions& options) {
  return api().patch(resource, key(resource, name), type, parsed(patch), options, call());
}

Result<kube::Object> ConformanceTest::try_remove(const kube::Resource& resource, const std::string& name,
                                                 const kube::DeleteOptions& options) {
  return api().remove(resource, key(resource, name), options, call());
}

bool ConformanceTest::exists(const kube::Resource& resource, const std::string& name) {
  const auto found = try_get(resource, name);
  EXPECT_TRUE(found.ok() || found.error().code() == Code::kNotFound) << outcome(found);
  return found.ok();
}

std::vector<std::string> ConformanceTest::list_names(const kube::Resource& resource, const kube::ListOptions& options,
                                                     std::source_location where) {
  return names(expect_ok(api().list(resource, resource.namespaced ? ns_ : "", options, call()), where).items);
}

bool ConformanceTest::eventually(const std::function<bool()>& holds) {
  const runtime::TimePoint limit = runtime().now() + kPatience;
  while (!holds()) {
    if (runtime().now() >= limit || !runtime().sleep(kLookAgain, {}).ok()) return false;
  }
  return true;
}

void ConformanceTest::wait_until_pods_are_admitted() {
  if (!on_kubernetes()) return;
  const kube::Resource accounts{"", "v1", "ServiceAccount", "serviceaccounts", true};
  ASSERT_TRUE(eventually([&] { return exists(accounts, "default"); }));
}

kube::Object ConformanceTest::create_pod(const std::string& name, std::string_view more) {
  wait_until_pods_are_admitted();
  kube::Object pod =
      make(kube::core::kPod, name, R"({"spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]}})");
  const json::Value members = parsed(more);
  for (const auto& [member, value] : members.get_object()) {
    for (const auto& [field, field_value] : value.get_object()) json::ensure(pod.json(), {member, field}) = field_value;
  }
  return expect_ok(try_create(kube::core::kPod, pod));
}

}  // namespace strake::conformance
