#include "apistore/rest/enrolment.h"

#include <algorithm>

#include "api/kinds.h"
#include "api/node.h"
#include "api/roles.h"
#include "apistore/rest/answers.h"
#include "apistore/rest/credential_requests.h"
#include "base/text.h"
#include "base/time.h"

namespace strake::apistore::rest {

namespace {

constexpr std::string_view kJoinedWith = "strake.dev/joined-with";
/// How long after a renewal the certificate before it may ask once more: the answer may have been lost, but whoever
/// asks in a loop must not fill the list of revoked ones.
constexpr std::chrono::hours kRepeatedRenewal{1};
/// The same for a join that is repeated with the same key: the second try comes at once, further ones not so fast.
constexpr std::chrono::minutes kRepeatedJoin{1};

Error forbidden(const Caller& caller, std::string_view path) {
  return error(Code::kDenied, "forbidden: User \"{}\" cannot use path \"{}\", which is for administrators", caller.user,
               path)
      .with_reason("Forbidden");
}

Error unknown_token(std::string_view why) {
  return error(Code::kUnauthenticated,
               "{}; ask an administrator for a new one (`strake access issue join-token --node NAME`)", why)
      .with_reason("Unauthorized");
}

Result<net::CertificateRequest> read_signing_request(const std::string& pem) {
  auto request = net::CertificateRequest::from_pem(pem);
  if (request.ok()) return request;
  const bool too_large = request.error().code() == Code::kExhausted;
  return error(too_large ? Code::kExhausted : Code::kInvalidArgument, "request: {}", request.error().to_string())
      .with_reason(too_large ? "RequestEntityTooLarge" : "BadRequest");
}

std::string what_follows(const net::ServerRequest& request) {
  return request.target.segments.size() == 4 ? request.target.segments[3] : "";
}

json::Object described(std::string_view kind, const std::string& id, const std::vector<std::string>& groups,
                       const std::string& user, const std::string& node) {
  json::Object item{{"id", id}, {"kind", kind}, {"role", api::role_of_groups(groups)}, {"user", user}};
  if (!node.empty()) item["node"] = node;
  return item;
}

json::Object token_item(const pki::TokenRecord& token, WallTime now) {
  const bool join = token.owner.bound.purpose == pki::kJoinPurpose;
  json::Object item =
      described(join ? "join-token" : "token", token.id, token.owner.groups, token.owner.user, token.owner.bound.node);
  if (token.issued) item["issued"] = format_rfc3339(*token.issued);
  if (token.owner.expires) item["expires"] = format_rfc3339(*token.owner.expires);
  const bool expired = token.owner.expires && *token.owner.expires <= now;
  item["state"] = expired ? "expired" : token.used_by_key.empty() ? "active" : "used";
  return item;
}

json::Object certificate_item(const pki::IssuedCredential& credential, WallTime now) {
  json::Object item = described("certificate", credential.id, credential.groups, credential.user, credential.node);
  item["serial"] = credential.current.serial;
  item["issued"] = format_rfc3339(credential.issued);
  item["expires"] = format_rfc3339(credential.current.expires);
  if (credential.renewed) item["renewed"] = format_rfc3339(*credential.renewed);
  item["state"] = !credential.revoked.empty() ? "revoked" : now < credential.current.expires ? "active" : "expired";
  if (!credential.revoked.empty()) item["reason"] = credential.revoked;
  return item;
}

json::Value issued_answer(const pki::IssuedCredential& credential, const std::string& certificate_pem,
                          const std::string& trusted_pem) {
  json::Object answer{{"id", credential.id},
                      {"user", credential.user},
                      {"certificate", certificate_pem},
                      {"certificateAuthority", trusted_pem},
                      {"expires", format_rfc3339(credential.current.expires)}};
  if (!credential.node.empty()) answer["node"] = credential.node;
  return answer;
}

}  // namespace

Enrolment::Enrolment(Service& service, pki::TokenFile& tokens, pki::Revocations& revocations, EnrolmentOptions options)
    : service_(service),
      tokens_(tokens),
      revocations_(revocations),
      issued_(options.issued_file),
      options_(std::move(options)) {}

bool Enrolment::is_ours(const net::ServerRequest& request) {
  const auto& segments = request.target.segments;
  return segments.size() >= 3 && segments[0] == "strake" && segments[1] == "v1" && segments[2] == "access";
}

bool Enrolment::is_join(const net::ServerRequest& request) {
  return is_ours(request) && what_follows(request) == "join" && request.method == "POST";
}

Result<pki::TokenRecord> Enrolment::join_token(const net::ServerRequest& request) {
  const auto secret = bearer_token(request.headers);
  if (!secret) return unknown_token("a join token is missing");
  STRAKE_TRY_CONTEXT(const std::optional<pki::TokenRecord> token, tokens_.find(*secret, pki::kJoinPurpose, now()),
                     "looking up a join token");
  if (!token) return unknown_token("the join token is unknown or has expired");
  return *token;
}

std::optional<net::Refusal> Enrolment::refuse_join(const net::ServerRequest& head) {
  const auto token = join_token(head);
  if (token.ok()) return std::nullopt;
  const bool unknown = token.error().code() == Code::kUnauthenticated;
  return net::Refusal{unknown ? 401 : 500, unknown ? token.error().message() : "tokens cannot be looked up now"};
}

net::Response Enrolment::join(const net::ServerRequest& request) {
  const Result<json::Value> admitted = admit(request);
  return admitted.ok() ? json_response(201, json::write(*admitted) + "\n") : error_response(admitted.error());
}

net::Response Enrolment::answer(const Caller& caller, const net::ServerRequest& request) {
  const Result<json::Value> answered = dispatch(caller, request);
  if (!answered.ok()) return error_response(answered.error());
  return json_response(request.method == "POST" ? 201 : 200, json::write(*answered) + "\n");
}

Result<json::Value> Enrolment::dispatch(const Caller& caller, const net::ServerRequest& request) {
  const std::string what = what_follows(request);
  const bool reads = request.method == "GET", writes = request.method == "POST";
  if (what == "authority" && reads) return show_authority(caller);
  if (what == "renewals" && writes) return renew(request);
  if (!caller.is_admin()) return forbidden(caller, request.raw_target);
  if (what == "credentials" && reads) return list();
  if (what == "tokens" && writes) return issue_token(request);
  if (what == "certificates" && writes) return issue_certificate(request);
  if (what == "revocations" && writes) return revoke(request);
  if (what == "authority" && writes) return rotate(request);
  return error(Code::kNotFound, "there is nothing at this path for {}", request.method).with_reason("NotFound");
}

Result<json::Value> Enrolment::list() {
  STRAKE_TRY(const std::vector<pki::TokenRecord> tokens, tokens_.list());
  STRAKE_TRY(const std::vector<pki::IssuedCredential> credentials, issued_.list());
  json::Array items;
  for (const pki::IssuedCredential& credential : credentials) items.push_back(certificate_item(credential, now()));
  for (const pki::TokenRecord& token : tokens) items.push_back(token_item(token, now()));
  return json::Value(json::Object{{"credentials", std::move(items)}});
}

Result<json::Value> Enrolment::issue_token(const net::ServerRequest& request) {
  STRAKE_TRY(const TokenRequest wanted, parse_token_request(request.body));
  pki::TokenOwner owner;
  owner.user = wanted.subject.user;
  owner.groups = api::groups_of(wanted.subject.role);
  owner.expires = std::chrono::floor<std::chrono::seconds>(now()) + wanted.lifetime;
  if (wanted.join) {
    owner.bound = {std::string(pki::kJoinPurpose), wanted.subject.node};
    owner.node_role = wanted.node_role;
    pki::TokenRecord probe;
    probe.owner = owner;
    STRAKE_CHECK_OK(check_free(probe));
  }
  const std::lock_guard lock(*options_.authority_mutex);
  owner.trust = options_.authority->trust_sha256();
  STRAKE_TRY(const pki::TokenFile::Issued issued, tokens_.issue(service_.runtime().random(), owner, now()));
  return json::Value(json::Object{{"id", issued.id},
                                  {"token", issued.secret},
                                  {"user", owner.user},
                                  {"expires", format_rfc3339(*owner.expires)},
                                  {"certificateAuthority", options_.authority->trusted_pem()},
                                  {"certificateAuthoritySha256", options_.authority->signer().info().sha256}});
}

Result<Enrolment::Signed> Enrolment::sign(const net::CertificateRequest& request, const pki::Subject& subject,
                                          std::chrono::hours lifetime) {
  const std::lock_guard lock(*options_.authority_mutex);
  Signed result;
  STRAKE_TRY(result.certificate_pem,
             options_.authority->sign(request, subject, lifetime, service_.runtime().random(), now()));
  STRAKE_TRY(const net::Certificate certificate, net::Certificate::from_pem(result.certificate_pem));
  result.trusted_pem = options_.authority->trusted_pem();
  result.record = {certificate.info().serial, certificate.info().not_after, options_.authority->signer().info().sha256,
                   options_.authority->trust_sha256()};
  return result;
}

Result<json::Value> Enrolment::issue_certificate(const net::ServerRequest& request) {
  STRAKE_TRY(const CertificateOrder order, parse_certificate_order(request.body));
  STRAKE_TRY(const net::CertificateRequest wanted, read_signing_request(order.request_pem));
  pki::IssuedCredential credential;
  credential.user = order.subject.user;
  credential.groups = api::groups_of(order.subject.role);
  credential.node = order.subject.node;
  credential.issued = now();
  STRAKE_TRY(const Signed made, sign(wanted, pki::Subject::user(credential.user, credential.groups), order.lifetime));
  credential.current = made.record;
  STRAKE_TRY(credential, issued_.add(std::move(credential), service_.runtime().random(), now()));
  return issued_answer(credential, made.certificate_pem, made.trusted_pem);
}

Status Enrolment::check_free(const pki::TokenRecord& token) {
  const std::string& name = token.owner.bound.node;
  Request request{Caller::system("enrolment"), {}, {}};
  const auto there = service_.get(request, kube::core::kNode, {"", name});
  if (!there.ok()) return there.error().code() == Code::kNotFound ? Status() : Status(there.error());
  const kube::Object node(there->object);
  if (!token.id.empty() && node.annotation(kJoinedWith) == token.id) return {};
  return error(
             Code::kExists,
             "node \"{0}\" exists already, and a machine joins under a name of its own; choose another name, or, when "
             "this machine takes its place, delete the old Node (`kubectl delete node {0}`) and revoke its credentials "
             "(`strake access revoke --node {0}`) first",
             name)
      .with_reason("AlreadyExists");
}

Status Enrolment::make_node(const pki::TokenRecord& token) {
  kube::Object node = api::new_node(token.owner.bound.node, token.owner.node_role);
  node.set_annotation(kJoinedWith, token.id);
  Request request{Caller::system("enrolment"), {}, {}};
  const auto created = service_.create(request, kube::core::kNode, "", std::move(node.json()), {});
  if (created.ok()) return {};
  // Made by an earlier try whose answer was lost, or by somebody else meanwhile.
  if (created.error().code() == Code::kExists) return check_free(token);
  return created.error();
}

Result<json::Value> Enrolment::admit(const net::ServerRequest& request) {
  STRAKE_TRY(const pki::TokenRecord token, join_token(request));
  STRAKE_TRY(const std::string pem, parse_signing_request(request.body));
  STRAKE_TRY(const net::CertificateRequest wanted, read_signing_request(pem));
  const std::lock_guard one_at_a_time(join_mutex_);
  STRAKE_CHECK_OK(check_free(token));
  if (const Status used = tokens_.use(token.id, wanted.key_sha256(), now()); !used.ok()) {
    if (used.error().code() == Code::kConflict && !token.used_by_key.empty())
      return unknown_token("the join token has been used already, by another machine or with another key");
    return used.error();
  }
  STRAKE_TRY(const std::vector<pki::IssuedCredential> credentials, issued_.list());
  const auto earlier = std::ranges::find(credentials, token.id, &pki::IssuedCredential::join_token);
  if (earlier != credentials.end() && !earlier->revoked.empty())
    return unknown_token("what this join token was used for has been revoked");
  if (earlier != credentials.end()) STRAKE_CHECK_OK(check_repeated_join(*earlier));
  STRAKE_CHECK_OK(make_node(token));
  STRAKE_TRY(const Signed made,
             sign(wanted, pki::Subject::user(token.owner.user, token.owner.groups), options_.agent_lifetime));
  if (earlier != credentials.end()) {  // the same key again: the answer was lost
    pki::IssuedCredential again = *earlier;
    again.issued = now();
    STRAKE_CHECK_OK(revoke_replaced(again.previous, "replaced by a repeated join"));
    again.previous = again.current;
    again.current = made.record;
    STRAKE_CHECK_OK(issued_.update(again));
    return issued_answer(again, made.certificate_pem, made.trusted_pem);
  }
  pki::IssuedCredential credential;
  credential.user = token.owner.user;
  credential.groups = token.owner.groups;
  credential.node = token.owner.bound.node;
  credential.join_token = token.id;
  credential.issued = now();
  credential.current = made.record;
  STRAKE_TRY(credential, issued_.add(std::move(credential), service_.runtime().random(), now()));
  return issued_answer(credential, made.certificate_pem, made.trusted_pem);
}

Status Enrolment::check_repeated_join(const pki::IssuedCredential& earlier) {
  if (earlier.renewed) return unknown_token("the machine that used this join token has renewed its certificate since");
  if (!earlier.previous || now() - earlier.issued >= kRepeatedJoin) return {};
  return error(Code::kExhausted, "this join was repeated a moment ago; wait a minute")
      .with_reason("TooManyRequests")
      .with_retry_after(kRepeatedJoin);
}

/// What no record names any more could not be revoked later.
Status Enrolment::revoke_replaced(const std::optional<pki::IssuedCertificate>& gone, const std::string& reason) {
  if (!gone || gone->expires <= now()) return {};
  return revocations_.revoke({gone->serial, gone->expires, reason}, now());
}

Result<json::Value> Enrolment::renew(const net::ServerRequest& request) {
  // By the certificate alone: neither a token nor acting as somebody else brings one.
  if (!request.client_certificate || request.headers.has("Impersonate-User")) {
    return error(Code::kDenied, "forbidden: a certificate is renewed by whoever holds it, with itself")
        .with_reason("Forbidden");
  }
  STRAKE_TRY(const std::string pem, parse_signing_request(request.body));
  STRAKE_TRY(const net::CertificateRequest wanted, read_signing_request(pem));
  const std::lock_guard one_at_a_time(join_mutex_);
  const std::string& serial = request.client_certificate->serial;
  STRAKE_TRY(std::optional<pki::IssuedCredential> credential, issued_.by_serial(serial));
  if (!credential) {
    return error(Code::kNotFound, "this certificate was not issued by `strake access` or `strake agent join`")
        .with_reason("NotFound");
  }
  if (!credential->revoked.empty()) return error(Code::kDenied, "it has been revoked").with_reason("Forbidden");
  const WallTime at = now();
  const WallTime since = credential->renewed.value_or(credential->issued);
  const auto life = credential->current.expires - since;
  const bool lost_answer = serial != credential->current.serial;
  bool due = false;
  {
    const std::lock_guard lock(*options_.authority_mutex);
    const pki::IssuedCertificate& current = credential->current;
    due = current.expires - at < life / 2 || current.signer != options_.authority->signer().info().sha256 ||
          current.trust != options_.authority->trust_sha256();
  }
  if (lost_answer) due = at - since >= kRepeatedRenewal;
  if (!due) {
    return error(Code::kExhausted, "it is not time to renew this certificate yet")
        .with_reason("TooManyRequests")
        .with_retry_after(kRepeatedRenewal);
  }
  const auto lifetime = std::chrono::ceil<std::chrono::hours>(life);
  STRAKE_TRY(const Signed made, sign(wanted, pki::Subject::user(credential->user, credential->groups), lifetime));
  // Of three certificates one goes: the oldest, or the one whose answer was lost.
  STRAKE_CHECK_OK(revoke_replaced(lost_answer ? credential->current : credential->previous, "replaced by a renewal"));
  if (!lost_answer) credential->previous = credential->current;
  credential->current = made.record;
  credential->renewed = at;
  STRAKE_CHECK_OK(issued_.update(*credential));
  return issued_answer(*credential, made.certificate_pem, made.trusted_pem);
}

Status Enrolment::revoke_certificate(pki::IssuedCredential credential, const std::string& reason) {
  const WallTime at = now();
  for (const pki::IssuedCertificate* certificate :
       {&credential.current, credential.previous ? &*credential.previous : nullptr}) {
    if (certificate == nullptr || certificate->expires <= at) continue;
    STRAKE_CHECK_OK(revocations_.revoke({certificate->serial, certificate->expires, reason}, at));
  }
  credential.revoked = reason;
  return issued_.update(credential);
}

Result<json::Value> Enrolment::revoke(const net::ServerRequest& request) {
  STRAKE_TRY(const RevocationRequest wanted, parse_revocation_request(request.body));
  const std::lock_guard one_at_a_time(join_mutex_);
  STRAKE_TRY(const std::vector<pki::TokenRecord> tokens, tokens_.list());
  STRAKE_TRY(const std::vector<pki::IssuedCredential> credentials, issued_.list());
  const auto meant = [&](const std::string& id, const std::string& user, const std::string& node) {
    if (!wanted.id.empty()) return id == wanted.id;
    return wanted.user.empty() ? node == wanted.node : user == wanted.user;
  };
  json::Array revoked;
  bool known = false;
  for (const pki::IssuedCredential& credential : credentials) {
    if (!meant(credential.id, credential.user, credential.node)) continue;
    known = true;
    if (!credential.counts_at(now())) continue;
    STRAKE_CHECK_OK(revoke_certificate(credential, wanted.reason));
    revoked.push_back(certificate_item(credential, now()));
  }
  for (const pki::TokenRecord& token : tokens) {
    const std::string& node = token.owner.bound.node.empty() && token.owner.user.starts_with(api::kAgentUserPrefix)
                                  ? token.owner.user.substr(api::kAgentUserPrefix.size())
                                  : token.owner.bound.node;
    if (!meant(token.id, token.owner.user, node)) continue;
    known = true;
    STRAKE_CHECK_OK(tokens_.revoke(token.id));
    revoked.push_back(token_item(token, now()));
  }
  if (!known) {
    return error(Code::kNotFound, "no credential of {} is known; `strake access list` shows all",
                 !wanted.id.empty()     ? "id " + wanted.id
                 : !wanted.user.empty() ? "user " + wanted.user
                                        : "node " + wanted.node)
        .with_reason("NotFound");
  }
  return json::Value(json::Object{{"revoked", std::move(revoked)}});
}

Result<std::vector<LeftBehind>> Enrolment::left_behind() {
  STRAKE_TRY(const std::vector<pki::TokenRecord> tokens, tokens_.list());
  STRAKE_TRY(const std::vector<pki::IssuedCredential> credentials, issued_.list());
  const std::lock_guard lock(*options_.authority_mutex);
  const pki::Rotation step = options_.authority->rotation();
  std::vector<LeftBehind> missing;
  if (step == pki::Rotation::kSettled) return missing;
  const WallTime at = now();
  const std::string trust = options_.authority->trust_sha256(), signer = options_.authority->signer().info().sha256;
  for (const pki::IssuedCredential& credential : credentials) {
    if (!credential.counts_at(at)) continue;
    if (step == pki::Rotation::kAnnounced && credential.current.trust != trust) {
      missing.push_back({credential.id, credential.user, credential.node, "does not trust the new authority yet"});
    } else if (step == pki::Rotation::kSigning && credential.current.signer != signer) {
      missing.push_back({credential.id, credential.user, credential.node, "holds a certificate of the old authority"});
    }
  }
  // A token's holder was given the list of its day, a join token goes with the fingerprint of who signs: nothing renews
  // that. What the step before this one has lost is lost already.
  for (const pki::TokenRecord& token : tokens) {
    const bool over = (token.owner.expires && *token.owner.expires <= at) || !token.used_by_key.empty();
    const bool join = token.owner.bound.purpose == pki::kJoinPurpose;
    const bool later = token.owner.trust == trust && !join;
    if (step != pki::Rotation::kAnnounced || over || later) continue;
    missing.push_back({token.id, token.owner.user, token.owner.bound.node,
                       join ? "is a join token, given out with the old authority's fingerprint"
                            : "is a token, given out with the old authority"});
  }
  return missing;
}

Result<json::Value> Enrolment::show_authority(const Caller& caller) {
  json::Object answer;
  if (caller.is_admin()) {
    STRAKE_TRY(const std::vector<LeftBehind> missing, left_behind());
    json::Array list;
    for (const LeftBehind& one : missing) {
      json::Object item{{"id", one.id}, {"user", one.user}, {"why", one.why}};
      if (!one.node.empty()) item["node"] = one.node;
      list.push_back(std::move(item));
    }
    answer["missing"] = std::move(list);
  }
  const std::lock_guard lock(*options_.authority_mutex);
  const pki::Authority& authority = *options_.authority;
  answer["rotation"] = pki::to_string(authority.rotation());
  answer["certificateAuthority"] = authority.trusted_pem();
  json::Array trusted;
  for (const net::Certificate& certificate : authority.trusted()) {
    const net::CertificateInfo& info = certificate.info();
    trusted.push_back(json::Object{{"sha256", info.sha256},
                                   {"notBefore", format_rfc3339(info.not_before)},
                                   {"notAfter", format_rfc3339(info.not_after)},
                                   {"signs", info.sha256 == authority.signer().info().sha256}});
  }
  answer["trusted"] = std::move(trusted);
  return json::Value(std::move(answer));
}

Result<json::Value> Enrolment::rotate(const net::ServerRequest& request) {
  STRAKE_TRY(const RotationRequest wanted, parse_rotation_request(request.body));
  const std::lock_guard one_at_a_time(join_mutex_);
  STRAKE_TRY(const std::vector<LeftBehind> missing, left_behind());
  {
    const std::lock_guard lock(*options_.authority_mutex);
    pki::Authority& authority = *options_.authority;
    const pki::Rotation step = authority.rotation();
    if (wanted.from != pki::to_string(step)) {
      return error(Code::kConflict, "the rotation is at \"{}\", not \"{}\"; look again with `strake access ca show`",
                   pki::to_string(step), clip_utf8(wanted.from, 40))
          .with_reason("Conflict");
    }
    if (!missing.empty() && !wanted.leave_behind) {
      return error(Code::kConflict, "{} credentials are not ready for this step: `strake access ca show` names them",
                   missing.size())
          .with_reason("Conflict");
    }
    Status taken;
    switch (step) {
      case pki::Rotation::kSettled: taken = authority.add_successor(service_.runtime().random(), now()); break;
      case pki::Rotation::kAnnounced: taken = authority.promote_successor(); break;
      case pki::Rotation::kSigning: taken = authority.retire_predecessors(); break;
    }
    STRAKE_CHECK_OK(taken);
  }
  options_.authority_changed();
  return show_authority(Caller::system("enrolment"));
}

}  // namespace strake::apistore::rest
