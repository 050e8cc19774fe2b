#include "oci/sigstore.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "codec/base64.h"

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

struct SplitName {
  std::string_view repository;
  std::string_view tag;  ///< without the colon; empty when there is none
  bool by_digest = false;
};

SplitName split_name(std::string_view name) {
  SplitName split;
  if (const std::size_t at = name.find('@'); at != std::string_view::npos) {
    split.by_digest = true;
    name = name.substr(0, at);
  }
  const std::size_t slash = name.rfind('/');
  const std::size_t colon = name.rfind(':');
  // A colon before the last slash belongs to a port.
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash)) {
    split.tag = name.substr(colon + 1);
    name = name.substr(0, colon);
  }
  split.repository = name;
  return split;
}

Status require_identity(std::string_view stated, std::string_view image, SigstoreIdentity rule) {
  const SplitName ours = split_name(image);
  const SplitName theirs = split_name(stated);
  bool fits = ours.repository == theirs.repository;
  if (rule == SigstoreIdentity::kMatchRepoDigestOrExact) {
    fits = fits && !theirs.tag.empty() && !theirs.by_digest && (ours.by_digest || ours.tag == theirs.tag);
  }
  if (fits) return {};
  return broken_link(
      "identity", fmt::format("the statement is about {}, which does not fit {} ({})", stated, image, to_string(rule)));
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

std::string_view to_string(SigstoreIdentity identity) {
  switch (identity) {
    case SigstoreIdentity::kMatchRepoDigestOrExact: return "MatchRepoDigestOrExact";
    case SigstoreIdentity::kMatchRepository: return "MatchRepository";
  }
  return "unknown";
}

std::string sigstore_tag(const codec::Digest& digest) {
  return fmt::format("{}-{}.sig", codec::to_string(digest.algorithm()), digest.hex());
}

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
                                          std::string_view image, SigstoreIdentity identity) {
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
