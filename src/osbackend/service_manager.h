// The services of one machine: told to read their configuration anew, or to start anew, and asked how they are.
//
// Implementations: systemd's own program on a real machine (systemctl_services.h), a record on a sandboxed one
// (sandbox_services.h).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/runtime.h"

namespace strake::osbackend {

enum class ServiceState {
  kActive,
  kInactive,  ///< not running, and not because it failed; a unit nobody knows is inactive too
  kFailed,
  kChanging,  ///< on its way up or down
};
std::string_view to_string(ServiceState state);

class ServiceManager {
 public:
  virtual ~ServiceManager() = default;

  /// The manager itself reads all units anew; no service notices.
  virtual Status read_units(const runtime::Call& call) = 0;
  /// An error: the service does not run, knows no reload, or refused its new configuration.
  virtual Status reload(const std::string& unit, const runtime::Call& call) = 0;
  virtual Status restart(const std::string& unit, const runtime::Call& call) = 0;
  virtual Result<ServiceState> state(const std::string& unit, const runtime::Call& call) = 0;
};

}  // namespace strake::osbackend
