// A statement and a key are read or refused, whatever the bytes; nothing is ever taken for signed here, since no input
// holds a private key.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "oci/sigstore/sigstore.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake::oci;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = SigstoreKey::parse(text);
  const auto identity = parse_sigstore_identity(text);
  // What was read is written so that it reads back the same.
  if (identity.ok() && *parse_sigstore_identity(identity->to_string()) != *identity) std::abort();
  static const SigstoreKey key = *SigstoreKey::parse(
      "-----BEGIN PUBLIC KEY-----\n"
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAERRp64e743XPi6JTniX+xlKD+ZiNl\n"
      "5RI2XtB+3fDhBRYskOjvuG0as2s6vdZdZnSXbaUMwT5G5Rd7ilejRtr1lQ==\n"
      "-----END PUBLIC KEY-----\n");
  const std::size_t line = text.find('\n');
  const auto verified =
      verify_sigstore(key, line == std::string_view::npos ? text : text.substr(line + 1), text.substr(0, line),
                      strake::codec::Digest::sha256_of(""), "registry.example/a:b",
                      SigstoreIdentity{SigstoreIdentity::Rule::kMatchRepository});
  if (verified.ok()) std::abort();
  return 0;
}
