#include <algorithm>
#include <map>

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "codec/base64.h"
#include "codec/json_patch.h"
#include "stub/identity/understood.h"
#include "stub/managed_stub.h"

namespace strake::stub {

namespace {

kube::ObjectPtr stub_secret(const IdentityInput& input, const kube::ObjectKey& key) {
  const auto found = std::ranges::find(input.stub_secrets, key, [](const kube::ObjectPtr& one) { return one->key(); });
  return found == input.stub_secrets.end() ? nullptr : *found;
}

void plan_stub_of(const IdentityInput& input, const kube::Object& pool, const std::string& trusted_pem,
                  IdentityPlan& plan) {
  const std::string name = managed_stub_name(pool.name());
  const kube::ObjectPtr present = stub_secret(input, {std::string(api::kMachineApiNamespace), name});
  ManagedStub stub{input.place->url, pool.name(), trusted_pem, std::nullopt};
  // A token of the stub stays; whoever renews tokens puts the next one here.
  if (present) stub.headers = headers_of(*present);
  auto wanted = managed_stub_secret(pool, stub, present.get());
  if (!wanted.ok()) {
    plan.problems.push_back({fmt::format("Secret {}", name), "it is not Strake's",
                             fmt::format("rename it, or give it the label {}", api::label::kManagedStub)});
    return;
  }
  if (present && json::same_value(present->json(), wanted->json())) return;
  IdentityAction action;
  action.step = IdentityStep::kWriteStub;
  action.what = fmt::format("write the stub of pool {}", pool.name());
  action.present = present;
  action.wanted = *std::move(wanted);
  action.name = name;
  plan.actions.push_back(std::move(action));
}

/// A stub of ours: the platform's label, and a pool as its owner.
bool is_managed_stub(const kube::Object& secret) {
  return secret.label(api::label::kManagedStub) && !pool_of_managed_stub(secret.name()).empty() &&
         std::ranges::any_of(secret.owners(), [](const kube::OwnerReference& owner) {
           return owner.kind == api::kMachineConfigPool.kind;
         });
}

bool points_at(const Stub& stub, const ConfigServerPlace& place) {
  return std::ranges::any_of(stub.pointers, [&](const Pointer& pointer) {
    return !pointer.pool.empty() && std::ranges::find(place.hosts, pointer.host) != place.hosts.end();
  });
}

}  // namespace

void plan_managed_stubs(const IdentityInput& input, const std::vector<net::Certificate>& trusted, IdentityPlan& plan) {
  const std::string trusted_pem = net::to_pem(trusted);
  for (const kube::ObjectPtr& pool : input.pools) {
    if (!pool->deleting()) plan_stub_of(input, *pool, trusted_pem, plan);
  }
  for (const kube::ObjectPtr& secret : input.stub_secrets) {
    if (!is_managed_stub(*secret) || secret->deleting()) continue;
    const std::string pool = pool_of_managed_stub(secret->name());
    if (std::ranges::any_of(input.pools, [&](const kube::ObjectPtr& one) { return one->name() == pool; })) continue;
    IdentityAction action;
    action.step = IdentityStep::kRemoveStub;
    action.what = fmt::format("remove the stub of pool {}, which is gone", pool);
    action.present = secret;
    action.name = secret->name();
    plan.actions.push_back(std::move(action));
  }
}

std::vector<UnderstoodStub> understand_stubs(const IdentityInput& input) {
  std::vector<UnderstoodStub> stubs;
  stubs.reserve(input.stubs.size());
  std::map<kube::ObjectKey, kube::ObjectPtr> secrets;
  for (const kube::ObjectPtr& secret : input.stub_secrets) secrets.emplace(secret->key(), secret);
  for (const FoundStub& found : input.stubs) {
    const auto secret = secrets.find({found.ns, found.secret});
    // One that is named and not there holds no authority.
    if (secret == secrets.end() || is_managed_stub(*secret->second)) continue;
    stubs.push_back(
        {&found, secret->second,
         found.problem.empty() ? read_stub(found.bytes) : Result<Stub>(Error(Code::kInvalidArgument, found.problem))});
  }
  return stubs;
}

Result<IdentityAction> trust_action(const UnderstoodStub& stub, const TrustChange& change) {
  STRAKE_TRY(const std::string text, with_trust(stub.found->bytes, change));
  IdentityAction action;
  action.step = IdentityStep::kWriteTrust;
  action.what = fmt::format("write whom the stub {} trusts", stub.name());
  action.present = stub.secret;
  action.name = stub.found->secret;
  action.wanted = *action.present;
  json::ensure(action.wanted->json(), {"data", stub.found->key}) = codec::encode_base64(text);
  return action;
}

void plan_untrusting_stubs(const IdentityInput& input, const UnderstoodIdentity& understood, IdentityPlan& plan) {
  if (!understood.signer || !understood.serving) return;
  const CertifiedKey& serving = *understood.serving;
  for (const UnderstoodStub& stub : understand_stubs(input)) {
    if (!stub.stub.ok() || !points_at(*stub.stub, *input.place)) continue;
    const std::vector<net::Certificate> trusted = stub.stub->trusted();
    if (net::verify_chain(serving.certificate(), serving.chain, trusted, input.now, net::CertificatePurpose::kServer)
            .ok()) {
      continue;
    }
    // One that cannot be changed with certainty is left to `strake certs check`, which names it.
    auto action = trust_action(stub, {{understood.signer->certificate()}, {}});
    if (action.ok()) plan.actions.push_back(*std::move(action));
  }
}

}  // namespace strake::stub
