// Building and signing certificates. Extensions whose content comes from data are built as objects; OpenSSL's text
// syntax for extensions is used with constants only, because a comma in a name would add an entry there.
#include <array>

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "net/openssl_handles.h"
#include "net/x509.h"

namespace strake::net {
namespace {

constexpr std::size_t kMaxAlternativeNames = 100;
/// RFC 5280 allows 64; authorities of the platform have longer ones, and everybody reads them.
constexpr std::size_t kMaxAuthorityName = 128;
constexpr std::size_t kMaxCommonName = 64;

struct AlternativeNamesFree {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

Error issue_failed(std::string_view step) { return error(Code::kInternal, "{}: {}", step, take_openssl_error()); }

Status set_serial(X509* certificate, std::string serial) {
  if (serial.size() < 8 || serial.size() > 20) {
    return error(Code::kInvalidArgument, "a certificate serial needs 8 to 20 bytes, not {}", serial.size());
  }
  // RFC 5280 section 4.1.2.2: positive and not zero. The second bit keeps every serial equally long.
  serial[0] = static_cast<char>((static_cast<unsigned char>(serial[0]) & 0x7FU) | 0x40U);
  const OpensslHandle<BIGNUM, BN_free> number(
      BN_bin2bn(reinterpret_cast<const unsigned char*>(serial.data()), static_cast<int>(serial.size()), nullptr));
  if (!number || BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) == nullptr) {
    return issue_failed("setting the certificate serial");
  }
  return {};
}

Status set_validity(X509* certificate, const Validity& validity) {
  if (validity.not_after <= validity.not_before) {
    return error(Code::kInvalidArgument, "the certificate would end before it begins");
  }
  if (ASN1_TIME_set(X509_getm_notBefore(certificate), validity.not_before.time_since_epoch().count()) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(certificate), validity.not_after.time_since_epoch().count()) == nullptr) {
    return issue_failed("setting the certificate's validity");
  }
  return {};
}

Status add_constant_extension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const OpensslHandle<X509_EXTENSION, X509_EXTENSION_free> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1) {
    return issue_failed("adding a certificate extension");
  }
  return {};
}

Status push_name(GENERAL_NAMES* names, int type, ASN1_STRING* value) {
  GENERAL_NAME* name = GENERAL_NAME_new();
  if (name == nullptr || value == nullptr) {
    GENERAL_NAME_free(name);
    ASN1_STRING_free(value);
    return issue_failed("building an alternative name");
  }
  GENERAL_NAME_set0_value(name, type, value);
  if (sk_GENERAL_NAME_push(names, name) == 0) {
    GENERAL_NAME_free(name);
    return issue_failed("building an alternative name");
  }
  return {};
}

Status add_alternative_names(X509* certificate, const LeafRequest& request) {
  if (request.dns_names.empty() && request.ip_addresses.empty()) return {};
  if (request.dns_names.size() + request.ip_addresses.size() > kMaxAlternativeNames) {
    return error(Code::kInvalidArgument, "a certificate may have at most {} alternative names", kMaxAlternativeNames);
  }
  const std::unique_ptr<GENERAL_NAMES, AlternativeNamesFree> names(sk_GENERAL_NAME_new_null());
  if (!names) return issue_failed("building the alternative names");
  for (const std::string& dns : request.dns_names) {
    constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._*";
    if (dns.empty() || dns.size() > 253 || dns.find_first_not_of(kNameCharacters) != std::string::npos) {
      return error(Code::kInvalidArgument, "'{}' is not a DNS name", dns);
    }
    ASN1_STRING* value = ASN1_STRING_type_new(V_ASN1_IA5STRING);
    if (value != nullptr && ASN1_STRING_set(value, dns.data(), static_cast<int>(dns.size())) != 1) {
      ASN1_STRING_free(value);
      value = nullptr;
    }
    STRAKE_CHECK_OK(push_name(names.get(), GEN_DNS, value));
  }
  for (const std::string& address : request.ip_addresses) {
    std::array<unsigned char, 16> bytes{};
    int size = 0;
    if (inet_pton(AF_INET, address.c_str(), bytes.data()) == 1) size = 4;
    if (size == 0 && inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1) size = 16;
    if (size == 0) return error(Code::kInvalidArgument, "'{}' is not an IP address", address);
    ASN1_STRING* value = ASN1_STRING_type_new(V_ASN1_OCTET_STRING);
    if (value != nullptr && ASN1_STRING_set(value, bytes.data(), size) != 1) {
      ASN1_STRING_free(value);
      value = nullptr;
    }
    STRAKE_CHECK_OK(push_name(names.get(), GEN_IPADD, value));
  }
  if (X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) != 1) {
    return issue_failed("adding the alternative names");
  }
  return {};
}

