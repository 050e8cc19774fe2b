// A key of the real gpg, and release signatures made with it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/temp_dir.h"

namespace strake::test {

class GpgSigner {
 public:
  /// Makes a new key without an end.
  explicit GpgSigner(const std::string& user = "us@strake.test");
  ~GpgSigner();
  GpgSigner(const GpgSigner&) = delete;
  GpgSigner& operator=(const GpgSigner&) = delete;

  std::string public_key() const;
  /// The statement clusters look for, as a signed message.
  std::string sign_digest(std::string_view digest) const;
  /// Puts such a message into a signature store below `folder`: sha256=HEX/signature-1. The place is that of `digest`,
  /// whatever the message is about.
  void store(const std::filesystem::path& folder, std::string digest, const std::string& message) const;

 private:
  std::string gpg(std::vector<std::string> arguments, const std::string& input = "") const;

  TempDir home_;
};

}  // namespace strake::test
