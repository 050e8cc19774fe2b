// The identity controller: keeps the config server's authority, certificate and the stubs of the pools, where Strake
// owns joining. Beside another manager it is not run: that one does it.
//
// A thin executor around plan_identity. It reads the objects anew for every round, and writes each only as it read it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "kube/controller.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/kube_api.h"
#include "stub/identity/identity_plan.h"

namespace strake::stub {

/// How the identity stands, for logs, metrics and the condition JoiningReady of StrakeConfig.
struct IdentityReport {
  bool configured = false;
  std::vector<std::string> problems{};
  std::optional<std::chrono::sys_seconds> signer_ends{};
  std::optional<std::chrono::sys_seconds> serving_ends{};
  std::size_t stubs = 0;  ///< managed ones
  RotationStage rotation = RotationStage::kNone;
  std::string waits_for{};  ///< what a rotation waits for
  std::optional<std::chrono::sys_seconds> rotation_due{};

  bool operator==(const IdentityReport&) const = default;
};

/// What to set when nobody said where machines ask.
inline constexpr std::string_view kNotConfiguredWords =
    "nobody said where new machines ask for their config: set spec.configServer.url of StrakeConfig cluster to "
    "https://HOST:PORT";
inline constexpr std::string_view kJoiningCondition = "JoiningReady";

struct IdentityOptions {
  /// Where machines ask when no object of the cluster says it.
  std::optional<ConfigServerPlace> place{};
  IdentityPolicy policy{};
  kube::Hooks hooks{};
  /// Asks the config server; shake_hands unless a test says otherwise.
  std::function<Status(const Handshake&, const kube::Call&)> verify{};
  // Called by the worker; must not wait.
  std::function<void(const IdentityReport&)> on_report{};  ///< when it is not as the last time
  std::function<void(IdentityStep step, const std::string& what)> on_done{};
};

class IdentityController {
 public:
  IdentityController(runtime::Runtime& runtime, kube::KubeApi& api, IdentityOptions options);

  void start();
  void stop();

 private:
  Result<kube::Reconciled> reconcile(const kube::Call& call);
  Result<IdentityInput> read(const kube::Call& call);
  /// True when the server was asked and that is remembered.
  Result<bool> verify(const IdentityInput& input, IdentityPlan& plan, const kube::Call& call);
  Status keep_tokens(const IdentityInput& input, const kube::Call& call);
  Status carry_out_all(const IdentityPlan& plan, const kube::Call& call);
  void record_done(const IdentityAction& action, const kube::Object& object);
  Status tell(const IdentityInput& input, const IdentityPlan& plan, const kube::Call& call);
  std::vector<kube::Informer*> informers();

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  const IdentityOptions options_;
  kube::Informer strake_configs_;
  kube::Informer infrastructures_;
  kube::Informer pools_;
  kube::Informer bundles_;
  kube::Informer identities_;  ///< Secrets of the platform's namespace
  kube::Informer stubs_;       ///< Secrets of the machines' namespace
  kube::EventRecorder events_;
  std::optional<IdentityReport> told_;  ///< the worker's own
  kube::Controller controller_;
};

}  // namespace strake::stub
