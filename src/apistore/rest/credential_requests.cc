#include "apistore/rest/credential_requests.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/visible_text.h"
#include "codec/json.h"

namespace strake::apistore::rest {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kShortestLifetime = 1min;
constexpr std::chrono::seconds kTokenLifetime = 24h;
constexpr std::chrono::seconds kJoinTokenLifetime = 24h;
constexpr std::chrono::seconds kLongestJoinTokenLifetime = 24h * 30;
constexpr std::chrono::seconds kCertificateLifetimeWanted = 24h * 30;
constexpr std::chrono::seconds kLongestLifetime = 24h * 365;
constexpr std::size_t kMaxReasonBytes = 200;
constexpr std::size_t kMaxNameShown = 64;

Error bad_body(std::string_view what) { return error(Code::kInvalidArgument, "{}", what).with_reason("BadRequest"); }

/// The fields of a body, each taken once by name; what nobody took is refused, so that a misspelt one is not passed
/// over.
class BodyFields {
 public:
  static Result<BodyFields> parse(std::string_view body) {
    if (body.size() > kMaxCredentialRequestBytes) {
      return error(Code::kExhausted, "the request is longer than {} bytes", kMaxCredentialRequestBytes)
          .with_reason("RequestEntityTooLarge");
    }
    json::ParseLimits limits;
    limits.max_bytes = kMaxCredentialRequestBytes;
    auto value = json::parse(body, limits);
    if (!value.ok()) return bad_body(fmt::format("the body is no JSON: {}", value.error().to_string()));
    if (!value->is_object()) return bad_body("the body is no JSON object");
    return BodyFields(*std::move(value));
  }

  Result<std::string> text(std::string_view name) {
    const json::Value* value = take(name);
    if (value == nullptr) return std::string();
    if (!value->is_string()) return bad_body(fmt::format("{} is no string", name));
    return std::string(json::as_view(value->get_string()));
  }
  Result<bool> flag(std::string_view name) {
    const json::Value* value = take(name);
    if (value == nullptr) return false;
    if (!value->is_bool()) return bad_body(fmt::format("{} is neither true nor false", name));
    return value->get_bool();
  }
  Result<std::chrono::seconds> lifetime(std::chrono::seconds usual, std::chrono::seconds longest) {
    const json::Value* value = take("lifetimeSeconds");
    if (value == nullptr) return usual;
    if (!value->is_int64()) return bad_body("lifetimeSeconds is no whole number");
    const std::int64_t seconds = value->get_int64();
    if (seconds < kShortestLifetime.count() || seconds > longest.count()) {
      return bad_body(fmt::format("lifetimeSeconds is {}: a credential of this kind lives from a minute to {} days",
                                  seconds, std::chrono::duration_cast<std::chrono::hours>(longest).count() / 24));
    }
    return std::chrono::seconds(seconds);
  }
  Status finish() const {
    for (const auto& item : value_.get_object()) {
      if (!taken_.contains(std::string(json::as_view(item.key()))))
        return bad_body(fmt::format("the field \"{}\" is not known here",
                                    clip_utf8(visible_text(json::as_view(item.key())), kMaxNameShown)));
    }
    return {};
  }

 private:
  explicit BodyFields(json::Value value) : value_(std::move(value)) {}

  const json::Value* take(std::string_view name) {
    taken_.emplace(name);
    const json::Value* value = json::find(value_, {name});
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  json::Value value_;
  std::set<std::string> taken_;
};

Result<api::CredentialSubject> take_subject(BodyFields& fields) {
  STRAKE_TRY(const std::string word, fields.text("role"));
  STRAKE_TRY(const api::Role role, api::parse_role(word));
  STRAKE_TRY(const std::string user, fields.text("user"));
  STRAKE_TRY(const std::string node, fields.text("node"));
  return api::credential_subject(role, user, node);
}

}  // namespace

Result<TokenRequest> parse_token_request(std::string_view body) {
  STRAKE_TRY(BodyFields fields, BodyFields::parse(body));
  TokenRequest request;
  STRAKE_TRY(request.subject, take_subject(fields));
  STRAKE_TRY(request.join, fields.flag("join"));
  STRAKE_TRY(request.lifetime, fields.lifetime(request.join ? kJoinTokenLifetime : kTokenLifetime,
                                               request.join ? kLongestJoinTokenLifetime : kLongestLifetime));
  STRAKE_TRY(request.node_role, fields.text("nodeRole"));
  STRAKE_CHECK_OK(fields.finish());
  if (request.join && request.subject.role != api::Role::kAgent) return bad_body("only an agent joins");
  if (!request.join && !request.node_role.empty()) return bad_body("nodeRole is for tokens to join with");
  if (request.join) {
    if (request.node_role.empty()) request.node_role = "worker";
    STRAKE_CHECK_OK(api::check_node_role(request.node_role));
  }
  return request;
}

Result<CertificateOrder> parse_certificate_order(std::string_view body) {
  STRAKE_TRY(BodyFields fields, BodyFields::parse(body));
  CertificateOrder order;
  STRAKE_TRY(order.subject, take_subject(fields));
  STRAKE_TRY(const std::chrono::seconds lifetime, fields.lifetime(kCertificateLifetimeWanted, kLongestLifetime));
  order.lifetime = std::chrono::ceil<std::chrono::hours>(lifetime);
  STRAKE_TRY(order.request_pem, fields.text("request"));
  STRAKE_CHECK_OK(fields.finish());
  if (order.request_pem.empty()) return bad_body("request is missing: a PEM certificate request");
  return order;
}

Result<std::string> parse_signing_request(std::string_view body) {
  STRAKE_TRY(BodyFields fields, BodyFields::parse(body));
  STRAKE_TRY(std::string request, fields.text("request"));
  STRAKE_CHECK_OK(fields.finish());
  if (request.empty()) return bad_body("request is missing: a PEM certificate request");
  return request;
}

Result<RevocationRequest> parse_revocation_request(std::string_view body) {
  STRAKE_TRY(BodyFields fields, BodyFields::parse(body));
  RevocationRequest request;
  STRAKE_TRY(request.id, fields.text("id"));
  STRAKE_TRY(request.user, fields.text("user"));
  STRAKE_TRY(request.node, fields.text("node"));
  STRAKE_TRY(request.reason, fields.text("reason"));
  STRAKE_CHECK_OK(fields.finish());
  const auto given = {!request.id.empty(), !request.user.empty(), !request.node.empty()};
  if (std::ranges::count(given, true) != 1) return bad_body("give one of id, user and node");
  std::ranges::replace(request.reason, '\n', ' ');
  request.reason = clip_utf8(visible_text(trimmed(request.reason)), kMaxReasonBytes);
  if (request.reason.empty()) request.reason = "revoked";
  return request;
}

Result<RotationRequest> parse_rotation_request(std::string_view body) {
  STRAKE_TRY(BodyFields fields, BodyFields::parse(body));
  RotationRequest request;
  STRAKE_TRY(request.from, fields.text("from"));
  STRAKE_TRY(request.leave_behind, fields.flag("leaveBehind"));
  STRAKE_CHECK_OK(fields.finish());
  if (request.from.empty()) return bad_body("from is missing: the step the rotation is at");
  return request;
}

}  // namespace strake::apistore::rest
