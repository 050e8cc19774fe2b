#include "api/roles.h"

#include <algorithm>

#include "api/kinds.h"
#include "base/text.h"
#include "base/visible_text.h"

namespace strake::api {

namespace {

constexpr std::size_t kMaxCommonName = 64;  // RFC 5280, ub-common-name
constexpr std::size_t kMaxNodeRole = 63;

bool is_dns_character(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-'; }

/// Labels of lower case letters, digits and "-", separated by dots: what the name of a Node may be.
bool is_dns_subdomain(std::string_view text) {
  const std::vector<std::string_view> labels = split(text, '.');
  return std::ranges::all_of(labels, [](std::string_view label) {
    return !label.empty() && label.front() != '-' && label.back() != '-' &&
           std::ranges::all_of(label, is_dns_character);
  });
}

bool is_user_character(char c) {
  return is_alphanumeric(c) || std::string_view("._@+:-").find(c) != std::string_view::npos;
}

}  // namespace

std::string_view to_string(Role role) { return kRoleWords[static_cast<std::size_t>(role)]; }

Result<Role> parse_role(std::string_view text) {
  const auto* const found = std::ranges::find(kRoleWords, text);
  if (found == std::end(kRoleWords)) {
    return error(Code::kInvalidArgument, "'{}' is no role; there are {}", clip_utf8(visible_text(text), kMaxCommonName),
                 fmt::join(kRoleWords, ", "));
  }
  return static_cast<Role>(found - std::begin(kRoleWords));
}

std::vector<std::string> groups_of(Role role) {
  switch (role) {
    case Role::kAdministrator: return {std::string(kAdministratorGroup)};
    case Role::kViewer: return {std::string(kViewerGroup)};
    case Role::kConfigViewer: return {std::string(kViewerGroup), std::string(kConfigViewerGroup)};
    case Role::kAgent: return {std::string(kAgentGroup)};
    case Role::kConfigServer: return {std::string(kConfigServerGroup)};
  }
  return {};
}

std::string_view role_of_groups(const std::vector<std::string>& groups) {
  const auto has = [&](std::string_view group) { return std::ranges::find(groups, group) != groups.end(); };
  if (has(kAdministratorGroup) || has("system:masters")) return to_string(Role::kAdministrator);
  if (has(kAgentGroup)) return to_string(Role::kAgent);
  if (has(kConfigServerGroup)) return to_string(Role::kConfigServer);
  if (has(kConfigViewerGroup)) return to_string(Role::kConfigViewer);
  if (has(kViewerGroup)) return to_string(Role::kViewer);
  return "other";
}

Result<CredentialSubject> credential_subject(Role role, const std::string& user, const std::string& node) {
  if (role == Role::kAgent) {
    if (!user.empty()) return error(Code::kInvalidArgument, "an agent has no user name of its own; name its node only");
    if (node.empty()) return error(Code::kInvalidArgument, "an agent's credential needs the name of its node");
    const std::size_t longest = kMaxCommonName - kAgentUserPrefix.size();
    if (node.size() > longest || !is_dns_subdomain(node)) {
      return error(Code::kInvalidArgument,
                   "'{}' cannot be a node's name here: at most {} lower case letters, digits, '-' and '.', with a "
                   "letter or digit at both ends",
                   clip_utf8(visible_text(node), kMaxCommonName), longest);
    }
    return CredentialSubject{role, std::string(kAgentUserPrefix) + node, node};
  }
  if (!node.empty()) return error(Code::kInvalidArgument, "only an agent's credential names a node");
  if (user.empty()) return error(Code::kInvalidArgument, "the credential of {} needs a user name", to_string(role));
  if (user.size() > kMaxCommonName || !std::ranges::all_of(user, is_user_character) || !is_alphanumeric(user.front())) {
    return error(
        Code::kInvalidArgument,
        "'{}' cannot be a user's name: at most {} letters, digits and . _ @ + : -, with a letter or digit first",
        clip_utf8(visible_text(user), kMaxCommonName), kMaxCommonName);
  }
  for (const std::string_view reserved : {"strake:", "system:"}) {
    if (user.starts_with(reserved))
      return error(Code::kInvalidArgument, "user names that begin with {} are not given away", reserved);
  }
  return CredentialSubject{role, user, ""};
}

Status check_node_role(std::string_view role) {
  if (!role.empty() && role.size() <= kMaxNodeRole && role.find('.') == std::string_view::npos &&
      is_dns_subdomain(role))
    return {};
  return error(Code::kInvalidArgument,
               "'{}' cannot be a node's role: at most {} lower case letters, digits and '-', with a letter or digit at "
               "both ends",
               clip_utf8(visible_text(role), kMaxNodeRole), kMaxNodeRole);
}

}  // namespace strake::api
