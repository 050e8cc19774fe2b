// What has to be done so that the config server has an identity machines trust, and every pool its stub: computed from
// the objects alone, one round at a time. Carry the actions out, look again, plan again, until there are none.
//
// What is missing is made; what cannot be read is never replaced: machines may trust it, and somebody must decide.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/object.h"
#include "stub/identity/identity_objects.h"
#include "stub/identity/place.h"

namespace strake::stub {

struct IdentityPolicy {
  std::chrono::seconds signer_lifetime = std::chrono::hours(24 * 365 * 10);
  std::chrono::seconds serving_lifetime = std::chrono::hours(24 * 365 * 10);
  net::KeyKind keys = net::KeyKind::kRsa2048;  ///< the oldest clients know no other for sure
};

/// Objects as they are; nullptr for what is not there.
struct IdentityInput {
  std::chrono::sys_seconds now;
  std::optional<ConfigServerPlace> place{};  ///< nullopt: nobody said where machines ask
  std::string place_problem{};               ///< why what was said cannot be understood
  IdentityPolicy policy{};
  kube::ObjectPtr strake_config{};
  kube::ObjectPtr signer{};
  kube::ObjectPtr next_signer{};
  kube::ObjectPtr bundle{};
  kube::ObjectPtr serving{};
  std::vector<kube::ObjectPtr> pools{};
  std::vector<kube::ObjectPtr> stub_secrets{};  ///< of the machines' namespace
};

enum class IdentityStep {
  kMakeSigner,    ///< a new authority, in the Secret `name`
  kWriteBundle,   ///< whom machines trust
  kIssueServing,  ///< the server's certificate
  kWriteStub,     ///< a managed stub
  kRemoveStub,    ///< of a pool that is gone
};
std::string_view to_string(IdentityStep step);

/// One write. Keys are made when it is carried out, never here.
struct IdentityAction {
  IdentityStep step = IdentityStep::kWriteBundle;
  std::string what;                    ///< for people: "make the authority machine-config-server-ca"
  kube::ObjectPtr present;             ///< what is changed or removed, only as it is now; nullptr: it is made
  std::optional<kube::Object> wanted;  ///< of kWriteBundle and kWriteStub
  std::string name;                    ///< of the Secret, for kMakeSigner
  net::KeyKind keys = net::KeyKind::kRsa2048;
  net::Validity validity;          ///< of kMakeSigner and kIssueServing
  std::vector<std::string> hosts;  ///< of kIssueServing
  kube::ObjectPtr issuer;          ///< of kIssueServing: the Secret whose key signs
};

/// What keeps the identity from being in order, and what somebody has to do.
struct IdentityProblem {
  std::string object;  ///< "Secret machine-config-server-tls"
  std::string what;
  std::string next;

  std::string to_string() const;
  bool operator==(const IdentityProblem&) const = default;
};

struct IdentityPlan {
  std::vector<IdentityAction> actions;  ///< of this round; each can be carried out whatever becomes of the others
  std::vector<IdentityProblem> problems;
  bool configured = true;
  std::optional<std::chrono::sys_seconds> signer_ends;
  std::optional<std::chrono::sys_seconds> serving_ends;
};

IdentityPlan plan_identity(const IdentityInput& input);

/// Certificates begin this long before they are made, for machines whose clocks are behind.
inline constexpr std::chrono::hours kMachineClockSkew{1};

/// When four fifths of a certificate's life are over: it is to be replaced then.
std::chrono::sys_seconds due_at(const net::Certificate& certificate);

}  // namespace strake::stub
