#include "net/x509.h"

#include <array>
#include <ctime>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "net/openssl_handles.h"

namespace strake::net {
namespace {

using BioHandle = OpensslHandle<BIO, BIO_free>;
using StoreHandle = OpensslHandle<X509_STORE, X509_STORE_free>;
using StoreContextHandle = OpensslHandle<X509_STORE_CTX, X509_STORE_CTX_free>;

struct CertificateStackFree {  // the certificates stay with their owners
  void operator()(STACK_OF(X509) * stack) const { sk_X509_free(stack); }
};
using CertificateStack = std::unique_ptr<STACK_OF(X509), CertificateStackFree>;

struct GeneralNamesFree {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

/// Without this OpenSSL would ask for the password on the terminal.
int refuse_password(char*, int, int, void*) { return -1; }

std::string hex_of(std::span<const unsigned char> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

BioHandle memory_bio(std::string_view bytes) {
  return BioHandle(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}

std::string bio_text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

std::string one_line_name(const X509_NAME* name) {
  const BioHandle bio(BIO_new(BIO_s_mem()));
  if (!bio || X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) < 0) return {};
  return bio_text(bio.get());
}

Result<std::chrono::sys_seconds> time_from_asn1(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) {
    return error(Code::kCorrupt, "the certificate holds an unreadable time: {}", take_openssl_error());
  }
  return std::chrono::sys_seconds(std::chrono::seconds(timegm(&parts)));
}

void read_alternative_names(const X509* certificate, CertificateInfo& info) {
  const std::unique_ptr<GENERAL_NAMES, GeneralNamesFree> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (!names) return;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) {
      const unsigned char* data = ASN1_STRING_get0_data(name->d.dNSName);
      info.dns_names.emplace_back(reinterpret_cast<const char*>(data),
                                  static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
    } else if (name->type == GEN_IPADD) {
      const int size = ASN1_STRING_length(name->d.iPAddress);
      std::array<char, INET6_ADDRSTRLEN> text{};
      const int family = size == 4 ? AF_INET : AF_INET6;
      if ((size == 4 || size == 16) &&
          inet_ntop(family, ASN1_STRING_get0_data(name->d.iPAddress), text.data(), text.size()) != nullptr) {
        info.ip_addresses.emplace_back(text.data());
      }
    }
  }
}

/// Null terminated by contract of the functions that take an address as text.
bool looks_like_address(const std::string& host) {
  std::array<unsigned char, 16> ignored{};
  return inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
}

Status check_pem_size(std::string_view pem) {
  if (pem.size() > kMaxPemBytes) return error(Code::kExhausted, "the PEM text is longer than {} bytes", kMaxPemBytes);
  return {};
}

}  // namespace

std::vector<std::string> name_entries(const X509_NAME* name, int nid) {
  std::vector<std::string> values;
  for (int at = X509_NAME_get_index_by_NID(name, nid, -1); at >= 0; at = X509_NAME_get_index_by_NID(name, nid, at)) {
    unsigned char* utf8 = nullptr;
    const int size = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
    if (size < 0) continue;
    values.emplace_back(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(size));
    OPENSSL_free(utf8);
  }
  return values;
}

void free_openssl_certificate(x509_st* certificate) { X509_free(certificate); }
void free_openssl_key(evp_pkey_st* key) { EVP_PKEY_free(key); }

std::string take_openssl_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "no further detail";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "error " + std::to_string(code);
}

