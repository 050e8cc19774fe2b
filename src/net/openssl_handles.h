// Owning handles for OpenSSL objects, and its error queue as text. Private to this module; names OpenSSL's types only.
#pragma once

#include <memory>
#include <string>

#include "net/x509.h"

struct x509_st;
struct evp_pkey_st;
struct X509_req_st;
struct X509_name_st;

namespace strake::net {

template <auto Free>
struct OpensslFree {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

/// OpensslHandle<BIO, BIO_free>
template <typename T, auto Free>
using OpensslHandle = std::unique_ptr<T, OpensslFree<Free>>;

void free_openssl_certificate(x509_st* certificate);
void free_openssl_key(evp_pkey_st* key);
using X509Handle = OpensslHandle<x509_st, free_openssl_certificate>;
using KeyHandle = OpensslHandle<evp_pkey_st, free_openssl_key>;
void free_openssl_request(X509_req_st* request);
using RequestHandle = OpensslHandle<X509_req_st, free_openssl_request>;

/// The latest error of this thread, whose queue it empties: a stale entry would be blamed on the next call.
std::string take_openssl_error();

struct PrivateKey::Impl {
  KeyHandle handle;
};

struct Certificate::Impl {
  X509Handle handle;
  CertificateInfo info;
};

struct CertificateRequest::Impl {
  RequestHandle handle;
  std::string common_name;
  std::vector<std::string> organizations;
};

/// The values of one field of a subject, in order.
std::vector<std::string> name_entries(const X509_name_st* name, int nid);
Status add_name_entry(X509_name_st* name, const char* field, const std::string& value);

/// Takes over the handle and reads what it says.
Result<Certificate> wrap_certificate(X509Handle handle);

}  // namespace strake::net