const char* usage_words(const LeafRequest& request) {
  if (request.server_auth && request.client_auth) return "serverAuth,clientAuth";
  return request.server_auth ? "serverAuth" : "clientAuth";
}

Result<X509Handle> blank_certificate(EVP_PKEY* subject_key, const Validity& validity, const std::string& serial) {
  X509Handle certificate(X509_new());
  constexpr long kVersion3 = 2;
  if (!certificate || X509_set_version(certificate.get(), kVersion3) != 1 ||
      X509_set_pubkey(certificate.get(), subject_key) != 1) {
    return issue_failed("building a certificate");
  }
  STRAKE_CHECK_OK(set_serial(certificate.get(), serial));
  STRAKE_CHECK_OK(set_validity(certificate.get(), validity));
  return certificate;
}

Result<Certificate> sign_certificate(X509Handle certificate, const PrivateKey& key) {
  if (X509_sign(certificate.get(), key.impl().handle.get(), EVP_sha256()) == 0) {
    return issue_failed("signing a certificate");
  }
  return wrap_certificate(std::move(certificate));
}

Result<Certificate> issue_for_key(const Certificate& ca, const PrivateKey& ca_key, EVP_PKEY* leaf_key,
                                  const LeafRequest& request) {
  if (!ca.info().is_ca) return error(Code::kInvalidArgument, "'{}' is not a CA certificate", ca.info().common_name);
  STRAKE_CHECK_OK(check_key_matches(ca, ca_key));
  if (!request.server_auth && !request.client_auth) {
    return error(Code::kInvalidArgument, "a certificate must be for servers, for clients, or for both");
  }
  STRAKE_TRY(X509Handle certificate, blank_certificate(leaf_key, request.validity, request.serial));
  X509* x509 = certificate.get();
  X509* issuer = ca.impl().handle.get();
  for (const std::string& organization : request.organizations) {
    STRAKE_CHECK_OK(add_name_entry(X509_get_subject_name(x509), "O", organization));
  }
  STRAKE_CHECK_OK(add_name_entry(X509_get_subject_name(x509), "CN", request.common_name));
  if (X509_set_issuer_name(x509, X509_get_subject_name(issuer)) != 1) return issue_failed("naming the issuer");
  STRAKE_CHECK_OK(add_constant_extension(x509, issuer, NID_basic_constraints, "critical,CA:FALSE"));
  STRAKE_CHECK_OK(add_constant_extension(x509, issuer, NID_key_usage, "critical,digitalSignature"));
  STRAKE_CHECK_OK(add_constant_extension(x509, issuer, NID_ext_key_usage, usage_words(request)));
  STRAKE_CHECK_OK(add_constant_extension(x509, issuer, NID_subject_key_identifier, "hash"));
  STRAKE_CHECK_OK(add_constant_extension(x509, issuer, NID_authority_key_identifier, "keyid:always"));
  STRAKE_CHECK_OK(add_alternative_names(x509, request));
  return sign_certificate(std::move(certificate), ca_key);
}

