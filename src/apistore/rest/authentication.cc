#include "apistore/rest/authentication.h"

#include "base/text.h"
#include "codec/digest.h"

namespace strake::apistore::rest {

namespace {

constexpr std::string_view kAuthenticatedGroup = "system:authenticated";

Error unauthorized(std::string_view why) {
  return error(Code::kUnauthenticated, "Unauthorized{}{}", why.empty() ? "" : ": ", why).with_reason("Unauthorized");
}

Caller authenticated_caller(std::string user, std::vector<std::string> groups) {
  groups.emplace_back(kAuthenticatedGroup);
  return {std::move(user), std::move(groups)};
}

}  // namespace

std::optional<std::string_view> bearer_token(const net::Headers& headers) {
  constexpr std::string_view kScheme = "bearer ";
  const auto field = headers.get("Authorization");
  if (!field) return std::nullopt;
  if (field->size() <= kScheme.size() || !equal_ignoring_case(field->substr(0, kScheme.size()), kScheme)) return "";
  return field->substr(kScheme.size());
}

Result<Identity> authenticate(const net::ServerRequest& request, const Credentials& credentials, WallTime now) {
  if (request.client_certificate) {
    const net::PeerCertificate& certificate = *request.client_certificate;
    if (certificate.common_name.empty()) return unauthorized("the client certificate has no common name");
    if (credentials.revocations != nullptr) {
      STRAKE_TRY_CONTEXT(const std::optional<std::string> reason,
                         credentials.revocations->why_revoked(certificate.serial), "looking up revoked certificates");
      if (reason) return unauthorized("the client certificate has been revoked");
    }
    Caller caller = authenticated_caller(certificate.common_name, certificate.organizations);
    return Identity{caller,
                    certificate.not_after,
                    {Credential::Kind::kCertificate, certificate.serial, certificate.not_after},
                    caller};
  }
  if (const auto token = bearer_token(request.headers)) {
    std::optional<pki::TokenOwner> owner;
    if (credentials.tokens != nullptr) {
      STRAKE_TRY_CONTEXT(owner, credentials.tokens->owner_of(*token, pki::TokenUse{}, now), "looking up a token");
    }
    if (!owner) return unauthorized("the token is unknown or has expired");
    Caller caller = authenticated_caller(owner->user, owner->groups);
    return Identity{
        caller, owner->expires, {Credential::Kind::kToken, codec::sha256_hex(*token), owner->expires}, caller};
  }
  if (!request.client_certificate_problem.empty()) {
    return unauthorized(fmt::format("the client certificate is not accepted: {}", request.client_certificate_problem));
  }
  return unauthorized("");
}

Result<bool> still_counts(const Credential& credential, const Credentials& credentials, WallTime now) {
  if (credential.expires && *credential.expires <= now) return false;
  switch (credential.kind) {
    case Credential::Kind::kCertificate: {
      if (credentials.revocations == nullptr) return true;
      STRAKE_TRY(const std::optional<std::string> reason, credentials.revocations->why_revoked(credential.id));
      return !reason.has_value();
    }
    case Credential::Kind::kToken:
      if (credentials.tokens == nullptr) return false;
      return credentials.tokens->still_counts(credential.id, now);
  }
  return false;
}

Result<Caller> acting_caller(const Caller& caller, const net::Headers& headers) {
  const auto user = headers.get("Impersonate-User");
  const auto groups = headers.all("Impersonate-Group");
  if (!user) {
    if (groups.empty()) return caller;
    return error(Code::kInvalidArgument, "Impersonate-Group needs Impersonate-User").with_reason("BadRequest");
  }
  if (!caller.is_admin()) {
    return error(Code::kDenied,
                 "users \"{}\" is forbidden: User \"{}\" cannot impersonate resource \"users\" in API group \"\" at "
                 "the cluster scope",
                 *user, caller.user)
        .with_reason("Forbidden");
  }
  return authenticated_caller(std::string(*user), {groups.begin(), groups.end()});
}

}  // namespace strake::apistore::rest
