#include "cmd/input/stub_input.h"

#include <algorithm>

#include "api/kinds.h"
#include "api/roles.h"
#include "base/text.h"
#include "base/visible_text.h"
#include "cmd/input/text_input.h"
#include "codec/base64.h"
#include "stub/access_store.h"
#include "stub/identity/identity_effects.h"

namespace strake::cmd {

namespace {

constexpr std::size_t kMaxSecretName = 253;
constexpr std::size_t kMaxStubBytes = std::size_t{64} << 20;

Status read_server(kube::KubeApi& api, ClusterStubs& cluster, const kube::Call& call) {
  const kube::ObjectKey key{std::string(api::kMachineConfigNamespace), std::string(api::serving_object::kIdentity)};
  const auto secret = api.get(kube::core::kSecret, key, call);
  if (!secret.ok() && secret.error().code() == Code::kNotFound) return {};
  if (!secret.ok()) return Error(secret.error()).context(fmt::format("reading Secret {}", key.to_string()));
  const auto certificate = codec::decode_base64(secret->text({"data", "tls.crt"}));
  const auto key_pem = codec::decode_base64(secret->text({"data", "tls.key"}));
  auto chain = net::parse_bundle(certificate.ok() ? *certificate : "");
  if (!chain.ok()) {
    cluster.server_problem = fmt::format("tls.crt: {}", chain.error().to_string());
    return {};
  }
  const auto private_key = net::PrivateKey::from_pem(key_pem.ok() ? *key_pem : "");
  if (!private_key.ok()) {
    cluster.server_problem = "tls.key: no private key";
  } else if (!net::check_key_matches(chain->front(), *private_key).ok()) {
    cluster.server_problem = "tls.key is not the key of tls.crt";
  }
  cluster.server.chain = *std::move(chain);
  return {};
}

Status read_who_may_ask(kube::KubeApi& api, ClusterStubs& cluster, const kube::Call& call) {
  auto access = stub::load_access(api, call);
  if (access.ok()) {
    cluster.access = *std::move(access);
  } else if (access.error().code() == Code::kCorrupt || access.error().code() == Code::kExhausted) {
    cluster.access_problem = access.error().to_string();
  } else {
    return std::move(access).error();
  }
  STRAKE_TRY(cluster.callers, read_callers(api, call));
  cluster.uses = stub::uses_of(cluster.callers);
  return {};
}

Result<stub::Stub> read_found(const stub::FoundStub& found) {
  if (!found.problem.empty()) return Error(Code::kInvalidArgument, found.problem);
  return stub::read_stub(found.bytes);
}

}  // namespace

Result<stub::CallerPages> read_callers(kube::KubeApi& api, const kube::Call& call) {
  const kube::ObjectKey key = stub::callers_key();
  const auto told = api.get(kube::core::kConfigMap, key, call);
  if (told.ok()) return stub::read_pages(*told);
  if (told.error().code() == Code::kNotFound) return stub::CallerPages{};
  return Error(told.error()).context(fmt::format("reading ConfigMap {}", key.to_string()));
}

Result<ClusterStubs> read_cluster_stubs(kube::KubeApi& api, const kube::Call& call) {
  ClusterStubs cluster;
  STRAKE_TRY(stub::StubObjects objects, stub::read_stub_objects(api, call));
  STRAKE_TRY(const auto pools, stub::list_where_there(api, api::kMachineConfigPool, "", call));
  for (const kube::ObjectPtr& pool : pools) cluster.pools.push_back(pool->name());
  STRAKE_CHECK_OK(read_server(api, cluster, call));
  STRAKE_CHECK_OK(read_who_may_ask(api, cluster, call));
  for (stub::FoundStub& found : stub::find_stubs(objects)) {
    auto stub = read_found(found);
    // A machine set may name anything; what is longer than a Secret's name is none.
    std::string name = fmt::format("{}/{}", found.ns, clip_utf8(found.secret, kMaxSecretName));
    cluster.stubs.push_back({std::move(name), std::move(found), std::move(stub)});
  }
  cluster.machine_sets = std::move(objects.machine_sets);
  cluster.machine_sets.insert(cluster.machine_sets.end(), objects.control_plane_machine_sets.begin(),
                              objects.control_plane_machine_sets.end());
  return cluster;
}

Result<NamedStub> read_stub_file(const std::string& path) {
  stub::FoundStub found;
  STRAKE_TRY(found.bytes, read_text_input(path, kMaxStubBytes));
  auto stub = read_found(found);
  return NamedStub{shown_path(path), std::move(found), std::move(stub)};
}

Result<std::vector<NamedStub>> chosen_stubs(std::vector<NamedStub> all, const std::vector<std::string>& names) {
  if (names.empty()) return all;
  std::vector<NamedStub> chosen;
  for (const std::string& name : names) {
    const auto is_meant = [&](const NamedStub& stub) { return stub.name == name || stub.found.secret == name; };
    const auto found = std::ranges::find_if(all, is_meant);
    if (found == all.end()) {
      return error(Code::kNotFound, "there is no stub '{}'; `strake stub list` shows those there are",
                   visible_text(name))
          .with_verdict(Verdict::kAbsent);
    }
    // A guess could change the machines of another cluster.
    const auto another = std::find_if(found + 1, all.end(), is_meant);
    if (another != all.end() && found->found.ns != another->found.ns) {
      return error(Code::kInvalidArgument, "'{}' may be {} or {}; write the namespace with it", name, found->name,
                   another->name);
    }
    chosen.push_back(*found);
  }
  return chosen;
}

}  // namespace strake::cmd
