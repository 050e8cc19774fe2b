// The objects of an identity, understood: what plans are made of. For this folder's own use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stub/identity/identity_plan.h"

namespace strake::stub {

inline constexpr std::string_view kSignerWords = "Secret machine-config-server-ca";
inline constexpr std::string_view kNextSignerWords = "Secret machine-config-server-ca-next";
inline constexpr std::string_view kBundleWords = "ConfigMap machine-config-server-ca";
inline constexpr std::string_view kServingWords = "Secret machine-config-server-tls";

/// nullopt: not there.
struct UnderstoodIdentity {
  std::optional<CertifiedKey> signer;
  std::optional<CertifiedKey> next;
  std::optional<std::vector<net::Certificate>> bundle;
  std::optional<CertifiedKey> serving;
};

/// A stub that was read, or why it was not.
struct UnderstoodStub {
  const FoundStub* found = nullptr;
  kube::ObjectPtr secret;
  Result<Stub> stub;

  std::string name() const { return fmt::format("{}/{}", found->ns, found->secret); }
};

IdentityAction bundle_action(const IdentityInput& input, const std::vector<net::Certificate>& trusted);
/// By the authority in the Secret `issuer`, which `signer` is.
IdentityAction serving_action(const IdentityInput& input, const kube::ObjectPtr& issuer, const CertifiedKey& signer,
                              const std::string& why);
IdentityAction signer_action(const IdentityInput& input, std::string_view name);
/// Why the server needs another certificate of the same authority; "" when it does not.
std::string why_reissue(const IdentityInput& input, const CertifiedKey& signer, const CertifiedKey& serving);
/// The stubs Strake writes itself.
void plan_managed_stubs(const IdentityInput& input, const std::vector<net::Certificate>& trusted, IdentityPlan& plan);
/// A stub that is somebody's, with another list of authorities; the error says why it cannot have one.
Result<IdentityAction> trust_action(const UnderstoodStub& stub, const TrustChange& change);
/// Stubs that point here and do not trust the server get its authority.
void plan_untrusting_stubs(const IdentityInput& input, const UnderstoodIdentity& understood, IdentityPlan& plan);
/// Those that are not Strake's own.
std::vector<UnderstoodStub> understand_stubs(const IdentityInput& input);

/// Whether this authority alone makes a client accept the chain.
bool is_accepted(const CertifiedKey& serving, const net::Certificate& authority, std::chrono::sys_seconds at);

/// Goes on with the rotation that the Secret of the next authority stands for.
void plan_rotation(const IdentityInput& input, const UnderstoodIdentity& understood, IdentityPlan& plan);
/// The first step of one.
void plan_rotation_start(const IdentityInput& input, const UnderstoodIdentity& understood, IdentityPlan& plan);

}  // namespace strake::stub
