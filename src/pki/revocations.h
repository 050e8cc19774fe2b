// Certificates that do not count any more although their time is not over: by serial number, in a file that every
// process reads again when it has changed.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pki/authority.h"
#include "pki/private_files.h"

namespace strake::pki {

/// FILE, mode 0600: {"revoked": [{"serial", "expires", "reason"}]}.
class Revocations {
 public:
  explicit Revocations(std::filesystem::path path) : path_(std::move(path)) {}

  struct Entry {
    std::string serial;  ///< as net::CertificateInfo has it
    WallTime expires;    ///< of the certificate: afterwards it is refused anyway, and the entry is dropped
    std::string reason;  ///< for people
  };
  Status revoke(const Entry& entry, WallTime now);

  /// The reason, when the serial number is in the list. A list that cannot be read is an error, not an empty list.
  Result<std::optional<std::string>> why_revoked(std::string_view serial);

 private:
  Status read_if_changed();
  Status write();

  const std::filesystem::path path_;
  std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::optional<FileVersion> version_;
};

}  // namespace strake::pki
