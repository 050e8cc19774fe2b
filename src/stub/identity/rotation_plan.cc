#include <algorithm>

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "base/text.h"
#include "base/time.h"
#include "codec/json_patch.h"
#include "stub/identity/understood.h"

namespace strake::stub {

namespace {

/// All a rotation remembers, on the Secret of the next authority.
constexpr std::string_view kReplaces = "strake.dev/replaces";  ///< fingerprints of the authorities that go
constexpr std::string_view kStubsReadyAt = "strake.dev/stubs-ready-at";
constexpr std::string_view kVerifiedAt = "strake.dev/verified-at";
constexpr std::string_view kOutsideDone = "strake.dev/outside-stubs-done";
constexpr std::string_view kProvisionGrace = "strake.dev/provision-grace-seconds";
constexpr std::string_view kRetireAfter = "strake.dev/retire-after-seconds";
constexpr std::string_view kIgnoredStubs = "strake.dev/ignored-stubs";

constexpr std::size_t kMaxNamedMachines = 5;

std::optional<std::chrono::sys_seconds> time_in(const kube::Object& object, std::string_view annotation) {
  const auto text = object.annotation(annotation);
  const auto time = parse_rfc3339(text.value_or(""));
  if (!text || !time.ok()) return std::nullopt;
  return std::chrono::floor<std::chrono::seconds>(*time);
}

std::chrono::seconds seconds_in(const kube::Object& object, std::string_view annotation,
                                std::chrono::seconds otherwise) {
  const std::string text = object.annotation(annotation).value_or("");
  constexpr std::size_t kMaxDigits = 10;
  return is_all_digits(text) && text.size() <= kMaxDigits ? std::chrono::seconds(std::stoll(text)) : otherwise;
}

Fingerprints words_in(const kube::Object& object, std::string_view annotation) {
  Fingerprints words;
  const std::string text = object.annotation(annotation).value_or("");
  for (const std::string_view word : split(text, ',')) {
    if (!trimmed(word).empty()) words.emplace(trimmed(word));
  }
  return words;
}

/// What is known at one look.
struct RotationView {
  const IdentityInput& input;
  const UnderstoodIdentity& understood;
  const kube::Object& record;
  const net::Certificate& next;
  Fingerprints replaced;
  Fingerprints ignored;
  std::vector<UnderstoodStub> stubs;
  std::optional<std::chrono::sys_seconds> stubs_ready_at;
  std::optional<std::chrono::sys_seconds> verified_at;
  std::chrono::sys_seconds retire_at;