Result<Certificate> wrap_certificate(X509Handle handle) {
  CertificateInfo info;
  const X509* x509 = handle.get();
  const auto common_names = name_entries(X509_get_subject_name(x509), NID_commonName);
  if (!common_names.empty()) info.common_name = common_names.front();
  info.organizations = name_entries(X509_get_subject_name(x509), NID_organizationName);
  info.issuer = one_line_name(X509_get_issuer_name(x509));
  read_alternative_names(x509, info);
  STRAKE_TRY(info.not_before, time_from_asn1(X509_get0_notBefore(x509)));
  STRAKE_TRY(info.not_after, time_from_asn1(X509_get0_notAfter(x509)));
  info.is_ca = X509_check_ca(handle.get()) == 1;
  info.may_vouch_for_cas = info.is_ca && X509_get_pathlen(handle.get()) != 0;

  const ASN1_INTEGER* serial = X509_get0_serialNumber(x509);
  info.serial = hex_of({ASN1_STRING_get0_data(serial), static_cast<std::size_t>(ASN1_STRING_length(serial))});
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int digest_size = 0;
  if (X509_digest(x509, EVP_sha256(), digest.data(), &digest_size) != 1) {
    return error(Code::kInternal, "computing a certificate fingerprint: {}", take_openssl_error());
  }
  info.sha256 = hex_of({digest.data(), digest_size});
  ERR_clear_error();  // an absent optional extension leaves an entry behind
  return Certificate(std::make_shared<const Certificate::Impl>(Certificate::Impl{std::move(handle), std::move(info)}));
}

Result<PrivateKey> PrivateKey::generate(KeyKind kind) {
  constexpr std::size_t kRsaBits = 2048;
  KeyHandle key(kind == KeyKind::kRsa2048 ? EVP_RSA_gen(kRsaBits) : EVP_EC_gen("P-256"));
  if (!key) return error(Code::kInternal, "generating a key: {}", take_openssl_error());
  return PrivateKey(std::make_shared<const Impl>(Impl{std::move(key)}));
}

Result<PrivateKey> PrivateKey::from_pem(std::string_view pem) {
  STRAKE_CHECK_OK(check_pem_size(pem));
  const BioHandle bio = memory_bio(pem);
  KeyHandle key(PEM_read_bio_PrivateKey(bio.get(), nullptr, refuse_password, nullptr));
  if (!key) {
    return error(Code::kInvalidArgument, "not a PEM private key without a password: {}", take_openssl_error());
  }
  return PrivateKey(std::make_shared<const Impl>(Impl{std::move(key)}));
}

