#include "oci/sigstore/sigstore.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/text.h"
#include "codec/base64.h"
#include "oci/image_source.h"
#include "oci/reference.h"

namespace strake::oci {

namespace {

constexpr std::string_view kSigstoreType = "cosign container image signature";
constexpr int kMinRsaBits = 2048;
constexpr std::string_view kP256 = "prime256v1";

struct SigstoreFree {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};

Error broken_link(std::string_view link, std::string_view what) { return error(Code::kDenied, "{}: {}", link, what); }

/// The member `name` of an object that has exactly the members `all`.
Status require_members(const json::Value& value, std::string_view path, std::initializer_list<std::string_view> all) {
  if (!value.is_object()) {
    return broken_link("payload", fmt::format("{} is {}, expected an object", path, json::type_name(value)));
  }
  for (const std::string_view name : all) {
    if (!value.get_object().contains(name))
      return broken_link("payload", fmt::format("{} has no member {}", path, name));
  }
  for (const auto& [name, member] : value.get_object()) {
    bool known = false;
    for (const std::string_view expected : all) known = known || std::string_view(name) == expected;
    if (!known) return broken_link("payload", fmt::format("{} has unknown member '{}'", path, std::string_view(name)));
  }
  return {};
}

Result<std::string> require_text(const json::Value& object, std::string_view name) {
  const auto text = json::find_string(object, {name});
  if (!text || text->empty()) return broken_link("payload", fmt::format("{} is missing or no string", name));
  return *text;
}

Result<SigstoreStatement> parse_statement(std::string_view payload) {
  json::ParseLimits limits;
  limits.max_bytes = kMaxSigstorePayloadBytes;
  const Result<json::Value> document = json::parse(payload, limits);
  if (!document.ok()) return broken_link("payload", document.error().to_string());
  STRAKE_CHECK_OK(require_members(*document, "the statement", {"critical", "optional"}));
  const json::Value& critical = *json::find(*document, {"critical"});
  STRAKE_CHECK_OK(require_members(critical, "critical", {"type", "image", "identity"}));
  const json::Value& image = *json::find(critical, {"image"});
  const json::Value& identity = *json::find(critical, {"identity"});
  STRAKE_CHECK_OK(require_members(image, "critical.image", {"docker-manifest-digest"}));
  STRAKE_CHECK_OK(require_members(identity, "critical.identity", {"docker-reference"}));
  STRAKE_TRY(const std::string type, require_text(critical, "type"));
  if (type != kSigstoreType) {
    return broken_link("payload", fmt::format("critical.type is '{}', expected '{}'", type, kSigstoreType));
  }
  const json::Value& optional = *json::find(*document, {"optional"});
  if (!optional.is_null() && !optional.is_object())
    return broken_link("payload", "optional is neither object nor null");
  STRAKE_TRY(const std::string digest_text, require_text(image, "docker-manifest-digest"));
  const Result<codec::Digest> digest = codec::Digest::parse(digest_text);
  if (!digest.ok()) return broken_link("payload", digest.error().to_string());
  STRAKE_TRY(std::string reference, require_text(identity, "docker-reference"));
  return SigstoreStatement{std::move(reference), *digest, optional};
}

bool names_a_version(const Reference& reference) { return !reference.tag.empty() || reference.digest.has_value(); }

/// A digest decides; a tag beside it says nothing about what is used.
bool fits_digest_or_exact(const Reference& ours, const Reference& theirs) {
  if (ours.name() != theirs.name() || theirs.tag.empty() || theirs.digest) return false;
  return ours.digest || ours.tag == theirs.tag;
}

/// The image as its signer called it. Prefixes end where a part of the name does: "a.example/x" is none of
/// "a.example/xy".
Result<Reference> remapped(const Reference& ours, const SigstoreIdentity& identity) {
  const std::string text = ours.to_string();
  const std::string& prefix = identity.name;
  const std::string name = ours.name();
  const bool below = name == prefix || (name.starts_with(prefix) && name[prefix.size()] == '/');
  if (!below) return ours;
  return parse_reference(identity.signed_prefix + text.substr(prefix.size())).context("{}", identity.to_string());
}

Result<bool> fits_identity(const Reference& ours, const Reference& theirs, const SigstoreIdentity& identity) {
  using Rule = SigstoreIdentity::Rule;
  switch (identity.rule) {
    case Rule::kMatchRepoDigestOrExact: return fits_digest_or_exact(ours, theirs);
    case Rule::kMatchExact: return ours == theirs && names_a_version(ours);
    case Rule::kMatchRepository: return ours.name() == theirs.name();
    case Rule::kExactReference: {
      STRAKE_TRY(const Reference expected, parse_reference(identity.name));
      return expected == theirs && names_a_version(expected);
    }
    case Rule::kExactRepository: {
      STRAKE_TRY(const Reference expected, parse_reference(identity.name));
      return expected.name() == theirs.name();
    }
    case Rule::kRemapIdentity: break;
  }
  STRAKE_TRY(const Reference signed_as, remapped(ours, identity));
  return fits_digest_or_exact(signed_as, theirs);
}

Status require_identity(std::string_view stated, std::string_view image, const SigstoreIdentity& identity) {
  const Result<Reference> theirs = parse_reference(stated);
  if (!theirs.ok()) return broken_link("identity", theirs.error().to_string());
  Reference ours;
  if (identity.depends_on_name()) {
    const Result<Reference> parsed = parse_reference(image);
    if (!parsed.ok()) return broken_link("identity", parsed.error().to_string());
    ours = *parsed;
  }
  const Result<bool> fits = fits_identity(ours, *theirs, identity);
  if (!fits.ok()) return broken_link("identity", fits.error().to_string());
  if (*fits) return {};
  if (!identity.depends_on_name()) {
    return broken_link("identity", fmt::format("the statement is about {}, which is not {}", stated, identity.name));
  }
  return broken_link("identity", fmt::format("the statement is about {}, which does not fit {} ({})", stated, image,
                                             identity.to_string()));
}

}  // namespace

struct SigstoreKey::Impl {
  explicit Impl(EVP_PKEY* owned) : key(owned) {}
  ~Impl() { EVP_PKEY_free(key); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  EVP_PKEY* key;
};

SigstoreKey::SigstoreKey(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SigstoreKey::SigstoreKey(SigstoreKey&&) noexcept = default;
SigstoreKey& SigstoreKey::operator=(SigstoreKey&&) noexcept = default;
SigstoreKey::~SigstoreKey() = default;

Result<SigstoreKey> SigstoreKey::parse(std::string_view pem) {
  constexpr std::size_t kMaxKeyBytes = 64u << 10;
  if (pem.size() > kMaxKeyBytes) return error(Code::kExhausted, "key: {} bytes are no public key", pem.size());
  // OpenSSL has no buffer of nothing.
  if (pem.empty()) return error(Code::kInvalidArgument, "key: it is empty; expected a PEM public key");
  const std::unique_ptr<BIO, SigstoreFree> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  STRAKE_INVARIANT(bio != nullptr);
  auto impl = std::make_unique<Impl>(PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (impl->key == nullptr) return error(Code::kInvalidArgument, "key: expected a PEM public key (BEGIN PUBLIC KEY)");
  const int kind = EVP_PKEY_get_base_id(impl->key);
  if (kind == EVP_PKEY_RSA) {
    if (EVP_PKEY_get_bits(impl->key) < kMinRsaBits) {
      return error(Code::kUnsupported, "key: RSA of {} bits; at least {} are wanted", EVP_PKEY_get_bits(impl->key),
                   kMinRsaBits);
    }
    return SigstoreKey(std::move(impl));
  }
  char group[64] = {};
  std::size_t length = 0;
  if (kind == EVP_PKEY_EC && EVP_PKEY_get_group_name(impl->key, group, sizeof group, &length) == 1 &&
      std::string_view(group, length) == kP256) {
    return SigstoreKey(std::move(impl));
  }
  return error(Code::kUnsupported, "key: it is neither RSA nor ECDSA P-256");
}

bool SigstoreKey::signed_by(std::string_view bytes, std::string_view signature) const {
  const std::unique_ptr<EVP_MD_CTX, SigstoreFree> context(EVP_MD_CTX_new());
  STRAKE_INVARIANT(context != nullptr);
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto* raw = reinterpret_cast<const unsigned char*>(signature.data());
  const bool good = EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, impl_->key) == 1 &&
                    EVP_DigestVerify(context.get(), raw, signature.size(), data, bytes.size()) == 1;
  ERR_clear_error();
  return good;
}

std::string_view to_string(SigstoreIdentity::Rule rule) {
  using Rule = SigstoreIdentity::Rule;
  switch (rule) {
    case Rule::kMatchRepoDigestOrExact: return "matchRepoDigestOrExact";
    case Rule::kMatchExact: return "matchExact";
    case Rule::kMatchRepository: return "matchRepository";
    case Rule::kExactReference: return "exactReference";
    case Rule::kExactRepository: return "exactRepository";
    case Rule::kRemapIdentity: return "remapIdentity";
  }
  return "unknown";
}

std::string SigstoreIdentity::to_string() const {
  std::string text(oci::to_string(rule));
  if (!name.empty()) text += "=" + name;
  if (!signed_prefix.empty()) text += "=" + signed_prefix;
  return text;
}

Result<SigstoreIdentity> parse_sigstore_identity(std::string_view text) {
  using Rule = SigstoreIdentity::Rule;
  constexpr Rule kRules[] = {Rule::kMatchRepoDigestOrExact, Rule::kMatchExact,      Rule::kMatchRepository,
                             Rule::kExactReference,         Rule::kExactRepository, Rule::kRemapIdentity};
  // Names of images have no '='.
  const std::vector<std::string_view> parts = split(text, '=');
  for (const Rule rule : kRules) {
    if (parts.front() != to_string(rule)) continue;
    const std::size_t wanted =
        rule == Rule::kRemapIdentity ? 3 : (rule == Rule::kExactReference || rule == Rule::kExactRepository ? 2 : 1);
    if (parts.size() != wanted) {
      return error(Code::kInvalidArgument, "'{}': expected {}{}", text, to_string(rule),
                   wanted == 3 ? "=PREFIX=SIGNEDPREFIX" : (wanted == 2 ? "=NAME" : " and nothing behind it"));
    }
    SigstoreIdentity identity{rule};
    if (wanted > 1) identity.name = parts[1];
    if (wanted > 2) identity.signed_prefix = parts[2];
    if (rule == Rule::kRemapIdentity) {
      // A prefix may be a registry alone.
      for (const std::string& prefix : {identity.name, identity.signed_prefix}) {
        STRAKE_TRY_CONTEXT(const Reference below, parse_reference(prefix + "/x"), "'{}'", text);
        if (below.name() != prefix + "/x") {
          return error(Code::kInvalidArgument, "'{}': '{}' has to begin with a registry, as docker.io/library", text,
                       prefix);
        }
      }
    } else if (wanted > 1) {
      STRAKE_TRY_CONTEXT(const Reference named, parse_reference(identity.name), "'{}'", text);
      if (rule == Rule::kExactReference && !names_a_version(named)) {
        return error(Code::kInvalidArgument, "'{}': the name needs a tag or a digest; exactRepository takes any", text);
      }
      if (rule == Rule::kExactRepository && names_a_version(named)) {
        return error(Code::kInvalidArgument, "'{}': a repository has no tag and no digest", text);
      }
    }
    return identity;
  }
  return error(Code::kInvalidArgument,
               "'{}' is no identity; there are matchRepoDigestOrExact, matchExact, matchRepository, "
               "exactReference=NAME, exactRepository=NAME and remapIdentity=PREFIX=SIGNEDPREFIX",
               text);
}

std::string sigstore_tag(const codec::Digest& digest) { return referrers_tag(digest) + ".sig"; }

std::vector<SigstoreAttachment> sigstore_attachments(const Manifest& manifest) {
  std::vector<SigstoreAttachment> attachments;
  for (const Descriptor& layer : manifest.layers) {
    const auto signature = layer.annotations.find(std::string(kSigstoreSignatureAnnotation));
    if (layer.media_type != kSigstoreLayerType || signature == layer.annotations.end()) continue;
    attachments.push_back({layer, signature->second});
  }
  return attachments;
}

Result<SigstoreStatement> verify_sigstore(const SigstoreKey& key, std::string_view payload,
                                          std::string_view signature_base64, const codec::Digest& digest,
                                          std::string_view image, const SigstoreIdentity& identity) {
  if (payload.size() > kMaxSigstorePayloadBytes) {
    return broken_link("payload", fmt::format("{} bytes are more than a statement may have", payload.size()));
  }
  const Result<std::string> signature = codec::decode_base64(signature_base64);
  if (!signature.ok()) return broken_link("signature", signature.error().to_string());
  // Before this nothing of the payload is looked at.
  if (!key.signed_by(payload, *signature))
    return broken_link("signature", "it was not made over this payload by this key");
  STRAKE_TRY(SigstoreStatement statement, parse_statement(payload));
  if (statement.digest != digest) {
    return broken_link("digest", fmt::format("the statement is about {}, not about {}", statement.digest.to_string(),
                                             digest.to_string()));
  }
  STRAKE_CHECK_OK(require_identity(statement.docker_reference, image, identity));
  return statement;
}

}  // namespace strake::oci
