#include "stub/identity/identity_effects.h"

#include <algorithm>

#include "api/kinds.h"
#include "api/roles.h"
#include "net/endpoint.h"
#include "net/http_client.h"
#include "net/url.h"

namespace strake::stub {

namespace {

constexpr std::size_t kSerialBytes = 16;
/// RFC 5280; a longer host name stays among the alternative names, which alone count.
constexpr std::size_t kMaxServingCommonName = 64;
constexpr std::string_view kServingCommonName = "system:machine-config-server";

std::string new_serial(Random& random) {
  std::string serial;
  serial.reserve(kSerialBytes);
  while (serial.size() < kSerialBytes) {
    std::uint64_t bits = random.next();
    for (int i = 0; i < 8; ++i, bits >>= 8) serial.push_back(static_cast<char>(bits & 0xff));
  }
  return serial;
}

Result<kube::ObjectPtr> get_if_there(kube::KubeApi& api, const kube::Resource& resource, const kube::ObjectKey& key,
                                     const kube::Call& call) {
  auto found = api.get(resource, key, call);
  if (found.ok()) return kube::ObjectPtr(std::make_shared<const kube::Object>(*std::move(found)));
  if (found.error().code() == Code::kNotFound) return kube::ObjectPtr();
  return Error(found.error()).context(fmt::format("reading {} {}", resource.kind, key.to_string()));
}

Result<kube::Object> put(kube::KubeApi& api, const kube::Resource& resource, const kube::ObjectPtr& present,
                         const kube::Object& wanted, const kube::Call& call) {
  // Without its version what is sent would be what the server has: the version is in `wanted`, which `present` was.
  return present ? api.update(resource, wanted, {}, call) : api.create(resource, wanted, {}, call);
}

Result<kube::Object> create_signer(kube::KubeApi& api, const IdentityAction& action, Random& random,
                                   const kube::Call& call) {
  STRAKE_TRY(net::PrivateKey key, net::PrivateKey::generate(action.keys));
  net::CaRequest request;
  request.common_name = signer_name(action.validity.not_before + kMachineClockSkew);
  request.validity = action.validity;
  request.serial = new_serial(random);
  request.may_vouch_for_cas = true;
  STRAKE_TRY(net::Certificate certificate, net::make_ca(key, request));
  kube::Object secret = with_certified_key(action.present.get(), action.name, CertifiedAs::kSigner,
                                           {{std::move(certificate)}, std::move(key)});
  for (const auto& [name, value] : action.annotations) secret.set_annotation(name, value);
  return put(api, kube::core::kSecret, action.present, secret, call);
}

/// The issuer once more, signed by the old authority: for who trusts only that.
Result<net::Certificate> vouched_for(const CertifiedKey& issuer, const IdentityAction& action, Random& random) {
  STRAKE_TRY(const CertifiedKey old, read_certified_key(*action.old_issuer));
  net::Validity validity = action.validity;
  for (const net::Certificate* certificate : {&issuer.certificate(), &old.certificate()}) {
    validity.not_before = std::max(validity.not_before, certificate->info().not_before);
    validity.not_after = std::min(validity.not_after, certificate->info().not_after);
  }
  return net::cross_sign(old.certificate(), old.key, issuer.certificate(), validity, new_serial(random));
}

/// Before anything is written: a mistake here would cut machines off.
Status accepted_by(const CertifiedKey& pair, const net::Certificate& authority) {
  const auto at = std::max(pair.certificate().info().not_before, authority.info().not_before);
  return net::verify_chain(pair.certificate(), pair.chain, {&authority, 1}, at, net::CertificatePurpose::kServer);
}

Result<kube::Object> create_serving(kube::KubeApi& api, const IdentityAction& action, Random& random,
                                    const kube::Call& call) {
  STRAKE_TRY(const CertifiedKey issuer, read_certified_key(*action.issuer));
  STRAKE_TRY(net::PrivateKey key, net::PrivateKey::generate(action.keys));
  net::LeafRequest request;
  request.common_name =
      action.hosts.front().size() <= kMaxServingCommonName ? action.hosts.front() : std::string(kServingCommonName);
  for (const std::string& host : action.hosts) {
    (is_ip_address(host) ? request.ip_addresses : request.dns_names).push_back(host);
  }
  request.server_auth = true;
  request.validity = action.validity;
  request.serial = new_serial(random);
  STRAKE_TRY(net::Certificate certificate, net::issue(issuer.certificate(), issuer.key, key, request));
  CertifiedKey pair{{std::move(certificate)}, std::move(key)};
  if (action.old_issuer) {
    STRAKE_TRY(net::Certificate second, vouched_for(issuer, action, random));
    pair.chain.push_back(std::move(second));
  } else {
    pair.chain.push_back(issuer.certificate());
  }
  for (const net::Certificate& authority : action.must_accept) {
    STRAKE_CHECK_OK(accepted_by(pair, authority).context("the new certificate would not be accepted by all machines"));
  }
  return put(api, kube::core::kSecret, action.present,
             with_certified_key(action.present.get(), api::serving_object::kIdentity, CertifiedAs::kServing, pair),
             call);
}

Result<kube::Object> remove_exactly(kube::KubeApi& api, const kube::Object& secret, const kube::Call& call) {
  kube::DeleteOptions exactly_this;
  exactly_this.uid = secret.uid();
  exactly_this.resource_version = secret.resource_version();
  auto removed = api.remove(kube::core::kSecret, secret.key(), exactly_this, call);
  if (!removed.ok() && removed.error().code() == Code::kNotFound) return secret;
  return removed;
}

Result<kube::Object> carry_out_one(kube::KubeApi& api, const IdentityAction& action, Random& random,
                                   const kube::Call& call) {
  switch (action.step) {
    case IdentityStep::kMakeSigner: return create_signer(api, action, random, call);
    case IdentityStep::kIssueServing: return create_serving(api, action, random, call);
    case IdentityStep::kWriteBundle: return put(api, kube::core::kConfigMap, action.present, *action.wanted, call);
    case IdentityStep::kWriteStub:
    case IdentityStep::kWriteTrust:
    case IdentityStep::kRecord:
    case IdentityStep::kDropOld:
    case IdentityStep::kPromote: return put(api, kube::core::kSecret, action.present, *action.wanted, call);
    case IdentityStep::kRemoveStub:
    case IdentityStep::kRemoveNext: return remove_exactly(api, *action.present, call);
  }
  return error(Code::kInternal, "an unknown step");
}

const kube::Resource kClusterApiKinds[] = {
    {"cluster.x-k8s.io", "v1beta1", "Machine", "machines", true},
    {"cluster.x-k8s.io", "v1beta1", "MachineSet", "machinesets", true},
    {"cluster.x-k8s.io", "v1beta1", "MachineDeployment", "machinedeployments", true},
};
/// What is read here is the same in both; the first one leaves the clusters in time.
constexpr std::string_view kNewerClusterApi = "v1beta2";

/// The Machine API's, and those that Cluster API objects live in.
std::vector<std::string> namespaces_of(const std::vector<kube::ObjectPtr>& cluster_api) {
  std::vector<std::string> namespaces{std::string(api::kMachineApiNamespace)};
  for (const kube::ObjectPtr& object : cluster_api) {
    if (std::ranges::find(namespaces, object->ns()) == namespaces.end()) namespaces.push_back(object->ns());
  }
  return namespaces;
}

/// Somebody else may be at work between two reads. So what is written is read before what decides about it: stubs, then
/// the bundle, then the certificate, then the authorities; a stale one then cannot be written. And the next authority
/// is read before the present one, because it becomes that one before it goes: never a look at which the old authority
/// seems to be all there is.
Status read_authorities(kube::KubeApi& api, IdentityInput& input, const kube::Call& call) {
  const std::string ns(api::kMachineConfigNamespace);
  const auto secret = [&](std::string_view name) {
    return get_if_there(api, kube::core::kSecret, {ns, std::string(name)}, call);
  };
  STRAKE_TRY(input.bundle,
             get_if_there(api, kube::core::kConfigMap, {ns, std::string(identity_object::kBundle)}, call));
  STRAKE_TRY(input.serving, secret(api::serving_object::kIdentity));
  STRAKE_TRY(input.next_signer, secret(identity_object::kNextSigner));
  STRAKE_TRY(input.signer, secret(identity_object::kSigner));
  return {};
}

}  // namespace

Result<StubObjects> read_stub_objects(kube::KubeApi& api, const kube::Call& call) {
  StubObjects objects;
  STRAKE_TRY(objects.machine_sets, list_where_there(api, api::kMachineSet, "", call));
  STRAKE_TRY(objects.control_plane_machine_sets, list_where_there(api, api::kControlPlaneMachineSet, "", call));
  STRAKE_TRY(objects.machines, list_where_there(api, api::kMachine, "", call));
  for (const kube::Resource& kind : kClusterApiKinds) {
    STRAKE_TRY(auto list, list_where_there(api, kind, "", call));
    if (list.empty()) {
      kube::Resource newer = kind;
      newer.version = kNewerClusterApi;
      STRAKE_TRY(list, list_where_there(api, newer, "", call));
    }
    objects.cluster_api.insert(objects.cluster_api.end(), list.begin(), list.end());
  }
  for (const std::string& ns : namespaces_of(objects.cluster_api)) {
    STRAKE_TRY_CONTEXT(const auto secrets, list_where_there(api, kube::core::kSecret, ns, call), "namespace {}", ns);
    objects.secrets.insert(objects.secrets.end(), secrets.begin(), secrets.end());
  }
  return objects;
}

Status read_rotation(kube::KubeApi& api, IdentityInput& input, const kube::Call& call) {
  STRAKE_TRY(StubObjects objects, read_stub_objects(api, call));
  input.stubs = find_stubs(objects);
  input.machines = std::move(objects.machines);
  for (const kube::ObjectPtr& object : objects.cluster_api) {
    if (object->kind() == "Machine") input.machines.push_back(object);
  }
  input.stub_secrets = std::move(objects.secrets);
  return read_authorities(api, input, call);
}

Status shake_hands(const Handshake& handshake, const std::string& connect, const kube::Call& call) {
  STRAKE_TRY(const net::Url url, net::parse_url(handshake.url));
  for (const std::string& authorities : handshake.ca_pems) {
    net::ClientOptions options;
    options.ca_pem = authorities;
    options.proxy = net::ProxySettings{};
    if (!connect.empty()) {
      options.known_addresses[net::Endpoint{url.host, url.effective_port()}.to_string()] = connect;
    }
    STRAKE_TRY(const net::HttpClient client, net::HttpClient::create(options));
    const auto answer = client.send({"GET", handshake.url + "/healthz", {}, {}},
                                    {.timeout = std::chrono::seconds(10), .idle_timeout = {}, .stop = call.stop});
    if (!answer.ok()) return Error(answer.error()).context(fmt::format("asking {}", handshake.url));
  }
  return {};
}

Result<std::vector<kube::ObjectPtr>> list_where_there(kube::KubeApi& api, const kube::Resource& resource,
                                                      const std::string& ns, const kube::Call& call) {
  std::vector<kube::ObjectPtr> objects;
  kube::ListOptions options;
  options.limit = 500;
  do {
    auto page = api.list(resource, ns, options, call);
    if (!page.ok() && page.error().code() == Code::kNotFound) return objects;
    if (!page.ok()) return page.error();  // says itself what was listed
    for (kube::Object& object : page->items) {
      // Items of a list need not say what they are.
      object.json().as_object()["kind"] = resource.kind;
      object.json().as_object()["apiVersion"] = resource.api_version();
      objects.push_back(std::make_shared<const kube::Object>(std::move(object)));
    }
    options.continue_token = page->continue_token;
  } while (!options.continue_token.empty());
  return objects;
}

Result<IdentityInput> read_identity(kube::KubeApi& api, const std::optional<ConfigServerPlace>& fallback,
                                    std::chrono::sys_seconds now, const kube::Call& call) {
  IdentityInput input;
  input.now = now;
  STRAKE_TRY(input.strake_config,
             get_if_there(api, api::kStrakeConfig, {"", std::string(api::kStrakeConfigName)}, call));
  STRAKE_TRY(const auto infrastructure,
             get_if_there(api, api::kInfrastructure, {"", std::string(api::kInfrastructureName)}, call));
  auto place = place_of(input.strake_config.get(), infrastructure.get());
  if (!place.ok()) {
    input.place_problem = place.error().to_string();
  } else {
    input.place = *place ? *std::move(place) : fallback;
  }
  STRAKE_TRY(input.pools, list_where_there(api, api::kMachineConfigPool, "", call));
  STRAKE_TRY(input.stub_secrets,
             list_where_there(api, kube::core::kSecret, std::string(api::kMachineApiNamespace), call));
  StubObjects by_name;
  by_name.secrets = input.stub_secrets;
  input.stubs = find_stubs(by_name);
  STRAKE_CHECK_OK(read_authorities(api, input, call));
  return input;
}

Result<kube::Object> carry_out(kube::KubeApi& api, const IdentityAction& action, Random& random,
                               const kube::Call& call) {
  return carry_out_one(api, action, random, call).context("trying to {}", action.what);
}

}  // namespace strake::stub
