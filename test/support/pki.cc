#include "support/pki.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/subprocess.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;

// Ours instead of the system's openssl.cnf, whose defaults add extensions of their own.
constexpr std::string_view kOpensslConfig = R"([req]
distinguished_name = subject_from_command_line
string_mask = utf8only
[subject_from_command_line]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature, keyEncipherment
extendedKeyUsage = serverAuth
subjectAltName = IP:127.0.0.1, DNS:localhost
[client]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature, keyEncipherment
extendedKeyUsage = clientAuth
[server_and_client]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature, keyEncipherment
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = IP:127.0.0.1, DNS:localhost
)";

constexpr const char* kDaysValid = "2";

std::string extensions_of(CertificateUse use) {
  switch (use) {
    case CertificateUse::kServer: return "server";
    case CertificateUse::kClient: return "client";
    case CertificateUse::kServerAndClient: return "server_and_client";
  }
  return {};
}

/// "/O=a/O=b/CN=c" as `openssl req -subj` reads it.
std::string subject_argument(const CertificateSubject& subject) {
  std::string text;
  const auto append = [&text](std::string_view type, std::string_view value) {
    text += '/';
    text += type;
    text += '=';
    for (const char c : value) {
      if (c == '/' || c == '+' || c == '\\') text += '\\';
      text += c;
    }
  };
  for (const std::string& organization : subject.organizations) append("O", organization);
  append("CN", subject.common_name);
  return text;
}

Status openssl(std::vector<std::string> arguments) {
  Command command;
  command.argv = std::move(arguments);
  command.argv.insert(command.argv.begin(), "openssl");
  command.timeout = 30s;
  STRAKE_TRY([[maybe_unused]] const ProcessOutput output, run_checked(command));
  return {};
}

}  // namespace

Result<TestPki> TestPki::create(std::filesystem::path directory) {
  TestPki pki(std::move(directory));
  const std::filesystem::path config = pki.directory_ / "openssl.cnf";
  STRAKE_CHECK_OK(write_file_atomic(config, kOpensslConfig, 0600));
  pki.authority_ = {pki.directory_ / "ca.crt", pki.directory_ / "ca.key"};
  STRAKE_CHECK_OK(openssl({"req", "-x509", "-config", config, "-extensions", "authority", "-newkey", "ec", "-pkeyopt",
                           "ec_paramgen_curve:prime256v1", "-nodes", "-days", kDaysValid, "-subj", "/CN=strake test CA",
                           "-out", pki.authority_.certificate, "-keyout", pki.authority_.key})
                      .context("making a test certificate authority"));
  return pki;
}

Result<CertificateFiles> TestPki::issue(const std::string& name, const CertificateSubject& subject,
                                        CertificateUse use) {
  CertificateFiles files{directory_ / (name + ".crt"), directory_ / (name + ".key")};
  STRAKE_CHECK_OK(openssl({"req",         "-x509",
                           "-CA",         authority_.certificate,
                           "-CAkey",      authority_.key,
                           "-config",     directory_ / "openssl.cnf",
                           "-extensions", extensions_of(use),
                           "-newkey",     "ec",
                           "-pkeyopt",    "ec_paramgen_curve:prime256v1",
                           "-nodes",      "-days",
                           kDaysValid,    "-utf8",
                           "-subj",       subject_argument(subject),
                           "-out",        files.certificate,
                           "-keyout",     files.key})
                      .context("issuing the test certificate '{}'", name));
  return files;
}

Result<std::filesystem::path> TestPki::make_key(const std::string& name) {
  std::filesystem::path key = directory_ / (name + ".key");
  // "EC PRIVATE KEY" (SEC 1): Kubernetes does not find the public half of a PKCS #8 "PRIVATE KEY".
  STRAKE_CHECK_OK(openssl({"ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", key})
                      .context("making the test key '{}'", name));
  return key;
}

}  // namespace strake::test
