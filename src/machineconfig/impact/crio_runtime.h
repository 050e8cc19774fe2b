// The container runtime a rendered config makes CRI-O use: some OS streams no longer carry every runtime.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json.h"

namespace strake::machineconfig {

struct RuntimeChoice {
  std::string runtime;  ///< "crun"
  std::string path;     ///< of the file that chooses it

  bool operator==(const RuntimeChoice&) const = default;
};

/// What the files below /etc/crio/crio.conf.d of an Ignition config choose as `default_runtime`: they are read in the
/// order of their paths and the last one wins. Contents that must be fetched, or cannot be decoded, choose nothing.
std::optional<RuntimeChoice> crio_default_runtime(const json::Value& ignition);

/// `default_runtime` of the table [crio.runtime] in one TOML file; nullopt when it does not set it or is no TOML.
std::optional<std::string> default_runtime_of(std::string_view text);

/// kInvalidArgument when machines of this OS stream have no such runtime: "rhel-10" and "centos-10" are without runc.
Status check_runtime_exists(const RuntimeChoice& choice, std::string_view os_stream);

}  // namespace strake::machineconfig
