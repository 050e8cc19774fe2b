// Key-based sigstore signatures of images, as cosign attaches them: bytes in, verdict out.
//
// Beside an image lies another one under the tag sha256-HEX.sig. Each of its layers is a statement (simple signing
// JSON); the signature over exactly these bytes is an annotation of the layer, in base64. A statement counts when one
// of the given keys signed it, it names the image's digest, and its identity fits the name the image is used under.
// Layers are tried one by one; one that counts is enough. Keys are ECDSA P-256 or RSA of at least 2048 bits, with
// SHA-256.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/digest.h"
#include "codec/json.h"
#include "oci/manifest.h"

namespace strake::oci {

inline constexpr std::string_view kSigstoreLayerType = "application/vnd.dev.cosign.simplesigning.v1+json";
inline constexpr std::string_view kSigstoreSignatureAnnotation = "dev.cosignproject.cosign/signature";
inline constexpr std::size_t kMaxSigstorePayloadBytes = 4u << 20;

/// "sha256-<hex>.sig": where the signatures of an image lie in its repository.
std::string sigstore_tag(const codec::Digest& digest);

/// One attached signature; the blob of `payload` is still to be fetched and checked against it.
struct SigstoreAttachment {
  Descriptor payload;
  std::string signature_base64;
};
/// Layers of other types, or without a signature, are passed over.
std::vector<SigstoreAttachment> sigstore_attachments(const Manifest& manifest);

class SigstoreKey {
 public:
  /// A PEM public key. Other algorithms, curves and sizes are kUnsupported.
  static Result<SigstoreKey> parse(std::string_view pem);
  SigstoreKey(SigstoreKey&&) noexcept;
  SigstoreKey& operator=(SigstoreKey&&) noexcept;
  ~SigstoreKey();

  /// Whether this key made the signature over these bytes.
  bool signed_by(std::string_view bytes, std::string_view signature) const;

 private:
  struct Impl;
  explicit SigstoreKey(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Which names in a statement fit the name an image is used under: the rules of containers-policy.json(5).
struct SigstoreIdentity {
  enum class Rule {
    /// The default of image policies: by tag the very same name; by digest any tag of the same repository. A name
    /// without a tag never fits.
    kMatchRepoDigestOrExact,
    kMatchExact,       ///< the very same name, with its tag or digest
    kMatchRepository,  ///< any name of the same repository
    kExactReference,   ///< the name given, whatever the image is called here
    kExactRepository,  ///< any name of the repository given
    /// An image below a prefix is taken for one below another; then as kMatchRepoDigestOrExact.
    kRemapIdentity,
  };
  Rule rule = Rule::kMatchRepoDigestOrExact;
  std::string name = {};           ///< of kExact...; the prefix of kRemapIdentity
  std::string signed_prefix = {};  ///< of kRemapIdentity: what stands in its place

  /// As parse_sigstore_identity() reads it.
  std::string to_string() const;
  /// Whether it is of importance what the image is called here.
  bool depends_on_name() const { return rule != Rule::kExactReference && rule != Rule::kExactRepository; }

  bool operator==(const SigstoreIdentity&) const = default;
};
std::string_view to_string(SigstoreIdentity::Rule rule);
/// "matchRepository", "exactReference=NAME", "exactRepository=NAME", "remapIdentity=PREFIX=SIGNEDPREFIX", ...
Result<SigstoreIdentity> parse_sigstore_identity(std::string_view text);

struct SigstoreStatement {
  std::string docker_reference;
  codec::Digest digest;
  json::Value optional;  ///< an object, or null
};

/// `image`: the full name it is used under, "registry.example.com/os/rhcos:4.21" or "...@sha256:...". kDenied names the
/// link that broke: signature, payload, digest or identity.
Result<SigstoreStatement> verify_sigstore(const SigstoreKey& key, std::string_view payload,
                                          std::string_view signature_base64, const codec::Digest& digest,
                                          std::string_view image, const SigstoreIdentity& identity);

}  // namespace strake::oci
