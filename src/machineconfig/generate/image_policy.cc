#include "machineconfig/generate/image_policy.h"

#include <algorithm>
#include <set>

#include "api/image_policy.h"
#include "api/kinds.h"
#include "codec/base64.h"
#include "machineconfig/generate/registries.h"

namespace strake::machineconfig {

namespace {

constexpr const auto& kPolicyFields = api::kClusterImagePolicyFields;
constexpr std::size_t kMaxScopeLength = 512;

/// Reads one policy; the errors name its fields.
class PolicyReader {
 public:
  explicit PolicyReader(const kube::Object& object) : view_(object.json()) {}

  Result<json::Object> requirement() const {
    json::Object requirement{{"type", "sigstoreSigned"}};
    const std::string type = view_.text(kPolicyFields["spec.policy.rootOfTrust.policyType"]);
    if (type == "PublicKey") {
      STRAKE_TRY(requirement["keyData"], pem(kPolicyFields["spec.policy.rootOfTrust.publicKey.keyData"]));
      STRAKE_CHECK_OK(add_rekor(requirement, kPolicyFields["spec.policy.rootOfTrust.publicKey.rekorKeyData"]));
    } else if (type == "FulcioCAWithRekor") {
      STRAKE_TRY(requirement["fulcio"], fulcio());
      STRAKE_TRY(requirement["rekorPublicKeyData"],
                 pem(kPolicyFields["spec.policy.rootOfTrust.fulcioCAWithRekor.rekorKeyData"]));
    } else if (type == "PKI") {
      STRAKE_TRY(requirement["pki"], pki());
    } else {
      return error(Code::kInvalidArgument,
                   "spec.policy.rootOfTrust.policyType: '{}' is not PublicKey, FulcioCAWithRekor or PKI", type);
    }
    STRAKE_TRY(requirement["signedIdentity"], identity());
    return requirement;
  }

 private:
  Result<std::string> needed(api::Field field) const {
    std::string text = view_.text(field);
    if (text.empty()) return error(Code::kInvalidArgument, "{}: missing", field.path());
    return text;
  }

  /// A key or certificates, as base64 of PEM: so it is in the object, and so it is in policy.json.
  Result<std::string> pem(api::Field field) const {
    STRAKE_TRY(std::string encoded, needed(field));
    const auto text = codec::decode_base64(encoded);
    if (!text.ok() || text->find("-----BEGIN ") == std::string::npos || text->find("-----END ") == std::string::npos) {
      return error(Code::kInvalidArgument, "{}: is not base64 of PEM", field.path());
    }
    return encoded;
  }

  Status add_rekor(json::Object& requirement, api::Field field) const {
    if (view_.text(field).empty()) return {};
    STRAKE_TRY(requirement["rekorPublicKeyData"], pem(field));
    return {};
  }

  Result<json::Object> fulcio() const {
    json::Object fulcio;
    STRAKE_TRY(fulcio["caData"], pem(kPolicyFields["spec.policy.rootOfTrust.fulcioCAWithRekor.fulcioCAData"]));
    STRAKE_TRY(fulcio["oidcIssuer"],
               needed(kPolicyFields["spec.policy.rootOfTrust.fulcioCAWithRekor.fulcioSubject.oidcIssuer"]));
    STRAKE_TRY(fulcio["subjectEmail"],
               needed(kPolicyFields["spec.policy.rootOfTrust.fulcioCAWithRekor.fulcioSubject.signedEmail"]));
    return fulcio;
  }

  Result<json::Object> pki() const {
    json::Object pki;
    STRAKE_TRY(pki["caRootsData"], pem(kPolicyFields["spec.policy.rootOfTrust.pki.caRootsData"]));
    constexpr api::Field kIntermediates = kPolicyFields["spec.policy.rootOfTrust.pki.caIntermediatesData"];
    if (!view_.text(kIntermediates).empty()) {
      STRAKE_TRY(pki["caIntermediatesData"], pem(kIntermediates));
    }
    const std::string email = view_.text(kPolicyFields["spec.policy.rootOfTrust.pki.pkiCertificateSubject.email"]);
    const std::string host = view_.text(kPolicyFields["spec.policy.rootOfTrust.pki.pkiCertificateSubject.hostname"]);
    if (email.empty() && host.empty()) {
      return error(Code::kInvalidArgument,
                   "spec.policy.rootOfTrust.pki.pkiCertificateSubject: names neither email nor hostname");
    }
    if (!email.empty()) pki["subjectEmail"] = email;
    if (!host.empty()) pki["subjectHostname"] = host;
    return pki;
  }

  Result<json::Object> identity() const {
    const std::string match = view_.text(kPolicyFields["spec.policy.signedIdentity.matchPolicy"]);
    if (match.empty() || match == "MatchRepoDigestOrExact") return json::Object{{"type", "matchRepoDigestOrExact"}};
    if (match == "MatchRepository") return json::Object{{"type", "matchRepository"}};
    if (match == "ExactRepository") {
      json::Object exact{{"type", "exactRepository"}};
      STRAKE_TRY(exact["dockerRepository"],
                 needed(kPolicyFields["spec.policy.signedIdentity.exactRepository.repository"]));
      return exact;
    }
    if (match == "RemapIdentity") {
      json::Object remap{{"type", "remapIdentity"}};
      STRAKE_TRY(remap["prefix"], needed(kPolicyFields["spec.policy.signedIdentity.remapIdentity.prefix"]));
      STRAKE_TRY(remap["signedPrefix"], needed(kPolicyFields["spec.policy.signedIdentity.remapIdentity.signedPrefix"]));
      return remap;
    }
    return error(Code::kInvalidArgument,
                 "spec.policy.signedIdentity.matchPolicy: '{}' is not MatchRepoDigestOrExact, MatchRepository, "
                 "ExactRepository or RemapIdentity",
                 match);
  }

