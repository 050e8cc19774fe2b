// A certificate authority for one test run, and the certificates it issues: EC P-256, made with the openssl program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace strake::test {

/// Paths of PEM files.
struct CertificateFiles {
  std::filesystem::path certificate;
  std::filesystem::path key;
};

enum class CertificateUse { kServer, kClient, kServerAndClient };

/// The subject of a certificate. To Kubernetes the common name is the user and the organizations are its groups.
struct CertificateSubject {
  std::string common_name;
  std::vector<std::string> organizations;
};

class TestPki {
 public:
  /// Makes a new authority in `directory`, which must exist and outlive the files it will hold.
  static Result<TestPki> create(std::filesystem::path directory);

  /// Issues NAME.crt and NAME.key; server certificates are valid for 127.0.0.1 and localhost.
  Result<CertificateFiles> issue(const std::string& name, const CertificateSubject& subject, CertificateUse use);

  /// A private key without a certificate (NAME.key), such as the one that signs service account tokens.
  Result<std::filesystem::path> make_key(const std::string& name);

  const CertificateFiles& authority() const { return authority_; }

 private:
  explicit TestPki(std::filesystem::path directory) : directory_(std::move(directory)) {}

  std::filesystem::path directory_;
  CertificateFiles authority_;
};

}  // namespace strake::test
