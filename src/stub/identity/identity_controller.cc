#include "stub/identity/identity_controller.h"

#include <algorithm>

#include "api/conditions.h"
#include "api/kinds.h"
#include "api/roles.h"
#include "kube/patch.h"
#include "stub/access_book.h"
#include "stub/identity/identity_effects.h"
#include "stub/identity/stub_tokens.h"

namespace strake::stub {

namespace {

using namespace std::chrono_literals;

const kube::ObjectKey kIdentityKey{"", "identity"};

/// From nothing to a whole identity takes four, the longest stretch of a rotation seven; more would mean that two are
/// at it.
constexpr int kMaxRounds = 16;
/// Certificates grow old without anybody writing anything.
constexpr auto kLookAgain = 1h;
/// While a rotation is under way: machines join and servers reload without a write that is watched here.
constexpr auto kLookAgainRotating = 1min;
/// So long a server may take to load its new certificate before somebody is told.
constexpr auto kLoadPatience = 10min;

kube::InformerOptions identity_informer_options(const kube::Hooks& hooks, std::string_view ns = "",
                                                std::string_view name = "") {
  kube::InformerOptions options;
  options.hooks = hooks;
  options.resync = 5min;
  options.ns = ns;
  if (!name.empty()) options.field_selector = fmt::format("metadata.name={}", name);
  return options;
}

kube::ControllerOptions identity_controller_options(const IdentityOptions& options) {
  kube::ControllerOptions controller;
  controller.name = "identity";
  controller.rate_limits.longest_retry = 30s;
  controller.hooks = options.hooks;
  return controller;
}

kube::EventRecorderOptions identity_event_options(const kube::Hooks& hooks) {
  kube::EventRecorderOptions options;
  options.hooks = hooks;
  options.component = "strake-identity";
  return options;
}

std::string_view event_reason(IdentityStep step) {
  switch (step) {
    case IdentityStep::kMakeSigner: return "AuthorityMade";
    case IdentityStep::kWriteBundle: return "TrustWritten";
    case IdentityStep::kIssueServing: return "CertificateIssued";
    case IdentityStep::kWriteStub: return "StubWritten";
    case IdentityStep::kRemoveStub: return "StubRemoved";
    case IdentityStep::kWriteTrust: return "StubTrustWritten";
    case IdentityStep::kRecord: return "RotationGoesOn";
    case IdentityStep::kDropOld: return "OldAuthorityDropped";
    case IdentityStep::kPromote: return "AuthorityReplaced";
    case IdentityStep::kRemoveNext: return "RotationDone";
  }
  return "TrustWritten";
}

bool is_identity_secret(const std::string& name) {
  return name == identity_object::kSigner || name == identity_object::kNextSigner ||
         name == api::serving_object::kIdentity || name == access_key().name;
}

bool only_status_changed(const kube::Object& before, const kube::Object& now) {
  return before.generation() == now.generation() && before.deleting() == now.deleting();
}

api::Condition joining_condition(const IdentityReport& report) {
  api::Condition condition;
  condition.type = kJoiningCondition;
  condition.status =
      report.configured && report.problems.empty() ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse;
  if (!report.problems.empty()) {
    condition.reason = report.rotation == RotationStage::kNone ? "Problem" : "RotationStuck";
    condition.message = fmt::format("{}", fmt::join(report.problems, "\n"));
  } else if (!report.configured) {
    condition.reason = "NotConfigured";
    condition.message = kNotConfiguredWords;
  } else if (report.rotation != RotationStage::kNone) {
    condition.reason = "Rotating";
    condition.message = fmt::format("the authority is being replaced ({}); waiting for {}", to_string(report.rotation),
                                    report.waits_for);
  } else {
    condition.reason = "InOrder";
    condition.message = "the config server has a certificate, and every pool a stub that trusts it";
  }
  return condition;
}

}  // namespace

IdentityController::IdentityController(runtime::Runtime& runtime, kube::KubeApi& api, IdentityOptions options)
    : runtime_(runtime),
      api_(api),
      options_(std::move(options)),
      strake_configs_(runtime, api, api::kStrakeConfig, identity_informer_options(options_.hooks)),
      infrastructures_(runtime, api, api::kInfrastructure, identity_informer_options(options_.hooks)),
      pools_(runtime, api, api::kMachineConfigPool, identity_informer_options(options_.hooks)),
      bundles_(runtime, api, kube::core::kConfigMap,
               identity_informer_options(options_.hooks, api::kMachineConfigNamespace, identity_object::kBundle)),
      identities_(runtime, api, kube::core::kSecret,
                  identity_informer_options(options_.hooks, api::kMachineConfigNamespace)),
      stubs_(runtime, api, kube::core::kSecret, identity_informer_options(options_.hooks, api::kMachineApiNamespace)),
      events_(runtime, api, identity_event_options(options_.hooks)),
      controller_(runtime, identity_controller_options(options_),
                  [this](const kube::ObjectKey&, const kube::Call& call) { return reconcile(call); }) {
  const auto everything = [](const kube::Object&) { return std::vector<kube::ObjectKey>{kIdentityKey}; };
  // Pools and StrakeConfig have a status that others write all the time; the status of an Infrastructure is what
  // counts.
  controller_.watch(pools_, everything, kube::spec_changed, only_status_changed);
  controller_.watch(strake_configs_, everything, kube::spec_changed, only_status_changed);
  for (kube::Informer* informer : {&infrastructures_, &bundles_, &stubs_}) controller_.watch(*informer, everything);
  controller_.watch(identities_, [](const kube::Object& secret) {
    return is_identity_secret(secret.name()) ? std::vector<kube::ObjectKey>{kIdentityKey}
                                             : std::vector<kube::ObjectKey>{};
  });
}

std::vector<kube::Informer*> IdentityController::informers() {
  return {&strake_configs_, &infrastructures_, &pools_, &bundles_, &identities_, &stubs_};
}

void IdentityController::start() {
  events_.start();
  for (kube::Informer* informer : informers()) informer->start();
  controller_.enqueue(kIdentityKey);  // an empty cluster tells nothing, and still wants to be looked at
  controller_.start();
}

void IdentityController::stop() {
  controller_.stop();
  for (kube::Informer* informer : informers()) informer->stop();
  events_.stop();
}

Result<IdentityInput> IdentityController::read(const kube::Call& call) {
  const auto now = std::chrono::floor<std::chrono::seconds>(runtime_.wall_now());
  STRAKE_TRY(IdentityInput input, read_identity(api_, options_.place, now, call));
  input.policy = options_.policy;
  input.rotate = RotateWhen::kWhenDue;
  // Who uses which stub is asked only when it counts.
  if (input.next_signer || plan_identity(input).rotation.stage != RotationStage::kNone) {
    STRAKE_CHECK_OK(read_rotation(api_, input, call));
  }
  return input;
}

Result<kube::Reconciled> IdentityController::reconcile(const kube::Call& call) {
  for (int round = 0; round < kMaxRounds; ++round) {
    STRAKE_TRY(const IdentityInput input, read(call));
    IdentityPlan plan = plan_identity(input);
    if (plan.actions.empty()) {
      STRAKE_TRY(const bool verified, verify(input, plan, call));
      if (verified) continue;
      STRAKE_CHECK_OK(tell(input, plan, call));
      if (plan.configured) STRAKE_CHECK_OK(keep_tokens(input, call));
      if (plan.rotation.stage == RotationStage::kNone) return kube::Reconciled{kLookAgain};
      return kube::Reconciled{kLookAgainRotating};
    }
    STRAKE_CHECK_OK(carry_out_all(plan, call));
  }
  return error(Code::kConflict, "somebody else changes the config server's identity at the same time");
}

Result<bool> IdentityController::verify(const IdentityInput& input, IdentityPlan& plan, const kube::Call& call) {
  if (!plan.rotation.verify) return false;
  const Handshake& handshake = *plan.rotation.verify;
  const Status accepted = options_.verify ? options_.verify(handshake, call) : shake_hands(handshake, "", call);
  if (accepted.ok()) {
    plan.actions = {verified_action(input)};
    STRAKE_CHECK_OK(carry_out_all(plan, call));
    return true;
  }
  plan.rotation.waits_for =
      fmt::format("the config server to serve its new certificate: {}", accepted.error().to_string());
  if (input.now - handshake.since > kLoadPatience) {
    plan.problems.push_back({fmt::format("the config server at {}", handshake.url), accepted.error().to_string(),
                             "look whether it runs with the certificate of Secret machine-config-server-tls; where it "
                             "cannot be reached from here, run `strake certs rotate --connect HOST:PORT`"});
  }
  return false;
}

Status IdentityController::keep_tokens(const IdentityInput& input, const kube::Call& call) {
  STRAKE_TRY(const std::vector<kube::Object> renewed, renew_stub_tokens(runtime_, api_, input.stub_secrets, call));
  for (const kube::Object& secret : renewed) {
    events_.record(secret, kube::EventType::kNormal, "TokenRenewed", "the stub carries a new token");
  }
  return {};
}

/// One object that cannot be written holds up no other.
Status IdentityController::carry_out_all(const IdentityPlan& plan, const kube::Call& call) {
  Status first;
  for (const IdentityAction& action : plan.actions) {
    auto done = carry_out(api_, action, runtime_.random(), call);
    if (done.ok()) {
      record_done(action, *done);
    } else if (first.ok()) {
      first = std::move(done).error();
    }
  }
  return first;
}

void IdentityController::record_done(const IdentityAction& action, const kube::Object& object) {
  events_.record(object, kube::EventType::kNormal, std::string(event_reason(action.step)), action.what);
  if (options_.on_done) options_.on_done(action.step, action.what);
}

Status IdentityController::tell(const IdentityInput& input, const IdentityPlan& plan, const kube::Call& call) {
  IdentityReport report;
  report.configured = plan.configured;
  report.signer_ends = plan.signer_ends;
  report.serving_ends = plan.serving_ends;
  report.rotation = plan.rotation.stage;
  report.waits_for = plan.rotation.waits_for;
  report.rotation_due = plan.rotation_due;
  report.stubs = plan.configured && input.bundle ? input.pools.size() : 0;
  for (const IdentityProblem& problem : plan.problems) report.problems.push_back(problem.to_string());
  if (input.strake_config) {
    json::Value changed = input.strake_config->json();
    const api::Condition condition = joining_condition(report);
    if (api::set_condition(changed, condition, runtime_.wall_now(), api::ConditionPlace::kSame)) {
      if (!report.problems.empty()) {
        events_.record(*input.strake_config, kube::EventType::kWarning, condition.reason, condition.message);
      }
      STRAKE_CHECK_OK(kube::apply_status_patch(api_, api::kStrakeConfig, *input.strake_config,
                                               api::conditions_status(changed), kube::IfChanged::kRefuse, call)
                          .context("saying how joining stands"));
    }
  }
  if (told_ == report) return {};
  if (options_.on_report) options_.on_report(report);
  told_ = std::move(report);
  return {};
}

}  // namespace strake::stub
