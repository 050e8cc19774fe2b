// The variants and versions of Butane configs: which Ignition spec each gives, and what each knows or forbids.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "ignition/version.h"

namespace strake::ignition {

struct Dialect {
  std::string_view variant;
  std::string_view version;
  SpecVersion spec;
  bool is_openshift = false;
  bool has_boot_device = false;  ///< knows the member; otherwise it is a misspelling like any other
  bool has_grub = false;
  bool packs_contents = true;        ///< may gzip what it embeds, when its version can at all
  bool takes_password_hash = true;   ///< of the user core, on OpenShift
  bool takes_special_modes = false;  ///< setuid and the like, on OpenShift

  /// Local files, trees, and contents in other places than files.
  bool has_local() const { return spec.minor >= 1; }
  /// Local units and keys.
  bool has_local_text() const { return spec.minor >= 4; }
};

/// kUnsupported for a variant or version not known, experimental ones included; the message lists those that are.
Result<Dialect> find_dialect(std::string_view variant, std::string_view version);

}  // namespace strake::ignition
