#include "release/signature/signature.h"

#include "base/text.h"
#include "codec/document_node.h"
#include "codec/yaml.h"

namespace strake::release {

namespace {

constexpr std::string_view kVerificationAnnotation = "release.openshift.io/verification-config-map";
constexpr std::string_view kKeyringPrefix = "verifier-public-key-";
constexpr std::string_view kStorePrefix = "store-";

bool is_verification_config_map(const json::Value& document) {
  return json::find_string(document, {"kind"}) == "ConfigMap" &&
         json::find(document, {"metadata", "annotations", kVerificationAnnotation}) != nullptr;
}

Result<SignatureTrust> trust_of_config_map(const json::Value& config_map) {
  SignatureTrust trust;
  const auto read_entry = [&](const std::string& key, const json::DocumentNode& node) -> Status {
    const bool is_keyring = key.starts_with(kKeyringPrefix);
    if (!is_keyring && !key.starts_with(kStorePrefix)) return {};
    if (!node.value().is_string()) return node.expected("a string");
    const std::string_view text = json::as_view(node.value().get_string());
    if (is_keyring) {
      STRAKE_TRY(Keyring keyring, parse_keyring(key, text));
      trust.keyrings.push_back(std::move(keyring));
      return {};
    }
    const std::string_view url = trimmed(text);
    if (!url.starts_with("http://") && !url.starts_with("https://") && !url.starts_with("file://")) {
      return node.wrong(fmt::format("'{}' is not an http, https or file URL", url));
    }
    trust.stores.emplace_back(url);
    return {};
  };
  STRAKE_CHECK_OK(json::DocumentNode(config_map).for_each_in("data", read_entry));
  if (trust.keyrings.empty()) return error(Code::kInvalidArgument, "data has no {}*", kKeyringPrefix);
  if (trust.stores.empty()) return error(Code::kInvalidArgument, "data has no {}*", kStorePrefix);
  return trust;
}

/// One signature against one keyring; the error says which link broke.
Result<AcceptedSignature> accept_signature(const codec::Digest& digest, const Keyring& keyring,
                                           const FoundSignature& signature, const SignatureChecker& checker,
                                           std::stop_token stop) {
  STRAKE_TRY(const CheckedMessage message, checker.check(keyring, signature.bytes, stop));
  STRAKE_TRY(SignaturePayload payload, parse_signature_payload(message.content));
  STRAKE_CHECK_OK(payload.require_digest(digest));
  return AcceptedSignature{keyring.name,        signature.source,   message.key_fingerprint,
                           message.key_expired, std::move(payload), signature.bytes};
}

}  // namespace

Result<SignatureTrust> trust_of_manifests(const std::map<std::string, std::string>& manifests) {
  for (const auto& [file, text] : manifests) {
    // Parsing a thousand manifests to find one would cost more than everything else here.
    if (text.find(kVerificationAnnotation) == std::string::npos) continue;
    STRAKE_TRY_CONTEXT(const auto documents, yaml::parse_stream(text), "{}", file);
    for (const yaml::Document& document : documents) {
      if (is_verification_config_map(document.value)) {
        return trust_of_config_map(document.value).context("verification ConfigMap {}", file);
      }
    }
  }
  return error(Code::kNotFound,
               "the release has no ConfigMap annotated {}, so it does not say whose signature it should carry; give "
               "--keyring and, unless the signatures lie beside the release, --signature-store",
               kVerificationAnnotation)
      .with_verdict(Verdict::kBlocked);
}

Result<SignatureVerdict> verify_signatures(const codec::Digest& digest, std::span<const Keyring> keyrings,
                                           const SignatureSearch& search, const SignatureChecker& checker,
                                           std::stop_token stop) {
  if (keyrings.empty()) return error(Code::kInvalidArgument, "no keyring to check signatures with");
  SignatureVerdict verdict;
  for (const Keyring& keyring : keyrings) {
    std::string refusals;
    bool accepted = false;
    for (const FoundSignature& signature : search.found) {
      Result<AcceptedSignature> result = accept_signature(digest, keyring, signature, checker, stop);
      if (result.ok()) {
        if (result->key_expired) {
          verdict.warnings.push_back(fmt::format("{}: key {} of keyring '{}' has expired", signature.source,
                                                 result->key_fingerprint, keyring.name));
        }
        verdict.accepted.push_back(*std::move(result));
        accepted = true;
        break;
      }
      const Code code = result.error().code();
      // Not the signature's fault, and the same for the next one.
      if (code != Code::kDenied && code != Code::kInvalidArgument && code != Code::kExhausted) {
        return std::move(result).error().context(fmt::format("checking {}", signature.source));
      }
      refusals += fmt::format("\n  {}: {}", signature.source, result.error().to_string());
    }
    if (accepted) continue;
    for (const std::string& note : search.notes) refusals += fmt::format("\n  {}", note);
    return error(Code::kDenied, "{} has no good signature for keyring '{}'{}", digest.to_string(), keyring.name,
                 refusals.empty() ? "; no place to look for signatures was given" : refusals)
        .with_verdict(search.found.empty() && search.unreachable ? Verdict::kUnreachable : Verdict::kNotGenuine);
  }
  return verdict;
}

}  // namespace strake::release
