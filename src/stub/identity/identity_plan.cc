#include "stub/identity/identity_plan.h"

#include <algorithm>

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "api/roles.h"
#include "base/time.h"
#include "codec/json_patch.h"
#include "stub/managed_stub.h"

namespace strake::stub {

namespace {

/// A certificate that would end hardly later than the present one is not worth a change.
constexpr std::chrono::hours kWorthRenewing{24};

constexpr std::string_view kSignerWords = "Secret machine-config-server-ca";
constexpr std::string_view kBundleWords = "ConfigMap machine-config-server-ca";
constexpr std::string_view kServingWords = "Secret machine-config-server-tls";

/// The objects, understood. nullopt: not there.
struct Understood {
  std::optional<CertifiedKey> signer;
  std::optional<std::vector<net::Certificate>> bundle;
  std::optional<CertifiedKey> serving;
};

/// One that cannot be read is a problem, and nothing is planned about it.
bool understand(const IdentityInput& input, Understood& understood, IdentityPlan& plan) {
  const auto refuse = [&](std::string_view object, const Error& error, std::string next) {
    plan.problems.push_back({std::string(object), error.to_string(), std::move(next)});
  };
  if (input.signer) {
    auto pair = read_certified_key(*input.signer);
    if (pair.ok()) {
      understood.signer = *std::move(pair);
    } else {
      refuse(kSignerWords, pair.error(),
             "put the authority's certificate and key back from a backup; without one, remove the Secret, run `strake "
             "certs rotate`, and replace the stubs outside the cluster");
    }
  }
  if (input.bundle) {
    auto bundle = read_bundle(*input.bundle);
    if (bundle.ok()) {
      understood.bundle = *std::move(bundle);
    } else {
      refuse(kBundleWords, bundle.error(), "correct the text, or remove the ConfigMap: it is made again");
    }
  }
  if (input.serving) {
    auto pair = read_certified_key(*input.serving);
    if (pair.ok()) {
      understood.serving = *std::move(pair);
    } else {
      refuse(kServingWords, pair.error(), "correct it, or remove the Secret: a new certificate is issued");
    }
  }
  return plan.problems.empty();
}

net::Validity lifetime_from(std::chrono::sys_seconds now, std::chrono::seconds lifetime) {
  return {now - kMachineClockSkew, now + lifetime};
}

IdentityAction make_signer(const IdentityInput& input, std::string_view name) {
  IdentityAction action;
  action.step = IdentityStep::kMakeSigner;
  action.what = fmt::format("make the authority {}", name);
  action.name = name;
  action.keys = input.policy.keys;
  action.validity = lifetime_from(input.now, input.policy.signer_lifetime);
  return action;
}

IdentityAction write_bundle(const IdentityInput& input, const std::vector<net::Certificate>& trusted) {
  IdentityAction action;
  action.step = IdentityStep::kWriteBundle;
  action.what = fmt::format("write whom machines trust: {} authorities", trusted.size());
  action.present = input.bundle;
  action.wanted = with_bundle(input.bundle.get(), trusted);
  return action;
}

IdentityAction issue_serving(const IdentityInput& input, const CertifiedKey& signer, std::string why) {
  IdentityAction action;
  action.step = IdentityStep::kIssueServing;
  action.what =
      fmt::format("issue the server's certificate for {}: {}", fmt::join(input.place->hosts, ", "), std::move(why));
  action.present = input.serving;
  action.hosts = input.place->hosts;
  action.issuer = input.signer;
  action.keys = input.policy.keys;
  action.validity = lifetime_from(input.now, input.policy.serving_lifetime);
  action.validity.not_after = std::min(action.validity.not_after, signer.certificate().info().not_after);
  action.validity.not_before = std::max(action.validity.not_before, signer.certificate().info().not_before);
  return action;
}

/// Why the server needs another certificate of the same authority; "" when it does not.
std::string why_reissue(const IdentityInput& input, const CertifiedKey& signer, const CertifiedKey& serving) {
  const net::CertificateInfo& info = serving.certificate().info();
  const std::vector<std::string> hosts = hosts_of(serving.certificate());
  if (hosts != input.place->hosts) {
    return fmt::format("the present one is for {}",
                       hosts.empty() ? "no host at all" : fmt::format("{}", fmt::join(hosts, ", ")));
  }
  const auto could_end = std::min(input.now + input.policy.serving_lifetime, signer.certificate().info().not_after);
  if (input.now >= due_at(serving.certificate()) && could_end > info.not_after + kWorthRenewing) {
    return fmt::format("the present one ends {}", format_rfc3339(info.not_after));
  }
  return "";
}

void plan_serving(const IdentityInput& input, const Understood& understood, IdentityPlan& plan) {
  const CertifiedKey& signer = *understood.signer;
  if (!understood.serving) {
    plan.actions.push_back(issue_serving(input, signer, "there is none"));
    return;
  }
  if (!is_issued_by(understood.serving->certificate(), signer.certificate())) {
    plan.problems.push_back({std::string(kServingWords),
                             fmt::format("the certificate was issued by '{}', not by the authority in {}",
                                         understood.serving->certificate().info().issuer, kSignerWords),
                             "run `strake certs rotate`, which replaces it without cutting a machine off"});
    return;
  }
  if (std::string why = why_reissue(input, signer, *understood.serving); !why.empty()) {
    plan.actions.push_back(issue_serving(input, signer, std::move(why)));
  }
}

void plan_authority(const IdentityInput& input, const Understood& understood, IdentityPlan& plan) {
  if (!understood.signer) {
    if (!understood.serving) {
      plan.actions.push_back(make_signer(input, identity_object::kSigner));
      return;
    }
    plan.problems.push_back({std::string(kServingWords),
                             fmt::format("its authority '{}' is not here: there is no {}",
                                         understood.serving->certificate().info().issuer, kSignerWords),
                             "run `strake certs rotate`, which replaces it without cutting a machine off"});
    return;
  }
  const net::CertificateInfo& signer = understood.signer->certificate().info();
  if (signer.not_after <= input.now || !signer.is_ca) {
    plan.problems.push_back({std::string(kSignerWords),
                             signer.is_ca ? fmt::format("the authority ended {}", format_rfc3339(signer.not_after))
                                          : "the certificate is not that of an authority",
                             "run `strake certs rotate`: no certificate it issues is accepted any more"});
    return;
  }
  if (!understood.bundle || !contains(*understood.bundle, understood.signer->certificate())) {
    std::vector<net::Certificate> trusted{understood.signer->certificate()};
    // Who is trusted beside it stays: a certificate in use may come from there.
    if (understood.bundle) trusted.insert(trusted.end(), understood.bundle->begin(), understood.bundle->end());
    plan.actions.push_back(write_bundle(input, trusted));
  }
  plan_serving(input, understood, plan);
}

kube::ObjectPtr stub_secret_named(const IdentityInput& input, const std::string& name) {
  const auto found =
      std::ranges::find(input.stub_secrets, name, [](const kube::ObjectPtr& one) { return one->name(); });
  return found == input.stub_secrets.end() ? nullptr : *found;
}

void plan_stub_of(const IdentityInput& input, const kube::Object& pool, const std::string& trusted_pem,
                  IdentityPlan& plan) {
  const std::string name = managed_stub_name(pool.name());
  const kube::ObjectPtr present = stub_secret_named(input, name);
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

void plan_stubs(const IdentityInput& input, const std::vector<net::Certificate>& trusted, IdentityPlan& plan) {
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

}  // namespace

IdentityPlan plan_identity(const IdentityInput& input) {
  IdentityPlan plan;
  Understood understood;
  const bool readable = understand(input, understood, plan);
  if (understood.signer) plan.signer_ends = understood.signer->certificate().info().not_after;
  if (understood.serving) plan.serving_ends = understood.serving->certificate().info().not_after;
  plan.configured = input.place.has_value();
  if (!plan.configured) {
    plan.problems.clear();  // not ours to look after
    if (!input.place_problem.empty()) {
      plan.problems.push_back({"StrakeConfig cluster", input.place_problem, "correct spec.configServer"});
    }
    return plan;
  }
  if (readable) plan_authority(input, understood, plan);
  // A stub is written once, with the bundle that stays.
  const bool bundle_settled = std::ranges::none_of(plan.actions, [](const IdentityAction& action) {
    return action.step == IdentityStep::kMakeSigner || action.step == IdentityStep::kWriteBundle;
  });
  if (understood.bundle && bundle_settled) plan_stubs(input, *understood.bundle, plan);
  return plan;
}

std::string_view to_string(IdentityStep step) {
  switch (step) {
    case IdentityStep::kMakeSigner: return "make-signer";
    case IdentityStep::kWriteBundle: return "write-bundle";
    case IdentityStep::kIssueServing: return "issue-serving";
    case IdentityStep::kWriteStub: return "write-stub";
    case IdentityStep::kRemoveStub: return "remove-stub";
  }
  return "write-bundle";
}

std::string IdentityProblem::to_string() const { return fmt::format("{}: {}; {}", object, what, next); }

std::chrono::sys_seconds due_at(const net::Certificate& certificate) {
  const net::CertificateInfo& info = certificate.info();
  return info.not_before + (info.not_after - info.not_before) * 8 / 10;
}

}  // namespace strake::stub
