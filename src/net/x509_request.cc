// Certificate requests (PKCS#10), made and read.
#include <array>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "net/openssl_handles.h"
#include "net/x509.h"

namespace strake::net {

namespace {

using RequestBio = OpensslHandle<BIO, BIO_free>;

Status check_key_strength(const EVP_PKEY* key) {
  constexpr int kMinRsaBits = 2048;
  constexpr int kMaxRsaBits = 8192;  // a longer one costs every server that checks it
  const int kind = EVP_PKEY_get_base_id(key);
  if (kind == EVP_PKEY_ED25519) return {};
  if (kind == EVP_PKEY_RSA) {
    const int bits = EVP_PKEY_get_bits(key);
    if (bits >= kMinRsaBits && bits <= kMaxRsaBits) return {};
    return error(Code::kUnsupported, "the request holds an RSA key of {} bits: use {} to {}, or an EC key", bits,
                 kMinRsaBits, kMaxRsaBits);
  }
  if (kind == EVP_PKEY_EC) {
    std::array<char, 64> name{};
    std::size_t size = 0;
    if (EVP_PKEY_get_group_name(key, name.data(), name.size(), &size) == 1) {
      const int curve = OBJ_sn2nid(name.data());
      if (curve == NID_X9_62_prime256v1 || curve == NID_secp384r1 || curve == NID_secp521r1) return {};
    }
    return error(Code::kUnsupported, "the request holds a key on a curve other than P-256, P-384 and P-521");
  }
  return error(Code::kUnsupported, "the request holds a key that is neither RSA, EC nor Ed25519");
}

Result<CertificateRequest> wrap_request(RequestHandle handle) {
  const X509_NAME* subject = X509_REQ_get_subject_name(handle.get());
  CertificateRequest::Impl impl;
  const auto common_names = name_entries(subject, NID_commonName);
  if (!common_names.empty()) impl.common_name = common_names.front();
  impl.organizations = name_entries(subject, NID_organizationName);
  impl.handle = std::move(handle);
  return CertificateRequest(std::make_shared<const CertificateRequest::Impl>(std::move(impl)));
}

}  // namespace

void free_openssl_request(X509_req_st* request) { X509_REQ_free(request); }

const std::string& CertificateRequest::common_name() const { return impl_->common_name; }
const std::vector<std::string>& CertificateRequest::organizations() const { return impl_->organizations; }

Result<CertificateRequest> CertificateRequest::make(const PrivateKey& key, const std::string& common_name,
                                                    const std::vector<std::string>& organizations) {
  RequestHandle request(X509_REQ_new());
  constexpr long kVersion1 = 0;
  if (!request || X509_REQ_set_version(request.get(), kVersion1) != 1 ||
      X509_REQ_set_pubkey(request.get(), key.impl().handle.get()) != 1) {
    return error(Code::kInternal, "building a certificate request: {}", take_openssl_error());
  }
  X509_NAME* subject = X509_REQ_get_subject_name(request.get());
  for (const std::string& organization : organizations) {
    STRAKE_CHECK_OK(add_name_entry(subject, "O", organization));
  }
  STRAKE_CHECK_OK(add_name_entry(subject, "CN", common_name));
  if (X509_REQ_sign(request.get(), key.impl().handle.get(), EVP_sha256()) == 0) {
    return error(Code::kInternal, "signing a certificate request: {}", take_openssl_error());
  }
  return wrap_request(std::move(request));
}

Result<CertificateRequest> CertificateRequest::from_pem(std::string_view pem) {
  if (pem.size() > kMaxBytes) {
    return error(Code::kExhausted, "the certificate request is longer than {} bytes", kMaxBytes);
  }
  ERR_clear_error();
  const RequestBio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  RequestHandle request(PEM_read_bio_X509_REQ(bio.get(), nullptr, nullptr, nullptr));
  if (!request) return error(Code::kInvalidArgument, "not a PEM certificate request: {}", take_openssl_error());
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (key == nullptr) {
    return error(Code::kInvalidArgument, "the certificate request holds no usable key: {}", take_openssl_error());
  }
  STRAKE_CHECK_OK(check_key_strength(key));
  if (X509_REQ_verify(request.get(), key) != 1) {
    ERR_clear_error();
    return error(Code::kDenied, "the certificate request is not signed by the key it holds");
  }
  return wrap_request(std::move(request));
}

std::string CertificateRequest::key_sha256() const {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_REQ_get_X509_PUBKEY(impl_->handle.get()), &der);
  STRAKE_INVARIANT(size > 0);
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned hash_size = 0;
  const bool hashed =
      EVP_Digest(der, static_cast<std::size_t>(size), hash.data(), &hash_size, EVP_sha256(), nullptr) == 1;
  OPENSSL_free(der);
  STRAKE_INVARIANT(hashed);
  std::string text;
  for (unsigned i = 0; i < hash_size; ++i) text += fmt::format("{:02x}", hash[i]);
  return text;
}

std::string CertificateRequest::to_pem() const {
  const RequestBio bio(BIO_new(BIO_s_mem()));
  STRAKE_INVARIANT(bio && PEM_write_bio_X509_REQ(bio.get(), impl_->handle.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace strake::net
