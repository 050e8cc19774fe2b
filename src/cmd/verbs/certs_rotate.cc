#include <filesystem>
#include <utility>

#include "api/kinds.h"
#include "base/fd.h"
#include "base/private_folder.h"
#include "base/time.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "controlplane/cluster_modes.h"
#include "kube/patch.h"
#include "stub/identity/identity_controller.h"
#include "stub/identity/identity_effects.h"
#include "stub/managed_stub.h"

namespace strake::cmd {

namespace {

using namespace std::chrono_literals;

constexpr OptionSpec kCertsRotateOptions[] = {
    {"dry-run", "", "say how far it is and what comes next, and do nothing"},
    {"wait", "", "stay until it is done, or somebody has to do something"},
    {"again", "", "although the authority was replaced within the last day"},
    {"connect", "HOST:PORT", "where the config server is asked, instead of where its URL leads from here", "",
     kEndpointValue},
    {"unverified", "",
     "go on although the config server cannot be asked from here: you know that it serves the new one"},
    {"outside-stubs-done", "", "stubs kept outside the cluster trust the new authority"},
    {"export", "DIR",
     "write the stub of every pool to DIR/POOL.ign, for machines outside the cluster's reach, as soon as it trusts the "
     "next authority and before the server changes",
     "", kFolderValue},
    {"ignore", "STUBS", "NAMESPACE/NAME of Secrets that look like stubs and are none, when a rotation begins", "",
     kListValue},
    {"retire-after", "DURATION", "when a rotation begins: how long the old authority stays trusted", "168h",
     kDurationValue},
    {"provision-grace", "DURATION", "when a rotation begins: how long machines under way are waited for", "1h",
     kDurationValue},
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption};

constexpr auto kRotatedRecently = 24h;
constexpr auto kRotateLookAgain = 5s;
/// From the first step to the longest wait; more would mean that somebody undoes what is done.
constexpr int kMaxRotateRounds = 64;
constexpr int kLoadTries = 20;
constexpr auto kLoadPause = 200ms;
constexpr std::size_t kMaxExportBytes = std::size_t{4} << 20;

std::chrono::sys_seconds rotate_now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

Error rotate_blocked(std::string message) {
  return Error(Code::kConflict, std::move(message)).with_verdict(Verdict::kBlocked);
}

/// Where somebody else rotates, two at it would undo each other's steps.
Status check_joining_is_ours(runtime::Runtime& runtime, kube::KubeApi& api, const kube::Call& call) {
  controlplane::ClusterModesWatch watch(runtime, api);
  watch.start();
  const auto modes = watch.current(call);
  const auto beside = watch.beside_other_manager(call);
  watch.stop();
  STRAKE_CHECK_OK(modes);
  STRAKE_CHECK_OK(beside);
  if (modes->joining == api::Mode::kOwn) return {};
  return rotate_blocked(
      *beside
          ? "a Machine Config Operator runs here and replaces these certificates itself; `strake certs check` looks "
            "whether all is well"
          : fmt::format("Strake may only {} joining here; `strake mode set joining own` changes that",
                        api::to_string(modes->joining)));
}

Result<stub::IdentityInput> read_for_rotation(kube::KubeApi& api, const Invocation& invocation,
                                              const kube::Call& call) {
  STRAKE_TRY(stub::IdentityInput input, stub::read_identity(api, std::nullopt, rotate_now(), call));
  if (!input.place && input.place_problem.empty()) {
    input.place = stub::place_in_use(input.stub_secrets, input.serving.get());
  }
  STRAKE_CHECK_OK(stub::read_rotation(api, input, call));
  input.policy.retire_after = std::chrono::ceil<std::chrono::seconds>(invocation.duration("retire-after"));
  input.policy.provision_grace = std::chrono::ceil<std::chrono::seconds>(invocation.duration("provision-grace"));
  for (const std::string& name : invocation.list("ignore")) input.ignored_stubs.insert(name);
  return input;
}

/// Never over a file that says something else: machines may be installed from it.
Status export_stubs(const stub::IdentityInput& input, const std::filesystem::path& folder, Output& out) {
  bool any = false;
  for (const kube::ObjectPtr& secret : input.stub_secrets) {
    const std::string pool = stub::pool_of_managed_stub(secret->name());
    if (pool.empty() || secret->ns() != api::kMachineApiNamespace) continue;
    STRAKE_TRY_CONTEXT(const std::string text, stub::stub_text(*secret), "Secret {}", secret->name());
    any = true;
    const std::filesystem::path file = folder / (pool + ".ign");
    const auto present = read_file(file, kMaxExportBytes);
    if (present.ok() && *present == text) continue;
    if (present.ok() || present.error().code() != Code::kNotFound) {
      return rotate_blocked(
          fmt::format("{} is there and says something else; move it away, or export to another folder", file.string()));
    }
    STRAKE_CHECK_OK(write_file_atomic(file, text, 0600));
    out.text(fmt::format("wrote {}\n", file.string()));
  }
  if (!any) out.warn("there is no pool with a stub: nothing was exported");
  return {};
}

/// Stubs trust the next authority from here on.
bool is_past_trust_both(stub::RotationStage stage) {
  return stage != stub::RotationStage::kNone && stage != stub::RotationStage::kTrustBoth;
}

void print_state(const stub::IdentityPlan& plan, bool dry_run, Output& out) {
  if (plan.rotation.stage != stub::RotationStage::kNone) {
    out.text(fmt::format("stage: {}\n", stub::to_string(plan.rotation.stage)));
  }
  if (dry_run) {
    for (const stub::IdentityAction& action : plan.actions) out.text(fmt::format("would {}\n", action.what));
    if (plan.rotation.verify) out.text(fmt::format("would ask the server at {}\n", plan.rotation.verify->url));
  }
  for (const stub::IdentityProblem& problem : plan.problems) {
    out.text(fmt::format("in the way: {}: {}\n  next: {}\n", problem.object, problem.what, problem.next));
  }
  if (!plan.rotation.waits_for.empty()) {
    out.text(fmt::format("waits for {}{}\n", plan.rotation.waits_for,
                         plan.rotation.until ? ", until " + format_rfc3339(*plan.rotation.until) : ""));
  }
}

/// The handshake, or what is said instead of it. nullopt: not accepted yet, and `plan` says why.
Result<std::optional<stub::IdentityAction>> prove_served(runtime::Runtime& runtime, const stub::IdentityInput& input,
                                                         stub::IdentityPlan& plan, const Invocation& invocation,
                                                         const kube::Call& call) {
  if (!invocation.is_set("unverified")) {
    const std::string where = invocation.has("connect") ? invocation.endpoint("connect").to_string() : "";
    Status accepted = stub::shake_hands(*plan.rotation.verify, where, call);
    // A server sees its new certificate a moment after it is written.
    for (int again = 0; again < kLoadTries && !accepted.ok() && accepted.error().code() == Code::kDenied; ++again) {
      STRAKE_CHECK_OK(runtime.sleep(kLoadPause, call.stop));
      accepted = stub::shake_hands(*plan.rotation.verify, where, call);
    }
    if (!accepted.ok()) {
      plan.rotation.waits_for = fmt::format(
          "the config server to serve its new certificate: {}; --connect HOST:PORT says where it is asked, "
          "--unverified goes on without",
          accepted.error().to_string());
      return std::optional<stub::IdentityAction>();
    }
  }
  return std::optional(stub::verified_action(input));
}

bool is_race(const Error& error) { return error.code() == Code::kConflict || error.code() == Code::kExists; }

class Rotator {
 public:
  Rotator(runtime::Runtime& runtime, kube::KubeApi& api, const Invocation& invocation)
      : runtime_(runtime), api_(api), invocation_(invocation) {}

