// What `bootc status --json` says, as far as it matters here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "osbackend/image_reference.h"

namespace strake::osbackend {

struct BootcEntry {
  std::string id;  ///< "default-<commit>.<serial>"; "" where the deployment is none of ostree
  std::optional<ImageReference> image;
  std::string version;
  bool incompatible = false;  ///< changed by rpm-ostree: bootc will not touch it
  bool pinned = false;
};

struct BootcStatus {
  bool is_bootc_host = false;  ///< started from an image, in a way bootc can go on from
  std::optional<BootcEntry> booted;
  std::optional<BootcEntry> staged;
  std::optional<BootcEntry> rollback;
};

/// Read with patience: older versions lack members, newer ones have more.
Result<BootcStatus> parse_bootc_status(std::string_view text);

}  // namespace strake::osbackend
