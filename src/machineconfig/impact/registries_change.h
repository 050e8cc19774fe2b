// Whether a changed registries.conf can be read anew by a running CRI-O, or pods must leave the node first.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace strake::machineconfig {

inline constexpr std::string_view kRegistriesConfPath = "/etc/containers/registries.conf";

struct RegistriesChange {
  bool safe = false;  ///< pods may stay: nothing they pull today comes from elsewhere or not at all tomorrow
  std::string why;    ///< a phrase: "registry quay.io was removed"
};

/// Both sides as TOML; a file that is absent is empty text. New text that does not parse is an error. Old text that
/// does not parse is an unsafe change (the operator makes it an error as well, which keeps the repair from the node).
Result<RegistriesChange> judge_registries_change(std::string_view before, std::string_view after);

}  // namespace strake::machineconfig
