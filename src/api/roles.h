// The roles a credential can have, and the names a certificate or token of a role bears: the same on the embedded API
// server and on Kubernetes (deploy/rbac binds the groups).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace strake::api {

enum class Role {
  kAdministrator,
  kViewer,
  kConfigViewer,  ///< a viewer who may also read what may hold secrets in configurations
  kAgent,
  kConfigServer,
};
inline constexpr std::string_view kRoleWords[] = {"administrator", "viewer", "config-viewer", "agent", "config-server"};
std::string_view to_string(Role role);
Result<Role> parse_role(std::string_view text);

inline constexpr std::string_view kAdministratorGroup = "strake:admins";
inline constexpr std::string_view kConfigServerGroup = "strake:config-servers";

/// What a config server reads of the platform's namespace, and nothing else there.
namespace serving_object {
inline constexpr std::string_view kIdentity = "machine-config-server-tls";      ///< Secret: its certificate and key
inline constexpr std::string_view kBootstrapToken = "node-bootstrapper-token";  ///< Secret: the kubelets' first token
inline constexpr std::string_view kApiServerCa = "kubeconfig-data";             ///< ConfigMap: whom kubelets trust
inline constexpr std::string_view kAccess = "strake-config-server-access";      ///< Secret: who may ask
/// ConfigMap: who asked; the one thing here it also writes.
inline constexpr std::string_view kCallers = "strake-config-server-callers";
}  // namespace serving_object

/// The groups of a role.
std::vector<std::string> groups_of(Role role);
/// The role groups give; "other" when they give none.
std::string_view role_of_groups(const std::vector<std::string>& groups);

/// Whom a credential is for.
struct CredentialSubject {
  Role role = Role::kViewer;
  std::string user;  ///< of a person or a program; filled in for an agent
  std::string node;  ///< of an agent, else ""
};
/// Checked: a node's name for agents, else a user's name that cannot be mistaken for one of ours or Kubernetes' own.
Result<CredentialSubject> credential_subject(Role role, const std::string& user, const std::string& node);

/// A role label's last part: "worker", "infra".
Status check_node_role(std::string_view role);

}  // namespace strake::api