  bool retiring() const { return verified_at && input.now >= retire_at; }
  bool is_replaced(const net::Certificate& certificate) const { return replaced.contains(certificate.info().sha256); }
};

RotationView view_of(const IdentityInput& input, const UnderstoodIdentity& understood) {
  const kube::Object& record = *input.next_signer;
  RotationView view{input,
                    understood,
                    record,
                    understood.next->certificate(),
                    words_in(record, kReplaces),
                    words_in(record, kIgnoredStubs),
                    understand_stubs(input),
                    time_in(record, kStubsReadyAt),
                    time_in(record, kVerifiedAt),
                    {}};
  view.replaced.erase(view.next.info().sha256);
  if (view.verified_at) {
    view.retire_at = *view.verified_at + seconds_in(record, kRetireAfter, input.policy.retire_after);
  }
  return view;
}

IdentityAction record_action(const IdentityInput& input, std::string_view annotation, std::string_view value,
                             std::string what) {
  IdentityAction action;
  action.step = IdentityStep::kRecord;
  action.what = std::move(what);
  action.present = input.next_signer;
  action.name = identity_object::kNextSigner;
  action.wanted = *input.next_signer;
  action.wanted->set_annotation(annotation, value);
  return action;
}

void add_unique(std::vector<net::Certificate>& list, const net::Certificate& certificate) {
  if (!contains(list, certificate)) list.push_back(certificate);
}

/// Every certificate machines may trust: the bundle's, the signer's, the stubs'.
std::vector<net::Certificate> all_trusted(const UnderstoodIdentity& understood,
                                          const std::vector<UnderstoodStub>& stubs) {
  std::vector<net::Certificate> all;
  if (understood.signer) add_unique(all, understood.signer->certificate());
  if (understood.bundle) {
    for (const net::Certificate& certificate : *understood.bundle) add_unique(all, certificate);
  }
  for (const UnderstoodStub& stub : stubs) {
    if (!stub.stub.ok()) continue;
    for (const net::Certificate& certificate : stub.stub->trusted()) add_unique(all, certificate);
  }
  return all;
}

/// The authorities with which machines accept the server now, and soon will not.
std::vector<net::Certificate> working_authorities(const RotationView& view) {
  std::vector<net::Certificate> working;
  for (const net::Certificate& authority : all_trusted(view.understood, view.stubs)) {
    if (view.is_replaced(authority) && is_accepted(*view.understood.serving, authority, view.input.now)) {
      working.push_back(authority);
    }
  }
  return working;
}

/// True when it is as it should be.
bool plan_bundle(const RotationView& view, IdentityPlan& plan) {
  std::vector<net::Certificate> wanted{view.next};
  const std::vector<net::Certificate> present =
      view.understood.bundle ? *view.understood.bundle : all_trusted(view.understood, view.stubs);
  for (const net::Certificate& certificate : present) {
    const bool from_stub = !view.understood.bundle && !view.is_replaced(certificate);
    if (!from_stub && !(view.retiring() && view.is_replaced(certificate))) add_unique(wanted, certificate);
  }
  if (view.understood.bundle && contains(*view.understood.bundle, view.next) &&
      wanted.size() == view.understood.bundle->size()) {
    return true;
  }
  plan.actions.push_back(bundle_action(view.input, wanted));
  return false;
}

bool trusts_replaced(const RotationView& view, const std::vector<net::Certificate>& trusted) {
  return std::ranges::any_of(trusted, [&](const net::Certificate& one) { return view.is_replaced(one); });
}

/// Stubs that are not Strake's: the next authority comes in, later the old ones go out.
void plan_foreign_stubs(const RotationView& view, IdentityPlan& plan) {
  for (const UnderstoodStub& stub : view.stubs) {
    if (view.ignored.contains(stub.name())) continue;
    const auto blocks = [&](std::string what) {
      // A stub that keeps an old authority as well harms nobody.
      if (view.retiring()) return;
      plan.problems.push_back({fmt::format("stub {}", stub.name()), std::move(what),
                               fmt::format("correct it, or pass over it with --ignore {}", stub.name())});
    };
    if (!stub.stub.ok()) {
      blocks(stub.stub.error().to_string());
      continue;
    }
    const std::vector<net::Certificate> trusted = stub.stub->trusted();
    const bool concerned = stub.stub->points_to_config_server() && trusts_replaced(view, trusted);
    const bool has_next = contains(trusted, view.next);
    if (!concerned || (has_next && !view.retiring())) continue;
    auto action =
        trust_action(stub, view.retiring() ? TrustChange{{view.next}, view.replaced} : TrustChange{{view.next}, {}});
    if (action.ok()) {
      plan.actions.push_back(*std::move(action));
    } else {
      blocks(action.error().to_string());
    }
  }
}

bool is_under_way(const kube::Object& machine) {
  if (machine.deleting() || json::find(machine.json(), {"status", "nodeRef"}) != nullptr) return false;
  const std::string phase = machine.text({"status", "phase"});
  return phase == "Provisioning" || phase == "Provisioned" || phase == "Pending";
}

/// Machines that may have read a stub without the next authority and have not joined yet.
std::vector<std::string> machines_under_way(const RotationView& view) {
  std::vector<std::string> names;
  for (const kube::ObjectPtr& machine : view.input.machines) {
    const auto made = parse_rfc3339(machine->creation_timestamp());
    const bool old = !made.ok() || *made <= *view.stubs_ready_at;
    if (old && is_under_way(*machine)) names.push_back(machine->key().to_string());
  }
  return names;
}

/// Whether the old authority can vouch for the next one to all who trust it now.
bool can_cross_sign(const RotationView& view, const std::vector<net::Certificate>& working) {
  if (!view.understood.signer) return false;
  const net::Certificate& signer = view.understood.signer->certificate();
  return signer.info().may_vouch_for_cas && signer.info().not_after > view.input.now &&
         std::ranges::all_of(working,
                             [&](const net::Certificate& one) { return one.info().sha256 == signer.info().sha256; });
}

std::string why_not_cross_signed(const RotationView& view) {
  if (!view.understood.signer) return "its key is not in this cluster";
  if (!view.understood.signer->certificate().info().may_vouch_for_cas) return "it may not vouch for another authority";
  return "its key is not that of Secret machine-config-server-ca";
}

/// The server's certificate by the next authority, or what has to come before.
void plan_switch(const RotationView& view, IdentityPlan& plan) {
  const UnderstoodIdentity& understood = view.understood;
  // New names do not wait for a rotation.
  if (understood.signer && is_issued_by(understood.serving->certificate(), understood.signer->certificate()) &&
      understood.signer->certificate().info().not_after > view.input.now) {
    if (const std::string why = why_reissue(view.input, *understood.signer, *understood.serving); !why.empty()) {
      plan.actions.push_back(serving_action(view.input, view.input.signer, *understood.signer, why));
      return;
    }
  }
  plan.rotation.stage = RotationStage::kMachines;
  const auto wait_until =
      *view.stubs_ready_at + seconds_in(view.record, kProvisionGrace, view.input.policy.provision_grace);
  std::vector<std::string> under_way = machines_under_way(view);
  if (!under_way.empty() && view.input.now < wait_until) {
    const std::size_t more = under_way.size() - std::min(under_way.size(), kMaxNamedMachines);
    under_way.resize(under_way.size() - more);
    plan.rotation.waits_for =
        fmt::format("machines that may have read a stub without the next authority to join: {}{}",
                    fmt::join(under_way, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
    plan.rotation.until = wait_until;
    return;
  }
  plan.rotation.stage = RotationStage::kServe;
  const std::vector<net::Certificate> working = working_authorities(view);
  const bool cross = can_cross_sign(view, working) && !working.empty();
  if (!working.empty() && !cross && !view.record.annotation(kOutsideDone)) {
    plan.problems.push_back(
        {"stubs outside the cluster",
         fmt::format("machines whose stub trusts only '{}' would be cut off: {}", working.front().info().common_name,
                     why_not_cross_signed(view)),
         "write new ones with `strake certs rotate --export DIR`, replace those that are kept elsewhere (files, PXE "
         "servers, hypervisors), then run `strake certs rotate --outside-stubs-done`"});
    return;
  }
  IdentityAction action =
      serving_action(view.input, view.input.next_signer, *understood.next, "the next authority signs from here on");
  if (cross) {
    action.old_issuer = view.input.signer;
    action.must_accept = working;
  }
  action.must_accept.push_back(view.next);
  plan.actions.push_back(std::move(action));
}

/// The server's certificate is the next authority's: is it as it should be?
bool plan_switched_serving(const RotationView& view, IdentityPlan& plan) {
  const std::string why = why_reissue(view.input, *view.understood.next, *view.understood.serving);
  if (why.empty()) return true;
  plan.rotation.stage = RotationStage::kServe;
  IdentityAction action = serving_action(view.input, view.input.next_signer, *view.understood.next, why);
  const bool had_old =
      view.understood.serving->chain.size() > 1 && !contains({view.next}, view.understood.serving->chain.back());
  if (had_old && view.understood.signer && !view.retiring() &&
      view.understood.signer->certificate().info().not_after > view.input.now) {
    action.old_issuer = view.input.signer;
    action.must_accept.push_back(view.understood.signer->certificate());
  }
  action.must_accept.push_back(view.next);
  plan.actions.push_back(std::move(action));
  return false;
}

Handshake handshake_of(const RotationView& view) {
  Handshake handshake;
  handshake.url = view.input.place->url;
  handshake.since = view.understood.serving->certificate().info().not_before + kMachineClockSkew;
  handshake.ca_pems.push_back(view.next.to_pem());  // alone: that the new certificate is served at all
  const auto add = [&](const std::vector<net::Certificate>& list) {
    std::string pem = net::to_pem(list);
    if (std::ranges::find(handshake.ca_pems, pem) == handshake.ca_pems.end())
      handshake.ca_pems.push_back(std::move(pem));
  };
  if (view.understood.bundle) add(*view.understood.bundle);
  for (const UnderstoodStub& stub : view.stubs) {
    if (stub.stub.ok() && contains(stub.stub->trusted(), view.next)) add(stub.stub->trusted());
  }
  return handshake;
}

kube::Object serving_without_old(const RotationView& view) {
  const CertifiedKey& serving = *view.understood.serving;
  return with_certified_key(view.input.serving.get(), view.input.serving->name(), CertifiedAs::kServing,
                            {{serving.certificate(), view.next}, serving.key});
}

/// The old one is out of bundle and stubs.
void plan_finish(const RotationView& view, IdentityPlan& plan) {
  const UnderstoodIdentity& understood = view.understood;
  IdentityAction action;
  const bool has_old = std::ranges::any_of(understood.serving->chain, [&](const net::Certificate& one) {
    return one.info().sha256 != understood.serving->certificate().info().sha256 && !contains({view.next}, one);
  });
  if (has_old) {
    action.step = IdentityStep::kDropOld;
    action.what = "serve without the certificate the old authority signed";
    action.present = view.input.serving;
    action.wanted = serving_without_old(view);
  } else if (!understood.signer || understood.signer->certificate().info().sha256 != view.next.info().sha256) {
    action.step = IdentityStep::kPromote;
    action.what = "make the next authority the authority";
    action.present = view.input.signer;
    action.wanted =
        with_certified_key(view.input.signer.get(), identity_object::kSigner, CertifiedAs::kSigner, *understood.next);
  } else {
    action.step = IdentityStep::kRemoveNext;
    action.what = fmt::format("remove Secret {}: the rotation is done", identity_object::kNextSigner);
    action.present = view.input.next_signer;
  }
  plan.actions.push_back(std::move(action));
}

}  // namespace

bool is_accepted(const CertifiedKey& serving, const net::Certificate& authority, std::chrono::sys_seconds at) {
  return net::verify_chain(serving.certificate(), serving.chain, {&authority, 1}, at, net::CertificatePurpose::kServer)
      .ok();
}

void plan_rotation_start(const IdentityInput& input, const UnderstoodIdentity& understood, IdentityPlan& plan) {
  std::vector<std::string> replaced;
  const std::vector<UnderstoodStub> stubs = understand_stubs(input);
  for (const net::Certificate& certificate : all_trusted(understood, stubs)) {
    const bool ours = (understood.bundle && contains(*understood.bundle, certificate)) ||
                      (understood.signer && contains({understood.signer->certificate()}, certificate));
    // What stubs trust for other reasons stays theirs.
    if (ours || is_accepted(*understood.serving, certificate, input.now)) replaced.push_back(certificate.info().sha256);
  }
  IdentityAction action = signer_action(input, identity_object::kNextSigner);
  action.annotations = {
      {std::string(kReplaces), fmt::format("{}", fmt::join(replaced, ","))},
      {std::string(kProvisionGrace), fmt::format("{}", input.policy.provision_grace.count())},
      {std::string(kRetireAfter), fmt::format("{}", input.policy.retire_after.count())},
  };
  if (!input.ignored_stubs.empty()) {
    action.annotations.emplace_back(kIgnoredStubs, fmt::format("{}", fmt::join(input.ignored_stubs, ",")));
  }
  plan.rotation.stage = RotationStage::kTrustBoth;
  plan.actions.push_back(std::move(action));
}

void plan_rotation(const IdentityInput& input, const UnderstoodIdentity& understood, IdentityPlan& plan) {
  const net::CertificateInfo& next = understood.next->certificate().info();
  plan.rotation.stage = RotationStage::kTrustBoth;
  if (next.not_after <= input.now || !next.is_ca) {
    plan.problems.push_back({std::string(kNextSignerWords), "it is not an authority that can sign today",
                             "remove the Secret, and run `strake certs rotate` again"});
    return;
  }
  if (!understood.serving) {
    plan.actions.push_back(serving_action(input, input.next_signer, *understood.next, "there is none"));
    return;
  }
  const RotationView view = view_of(input, understood);
  if (view.retiring()) plan.rotation.stage = RotationStage::kRetire;
  if (!plan_bundle(view, plan)) return;
  plan_managed_stubs(input, *understood.bundle, plan);
  plan_foreign_stubs(view, plan);
  if (!plan.actions.empty() || !plan.problems.empty()) return;
  if (!view.stubs_ready_at) {
    plan.actions.push_back(
        record_action(input, kStubsReadyAt, format_rfc3339(input.now), "note that every stub trusts both"));
    return;
  }
  if (!is_issued_by(understood.serving->certificate(), view.next)) return plan_switch(view, plan);
  if (!plan_switched_serving(view, plan)) return;
  if (!view.verified_at) {
    plan.rotation.stage = RotationStage::kVerify;
    plan.rotation.verify = handshake_of(view);
    return;
  }
  if (!view.retiring()) {
    plan.rotation.stage = RotationStage::kKeepOld;
    plan.rotation.waits_for = "machines and stubs outside the cluster that know only the old authority";
    plan.rotation.until = view.retire_at;
    return;
  }
  plan_finish(view, plan);
}

IdentityAction verified_action(const IdentityInput& input) {
  return record_action(input, kVerifiedAt, format_rfc3339(input.now), "note that the server was asked and accepted");
}

IdentityAction outside_done_action(const IdentityInput& input) {
  return record_action(input, kOutsideDone, format_rfc3339(input.now),
                       "note that stubs outside the cluster trust the next authority");
}

}  // namespace strake::stub