Status name_authority(X509_NAME* name, const std::string& common_name) {
  if (common_name.size() <= kMaxCommonName || common_name.size() > kMaxAuthorityName) {
    return add_name_entry(name, "CN", common_name);
  }
  // As a ready string, not as text to be fitted into the field's type, which has the limit.
  if (X509_NAME_add_entry_by_NID(name, NID_commonName, V_ASN1_UTF8STRING,
                                 reinterpret_cast<const unsigned char*>(common_name.data()),
                                 static_cast<int>(common_name.size()), -1, 0) != 1) {
    return issue_failed("naming an authority");
  }
  return {};
}

Status add_authority_extensions(X509* x509, X509* issuer, const char* constraints) {
  STRAKE_CHECK_OK(add_constant_extension(x509, issuer, NID_basic_constraints, constraints));
  STRAKE_CHECK_OK(add_constant_extension(x509, issuer, NID_key_usage, "critical,keyCertSign,cRLSign"));
  return add_constant_extension(x509, issuer, NID_subject_key_identifier, "hash");
}

}  // namespace

Status add_name_entry(X509_NAME* name, const char* field, const std::string& value) {
  if (value.empty()) return error(Code::kInvalidArgument, "the certificate subject has an empty {}", field);
  if (X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.data()),
                                 static_cast<int>(value.size()), -1, 0) != 1) {
    return error(Code::kInvalidArgument, "'{}' cannot be the {} of a certificate subject: {}", value, field,
                 take_openssl_error());
  }
  return {};
}

Result<Certificate> make_ca(const PrivateKey& key, const CaRequest& request) {
  STRAKE_TRY(X509Handle certificate, blank_certificate(key.impl().handle.get(), request.validity, request.serial));
  X509* x509 = certificate.get();
  STRAKE_CHECK_OK(name_authority(X509_get_subject_name(x509), request.common_name));
  if (X509_set_issuer_name(x509, X509_get_subject_name(x509)) != 1) return issue_failed("naming the issuer");
  STRAKE_CHECK_OK(add_authority_extensions(
      x509, x509, request.may_vouch_for_cas ? "critical,CA:TRUE,pathlen:1" : "critical,CA:TRUE,pathlen:0"));
  return sign_certificate(std::move(certificate), key);
}

Result<Certificate> cross_sign(const Certificate& ca, const PrivateKey& ca_key, const Certificate& successor,
                               const Validity& validity, const std::string& serial) {
  for (const Certificate* authority : {&ca, &successor}) {
    if (!authority->info().is_ca)
      return error(Code::kInvalidArgument, "'{}' is not a CA certificate", authority->info().common_name);
  }
  STRAKE_CHECK_OK(check_key_matches(ca, ca_key));
  if (!ca.info().may_vouch_for_cas) {
    return error(Code::kDenied, "'{}' may not vouch for another authority (path length 0)", ca.info().common_name);
  }
  X509* subject = successor.impl().handle.get();
  X509* issuer = ca.impl().handle.get();
  STRAKE_TRY(X509Handle certificate, blank_certificate(X509_get0_pubkey(subject), validity, serial));
  X509* x509 = certificate.get();
  if (X509_set_subject_name(x509, X509_get_subject_name(subject)) != 1 ||
      X509_set_issuer_name(x509, X509_get_subject_name(issuer)) != 1) {
    return issue_failed("naming subject and issuer");
  }
  STRAKE_CHECK_OK(add_authority_extensions(x509, issuer, "critical,CA:TRUE,pathlen:0"));
  // Where the old authority has no identifier of its key, there is none to name.
  STRAKE_CHECK_OK(add_constant_extension(x509, issuer, NID_authority_key_identifier, "keyid"));
  return sign_certificate(std::move(certificate), ca_key);
}

Result<Certificate> issue(const Certificate& ca, const PrivateKey& ca_key, const PrivateKey& leaf_key,
                          const LeafRequest& request) {
  return issue_for_key(ca, ca_key, leaf_key.impl().handle.get(), request);
}

Result<Certificate> issue(const Certificate& ca, const PrivateKey& ca_key, const CertificateRequest& request,
                          const LeafRequest& wanted) {
  return issue_for_key(ca, ca_key, X509_REQ_get0_pubkey(request.impl().handle.get()), wanted);
}

}  // namespace strake::net
