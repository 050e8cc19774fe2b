// Which keys the sections of unit files have, and what values those take that are commonly written wrong.
#pragma once

#include <cstdint>
#include <string_view>

namespace strake::ignition {

/// kAnything: not looked at.
enum class UnitValue : std::uint8_t {
  kAnything,
  kAction,
  kBoolean,
  kCollectMode,
  kCommand,
  kConditionPath,
  kEnvironment,
  kInteger,
  kJobMode,
  kKillMode,
  kOctalMode,
  kPath,
  kPathList,
  kProtectHome,
  kProtectSystem,
  kRestart,
  kServiceType,
  kSignal,
  kTimeSpan,
  kUnsigned,
  kUrlList,
  kWorkingFolder,
};

/// Whether systemd 252 knows the key in this section ("Service", "ExecStart").
bool is_unit_key(std::string_view section, std::string_view key);

UnitValue unit_value_type(std::string_view key);

}  // namespace strake::ignition