  Result<int> run() {
    STRAKE_CHECK_OK(check_joining_is_ours(runtime_, api_, call()));
    STRAKE_CHECK_OK(prepare_export());
    for (int round = 0; round < kMaxRotateRounds;) {
      STRAKE_TRY(stub::IdentityInput input, read_for_rotation(api_, invocation_, call()));
      STRAKE_TRY(stub::IdentityPlan plan, plan_for(input));
      if (plan.settled()) {
        STRAKE_CHECK_OK(export_if_asked(input));
        return finished(plan);
      }
      STRAKE_CHECK_OK(check_outside_words(input));
      if (invocation_.is_set("dry-run")) {
        print_state(plan, true, invocation_.out());
        return plan.problems.empty() ? kExitOk : kExitBlocked;
      }
      // Before the next step: where the stubs could not be written, nothing goes on as if somebody had them.
      if (is_past_trust_both(plan.rotation.stage)) STRAKE_CHECK_OK(export_if_asked(input));
      STRAKE_TRY(const bool moved, advance(input, plan));
      if (moved) {
        ++round;
        continue;
      }
      if (!plan.problems.empty() || !invocation_.is_set("wait")) {
        if (invocation_.has("export") && !exported_) {
          invocation_.out().warn("nothing was exported yet: the stubs do not all trust the next authority");
        }
        print_state(plan, false, invocation_.out());
        return plan.problems.empty() ? kExitDiffers : kExitBlocked;
      }
      say_waiting(plan);
      STRAKE_CHECK_OK(runtime_.sleep(kRotateLookAgain, invocation_.stop));
    }
    return rotate_blocked("somebody undoes what is done; is another `strake certs rotate` of another version running?");
  }

 private:
  kube::Call call() { return cluster_call(runtime_, invocation_); }

  Result<stub::IdentityPlan> plan_for(stub::IdentityInput& input) {
    const bool under_way = input.next_signer != nullptr;
    if (under_way) began_ = true;
    stub::IdentityPlan plan = stub::plan_identity(input);
    if (!plan.configured) {
      return rotate_blocked(plan.problems.empty() ? std::string(stub::kNotConfiguredWords)
                                                  : plan.problems.front().to_string());
    }
    if (under_way || began_) return plan;
    // What was made just now, or is being made, needs no successor.
    const bool young = !plan.signer_made || input.now - *plan.signer_made < kRotatedRecently;
    if (young && plan.problems.empty() && !invocation_.is_set("again")) return plan;
    input.rotate = stub::RotateWhen::kNow;
    return stub::plan_identity(input);
  }

