// What has to be done so that the config server has an identity machines trust, and every pool its stub: computed from
// the objects alone, one round at a time. Carry the actions out, look again, plan again, until there are none.
//
// What is missing is made; what cannot be read is never replaced: machines may trust it, and somebody must decide.
//
// A rotation is the Secret of the next authority: it is under way while that is there, and its annotations are all that
// is remembered. In this order, each only when the one before is done:
//
//   the next authority is made aside               old and new stubs are served as before
//   the bundle has both, then every stub           the same; from here on machines learn of both
//   machines that were under way have joined
//   the server's certificate is the next one's,    who trusts only the old one is served over a second certificate of
//   the
//                                                  next authority, which the old one signed
//   proved by a handshake with each stub's list
//   after a time the old one leaves bundle and stubs, then the second certificate goes: only the new one is trusted
//   the next authority becomes the authority
//
// Where the old key cannot sign, it stops before the server's certificate changes until somebody says that stubs
// outside the cluster are replaced.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/object.h"
#include "stub/identity/identity_objects.h"
#include "stub/identity/place.h"
#include "stub/references.h"
#include "stub/stub.h"
#include "stub/trust.h"

namespace strake::stub {

struct IdentityPolicy {
  std::chrono::seconds signer_lifetime = std::chrono::hours(24 * 365 * 10);
  std::chrono::seconds serving_lifetime = std::chrono::hours(24 * 365 * 10);
  net::KeyKind keys = net::KeyKind::kRsa2048;  ///< the oldest clients know no other for sure
  /// How long machines that may have read a stub without the next authority are waited for.
  std::chrono::seconds provision_grace = std::chrono::hours(1);
  /// How long the old authority is trusted after the new one's certificate is proved to be served. Nothing hurries it,
  /// and whoever keeps stubs outside the cluster needs time.
  std::chrono::seconds retire_after = std::chrono::hours(24 * 7);
};

/// When a rotation begins.
enum class RotateWhen {
  kWhenDue,  ///< four fifths of the authority's life are over
  kNow,
  kNever,  ///< one that is under way goes on
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
  RotateWhen rotate = RotateWhen::kNever;
  std::vector<FoundStub> stubs{};           ///< all of them, managed ones too
  std::vector<kube::ObjectPtr> machines{};  ///< of the Machine API and the Cluster API
  Fingerprints ignored_stubs{};             ///< "NAMESPACE/NAME" that a new rotation passes over
  std::vector<kube::ObjectPtr>
      stub_secrets{};  ///< those of other namespaces with a stub too; of the machines' namespace
};

enum class IdentityStep {
  kMakeSigner,    ///< a new authority, in the Secret `name`
  kWriteBundle,   ///< whom machines trust
  kIssueServing,  ///< the server's certificate
  kWriteStub,     ///< a managed stub
  kRemoveStub,    ///< of a pool that is gone
  kWriteTrust,    ///< whom a stub trusts that is not managed
  kRecord,        ///< what a rotation remembers
  kDropOld,       ///< the server's chain without the certificate the old authority signed
  kPromote,       ///< the next authority becomes the authority
  kRemoveNext,    ///< the end of a rotation
};
inline constexpr IdentityStep kIdentitySteps[] = {
    IdentityStep::kMakeSigner, IdentityStep::kWriteBundle, IdentityStep::kIssueServing, IdentityStep::kWriteStub,
    IdentityStep::kRemoveStub, IdentityStep::kWriteTrust,  IdentityStep::kRecord,       IdentityStep::kDropOld,
    IdentityStep::kPromote,    IdentityStep::kRemoveNext};
std::string_view to_string(IdentityStep step);

/// One write. Keys are made when it is carried out, never here.
struct IdentityAction {
  IdentityStep step = IdentityStep::kWriteBundle;
  std::string what;                    ///< for people: "make the authority machine-config-server-ca"
  kube::ObjectPtr present;             ///< what is changed or removed, only as it is now; nullptr: it is made
  std::optional<kube::Object> wanted;  ///< of everything that needs no new key
  std::string name;                    ///< of the Secret, for kMakeSigner
  net::KeyKind keys = net::KeyKind::kRsa2048;
  net::Validity validity;                     ///< of kMakeSigner and kIssueServing
  std::vector<std::string> hosts;             ///< of kIssueServing
  kube::ObjectPtr issuer;                     ///< of kIssueServing: the Secret whose key signs
  kube::ObjectPtr old_issuer;                 ///< of kIssueServing: signs the issuer too, for who trusts only it
  std::vector<net::Certificate> must_accept;  ///< of kIssueServing: each alone must do
  std::vector<std::pair<std::string, std::string>> annotations{};  ///< of kMakeSigner
};

/// What keeps the identity from being in order, and what somebody has to do.
struct IdentityProblem {
  std::string object;  ///< "Secret machine-config-server-tls"
  std::string what;
  std::string next;

  std::string to_string() const;
  bool operator==(const IdentityProblem&) const = default;
};

/// How far a rotation is.
enum class RotationStage {
  kNone,
  kTrustBoth,  ///< bundle and stubs get the next authority
  kMachines,   ///< machines under way are waited for
  kServe,      ///< the server gets a certificate of the next authority
  kVerify,     ///< which is to be proved
  kKeepOld,    ///< both are trusted for a while
  kRetire,     ///< the old one goes
};
inline constexpr RotationStage kRotationStages[] = {
    RotationStage::kNone,   RotationStage::kTrustBoth, RotationStage::kMachines, RotationStage::kServe,
    RotationStage::kVerify, RotationStage::kKeepOld,   RotationStage::kRetire};
std::string_view to_string(RotationStage stage);

/// What the config server must accept before the old authority may go.
struct Handshake {
  std::string url;                   ///< "https://HOST:PORT"
  std::vector<std::string> ca_pems;  ///< lists of authorities, each tried alone
  std::chrono::sys_seconds since;    ///< when the certificate was issued
};

struct Rotation {
  RotationStage stage = RotationStage::kNone;
  std::string waits_for;                          ///< what comes by itself; "" when nothing is waited for
  std::optional<std::chrono::sys_seconds> until;  ///< at the latest
  std::optional<Handshake> verify;                ///< to be tried, and recorded with verified_action
};

struct IdentityPlan {
  std::vector<IdentityAction> actions;  ///< of this round; each can be carried out whatever becomes of the others
  std::vector<IdentityProblem> problems;
  bool configured = true;
  std::optional<std::chrono::sys_seconds> signer_ends;
  std::optional<std::chrono::sys_seconds> serving_ends;
  std::optional<std::chrono::sys_seconds> signer_made;
  std::optional<std::chrono::sys_seconds> rotation_due;  ///< when the authority is to be replaced
  Rotation rotation{};

  /// Nothing to do now, nothing to wait for and nothing in the way.
  bool settled() const { return actions.empty() && problems.empty() && rotation.stage == RotationStage::kNone; }
};

IdentityPlan plan_identity(const IdentityInput& input);

/// Remembers that the handshake was made, and when; what a rotation waits for from then on.
IdentityAction verified_action(const IdentityInput& input);
/// Remembers that stubs outside the cluster trust the next authority.
IdentityAction outside_done_action(const IdentityInput& input);

/// Certificates begin this long before they are made, for machines whose clocks are behind.
inline constexpr std::chrono::hours kMachineClockSkew{1};

/// When four fifths of a certificate's life are over: it is to be replaced then.
std::chrono::sys_seconds due_at(const net::Certificate& certificate);

}  // namespace strake::stub
