#include "oci/testing/signer.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "codec/base64.h"
#include "oci/sigstore/sigstore_check.h"

namespace strake::oci::testing {

struct Signer::Impl {
  EVP_PKEY* key = nullptr;
};

Signer::Signer(Kind kind) : impl_(std::make_unique<Impl>()) {
  switch (kind) {
    case Kind::kP256: impl_->key = EVP_EC_gen("P-256"); break;
    case Kind::kP384: impl_->key = EVP_EC_gen("P-384"); break;
    case Kind::kRsa2048: impl_->key = EVP_RSA_gen(2048); break;
    case Kind::kRsa1024: impl_->key = EVP_RSA_gen(1024); break;
    case Kind::kEd25519: impl_->key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"); break;
  }
  STRAKE_INVARIANT(impl_->key != nullptr);
}

Signer::~Signer() { EVP_PKEY_free(impl_->key); }

std::string Signer::public_pem() const {
  BIO* bio = BIO_new(BIO_s_mem());
  STRAKE_INVARIANT(bio != nullptr && PEM_write_bio_PUBKEY(bio, impl_->key) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  std::string pem(text, static_cast<std::size_t>(size));
  BIO_free(bio);
  return pem;
}

SigstoreKey Signer::key() const {
  Result<SigstoreKey> parsed = SigstoreKey::parse(public_pem());
  STRAKE_INVARIANT(parsed.ok());
  return *std::move(parsed);
}

std::string Signer::sign(std::string_view payload) const {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  const auto* data = reinterpret_cast<const unsigned char*>(payload.data());
  std::size_t size = 0;
  STRAKE_INVARIANT(EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, impl_->key) == 1);
  STRAKE_INVARIANT(EVP_DigestSign(context, nullptr, &size, data, payload.size()) == 1);
  std::string signature(size, '\0');
  STRAKE_INVARIANT(
      EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &size, data, payload.size()) == 1);
  EVP_MD_CTX_free(context);
  signature.resize(size);
  return codec::encode_base64(signature);
}

std::string sigstore_statement(const codec::Digest& digest, std::string_view name, std::string_view optional) {
  return fmt::format(
      R"({{"critical":{{"identity":{{"docker-reference":"{}"}},"image":{{"docker-manifest-digest":"{}"}},"type":"cosign container image signature"}},"optional":{}}})",
      name, digest.to_string(), optional);
}

SignatureImage signature_image(const std::vector<SignedStatement>& statements,
                               const std::optional<Descriptor>& subject) {
  const std::string config = "{}";
  std::vector<std::string> blobs{config};
  json::Array layers;
  for (const SignedStatement& statement : statements) {
    const Descriptor layer{std::string(kSigstoreLayerType),
                           codec::Digest::sha256_of(statement.payload),
                           statement.payload.size(),
                           {{std::string(kSigstoreSignatureAnnotation), statement.signature_base64}}};
    layers.push_back(layer.to_json());
    blobs.push_back(statement.payload);
  }
  json::Object manifest{
      {"schemaVersion", 2},
      {"mediaType", media_type::kOciManifest},
      {"config",
       Descriptor{std::string(media_type::kOciConfig), codec::Digest::sha256_of(config), config.size()}.to_json()},
      {"layers", std::move(layers)}};
  if (subject) {
    manifest["artifactType"] = kSigstoreArtifactType;
    manifest["subject"] = subject->to_json();
  }
  std::string text = json::write(manifest);
  Descriptor descriptor{std::string(media_type::kOciManifest), codec::Digest::sha256_of(text), text.size()};
  if (subject) descriptor.artifact_type = kSigstoreArtifactType;
  return {std::move(blobs), std::move(text), std::move(descriptor)};
}

void push_signature_image(FakeRegistry& registry, const std::string& repository, const SignatureImage& image,
                          const std::string& tag) {
  for (const std::string& blob : image.blobs) registry.put_blob(repository, blob);
  registry.put_manifest(repository, tag.empty() ? image.descriptor.digest.to_string() : tag,
                        std::string(media_type::kOciManifest), image.manifest);
}

}  // namespace strake::oci::testing
