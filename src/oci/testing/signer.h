// Sigstore signatures for tests: keys, statements, and images that carry them, as cosign makes them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oci/sigstore/sigstore.h"
#include "oci/testing/fake_registry.h"

namespace strake::oci::testing {

/// A key pair made by OpenSSL.
class Signer {
 public:
  enum class Kind { kP256, kP384, kRsa2048, kRsa1024, kEd25519 };
  explicit Signer(Kind kind = Kind::kP256);
  ~Signer();
  Signer(const Signer&) = delete;
  Signer& operator=(const Signer&) = delete;

  std::string public_pem() const;
  SigstoreKey key() const;
  /// With SHA-256, in base64.
  std::string sign(std::string_view payload) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What is signed about an image: its digest and its name. `optional` is JSON.
std::string sigstore_statement(const codec::Digest& digest, std::string_view name, std::string_view optional = "null");

struct SignedStatement {
  std::string payload;
  std::string signature_base64;
};

/// A manifest whose layers are signatures. With a subject it is a referrer of that image.
struct SignatureImage {
  std::vector<std::string> blobs;
  std::string manifest;
  Descriptor descriptor;
};
SignatureImage signature_image(const std::vector<SignedStatement>& statements,
                               const std::optional<Descriptor>& subject = {});
/// Under a tag; without one by digest alone, as referrers are.
void push_signature_image(FakeRegistry& registry, const std::string& repository, const SignatureImage& image,
                          const std::string& tag = {});

}  // namespace strake::oci::testing