  /// True when something was written, and it is worth looking again at once.
  Result<bool> advance(const stub::IdentityInput& input, stub::IdentityPlan& plan) {
    if (invocation_.is_set("outside-stubs-done") && !said_outside_done_ && input.next_signer) {
      said_outside_done_ = true;
      plan.actions.insert(plan.actions.begin(), stub::outside_done_action(input));
      plan.actions.resize(1);
    }
    if (plan.actions.empty() && plan.rotation.verify) {
      STRAKE_TRY(auto proved, prove_served(runtime_, input, plan, invocation_, call()));
      if (proved) plan.actions.push_back(*std::move(proved));
    }
    for (const stub::IdentityAction& action : plan.actions) {
      const auto done = stub::carry_out(api_, action, runtime_.random(), call());
      if (!done.ok() && !is_race(done.error())) return Error(done.error());
      if (done.ok()) invocation_.out().text(fmt::format("done: {}\n", action.what));
    }
    return !plan.actions.empty();
  }

  /// A folder that cannot be used is told before anything is done.
  Status prepare_export() {
    if (!invocation_.has("export") || invocation_.is_set("dry-run")) return {};
    STRAKE_TRY(const std::vector<std::string> notes, claim_private_folder(invocation_.value("export")));
    for (const std::string& note : notes) invocation_.out().warn(note);
    return {};
  }

  /// Nobody outside trusts an authority that is not made yet.
  Status check_outside_words(const stub::IdentityInput& input) {
    const bool first = !std::exchange(looked_, true);
    if (!first || !invocation_.is_set("outside-stubs-done") || input.next_signer) return {};
    return rotate_blocked(
        "no rotation is under way, so no stub outside the cluster can trust its authority; run `strake certs rotate "
        "--export DIR`, replace the stubs kept outside, then say --outside-stubs-done");
  }

  Status export_if_asked(const stub::IdentityInput& input) {
    if (!invocation_.has("export") || invocation_.is_set("dry-run") || exported_) return {};
    STRAKE_CHECK_OK(export_stubs(input, invocation_.value("export"), invocation_.out()).context("exporting the stubs"));
    exported_ = true;
    return {};
  }

  Result<int> finished(const stub::IdentityPlan& plan) {
    if (began_) {
      invocation_.out().text("the rotation is done: machines trust the new authority only\n");
    } else {
      invocation_.out().text(
          fmt::format("nothing to do: the authority was made {} and is due {}; --again replaces it "
                      "all the same\n",
                      format_rfc3339(*plan.signer_made), format_rfc3339(*plan.rotation_due)));
    }
    return kExitOk;
  }

  void say_waiting(const stub::IdentityPlan& plan) {
    if (said_ == plan.rotation.waits_for) return;
    said_ = plan.rotation.waits_for;
    print_state(plan, false, invocation_.out());
  }

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  const Invocation& invocation_;
  bool began_ = false;
  bool said_outside_done_ = false;
  bool exported_ = false;
  bool looked_ = false;
  std::string said_;
};

Result<int> run_certs_rotate(const Invocation& invocation) {
  if (invocation.has("export") && invocation.is_set("outside-stubs-done")) {
    return error(Code::kInvalidArgument,
                 "--export writes the stubs of which --outside-stubs-done says that they are in use: one after the "
                 "other");
  }
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  return Rotator(runtime, *api, invocation).run();
}

constexpr ExitMeaning kCertsRotateExits[] = {
    {kExitOk, "done, or nothing to do"},
    {kExitDiffers, "under way: it waits for something that comes by itself; run it again, or use --wait"},
    {kExitBlocked, "somebody has to do something first, or another manager rotates here"},
    kServerUnreachable};

}  // namespace

const CommandSpec kCertsRotateCommand{
    "certs rotate",
    "Replace the config server's authority without cutting a machine off.",
    "In this order, each step when the one before is done: a new authority is made aside; whom machines trust "
    "(ConfigMap "
    "machine-config-server-ca) gets both, then every stub does; machines under way are waited for; the server gets a "
    "certificate of the new authority, with a second certificate by which those who trust only the old one accept it; "
    "the "
    "server is asked with each stub's authorities; after --retire-after the old authority leaves bundle and stubs.\n\n"
    "Run it as often as you like: it does what can be done now, says what it waits for, and goes on where it was, also "
    "after a crash. Controllers that own joining go on by themselves. Where the old authority's key is not here, "
    "machines "
    "with stubs kept outside the cluster would be cut off: it stops before that step until --outside-stubs-done.\n\n"
    "  strake certs rotate --dry-run\n"
    "  strake certs rotate --connect 192.0.2.10:22623\n"
    "  strake certs rotate --export stubs/",
    {},
    kCertsRotateOptions,
    run_certs_rotate,
    kCertsRotateExits};

}  // namespace strake::cmd