std::string PrivateKey::to_pem() const {
  const BioHandle bio(BIO_new(BIO_s_secmem()));
  STRAKE_INVARIANT(
      bio && PEM_write_bio_PKCS8PrivateKey(bio.get(), impl_->handle.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return bio_text(bio.get());
}

Result<Certificate> Certificate::from_pem(std::string_view pem) {
  STRAKE_TRY(std::vector<Certificate> bundle, parse_bundle(pem));
  return std::move(bundle.front());
}

Result<Certificate> Certificate::from_der(std::string_view der) {
  if (der.size() > kMaxPemBytes) {
    return error(Code::kExhausted, "the certificate is longer than {} bytes", kMaxPemBytes);
  }
  const auto* data = reinterpret_cast<const unsigned char*>(der.data());
  X509Handle handle(d2i_X509(nullptr, &data, static_cast<long>(der.size())));
  if (!handle) return error(Code::kCorrupt, "not a DER certificate: {}", take_openssl_error());
  return wrap_certificate(std::move(handle));
}

const CertificateInfo& Certificate::info() const { return impl_->info; }

std::string Certificate::to_pem() const {
  const BioHandle bio(BIO_new(BIO_s_mem()));
  STRAKE_INVARIANT(bio && PEM_write_bio_X509(bio.get(), impl_->handle.get()) == 1);
  return bio_text(bio.get());
}

Result<std::vector<Certificate>> parse_bundle(std::string_view pem) {
  STRAKE_CHECK_OK(check_pem_size(pem));
  ERR_clear_error();
  const BioHandle bio = memory_bio(pem);
  std::vector<Certificate> bundle;
  while (X509Handle handle{PEM_read_bio_X509(bio.get(), nullptr, refuse_password, nullptr)}) {
    if (bundle.size() == kMaxBundleCertificates) {
      return error(Code::kExhausted, "the bundle holds more than {} certificates", kMaxBundleCertificates);
    }
    STRAKE_TRY_CONTEXT(Certificate certificate, wrap_certificate(std::move(handle)), "certificate {} of the bundle",
                       bundle.size() + 1);
    bundle.push_back(std::move(certificate));
  }
  // "No further start line" is how reading ends well; anything else is a damaged certificate in the middle.
  const unsigned long last = ERR_peek_last_error();
  const bool at_end = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  const std::string detail = take_openssl_error();
  if (!at_end) return error(Code::kCorrupt, "certificate {} of the bundle is damaged: {}", bundle.size() + 1, detail);
  if (bundle.empty()) return error(Code::kInvalidArgument, "the text holds no PEM certificate");
  return bundle;
}

std::string to_pem(std::span<const Certificate> bundle) {
  std::string text;
  for (const Certificate& certificate : bundle) text += certificate.to_pem();
  return text;
}

Status verify_chain(const Certificate& leaf, std::span<const Certificate> intermediates,
                    std::span<const Certificate> roots, std::chrono::sys_seconds at, CertificatePurpose purpose) {
  const StoreHandle store(X509_STORE_new());
  const StoreContextHandle context(X509_STORE_CTX_new());
  const CertificateStack chain(sk_X509_new_null());
  if (!store || !context || !chain) {
    return error(Code::kInternal, "preparing to verify a certificate: {}", take_openssl_error());
  }
  for (const Certificate& root : roots) {
    if (X509_STORE_add_cert(store.get(), root.impl().handle.get()) != 1) {
      return error(Code::kInternal, "adding a root certificate: {}", take_openssl_error());
    }
  }
  for (const Certificate& certificate : intermediates) {
    if (sk_X509_push(chain.get(), certificate.impl().handle.get()) == 0) {
      return error(Code::kInternal, "adding an intermediate certificate: {}", take_openssl_error());
    }
  }
  if (X509_STORE_CTX_init(context.get(), store.get(), leaf.impl().handle.get(), chain.get()) != 1) {
    return error(Code::kInternal, "preparing to verify a certificate: {}", take_openssl_error());
  }
  X509_VERIFY_PARAM* parameters = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(parameters, at.time_since_epoch().count());
  switch (purpose) {
    case CertificatePurpose::kAny: break;
    case CertificatePurpose::kServer: X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_SERVER); break;
    case CertificatePurpose::kClient: X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_CLIENT); break;
  }
  const bool good = X509_verify_cert(context.get()) == 1;
  const int reason = X509_STORE_CTX_get_error(context.get());
  ERR_clear_error();
  if (good) return {};
  return error(Code::kDenied, "certificate '{}' issued by '{}' does not verify: {}", leaf.info().common_name,
               leaf.info().issuer, X509_verify_cert_error_string(reason));
}

Status check_host(const Certificate& certificate, std::string_view host) {
  const std::string name(host);
  // check_host of OpenSSL takes an embedded zero for the end; no host name has one.
  if (name.empty() || name.find('\0') != std::string::npos) {
    return error(Code::kInvalidArgument, "the host name is empty or holds a zero byte");
  }
  X509* x509 = certificate.impl().handle.get();
  constexpr unsigned kFlags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
  const int match = looks_like_address(name) ? X509_check_ip_asc(x509, name.c_str(), 0)
                                             : X509_check_host(x509, name.data(), name.size(), kFlags, nullptr);
  ERR_clear_error();
  if (match == 1) return {};
  std::string valid_for;
  for (const auto* list : {&certificate.info().dns_names, &certificate.info().ip_addresses}) {
    for (const std::string& item : *list) valid_for += (valid_for.empty() ? "" : ", ") + item;
  }
  return error(Code::kDenied, "the certificate is not for {}: it is valid for {}", name,
               valid_for.empty() ? "no host at all" : valid_for);
}

Status check_key_matches(const Certificate& certificate, const PrivateKey& key) {
  if (X509_check_private_key(certificate.impl().handle.get(), key.impl().handle.get()) == 1) return {};
  ERR_clear_error();
  return error(Code::kInvalidArgument, "the private key does not belong to certificate '{}'",
               certificate.info().common_name);
}

}  // namespace strake::net
