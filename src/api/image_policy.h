// ClusterImagePolicy and ImagePolicy: whose signatures an image must carry before a node runs it. The one is for all
// pods, the other for those of its namespace.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/field.h"

namespace strake::api {

inline constexpr FieldTable kClusterImagePolicyFields{
    "clusterimagepolicies.config.openshift.io",
    "spec.scopes",
    "spec.policy.rootOfTrust.policyType",
    "spec.policy.rootOfTrust.publicKey.keyData",
    "spec.policy.rootOfTrust.publicKey.rekorKeyData",
    "spec.policy.rootOfTrust.fulcioCAWithRekor.fulcioCAData",
    "spec.policy.rootOfTrust.fulcioCAWithRekor.rekorKeyData",
    "spec.policy.rootOfTrust.fulcioCAWithRekor.fulcioSubject.oidcIssuer",
    "spec.policy.rootOfTrust.fulcioCAWithRekor.fulcioSubject.signedEmail",
    "spec.policy.rootOfTrust.pki.caRootsData",
    "spec.policy.rootOfTrust.pki.caIntermediatesData",
    "spec.policy.rootOfTrust.pki.pkiCertificateSubject.email",
    "spec.policy.rootOfTrust.pki.pkiCertificateSubject.hostname",
    "spec.policy.signedIdentity.matchPolicy",
    "spec.policy.signedIdentity.exactRepository.repository",
    "spec.policy.signedIdentity.remapIdentity.prefix",
    "spec.policy.signedIdentity.remapIdentity.signedPrefix",
};

/// Reads an object of either kind that outlives the view; what both have is at the same paths.
class ImagePolicyView {
 public:
  explicit ImagePolicyView(const json::Value& object) : object_(object) {}
  explicit ImagePolicyView(const json::Value&&) = delete;

  /// Each a registry, a path in one, an image, or "*.domain".
  std::vector<std::string> scopes() const { return texts_at(object_, kClusterImagePolicyFields["spec.scopes"]); }
  /// The text at one of the fields; keys and certificates in base64, as in the object.
  std::string text(Field field) const { return text_at(object_, field); }

 private:
  const json::Value& object_;
};

}  // namespace strake::api
