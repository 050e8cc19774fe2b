#include "stub/identity/identity_plan.h"

#include <algorithm>

#include "base/time.h"
#include "stub/check.h"
#include "stub/identity/understood.h"

namespace strake::stub {

namespace {

/// A certificate that would end hardly later than the present one is not worth a change.
constexpr std::chrono::hours kWorthRenewing{24};

/// One that cannot be read is a problem, and nothing is planned about it.
bool understand(const IdentityInput& input, UnderstoodIdentity& understood, IdentityPlan& plan) {
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
  if (input.next_signer) {
    auto pair = read_certified_key(*input.next_signer);
    if (pair.ok()) {
      understood.next = *std::move(pair);
    } else {
      refuse(kNextSignerWords, pair.error(),
             "remove the Secret: a rotation that has not changed the server's certificate begins anew");
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

void plan_serving(const IdentityInput& input, const UnderstoodIdentity& understood, IdentityPlan& plan) {
  const CertifiedKey& signer = *understood.signer;
  if (!understood.serving) {
    plan.actions.push_back(serving_action(input, input.signer, signer, "there is none"));
    return;
  }
  if (!is_issued_by(understood.serving->certificate(), signer.certificate())) {
    plan.problems.push_back({std::string(kServingWords),
                             fmt::format("the certificate was issued by '{}', not by the authority in {}",
                                         understood.serving->certificate().info().issuer, kSignerWords),
                             "run `strake certs rotate`, which replaces it without cutting a machine off"});
    return;
  }
  if (const std::string why = why_reissue(input, signer, *understood.serving); !why.empty()) {
    plan.actions.push_back(serving_action(input, input.signer, signer, why));
  }
}

void plan_authority(const IdentityInput& input, const UnderstoodIdentity& understood, IdentityPlan& plan) {
  if (!understood.signer) {
    if (!understood.serving) {
      plan.actions.push_back(signer_action(input, identity_object::kSigner));
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
    plan.actions.push_back(bundle_action(input, trusted));
  }
  plan_serving(input, understood, plan);
}

/// What ends soon although it should have been replaced by now.
void plan_end(const IdentityInput& input, const UnderstoodIdentity& understood, IdentityPlan& plan) {
  if (!plan.problems.empty() || !plan.actions.empty()) return;
  const std::pair<const std::optional<CertifiedKey>&, std::string_view> both[] = {{understood.signer, kSignerWords},
                                                                                  {understood.serving, kServingWords}};
  for (const auto& [pair, words] : both) {
    if (!pair) continue;
    const net::CertificateInfo& info = pair->certificate().info();
    const auto soon = std::min<std::chrono::seconds>(kEndsSoon, (info.not_after - info.not_before) / 10);
    if (info.not_after - input.now > soon) continue;
    plan.problems.push_back({std::string(words), fmt::format("the certificate ends {}", format_rfc3339(info.not_after)),
                             "run `strake certs rotate`, which says what stands in the way"});
  }
}

void plan_rotation_or_start(const IdentityInput& input, const UnderstoodIdentity& understood, IdentityPlan& plan) {
  if (understood.next) return plan_rotation(input, understood, plan);
  plan_authority(input, understood, plan);
  if (!plan.actions.empty()) return;
  if (input.rotate == RotateWhen::kNow && understood.serving) {
    plan.problems.clear();  // a foreign or ended authority is what a rotation is for
    plan_rotation_start(input, understood, plan);
  } else if (input.rotate == RotateWhen::kWhenDue && plan.problems.empty() &&
             input.now >= due_at(understood.signer->certificate())) {
    plan_rotation_start(input, understood, plan);
  }
}

void note_ends(const UnderstoodIdentity& understood, IdentityPlan& plan) {
  if (understood.serving) plan.serving_ends = understood.serving->certificate().info().not_after;
  if (!understood.signer) return;
  const net::Certificate& signer = understood.signer->certificate();
  plan.signer_ends = signer.info().not_after;
  plan.signer_made = signer.info().not_before + kMachineClockSkew;
  plan.rotation_due = due_at(signer);
}

}  // namespace

IdentityPlan plan_identity(const IdentityInput& input) {
  IdentityPlan plan;
  UnderstoodIdentity understood;
  const bool readable = understand(input, understood, plan);
  note_ends(understood, plan);
  plan.configured = input.place.has_value();
  if (!plan.configured) {
    plan.problems.clear();  // not ours to look after
    if (!input.place_problem.empty()) {
      plan.problems.push_back({"StrakeConfig cluster", input.place_problem, "correct spec.configServer"});
    }
    return plan;
  }
  if (readable) plan_rotation_or_start(input, understood, plan);
  if (!understood.next && understood.bundle && plan.actions.empty()) {
    plan_managed_stubs(input, *understood.bundle, plan);
    if (readable && plan.problems.empty()) plan_untrusting_stubs(input, understood, plan);
  }
  if (readable) plan_end(input, understood, plan);
  return plan;
}

IdentityAction signer_action(const IdentityInput& input, std::string_view name) {
  IdentityAction action;
  action.step = IdentityStep::kMakeSigner;
  action.what = fmt::format("make the authority in Secret {}", name);
  action.name = name;
  action.keys = input.policy.keys;
  action.validity = lifetime_from(input.now, input.policy.signer_lifetime);
  return action;
}

IdentityAction bundle_action(const IdentityInput& input, const std::vector<net::Certificate>& trusted) {
  IdentityAction action;
  action.step = IdentityStep::kWriteBundle;
  action.what = fmt::format("write whom machines trust: {}",
                            trusted.size() == 1 ? "one authority" : fmt::format("{} authorities", trusted.size()));
  action.present = input.bundle;
  action.wanted = with_bundle(input.bundle.get(), trusted);
  return action;
}

IdentityAction serving_action(const IdentityInput& input, const kube::ObjectPtr& issuer, const CertifiedKey& signer,
                              const std::string& why) {
  IdentityAction action;
  action.step = IdentityStep::kIssueServing;
  action.what = fmt::format("issue the server's certificate for {}: {}", fmt::join(input.place->hosts, ", "), why);
  action.present = input.serving;
  action.hosts = input.place->hosts;
  action.issuer = issuer;
  action.keys = input.policy.keys;
  action.validity = lifetime_from(input.now, input.policy.serving_lifetime);
  action.validity.not_after = std::min(action.validity.not_after, signer.certificate().info().not_after);
  action.validity.not_before = std::max(action.validity.not_before, signer.certificate().info().not_before);
  return action;
}

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

std::string_view to_string(IdentityStep step) {
  switch (step) {
    case IdentityStep::kMakeSigner: return "make-signer";
    case IdentityStep::kWriteBundle: return "write-bundle";
    case IdentityStep::kIssueServing: return "issue-serving";
    case IdentityStep::kWriteStub: return "write-stub";
    case IdentityStep::kRemoveStub: return "remove-stub";
    case IdentityStep::kWriteTrust: return "write-trust";
    case IdentityStep::kRecord: return "record";
    case IdentityStep::kDropOld: return "drop-old";
    case IdentityStep::kPromote: return "promote";
    case IdentityStep::kRemoveNext: return "remove-next";
  }
  return "write-bundle";
}

std::string_view to_string(RotationStage stage) {
  switch (stage) {
    case RotationStage::kNone: return "none";
    case RotationStage::kTrustBoth: return "trust-both";
    case RotationStage::kMachines: return "machines";
    case RotationStage::kServe: return "serve";
    case RotationStage::kVerify: return "verify";
    case RotationStage::kKeepOld: return "keep-old";
    case RotationStage::kRetire: return "retire";
  }
  return "none";
}

std::string IdentityProblem::to_string() const { return fmt::format("{}: {}; {}", object, what, next); }

std::chrono::sys_seconds due_at(const net::Certificate& certificate) {
  const net::CertificateInfo& info = certificate.info();
  return info.not_before + (info.not_after - info.not_before) * 8 / 10;
}

}  // namespace strake::stub