  api::ImagePolicyView view_;
};

Status check_policy_scope(std::string_view scope) {
  const bool wildcard = scope.find('*') != std::string_view::npos;
  const bool plain = !scope.empty() && scope.size() <= kMaxScopeLength &&
                     scope.find_first_of(" \t\r\n\"'\\#") == std::string_view::npos;
  if (plain &&
      (!wildcard || (scope.starts_with("*.") && scope.substr(2).find_first_of("/:*@") == std::string_view::npos)))
    return {};
  return error(Code::kInvalidArgument, "spec.scopes: '{}' is not a registry, a path in one, an image or *.domain",
               scope);
}

/// As is_within_scope, and an image lies within its repository.
bool is_within_policy_scope(std::string_view scope, std::string_view outer) {
  if (is_within_scope(scope, outer)) return true;
  return scope.size() > outer.size() && scope.starts_with(outer) &&
         (scope[outer.size()] == '@' || (scope[outer.size()] == ':' && outer.find('/') != std::string_view::npos));
}

bool is_within_any(std::string_view scope, const std::vector<std::string>& outer_scopes) {
  return std::ranges::any_of(outer_scopes,
                             [&](const std::string& outer) { return is_within_policy_scope(scope, outer); });
}

Status check_may_be_pulled(const std::string& scope, const std::vector<std::string>& allowed,
                           const std::vector<std::string>& blocked) {
  if (is_within_any(scope, blocked)) {
    return error(Code::kInvalidArgument,
                 "spec.scopes: '{}' is blocked by Image {} (spec.registrySources.blockedRegistries); remove one", scope,
                 api::kImageConfigName);
  }
  if (!allowed.empty() && !is_within_any(scope, allowed)) {
    return error(Code::kInvalidArgument,
                 "spec.scopes: '{}' is not allowed by Image {} (spec.registrySources.allowedRegistries); add it there",
                 scope, api::kImageConfigName);
  }
  return {};
}

}  // namespace

std::vector<std::string> ImagePolicies::scopes() const {
  std::set<std::string> all;
  for (const auto& [scope, requirements] : cluster) all.insert(scope);
  for (const auto& [ns, policies] : namespaces) {
    for (const auto& [scope, requirements] : policies) all.insert(scope);
  }
  return {all.begin(), all.end()};
}

Result<ImagePolicies> read_image_policies(const std::vector<kube::ObjectPtr>& objects,
                                          const std::vector<std::string>& allowed,
                                          const std::vector<std::string>& blocked) {
  std::vector<const kube::Object*> policies;
  for (const kube::ObjectPtr& object : objects) {
    const std::string kind = object->kind();
    const bool is_policy = kind == api::kClusterImagePolicy.kind || kind == api::kImagePolicy.kind;
    if (is_policy && !object->deleting()) policies.push_back(object.get());
  }
  // Whatever order they come in, the files are the same.
  std::ranges::sort(policies, {}, [](const kube::Object* object) { return std::pair(object->ns(), object->name()); });
  ImagePolicies read;
  std::size_t scopes = 0;
  for (const kube::Object* object : policies) {
    const std::string who = fmt::format("{} {}", object->kind(), object->key().to_string());
    STRAKE_TRY_CONTEXT(const json::Object requirement, PolicyReader(*object).requirement(), "{}", who);
    const bool is_cluster = object->kind() == api::kClusterImagePolicy.kind;
    // The file of its policy has this name.
    if (!is_cluster && !kube::is_object_name(object->ns())) {
      return error(Code::kInvalidArgument, "{}: metadata.namespace: {}", who,
                   object->ns().empty() ? "missing" : fmt::format("'{}' is no namespace", object->ns()));
    }
    for (const std::string& scope : api::ImagePolicyView(object->json()).scopes()) {
      STRAKE_CHECK_OK(check_policy_scope(scope).context("{}", who));
      STRAKE_CHECK_OK(check_may_be_pulled(scope, allowed, blocked).context("{}", who));
      if (++scopes > kMaxPolicyScopes) {
        return error(Code::kExhausted, "{}: the image policies name more than {} scopes", who, kMaxPolicyScopes);
      }
      (is_cluster ? read.cluster : read.namespaces[object->ns()])[scope].push_back(requirement);
    }
  }
  for (auto& [ns, of_namespace] : read.namespaces) {
    std::erase_if(of_namespace, [&](const auto& entry) {
      return std::ranges::any_of(
          read.cluster, [&](const auto& cluster) { return is_within_policy_scope(entry.first, cluster.first); });
    });
  }
  std::erase_if(read.namespaces, [](const auto& entry) { return entry.second.empty(); });
  return read;
}

}  // namespace strake::machineconfig
